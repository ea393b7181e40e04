"""Measures how well `homing diagnose` tells pools with a task's rows from pools without them.

    python bench/diagnosis.py FOLDER [--homing PATH] [--tasks 12] [--seed 1]

FOLDER holds embeddings `NAME.npy` and the label of every row, one per line, in `NAME.labels.txt` (`bench/study_data.py` makes
it). Each task is five random classes with 20 targets. From its pool, 0, 50, 90 and 100 % of the task's rows are removed. The
script prints the mean closeness, how often each verdict was given, the area under the curve (AUC) with which closeness separates
the pools, and how the closeness of a single target predicts that a logistic regression on 50 picks classifies it correctly: the
AUC, and the share of learned targets by their closeness. It needs NumPy and scikit-learn.
"""

import argparse
import json
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression

REMOVED = [0.0, 0.5, 0.9, 1.0]
PAIRS = [(0.0, 1.0), (0.5, 1.0), (0.9, 1.0), (0.0, 0.9), (0.5, 0.9), (0.0, 0.5)]
OFFERS = ["rows", "few-rows", "no-rows", "chance"]
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
    """Returns what the diagnosis says about the pool, the closeness of each target, and whether each is learned from the picks."""
    np.save(folder / "pool.npy", pool)
    np.save(folder / "targets.npy", targets)
    files = [folder / "pool.npy", "--targets", folder / "targets.npy"]
    found = json.loads(homing(program, "diagnose", *files, "-q", "--format", "json"))
    homing(program, "select", *files, "-n", PICKS, "--out", folder / "picks.npy", "-q")
    picks = np.load(folder / "picks.npy")
    mean = pool.mean(0)
    labels = pool_labels[picks]
    right = np.zeros(len(targets), bool)
    if len(set(labels)) > 1:
        model = LogisticRegression(C=10, max_iter=500).fit(unit(pool[picks], mean), labels)
        right = model.predict(unit(targets, mean)) == target_labels
    return found["closeness"], [target["closeness"] for target in found["targets"]], right


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--homing", default="homing")
    parser.add_argument("--tasks", type=int, default=12)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--data", default="clinc150,banking77,cifar100")
    options = parser.parse_args()
    for name in options.data.split(","):
        rng = np.random.default_rng(options.seed)
        rows = np.load(options.folder / f"{name}.npy")
        labels = np.array((options.folder / f"{name}.labels.txt").read_text().splitlines())
        wholes, offers = {share: [] for share in REMOVED}, {share: [] for share in REMOVED}
        owns, rights = [], []
        for _ in range(options.tasks):
            task = rng.choice(np.unique(labels), 5, replace=False)
            order = rng.permutation(len(rows))
            pool, rest = np.split(order, [min(POOL, len(rows) // 2 + 2000)])
            targets = rest[np.isin(labels[rest], task)][:TARGETS]
            for share in REMOVED:
                kept = pool[~np.isin(labels[pool], task) | (rng.random(len(pool)) >= share)]
                with tempfile.TemporaryDirectory() as folder:
                    whole, own, right = measure(
                        options.homing, Path(folder), rows[kept], labels[kept], rows[targets], labels[targets]
                    )
                wholes[share].append(whole["mean"])
                offers[share].append(whole["offer"])
                owns += own
                rights += list(right)
        owns, rights = np.array(owns), np.array(rights)
        print(f"{name}, {options.tasks} tasks")
        for share in REMOVED:
            given = ", ".join(f"{offer} {offers[share].count(offer)}" for offer in OFFERS if offer in offers[share])
            print(f"  {share:4.0%} removed: closeness {np.mean(wholes[share]):.2f}; verdicts: {given}")
        areas = ", ".join(f"{a:.0%} or {b:.0%} {auc(wholes[a], wholes[b]):.3f}" for a, b in PAIRS)
        print(f"  AUC, removed {areas}")
        bins = [(low, (owns >= low) & (owns < low + 0.25 + (low == 0.75))) for low in (0, 0.25, 0.5, 0.75)]
        shares = ", ".join(f"from {low}: {rights[within].mean():.0%}" for low, within in bins if within.any())
        print(f"  learned targets: AUC {auc(owns[rights], owns[~rights]):.3f}; by closeness {shares}", flush=True)


if __name__ == "__main__":
    main()
