#!/usr/bin/env python3
"""Measures how much better picks are if a model embeds the images instead of the built-in encoder.

Usage: bench/image_encoders.py TILES MODEL [--binary target/release/homing] [--tasks 6]
Needs: pip install numpy pandas pyarrow scikit-learn pillow ; TILES is cifar100_webp.tar, MODEL is a folder or an .onnx file (bench/lite0_onnx.py)

The pool is 5,000 tiles of CIFAR-100, 50 of each class. A task is to tell five random classes apart, and its targets are four unlabelled tiles of
each, which are not in the pool. `homing select` picks 100 rows by its default rule. For the first 20, 50 and 100 picks this prints two means over
the tasks, with standard errors: the share of picks that belong to the task, and the accuracy of a classifier on 50 test tiles per class. The
classifier is the same for both encoders: logistic regression (C = 1) on 20 × the embeddings of MODEL, scaled to length 1 and centred.
"""
import argparse
import io
import os
import subprocess
import tarfile
import tempfile

import numpy as np
import pandas as pd
from PIL import Image
from sklearn.linear_model import LogisticRegression

COUNTS, CLASSES, TARGETS, SIDE, COLUMNS = [20, 50, 100], 5, 4, 32, 30


def write(tiles, folder, tested):
    """Writes the tiles as PNG files: the pool, tiles that targets are drawn from, and test tiles of some classes."""
    parts = {"pool": range(50), "drawn": range(100, 110), "test": range(500, 550)}
    with tarfile.open(tiles) as archive:
        for member in sorted(archive.getnames()):
            if not member.endswith(".webp"):
                continue
            sheet = Image.open(io.BytesIO(archive.extractfile(member).read())).convert("RGB")
            name = os.path.basename(member)[6:-5]
            for part, numbers in parts.items():
                if part == "test" and name not in tested:
                    continue
                os.makedirs(f"{folder}/{part}/{name}", exist_ok=True)
                for number in numbers:
                    x, y = number % COLUMNS * SIDE, number // COLUMNS * SIDE
                    sheet.crop((x, y, x + SIDE, y + SIDE)).save(f"{folder}/{part}/{name}/{number:03}.png")


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("tiles")
    arguments.add_argument("model")
    arguments.add_argument("--binary", default="target/release/homing")
    arguments.add_argument("--tasks", type=int, default=6)
    given = arguments.parse_args()
    binary, model = os.path.abspath(given.binary), os.path.abspath(given.model)
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        names = [f"{number:02}" for number in range(100)]
        tasks = [np.random.default_rng(seed).choice(names, CLASSES, replace=False) for seed in range(given.tasks)]
        write(given.tiles, folder, set(np.concatenate(tasks)))
        run = lambda *words: subprocess.run([binary, *words, "-q"], check=True, cwd=folder, stdout=subprocess.DEVNULL)
        features, classes = {}, {}
        for part in ("pool", "test"):
            run("embed", part, "--model", model, "--out", f"{part}.parquet")
            table = pd.read_parquet(f"{folder}/{part}.parquet")
            rows = np.stack(table["embedding"]).astype(np.float64)
            features[part] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
            classes[part] = table["label"].astype(str).to_numpy()
        centre = features["pool"].mean(0)
        for seed, task in enumerate(tasks):
            rng = np.random.default_rng(100 + seed)
            files = [f"drawn/{name}/{number:03}.png" for name in task for number in rng.choice(range(100, 110), TARGETS, replace=False)]
            pd.DataFrame({"path": files}).to_csv(f"{folder}/targets.csv", index=False)
            held_out = np.isin(classes["test"], task)
            for encoder in ("built-in", model):
                run("select", "pool", "--targets", "targets.csv", "-n", str(max(COUNTS)), "--encoder", encoder, "--out", "picks.csv")
                picks = pd.read_csv(f"{folder}/picks.csv")["index"].to_numpy()
                inside = np.isin(classes["pool"], task)[picks]
                for count in COUNTS:
                    known = picks[:count][inside[:count]]
                    labels, truth = classes["pool"][known], classes["test"][held_out]
                    if len(set(labels)) > 1:
                        fitted = LogisticRegression(C=1, max_iter=2000).fit(20 * (features["pool"][known] - centre), labels)
                        score = fitted.score(20 * (features["test"][held_out] - centre), truth)
                    else:
                        score = float((truth == labels[0]).mean()) if len(labels) else 0.0
                    results.setdefault((encoder, count), []).append((inside[:count].mean(), score))
    for (encoder, count), found in results.items():
        found = 100 * np.array(found)
        (share, score), error = found.mean(0), found.std(0, ddof=1) / np.sqrt(len(found))
        print(f"{os.path.basename(encoder)}, {count} picks: {share:.1f} ± {error[0]:.1f} % from the task, accuracy {score:.1f} ± {error[1]:.1f} %", flush=True)


main()
