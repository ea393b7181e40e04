#!/usr/bin/env python3
"""Measures whether single precision changes the picks when the noise is small, on embeddings of CIFAR-100 with the noises of the paper's Table 2.

Usage: bench/noise.py DATA [--binary target/release/homing] [--seeds 2]
Needs: pip install numpy pillow safetensors torch activeft ; DATA holds cifar100_webp.tar and efficientnet_lite0.safetensors

EfficientNet-Lite0 learns ten classes in 1, 10 and 100 rounds of 10 picks. It then embeds 40 images of every class and 40 held-out images of each of
the ten classes. One problem is to make 10 picks from 1,000 candidates for 10 targets. All methods receive the same float32 rows: loss-gradient,
(p - e_argmax) x [h, 1] (Eq. 22); logit-gradient, with logits instead of p, as in the authors' code; last-layer, h.

Each method is compared with the greedy batch of its own formula in 80-bit floats. For homing this is the rule without repeated rows. For activeft it
is the rule of its code, which has no noise in the ratio of Eq. 21 and may repeat rows. "Eq. 21" is activeft with the noise restored.

A table cell holds five means over all problems: picks that are in the exact batch in any order / picks before the first that differs / repeated
picks / picks whose score was NaN or infinite / I(y_A; y_picks), computed exactly, as a share of that of the rule's exact batch.
"""
import argparse
import functools
import io
import os
import subprocess
import tarfile
import tempfile
from collections import Counter

import numpy as np
import torch
from activeft.acquisition_functions.ctl import CTL
from activeft.acquisition_functions.itl import ITL
from activeft.gaussian import GaussianCovarianceMatrix
from PIL import Image
from safetensors.numpy import load_file

COMMAND = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "target", "release", "homing")
POOL, NOISES = 1000, [1e-4, 1e-2, 1, 100]
# activeft would also multiply by an identity matrix of 12,810 x 12,810, which changes nothing but takes time
GaussianCovarianceMatrix.from_embeddings = staticmethod(lambda Embeddings, Sigma=None: GaussianCovarianceMatrix(Embeddings @ Embeddings.T))


class Eq21(ITL):
    def compute(self, state):
        before, of, noise = state.covariance_matrix, torch.arange(state.n), self.noise_std**2
        after = before.condition_on(torch.arange(state.n, before.dim), target_indices=of, noise_std=self.noise_std)
        return 0.5 * torch.log((before[of, of] + noise) / (torch.diag(after[:, :]) + noise))


def exact(squares, column, rule, noise, repeat=False, given=None):
    """Return the greedy batch, or the given one, and its information about the targets in nats."""
    targets, batch, nats = range(POOL, len(squares)), [], 0.0
    prior, conditional = [], []  # Cholesky columns of the covariance: those of the picks, and those of targets and picks

    def covariance(factor, i):
        return column(i) - sum(v * v[i] for v in factor)

    def observe(i, *factors):
        for factor, left in [(factor, covariance(factor, i)) for factor in factors]:
            factor.append(left / np.sqrt(left[i] + noise**2))

    for i in targets:
        observe(i, conditional)
    for step in range(10):
        before, after = (squares - sum(v * v for v in factor) for factor in (prior, conditional))
        score = gain = np.log((before + noise**2) / (after + noise**2)) / 2
        if given is None and rule != "itl":
            score = np.log(before / after) if rule == "ratio" else sum(covariance(prior, a) / np.sqrt(before * before[a]) for a in targets)
        allowed = [i for i in range(POOL) if repeat or i not in batch]
        pick = given[step] if given else allowed[int(np.argmax(score[allowed]))]
        batch, nats = [*batch, pick], nats + float(gain[pick])
        observe(pick, prior, conditional)
    return batch, nats


def activeft(rule, dtype, rows, noise):
    torch.set_default_dtype(dtype)
    torch.manual_seed(0)  # activeft shuffles the rows
    rows = torch.from_numpy(rows).to(dtype)
    picks, scores = rule(rows[POOL:], noise_std=noise).select(10, None, rows[:POOL])
    return picks.tolist(), int((~scores.isfinite()).sum())


def homing(command, at, rule, rows, noise):
    np.save(f"{at}/pool.npy", rows[:POOL])
    np.save(f"{at}/targets.npy", rows[POOL:])
    options = f"{at}/pool.npy --targets {at}/targets.npy -n 10 --rule {rule} --noise-std {noise} --out {at}/picks.npy --quiet"
    subprocess.run([command, "select", *options.split()], check=True)
    return np.load(f"{at}/picks.npy").tolist(), 0


