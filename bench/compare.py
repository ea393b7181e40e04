#!/usr/bin/env python3
"""Times homing and its alternatives on the same pool, one after the other, and prints the ratios.

Usage: bench/compare.py [--rows 1000000] [--dim 512] [--targets 30] [--picks 100] [--threads 2] [--growth]
Needs: pip install numpy faiss-cpu ; activeft is included in the comparison if it and torch are installed.

Every time is the best of three. Every ratio is relative to one exact Faiss flat search of the targets in the same run. The pool
consists of unit vectors in clusters with a decaying spectrum, like embeddings of real data. --growth fits the exponent with which
the time grows in rows, picks, targets and dimensions.
"""
import argparse
import math
import os
import re
import subprocess
import tempfile
import time
import typing

import numpy as np

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
HOMING = os.path.join(ROOT, "target", "release", "homing")


def parts(rows, dim, clusters=200, seed=0):
    """Yield the rows of a pool and their clusters, part by part."""
    rng = np.random.default_rng(seed)
    scale = (np.arange(1, dim + 1) ** -0.7).astype(np.float32)
    rotation = np.linalg.qr(rng.standard_normal((dim, dim)))[0].astype(np.float32)
    centres = rng.standard_normal((clusters, dim), dtype=np.float32) * scale
    labels = rng.integers(0, clusters, rows)
    for start in range(0, rows, 65536):
        part = labels[start : start + 65536]
        x = (centres[part] + 0.7 * rng.standard_normal((len(part), dim), dtype=np.float32) * scale) @ rotation
        yield x / np.linalg.norm(x, axis=1, keepdims=True), part


def clustered(rows, dim):
    pool, labels = np.empty((rows, dim), np.float32), np.empty(rows, int)
    for i, (part, of) in enumerate(parts(rows, dim)):
        here = slice(i * 65536, i * 65536 + len(of))
        pool[here], labels[here] = part, of
    return pool, labels


def best(run, repeat=3):
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


class Run(typing.NamedTuple):
    """One run of the command on a warm file cache."""

    seconds: float  # of the whole command
    choosing: float  # seconds spent choosing
    passes: int  # over the pool
    memory: float  # peak, in MiB


def peak_memory(text):
    """Return the peak memory in MiB that the command printed."""
    number, unit = re.search(r"Peak memory: ([\d.]+) (MiB|GiB)", text).groups()
    return float(number) * (1024 if unit == "GiB" else 1)


def homing(folder, rule, picks, threads, repeat=3):
    command = [HOMING, "select", f"{folder}/pool.npy", "--targets", f"{folder}/targets.npy", "-n", str(picks), "--rule", rule]
    command += ["--center=false", "--normalize=false"]  # the rows as they are, as in the scan
    command += ["--threads", str(threads), "--out", f"{folder}/picks.csv", "--verbose"]
    outputs = []
    seconds = best(lambda: outputs.append(subprocess.run(command, check=True, capture_output=True, text=True).stderr), repeat)

    def least(pattern):
        return min(float(re.search(pattern, text).group(1)) for text in outputs)

    choosing = least(r"choosing ([\d.]+) m?s") / (1e3 if re.search(r"choosing [\d.]+ ms", outputs[0]) else 1)
    return Run(seconds, choosing, int(least(r"(\d+) passes")), min(map(peak_memory, outputs)))


def save(folder, pool, targets):
    np.save(f"{folder}/pool.npy", pool)
    np.save(f"{folder}/targets.npy", targets)


def data(rows, dim, count):
    pool, labels = clustered(rows + 20_000, dim)
    task = pool[rows:][np.isin(labels[rows:], [3, 17, 42])]
    targets = np.ascontiguousarray(np.resize(task, (count, dim)) if len(task) < count else task[:count])
    return pool[:rows], targets


def main():
    parser = argparse.ArgumentParser()
    for name, default in [("rows", 1_000_000), ("dim", 512), ("targets", 30), ("picks", 100), ("threads", 2)]:
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--growth", action="store_true")
    a = parser.parse_args()
    subprocess.run(["cargo", "build", "--release", "--quiet"], cwd=ROOT, check=True)
    with tempfile.TemporaryDirectory() as folder:
        if a.growth:
            growth(folder, a)
        else:
            compare(folder, a)


def compare(folder, a):
    import faiss

    faiss.omp_set_num_threads(a.threads)
    pool, targets = data(a.rows, a.dim, a.targets)
    save(folder, pool, targets)
    index = faiss.IndexFlatIP(a.dim)
    index.add(pool)
    scan = best(lambda: index.search(targets, a.picks))
    del index
    print(f"{a.rows:,} x {a.dim} f32, {a.targets} targets, {a.picks} picks, {a.threads} threads\n")
    print("| method | seconds | ratio to the scan | passes | memory in addition to the pool, bytes per row |")
    print("|---|---|---|---|---|")
    print(f"| Faiss flat search of the targets | {scan:.2f} | 1.0 | 1 | |")
    probes = np.ascontiguousarray(pool[:32].T)
    product = best(lambda: pool @ probes)
    print(f"| NumPy pool @ 32 probes | {product:.2f} | {product / scan:.2f} | 1 | |")
    for rule in ["itl", "itl-exact", "vtl", "ctl", "undirected-itl", "cosine"]:
        run = homing(folder, rule, a.picks, a.threads)
        additional = (run.memory * 2**20 - pool.nbytes) / a.rows
        print(f"| homing {rule} | {run.seconds:.2f} | {run.seconds / scan:.2f} | {run.passes} | {additional:.0f} |", flush=True)
    try:
        import torch
        from activeft.acquisition_functions.itl import ITL
    except ImportError:
        print("\nactiveft is not installed, so it is not compared.")
        return
    torch.set_num_threads(a.threads)
    rows = 4000
    save(folder, pool[:rows], targets)
    rule = ITL(target=torch.from_numpy(targets), noise_std=0.1)
    theirs = best(lambda: rule.select_from_minibatch(10, None, torch.from_numpy(pool[:rows].copy()), None), 3)
    ours = homing(folder, "itl", 10, a.threads, 10)
    print(f"\n{rows:,} rows, 10 picks: choosing takes activeft {theirs:.3f} s and homing {ours.choosing:.3f} s ({theirs / ours.choosing:.0f} times faster).")
    print(f"The whole homing command with start, reading and writing takes {ours.seconds:.4f} s ({theirs / ours.seconds:.0f} times faster).")


def growth(folder, a):
    base = {"rows": 50_000, "picks": 40, "targets": 30, "dim": 256}
    print("| variable | from | to | time grows by a factor of | exponent |")
    print("|---|---|---|---|---|")
    for what in base:
        points = []
        for factor in (1, 2, 4):
            size = {**base, what: base[what] * factor}
            save(folder, *data(size["rows"], size["dim"], size["targets"]))
            points.append((size[what], homing(folder, "itl", size["picks"], a.threads).seconds))
        (x0, t0), (x1, t1) = points[0], points[-1]
        print(f"| {what} | {x0:,} | {x1:,} | {t1 / t0:.2f} | {math.log(t1 / t0) / math.log(x1 / x0):.2f} |", flush=True)


if __name__ == "__main__":
    main()
