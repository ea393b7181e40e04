"""What homing.select adds to the core: seconds and memory.

    cargo build --release && maturin develop --release -m crates/homing-py/Cargo.toml && python bench/python.py

The seconds are those of the whole call less those that the core took in it, the least of ten calls. The memory is the growth of what the process holds
beside mapped files during the first call; beside it, the most that the command holds on the same rows, which it maps.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

import homing
import numpy as np

COMMAND = os.path.join(os.path.dirname(__file__), "..", "target", "release", "homing")


def held(process="self"):
    """What a process holds beside mapped files, in bytes."""
    try:
        return 1024 * int(re.search(r"RssAnon:\s*(\d+)", open(f"/proc/{process}/status").read()).group(1))
    except (OSError, AttributeError):
        return 0  # it has ended


def most_held(process, under_way):
    """The most that it held while something was under way."""
    most = 0
    while under_way():
        most = max(most, held(process))
        time.sleep(0.002)
    return most


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

    before = held()
    with ThreadPoolExecutor(1) as thread:
        call = thread.submit(homing.select, pool, targets, given.n, threads=2, progress=False)
        grown = most_held("self", lambda: not call.done()) - before
    added = []
    for _ in range(10):
        start = time.perf_counter()
        picks = homing.select(pool, targets, 1, "cosine", threads=2, progress=False)
        added.append(time.perf_counter() - start - picks.seconds)

    with tempfile.TemporaryDirectory() as folder:
        np.save(f"{folder}/pool.npy", pool)
        np.save(f"{folder}/targets.npy", targets)
        arguments = ["select", f"{folder}/pool.npy", "--targets", f"{folder}/targets.npy", "-n", str(given.n), "--threads", "2"]
        command = subprocess.Popen([COMMAND, *arguments, "--pool-access", "map", "--quiet"])
        beside = most_held(command.pid, lambda: command.poll() is None)
    share = (grown - beside) / pool.nbytes
    print(f"{given.rows:,} x {given.dim} float32, {given.n} picks, Python {sys.version.split()[0]}")
    print(f"a call takes {1e3 * min(added):.2f} ms beside the core, the median of ten is {1e3 * sorted(added)[5]:.2f} ms")
    print(f"memory beside the pool: {grown / 1e6:.0f} MB in Python, {beside / 1e6:.0f} MB in the command; {share:.2%} of the pool added")


if __name__ == "__main__":
    main()
