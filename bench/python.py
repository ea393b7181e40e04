"""What homing.select adds to the core: seconds and memory.

    cargo build --release && maturin develop --release -m crates/homing-py/Cargo.toml && python bench/python.py

The seconds are those of the whole call less those that the core took in it, the best of three. The memory is the growth of the process's peak during the
call; beside it, that of the command on the same rows, read from a mapped file whose pages are counted and taken off.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time

import homing
import numpy as np

COMMAND = os.path.join(os.path.dirname(__file__), "..", "target", "release", "homing")


def memory(field):
    """A figure of this process, in bytes."""
    text = open("/proc/self/status").read()
    return 1024 * int(re.search(rf"{field}:\s*(\d+)", text).group(1))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--dim", type=int, default=256)
    parser.add_argument("-n", type=int, default=20)
    given = parser.parse_args()
    rng = np.random.default_rng(0)
    pool = np.empty((given.rows, given.dim), dtype=np.float32)
    for at in range(0, given.rows, 10_000):
        pool[at : at + 10_000] = rng.standard_normal(pool[at : at + 10_000].shape, dtype=np.float32)
    targets = rng.standard_normal((30, given.dim), dtype=np.float32)
    homing.select(pool[:2000], targets, 3, progress=False)

    open("/proc/self/clear_refs", "w").write("5")  # the peak is counted from here
    before = memory("VmRSS")
    added, core = [], []
    for _ in range(3):
        start = time.perf_counter()
        picks = homing.select(pool, targets, given.n, threads=2, progress=False)
        whole = time.perf_counter() - start
        added.append(whole - picks.seconds)
        core.append(picks.seconds)
    grown = memory("VmHWM") - before

    with tempfile.TemporaryDirectory() as folder:
        np.save(f"{folder}/pool.npy", pool)
        np.save(f"{folder}/targets.npy", targets)
        arguments = ["select", f"{folder}/pool.npy", "--targets", f"{folder}/targets.npy", "-n", str(given.n), "--threads", "2"]
        told = subprocess.run([COMMAND, *arguments, "--pool-access", "map"], capture_output=True, text=True, check=True)
    peak = float(re.search(r"peak memory (\d+) MB", told.stderr).group(1)) * 1e6
    beside = peak - pool.nbytes
    share = (grown - beside) / pool.nbytes
    print(f"{given.rows:,} x {given.dim} float32, {given.n} picks, Python {sys.version.split()[0]}")
    print(f"the core took {min(core):.2f} s; the call added {1e3 * min(added):.2f} ms")
    print(f"memory beside the pool: {grown / 1e6:.0f} MB in Python, {beside / 1e6:.0f} MB in the command; {share:.2%} of the pool added")


if __name__ == "__main__":
    main()
