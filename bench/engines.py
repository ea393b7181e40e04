#!/usr/bin/env python3
"""Compares engines that run the same encoder: Homing's own layers, ONNX Runtime, PyTorch and, if it is built, candle.

Usage: bench/engines.py texts FOLDER TEXTS [--binary target/release/homing] [--candle PROGRAM]
       bench/engines.py images FOLDER IMAGES …
Needs: pip install torch transformers onnxruntime pillow ; FOLDER holds model.safetensors and model.onnx of the same model, with config.json and
tokenizer.json; TEXTS has one text per line; IMAGES is a folder of PNG files. PROGRAM takes the same three words and embeds everything once.

Each engine runs with as many threads as there are cores, on a few items and on many. The difference of the two gives items per second of processor
time (all threads together) and per second of elapsed time, without starting and reading the model. Texts are sorted by length where the engine pads.
"""
import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def with_torch(kind, folder, data):
    import torch
    from transformers import AutoModel

    model = AutoModel.from_pretrained(folder, dtype=torch.float32).eval()
    with torch.inference_mode():
        if kind == "texts":
            from tokenizers import Tokenizer

            tokenizer = Tokenizer.from_file(f"{folder}/tokenizer.json")
            tokenizer.no_padding()
            tokens = sorted((text.ids for text in tokenizer.encode_batch(Path(data).read_text().splitlines())), key=len)
            for start in range(0, len(tokens), 32):
                part = tokens[start : start + 32]
                longest = max(map(len, part))
                ids = torch.tensor([row + [0] * (longest - len(row)) for row in part])
                mask = torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in part])
                rows = model(input_ids=ids, attention_mask=mask).last_hidden_state
                (rows * mask[:, :, None]).sum(1) / mask.sum(1, keepdim=True)
        else:
            import numpy as np
            from PIL import Image

            paths = sorted(Path(data).iterdir())
            for start in range(0, len(paths), 8):
                images = [Image.open(path).convert("RGB").resize((224, 224), Image.BILINEAR) for path in paths[start : start + 8]]
                pixels = torch.tensor(np.stack(images)).permute(0, 3, 1, 2) / 127.5 - 1
                model(pixel_values=pixels).last_hidden_state


def spent(command):
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, "HOMING_CACHE": "off"})
    elapsed, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, elapsed


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("kind", choices=["texts", "images"])
    arguments.add_argument("folder")
    arguments.add_argument("data")
    arguments.add_argument("--binary", default="target/release/homing")
    arguments.add_argument("--candle")
    arguments.add_argument("--run-torch", action="store_true", help=argparse.SUPPRESS)
    arguments.add_argument("--counts", type=int, nargs=2)
    given = arguments.parse_args()
    if given.run_torch:
        return with_torch(given.kind, given.folder, given.data)
    few, many = given.counts or ([200, 2200] if given.kind == "texts" else [8, 72])
    with tempfile.TemporaryDirectory() as scratch:
        parts = {}
        for count in (few, many):
            if given.kind == "texts":
                parts[count] = f"{scratch}/{count}.txt"
                Path(parts[count]).write_text("\n".join(Path(given.data).read_text().splitlines()[:count]) + "\n")
            else:
                parts[count] = f"{scratch}/{count}"
                os.mkdir(parts[count])
                for path in sorted(Path(given.data).rglob("*.png"))[:count]:
                    shutil.copy(path, f"{parts[count]}/{path.parent.name}-{path.name}")
        out = f"{scratch}/out.npy"
        homing = lambda model: lambda data: [given.binary, "embed", data, "--model", model, "--out", out, "-q"]
        engines = {
            "own layers": homing(given.folder),
            "ONNX Runtime": homing(f"{given.folder}/model.onnx"),
            "PyTorch": lambda data: [sys.executable, __file__, given.kind, given.folder, data, "--run-torch"],
        }
        if given.candle:
            engines["candle"] = lambda data: [given.candle, given.kind, given.folder, data]
        for name, command in engines.items():
            (few_cpu, few_time), (many_cpu, many_time) = (spent(command(parts[count])) for count in (few, many))
            cpu, elapsed = many_cpu - few_cpu, many_time - few_time
            print(f"{name}: {(many - few) / cpu:.1f} per processor-second, {(many - few) / elapsed:.1f} per second", flush=True)


main()
