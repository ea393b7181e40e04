#!/usr/bin/env python3
"""Runs homing on a pool larger than the memory that it may use, and tells its passes in passes of `cat`.

Usage: bench/large.py [--rows 4000000] [--dim 512] [--targets 30] [--picks 100] [--threads 2] [--limit 2] [--map] [--folder DIR]
Needs: pip install numpy ; Linux, and root for the control group.

Two limits, one after the other: `ulimit -v` on the address space, and a control group on all memory, the file cache included,
so that every pass comes from the disk. The file is thrown out of the cache before each run. --limit is in GB; --map also times
a mapped pool in the control group, for ten minutes at most; --folder keeps pool and targets for another run.
"""
import argparse
import os
import re
import subprocess
import tempfile
import time

import numpy as np

from compare import HOMING, ROOT, parts

GROUPS = {"/sys/fs/cgroup/memory": "memory.limit_in_bytes", "/sys/fs/cgroup": "memory.max"}
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
    """A control group of that many bytes, of version 1 or 2; none where it cannot be made."""
    for root, knob in GROUPS.items():
        path = f"{root}/homing-bench"
        try:
            os.makedirs(path, exist_ok=True)
            with open(f"{path}/{knob}", "w") as file:
                file.write(str(limit))
            return path
        except OSError:
            continue
    return None


def timed(command, enter, pool):
    """Seconds from a cold cache, and what was said."""
    cold(pool)
    start = time.perf_counter()
    shell = ["sh", "-c", f'{enter} && exec "$@"', "sh", *command]
    said = subprocess.run(shell, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=MOST_SECONDS)
    return time.perf_counter() - start, said.stderr


def measure(name, enter, command, pool):
    before = timed(["cat", pool], enter, pool)[0]
    try:
        seconds, said = timed(command, enter, pool)
    except subprocess.TimeoutExpired:
        print(f"| {name}, mapped | > {MOST_SECONDS} | | {before:.1f} | | |", flush=True)
        return
    cat = (before + timed(["cat", pool], enter, pool)[0]) / 2
    passes = int(re.search(r"(\d+) passes", said).group(1))
    memory = re.search(r"peak memory (\d+) MB", said).group(1)
    how = re.search(r"which was (.*)", said).group(1)
    print(f"| {name}, {how} | {seconds:.1f} | {passes} | {cat:.1f} | {seconds / passes / cat:.2f} | {memory} |", flush=True)


def main():
    parser = argparse.ArgumentParser()
    for name, default in [("rows", 4_000_000), ("dim", 512), ("targets", 30), ("picks", 100), ("threads", 2), ("limit", 2)]:
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
        print("| limit | seconds | passes | one `cat` of the pool, seconds | pass / `cat` | peak memory, MB |")
        print("|---|---|---|---|---|---|", flush=True)
        measure(f"`ulimit -v {a.limit * 1_000_000}`", f"ulimit -v {a.limit * 1_000_000}", select, pool)
        path = group(a.limit << 30)
        if not path:
            print("\nno control group can be made here: left out.")
            return
        try:
            enter = f"echo $$ > {path}/cgroup.procs"
            measure(f"control group of {a.limit} GiB", enter, select, pool)
            if a.map:
                measure(f"control group of {a.limit} GiB", enter, [*select, "--pool-access", "map"], pool)
        finally:
            os.rmdir(path)


if __name__ == "__main__":
    main()
