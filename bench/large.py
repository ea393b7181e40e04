#!/usr/bin/env python3
"""Runs homing on a pool larger than the memory that it may use, and compares each of its passes with `cat`.

Usage: bench/large.py [--rows 4000000] [--dim 512] [--targets 30] [--picks 100] [--threads 2] [--limit 2] [--repeat 2]
       [--map] [--folder DIR]
Needs: pip install numpy ; Linux, and root for the control group.

The script tests two limits: `ulimit -v` on the address space, and a control group on all memory including the file cache, which
forces every pass to read from the disk. The file is evicted from the cache before each run. Runs alternate with `cat`, and the best
time of each counts. --limit is in GB for `ulimit` and in GiB for the control group. --map also times a mapped pool in the control
group, for ten minutes at most. --folder keeps the pool and the targets for another run.
"""
import argparse
import os
import re
import subprocess
import tempfile
import time

import numpy as np

from compare import HOMING, ROOT, parts, peak_memory

# Root of the control groups, a file that exists if this version is mounted, and the file of the limit: version 1, version 2.
GROUPS = [
    ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.limit_in_bytes"),
    ("/sys/fs/cgroup", "cgroup.controllers", "memory.max"),
]
DEFAULTS = {"rows": 4_000_000, "dim": 512, "targets": 30, "picks": 100, "threads": 2, "limit": 2, "repeat": 2}
MOST_SECONDS = 600


def make(folder, a):
    pool, targets = f"{folder}/pool.npy", f"{folder}/targets.npy"
    if os.path.exists(pool) and np.load(pool, mmap_mode="r").shape == (a.rows, a.dim):
        return pool, targets
    task, left = [], a.rows
    with open(pool, "wb") as file:
        np.lib.format.write_array_header_1_0(file, {"descr": "<f4", "fortran_order": False, "shape": (a.rows, a.dim)})
        for part, labels in parts(a.rows + 20_000, a.dim):
            part[:left].tofile(file)
            task.extend(part[left:][np.isin(labels[left:], [3, 17, 42])])
            left -= min(left, len(part))
        os.fsync(file.fileno())
    np.save(targets, np.array(task[: a.targets]))
    return pool, targets


def cold(pool):
    with open(pool) as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def group(limit):
    """Create a control group of version 1 or 2 with this limit in bytes; return None if that is not possible."""
    for root, mark, knob in GROUPS:
        path = f"{root}/homing-bench"
        if not os.path.exists(f"{root}/{mark}"):
            continue
        try:
            os.makedirs(path, exist_ok=True)
            with open(f"{path}/{knob}", "w") as file:
                file.write(str(limit))
            return path
        except OSError:
            continue
    return None


def timed(command, enter, pool):
    """Run from a cold cache; return wall-clock seconds, processor seconds and the output on standard error."""
    cold(pool)
    shell = ["sh", "-c", f'{enter} && exec "$@"', "sh", *command]
    used, start = os.times(), time.perf_counter()
    process = subprocess.run(shell, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=MOST_SECONDS)
    seconds, now = time.perf_counter() - start, os.times()
    busy = now.children_user + now.children_system - used.children_user - used.children_system
    return seconds, busy, process.stderr


def measure(name, enter, command, pool, repeat):
    """Alternate the command with `cat`, and print the best run of each."""
    cats, runs = [], []
    try:
        for _ in range(repeat):
            cats.append(timed(["cat", pool], enter, pool)[0])
            runs.append(timed(command, enter, pool))
    except subprocess.TimeoutExpired:
        print(f"| {name} | > {MOST_SECONDS} | | | {min(cats):.1f} | | |", flush=True)
        return
    seconds, busy, output = min(runs)
    passes = int(re.search(r"(\d+) passes", output).group(1))
    ratio = seconds / passes / min(cats)
    print(f"| {name} | {seconds:.1f} | {busy:.1f} | {passes} | {min(cats):.1f} | {ratio:.2f} | {peak_memory(output):.0f} |", flush=True)


def main():
    parser = argparse.ArgumentParser()
    for name, default in DEFAULTS.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--map", action="store_true")
    parser.add_argument("--folder")
    a = parser.parse_args()
    subprocess.run(["cargo", "build", "--release", "--quiet"], cwd=ROOT, check=True)
    with tempfile.TemporaryDirectory() as scratch:
        pool, targets = make(a.folder or scratch, a)
        select = [HOMING, "select", pool, "--targets", targets, "-n", str(a.picks), "--threads", str(a.threads), "--verbose"]
        select += ["--out", f"{scratch}/picks.csv"]
        print(f"{a.rows:,} x {a.dim} f32, {os.path.getsize(pool) / 1e9:.1f} GB, {a.targets} targets, {a.picks} picks\n")
        print("| limit | seconds | processor seconds | passes | seconds of one `cat` | pass / `cat` | peak memory, MiB |")
        print("|---|---|---|---|---|---|---|", flush=True)
        cosine = [*select, "--rule", "cosine"]
        address = f"ulimit -v {a.limit * 1_000_000}"
        measure(f"`{address}`, itl", address, select, pool, a.repeat)
        path = group(a.limit << 30)
        if not path:
            print("\nNo control group can be created here, so that limit is not tested.")
            return
        try:
            enter = f"echo $$ > {path}/cgroup.procs"
            measure(f"control group of {a.limit} GiB, cosine", enter, cosine, pool, a.repeat)
            measure(f"control group of {a.limit} GiB, itl", enter, select, pool, a.repeat)
            if a.map:
                mapped = ["--pool-access", "map"]
                measure(f"control group of {a.limit} GiB, cosine, mapped", enter, [*cosine, *mapped], pool, a.repeat)
                measure(f"control group of {a.limit} GiB, itl, mapped", enter, [*select, *mapped], pool, 1)
        finally:
            os.rmdir(path)


if __name__ == "__main__":
    main()
