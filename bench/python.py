"""Measures the time and memory that `homing.select` needs in addition to the core.

    cargo build --release && maturin develop --release -m crates/homing-py/Cargo.toml && python bench/python.py

The time is that of the whole call minus the time that the core took in it, the minimum of ten calls. The memory is the growth of the process without
mapped files during the first call. For comparison, the script prints the peak memory of the command on the same rows, which it maps.
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


def memory_of(process="self"):
    """Return the memory of a process without mapped files, in bytes."""
    try:
        return 1024 * int(re.search(r"RssAnon:\s*(\d+)", open(f"/proc/{process}/status").read()).group(1))
    except (OSError, AttributeError):
        return 0  # the process has ended


def peak_memory_of(process, is_running):
    """Return the peak memory of a process while `is_running()` is true."""
    peak = 0
    while is_running():
        peak = max(peak, memory_of(process))
        time.sleep(0.002)
    return peak


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

    before = memory_of()
    with ThreadPoolExecutor(1) as thread:
        call = thread.submit(homing.select, pool, targets, given.n, threads=2, progress=False)
        in_python = peak_memory_of("self", lambda: not call.done()) - before
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
        in_command = peak_memory_of(command.pid, lambda: command.poll() is None)
    share = (in_python - in_command) / pool.nbytes
    print(f"{given.rows:,} x {given.dim} float32, {given.n} picks, Python {sys.version.split()[0]}")
    print(f"a call takes {1e3 * min(added):.2f} ms in addition to the core; the median of ten calls is {1e3 * sorted(added)[5]:.2f} ms")
    print(
        f"memory in addition to the pool: {in_python / 2**20:.0f} MiB in Python, {in_command / 2**20:.0f} MiB in the command; "
        f"the difference is {share:.2%} of the pool"
    )


if __name__ == "__main__":
    main()