def problems(arguments, at):
    """Yield each embedding's name and its rows, candidates before targets, for networks after different numbers of rounds."""
    with tarfile.open(f"{arguments.data}/cifar100_webp.tar") as tar:
        for label in range(100):
            sheet = Image.open(io.BytesIO(tar.extractfile(f"webp/class_{label:02}.webp").read())).convert("RGB")
            for tile in [*range(40), *(range(500, 540) if label < 10 else [])]:
                folder, left, top = f"{at}/data/{'train' if tile < 500 else 'test'}/{label:02}", tile % 30 * 32, tile // 30 * 32
                os.makedirs(folder, exist_ok=True)
                sheet.crop((left, top, left + 32, top + 32)).save(f"{folder}/{tile:03}.png")
    net = [f"{at}/data", "--model", "efficientnet-lite0", "--weights", f"{arguments.data}/efficientnet_lite0.safetensors", "--quiet"]
    learn = "--target-count 100 --targets-per-round 10 --noise-std 1 --picks-per-round 10 --epochs 5 --warm-start --valid-count 0 --test-count 300"
    learn += " --against none --embedding loss-gradient --task 00,01,02,03,04,05,06,07,08,09"
    for seed, rounds in ((seed, rounds) for seed in range(arguments.seeds) for rounds in [1, 10, 100]):
        run, rng, parts = f"{at}/{rounds}-{seed}", np.random.default_rng([seed, rounds]), []
        learned = f"{run}/itl-{seed}/model.safetensors"
        commands = [f"finetune {learn} --rounds {rounds} --seed {seed} --run {run}"]
        commands += [f"embed --part {part} --learned {learned} --out {run}/{part}.safetensors" for part in ["train", "test"]]
        for command in commands:
            subprocess.run([arguments.binary, *command.split(), *net], check=True, stdout=subprocess.DEVNULL)
        for part, count in [("train", POOL), ("test", 10)]:
            made = load_file(f"{run}/{part}.safetensors")
            of = rng.choice(len(made["labels"]), count, replace=False)
            parts.append((made["embeddings"][of], made["probabilities"][of]))
        (h, p), head = (np.vstack(part) for part in zip(*parts)), load_file(learned)
        guess, wide = np.eye(10, dtype=np.float32)[p.argmax(1)], np.hstack([h, np.ones_like(h[:, :1])])
        for name, left in [("loss-gradient", p), ("logit-gradient", h @ head["last.weight"] + head["last.bias"])]:
            yield name, ((left - guess)[:, :, None] * wide[:, None, :]).reshape(len(h), -1)
        yield "last-layer", h


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("data")
    parser.add_argument("--binary", default=COMMAND)
    parser.add_argument("--seeds", type=int, default=2)
    arguments, found = parser.parse_args(), {}
    with tempfile.TemporaryDirectory() as at:
        arms = []
        for rule, own, theirs in [("itl", "ratio", ITL), ("ctl", "ctl", CTL)]:
            arms.append((rule, "homing", rule, False, functools.partial(homing, arguments.binary, at, rule)))
            for bits, dtype in [(32, torch.float32), (64, torch.float64)]:
                arms.append((rule, f"activeft, float{bits}", own, True, functools.partial(activeft, theirs, dtype)))
        arms.insert(3, ("itl", "Eq. 21, float32", "itl", True, functools.partial(activeft, Eq21, torch.float32)))
        for embedding, rows in problems(arguments, at):
            long = rows.astype(np.longdouble)
            oracle = functools.partial(exact, (long**2).sum(1), functools.cache(lambda i, long=long: long @ long[i]))
            for noise, (rule, name, own, repeat, pick) in ((noise, arm) for noise in NOISES for arm in arms):
                (picks, broken), (best, _) = pick(rows, noise), oracle(own, noise, repeat)
                same = next((i for i in range(10) if picks[i] != best[i]), 10)
                share = 100 * oracle(rule, noise, given=picks)[1] / oracle(rule, noise)[1]
                row = [(Counter(picks) & Counter(best)).total(), same, 10 - len({*picks}), broken, share]
                found.setdefault((embedding, rule, name), {}).setdefault(noise, []).append(row)
    print("| embedding | rule | method |" + "".join(f" {noise:g} |" for noise in NOISES) + "\n" + "|---" * 7 + "|")
    for key, cells in found.items():
        means = [" / ".join(f"{mean:.3g}" for mean in np.mean(cells[noise], 0)) + " %" for noise in NOISES]
        print("| " + " | ".join([*key, *means]) + " |")
    print(f"\n{3 * arguments.seeds} problems per embedding")


if __name__ == "__main__":
    main()
