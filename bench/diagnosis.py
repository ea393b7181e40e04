"""Measures how well `homing diagnose` tells pools with a task's rows from pools without them.

    python bench/diagnosis.py FOLDER [--homing PATH] [--tasks 6]

FOLDER holds embeddings `NAME.npy` and the label of every row, one per line, in `NAME.labels.txt`. Each task is five random
classes with 20 targets. From its pool, 0, 50, 90 and 100 % of the task's rows are removed. The script prints the mean closeness,
the area under the curve (AUC) with which closeness separates the pools, and the AUC with which a target's own closeness
predicts that a logistic regression on 50 picks classifies it correctly. It needs NumPy and scikit-learn.
"""

import argparse
import re
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression

REMOVED = [0.0, 0.5, 0.9, 1.0]
TARGETS = 20
PICKS = 50
POOL = 6000


def auc(high, low):
    """Returns the probability that a number of the first list exceeds one of the second."""
    high, low = np.array(high)[:, None], np.array(low)
    return float((high > low).mean() + 0.5 * (high == low).mean())


def homing(program, *arguments):
    return subprocess.run([program, *map(str, arguments)], check=True, capture_output=True, text=True).stdout


def unit(rows, mean):
    rows = rows - mean
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)


def measure(program, folder, pool, pool_labels, targets, target_labels):
    """Returns the closeness of the targets as a whole and of each, and whether each is learned from the picks."""
    np.save(folder / "pool.npy", pool)
    np.save(folder / "targets.npy", targets)
    files = [folder / "pool.npy", "--targets", folder / "targets.npy"]
    text = homing(program, "diagnose", *files, "-q")
    whole = float(re.search(r"^ *closeness +([0-9.]+)", text, re.M)[1])
    table = text[re.search(r"^ target +closeness", text, re.M).start() :]
    own = dict(re.findall(r"^ *([0-9]+) +([0-9.]+) ", table, re.M))
    homing(program, "select", *files, "-n", PICKS, "--out", folder / "picks.npy", "-q")
    picks = np.load(folder / "picks.npy")
    mean = pool.mean(0)
    labels = pool_labels[picks]
    right = np.zeros(len(targets), bool)
    if len(set(labels)) > 1:
        model = LogisticRegression(C=10, max_iter=500).fit(unit(pool[picks], mean), labels)
        right = model.predict(unit(targets, mean)) == target_labels
    return whole, [float(own[str(row)]) for row in range(len(targets))], right


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--homing", default="homing")
    parser.add_argument("--tasks", type=int, default=6)
    parser.add_argument("--data", default="clinc150,banking77,cifar100")
    options = parser.parse_args()
    rng = np.random.default_rng(1)
    print("data        closeness with 0, 50, 90, 100 % removed   AUC 0/100  50/100  0/90   learned")
    for name in options.data.split(","):
        rows = np.load(options.folder / f"{name}.npy")
        labels = np.array((options.folder / f"{name}.labels.txt").read_text().splitlines())
        wholes, owns, rights = {share: [] for share in REMOVED}, [], []
        for _ in range(options.tasks):
            task = rng.choice(np.unique(labels), 5, replace=False)
            order = rng.permutation(len(rows))
            pool, rest = np.split(order, [min(POOL, len(rows) // 2 + 2000)])
            targets = rest[np.isin(labels[rest], task)][:TARGETS]
            for share in REMOVED:
                kept = pool[~np.isin(labels[pool], task) | (rng.random(len(pool)) >= share)]
                with tempfile.TemporaryDirectory() as folder:
                    found = measure(
                        options.homing, Path(folder), rows[kept], labels[kept], rows[targets], labels[targets]
                    )
                wholes[share].append(found[0])
                owns += found[1]
                rights += list(found[2])
        owns, rights = np.array(owns), np.array(rights)
        means = "  ".join(f"{np.mean(wholes[share]):.2f}" for share in REMOVED)
        pairs = [(0.0, 1.0), (0.5, 1.0), (0.0, 0.9)]
        areas = "   ".join(f"{auc(wholes[a], wholes[b]):.3f}" for a, b in pairs)
        print(f"{name:10s}  {means:42s}   {areas}   {auc(owns[rights], owns[~rights]):.3f}", flush=True)


if __name__ == "__main__":
    main()
