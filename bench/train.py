#!/usr/bin/env python3
"""Times one epoch of the CNN of the MNIST experiment in homing and then in PyTorch, and prints the ratios.

Usage: bench/train.py [--threads 2] [--binary target/release/examples/speed]
Needs: pip install torch numpy

Each time is the best of three. An epoch covers n images of 28 x 28 pixels in minibatches of 64, with Adam, and with dropout as in the paper's network.
"""
import argparse
import os
import subprocess
import time

import torch
from torch import nn

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")


def network():
    def block(inputs, outputs):
        return [nn.Conv2d(inputs, outputs, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]

    return nn.Sequential(
        *block(1, 32), *block(32, 64), *block(64, 128), nn.Flatten(), nn.Dropout(0.25),
        nn.Linear(1152, 256), nn.ReLU(), nn.Dropout(0.5), nn.Linear(256, 10, bias=False),
    )


def epoch_ms(count):
    images, labels = torch.rand(count, 1, 28, 28) * 2 - 1, torch.arange(count) % 10
    net = network().train()
    adam, loss_of = torch.optim.Adam(net.parameters(), 1e-3), nn.CrossEntropyLoss()

    def epoch():
        order = torch.randperm(count)
        for start in range(0, count, 64):
            at = order[start : start + 64]
            adam.zero_grad()
            loss_of(net(images[at]), labels[at]).backward()
            adam.step()

    epoch()
    epochs = min(max(640 // count, 1), 20)
    times = []
    for _ in range(3):
        start = time.perf_counter()
        for _ in range(epochs):
            epoch()
        times.append((time.perf_counter() - start) / epochs)
    return 1e3 * min(times)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--binary", help="path of the example `speed`, if it is already built")
    arguments = parser.parse_args()
    threads = arguments.threads
    torch.set_num_threads(threads)
    command = ["cargo", "run", "--release", "--quiet", "-p", "homing-train", "--example", "speed"]
    command = [os.path.abspath(arguments.binary)] if arguments.binary else command
    environment = {**os.environ, "RAYON_NUM_THREADS": str(threads)}
    output = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True, env=environment).stdout
    print(f"{threads} threads\n\n| images | homing, ms per epoch | PyTorch, ms per epoch | ratio | homing, images/s |")
    print("|---|---|---|---|---|")
    for line in output.splitlines():
        count, ours = int(line.split()[0]), float(line.split()[1])
        theirs = epoch_ms(count)
        print(f"| {count:,} | {ours:.1f} | {theirs:.1f} | {ours / theirs:.2f} | {1e3 * count / ours:,.0f} |", flush=True)


if __name__ == "__main__":
    main()
