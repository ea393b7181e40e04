#!/usr/bin/env python3
"""Compares a pool in one file with the same pool in many files: time, memory and picks.

Usage: bench/files.py [--rows 400000] [--dim 256] [--files 8 512] [--targets 30] [--picks 100] [--threads 2] [--repeat 5] [--folder DIR]
       [--as-they-are]
Needs: pip install numpy

Runs alternate, and the least processor time of each counts. The picks must be the same bytes. --folder keeps the pools for another run.
"""
import argparse
import os
import subprocess
import tempfile

import numpy as np

from compare import HOMING, parts

DEFAULTS = {"rows": 400_000, "dim": 256, "targets": 30, "picks": 100, "threads": 2, "repeat": 5}
ACCESSES = ("map", "read")


def make(folder, rows, dim, counts, targets):
    """Writes the pool as one file and in folders of uneven files, and returns their paths."""
    one = f"{folder}/one.npy"
    pool = np.lib.format.open_memmap(one, mode="w+", dtype=np.float32, shape=(rows, dim))
    start = 0
    for part, _ in parts(rows, dim):
        pool[start : start + len(part)] = part
        start += len(part)
    pool.flush()
    np.save(f"{folder}/targets.npy", pool[:: rows // targets][:targets] + np.float32(0.01))
    rng = np.random.default_rng(0)
    pools = {1: one}
    for count in counts:
        os.makedirs(f"{folder}/{count}", exist_ok=True)
        ends = np.sort(rng.choice(rows, count - 1, replace=False))
        for number, (start, end) in enumerate(zip([0, *ends], [*ends, rows])):
            np.save(f"{folder}/{count}/part-{number:05}.npy", pool[start:end])
        pools[count] = f"{folder}/{count}/*.npy"
    return pools


def run(folder, pool, access, a):
    """Returns the processor seconds, the peak memory without the pages of files in megabytes, and the picks."""
    picks = f"{folder}/picks.csv"
    command = [HOMING, "select", pool, "--targets", f"{folder}/targets.npy", "-n", str(a.picks), "--pool-access", access]
    command += ["--threads", str(a.threads), "--out", picks, "--quiet"]
    command += ["--center=false", "--normalize=false"] if a.as_they_are else []
    process = subprocess.Popen(command)
    held = 0
    while process.poll() is None:
        try:
            lines = open(f"/proc/{process.pid}/status").read().splitlines()
            held = max([held, *(int(line.split()[1]) for line in lines if line.startswith("RssAnon:"))])
            process.wait(0.005)
        except (subprocess.TimeoutExpired, FileNotFoundError, ProcessLookupError):
            pass
    if process.returncode:
        raise SystemExit("homing failed")
    return held / 1000, open(picks, "rb").read()


def spent():
    usage = os.times()
    return usage.children_user + usage.children_system


def main():
    parser = argparse.ArgumentParser()
    for name, value in DEFAULTS.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--files", type=int, nargs="+", default=[8, 512])
    parser.add_argument("--folder")
    parser.add_argument("--as-they-are", action="store_true", help="neither centre nor scale the rows")
    a = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = a.folder or temporary
        os.makedirs(folder, exist_ok=True)
        pools = make(folder, a.rows, a.dim, a.files, a.targets)
        results, picks = {}, set()
        for _ in range(a.repeat):
            for access in ACCESSES:
                for count, pool in pools.items():
                    before = spent()
                    held, found = run(folder, pool, access, a)
                    results.setdefault((count, access), []).append((spent() - before, held))
                    picks.add(found)
        if len(picks) != 1:
            raise SystemExit("the picks differ")
        print("| Files | Access | Processor seconds | Ratio to one file | Peak memory without pages of files, MB |")
        print("|---|---|---|---|---|")
        for (count, access), runs in results.items():
            seconds, held = min(runs)[0], max(held for _, held in runs)
            ratio = seconds / min(results[1, access])[0]
            print(f"| {count} | {'mapped' if access == 'map' else 'by position'} | {seconds:.2f} | {ratio:.2f} | {held:.0f} |")


if __name__ == "__main__":
    main()
