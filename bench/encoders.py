#!/usr/bin/env python3
"""Measures how much better picks are if a model embeds the texts instead of the built-in encoder.

Usage: bench/encoders.py DATA MODEL [--binary target/release/homing] [--tasks 4]
Needs: pip install numpy pandas scikit-learn ; DATA holds clinc150_data_full.json.xz, MODEL is a folder with all-MiniLM-L6-v2

The pool is CLINC150, 15,000 texts of 150 classes. A task is to tell five random classes apart, and its targets are four unlabelled validation texts
of each. `homing select` picks 100 rows by its default rule. For the first 20, 50 and 100 picks this prints two means over the tasks, with standard
errors: the share of picks that belong to the task, and the accuracy of a classifier on the task's 150 test texts. The classifier is the same for
both encoders and uses neither: logistic regression (C = 10) on TF-IDF of words and parts of words, fitted to the texts of the pool.
"""
import argparse
import json
import lzma
import os
import subprocess
import tempfile

import numpy as np
import pandas as pd
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_union

COUNTS, CLASSES, TARGETS = [20, 50, 100], 5, 4


def accuracy(rows, labels, test, truth):
    if len(set(labels)) < 2:
        return float((truth == labels[0]).mean()) if len(labels) else 0.0
    return float(LogisticRegression(C=10, max_iter=1000).fit(rows, labels).score(test, truth))


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("data")
    arguments.add_argument("model")
    arguments.add_argument("--binary", default="target/release/homing")
    arguments.add_argument("--tasks", type=int, default=4)
    given = arguments.parse_args()
    raw = json.load(lzma.open(os.path.join(given.data, "clinc150_data_full.json.xz")))
    pool, drawn, test = (pd.DataFrame(raw[part], columns=["text", "intent"]) for part in ("train", "val", "test"))
    words = make_union(TfidfVectorizer(sublinear_tf=True), TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5), sublinear_tf=True))
    features = words.fit(pool["text"]).transform(pool["text"])
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        pool.to_csv(f"{folder}/pool.csv", index=False)
        for seed in range(given.tasks):
            rng = np.random.default_rng(seed)
            task = rng.choice(sorted(set(pool["intent"])), CLASSES, replace=False)
            targets = [drawn["text"][drawn["intent"] == c].sample(TARGETS, random_state=seed) for c in task]
            with open(f"{folder}/targets.txt", "w") as file:
                file.write("\n".join(pd.concat(targets)) + "\n")
            held_out = test[test["intent"].isin(task)]
            for encoder in ("built-in", given.model):
                command = [given.binary, "select", "pool.csv", "--targets", "targets.txt", "-n", str(max(COUNTS)), "--encoder"]
                where = encoder if encoder == "built-in" else os.path.abspath(encoder)
                command[0] = os.path.abspath(command[0])
                subprocess.run([*command, where, "--out", "picks.csv", "-q"], check=True, cwd=folder)
                picks = pd.read_csv(f"{folder}/picks.csv")["index"].to_numpy()
                inside = pool["intent"].isin(task).to_numpy()[picks]
                for count in COUNTS:
                    known = picks[:count][inside[:count]]
                    score = accuracy(features[known], pool["intent"][known].to_numpy(), words.transform(held_out["text"]), held_out["intent"].to_numpy())
                    results.setdefault((encoder, count), []).append((inside[:count].mean(), score))
    for (encoder, count), found in results.items():
        found = 100 * np.array(found)
        (share, score), error = found.mean(0), found.std(0, ddof=1) / np.sqrt(len(found))
        name = os.path.basename(os.path.normpath(encoder))
        print(f"{name}, {count} picks: {share:.1f} ± {error[0]:.1f} % from the task, accuracy {score:.1f} ± {error[1]:.1f} %")


main()
