#!/usr/bin/env python3
"""Measures how much better a model on disk is than the built-in encoder: accuracy of a classifier that learns from the picks.

Usage: bench/encoders.py DATA --text-model FOLDER [--binary target/release/homing] [--tasks 8]
Needs: pip install numpy pandas pyarrow pillow scikit-learn ; DATA holds clinc150_data_full.json.xz, cifar100_webp.tar and
efficientnet_lite0.safetensors, FOLDER holds all-MiniLM-L6-v2

A task is to tell five classes apart, of which four unlabelled examples each are the targets (drawn at random, not from the pool). `homing select`
picks 20, 50 or 100 rows of the pool by its default rule. A logistic regression (C = 10, on rows of length 1) learns from the picks of the task with
their labels, and predicts the held-out examples of the five classes; a class without picks is never predicted. Pool, targets and classifier use
the same embeddings. Texts: CLINC150, 15,000 rows of 150 classes as they are; 30 held-out examples per class. Images: CIFAR-100, 50 images of each class
as the pool and 40 others per class to test (the files have lost the official split, so this split is ours), at 224 pixels for EfficientNet-Lite0.
"""
import argparse
import io
import json
import lzma
import os
import subprocess
import tarfile
import tempfile

import numpy as np
import pandas as pd
from PIL import Image
from sklearn.linear_model import LogisticRegression

COUNTS = [20, 50, 100]
CLASSES, TARGETS = 5, 4


def run(*words):
    subprocess.run([str(word) for word in words], check=True, stdout=subprocess.DEVNULL)


def rows_of(path):
    table = pd.read_parquet(path)
    rows = np.stack(table["embedding"].to_numpy())
    return rows


def texts(data, folder):
    raw = json.load(lzma.open(os.path.join(data, "clinc150_data_full.json.xz")))
    frames = {}
    for part, lines in [("pool", raw["train"]), ("targets", raw["val"]), ("test", raw["test"])]:
        frames[part] = pd.DataFrame(lines, columns=["text", "label"])
        frames[part][["text"]].to_csv(f"{folder}/{part}.csv", index=False)
    return {part: frame["label"].to_numpy() for part, frame in frames.items()}


def images(data, folder):
    labels = {"pool": [], "targets": [], "test": []}
    with tarfile.open(os.path.join(data, "cifar100_webp.tar")) as tar:
        sheets = sorted((m for m in tar.getmembers() if "class_" in m.name), key=lambda m: m.name)
        for number, member in enumerate(sheets):
            sheet = Image.open(io.BytesIO(tar.extractfile(member).read())).convert("RGB")
            for part, tiles in [("pool", range(50)), ("targets", range(50, 60)), ("test", range(500, 540))]:
                for tile in tiles:
                    left, top = tile % 30 * 32, tile // 30 * 32
                    path = f"{folder}/{part}/{number:03}/{tile:03}.png"
                    os.makedirs(os.path.dirname(path), exist_ok=True)
                    sheet.crop((left, top, left + 32, top + 32)).save(path)
                    labels[part].append(number)
    return {part: np.array(values) for part, values in labels.items()}


def accuracy(binary, folder, rows, labels, task, seed):
    rng = np.random.default_rng(seed)
    chosen = np.concatenate([rng.choice(np.where(labels["targets"] == c)[0], TARGETS, replace=False) for c in task])
    np.save(f"{folder}/task.npy", rows["targets"][chosen].astype(np.float32))
    run(binary, "select", f"{folder}/rows.npy", "--targets", f"{folder}/task.npy", "-n", max(COUNTS), "--out", f"{folder}/picks.csv", "-q")
    picks = pd.read_csv(f"{folder}/picks.csv")["index"].to_numpy()
    test = np.isin(labels["test"], task)
    out = []
    for count in COUNTS:
        learned = [row for row in picks[:count] if labels["pool"][row] in task]
        known = labels["pool"][learned]
        if len(set(known)) < 2:
            guess = np.full(test.sum(), known[0] if len(known) else -1)
        else:
            guess = LogisticRegression(C=10, max_iter=1000).fit(rows["pool"][learned], known).predict(rows["test"][test])
        out.append(float((guess == labels["test"][test]).mean()))
    return out


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("data")
    arguments.add_argument("--text-model", required=True)
    arguments.add_argument("--binary", default="target/release/homing")
    arguments.add_argument("--tasks", type=int, default=8)
    arguments.add_argument("--only")
    given = arguments.parse_args()
    weights = os.path.join(given.data, "efficientnet_lite0.safetensors")
    print(f"accuracy in percent after {COUNTS} picks, mean of {given.tasks} tasks and its standard error")
    for name, make, ending in [("CLINC150", texts, ".csv"), ("CIFAR-100", images, "")]:
        if given.only and given.only != name:
            continue
        with tempfile.TemporaryDirectory() as folder:
            labels = make(given.data, folder)
            names = sorted(set(labels["pool"]) & set(labels["targets"]))
            rng = np.random.default_rng(0)
            tasks = [rng.choice(names, CLASSES, replace=False) for _ in range(given.tasks)]
            for encoder in ["built-in", "model"]:
                rows = {}
                for part in labels:
                    out = f"{folder}/{part}-{encoder}"
                    if encoder == "model" and name == "CIFAR-100":
                        run(given.binary, "embed", f"{folder}/{part}", "--size", 224, "--model", "efficientnet-lite0", "--weights", weights, "--out", f"{out}.npy", "-q")
                        rows[part] = np.load(f"{out}.npy")
                        rows[part] /= np.linalg.norm(rows[part], axis=1, keepdims=True)
                    else:
                        model = given.text_model if encoder == "model" else "built-in"
                        learn = ["--learn-from", f"{folder}/pool{ending}"] if encoder == "built-in" else []
                        run(given.binary, "embed", f"{folder}/{part}{ending}", "--model", model, *learn, "--out", f"{out}.parquet", "-q")
                        rows[part] = rows_of(f"{out}.parquet")
                np.save(f"{folder}/rows.npy", rows["pool"].astype(np.float32))
                found = np.array([accuracy(given.binary, folder, rows, labels, task, seed) for seed, task in enumerate(tasks)])
                mean, error = 100 * found.mean(0), 100 * found.std(0, ddof=1) / np.sqrt(len(found))
                print(name, encoder, "  ".join(f"{m:.1f} ± {e:.1f}" for m, e in zip(mean, error)), flush=True)


main()
