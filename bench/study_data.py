"""Prepares the data of `homing experiment run defaults --data FOLDER` and of `bench/diagnosis.py`.

    python bench/study_data.py ARCHIVES MINILM LITE0 FOLDER [--homing PATH]

ARCHIVES is a folder with clinc150_data_full.json.xz, banking77.tar.xz, instruct_pool.jsonl.xz, instruct_targets.jsonl.xz,
mnist.tar.xz and cifar100_webp.tar; MINILM a folder with all-MiniLM-L6-v2; LITE0 the weights of EfficientNet-Lite0. FOLDER gets
embeddings `NAME.npy` with labels in `NAME.labels.txt`:

- clinc150 (without its class "out of scope"), banking77: all texts, and their intents
- instructions: up to 150 prompts of each of 38 sources, templates of one data set counted as one source
- benchmarks: up to 60 prompts of each of 83 benchmarks with at least 60
- cifar100: the last 100 images of each class, at 224 pixels
- mnist: the first 12,000 images, as pixels
- banking77-16, mnist-16: the same rows along their first 16 principal axes

Of a prompt, the first 48 words are embedded. It needs NumPy.
"""

import argparse
import csv
import gzip
import io
import json
import lzma
import random
import shutil
import struct
import subprocess
import tarfile
from collections import defaultdict
from pathlib import Path

import numpy as np

FAMILIES = """adversarial_qa ag_news amazon_polarity app_reviews common_gen commonsense_qa cosmos_qa dbpedia_14 dream duorc
glue_mrpc glue_qqp kilt_tasks_hotpotqa multi_news paws qasc quarel quartz quoref ropes rotten_tomatoes samsum sciq social_i_qa
wiki_bio wiki_hop wiki_qa wiqa xsum yelp imdb cnn_dailymail gigaword""".split()


def clinc150(archives):
    parts = json.load(lzma.open(archives / "clinc150_data_full.json.xz", "rt"))
    return [(text, intent) for part in ("train", "val", "test") for text, intent in parts[part]]


def banking77(archives):
    rows = []
    with tarfile.open(archives / "banking77.tar.xz") as tar:
        for part in ("train", "test"):
            table = csv.DictReader(io.TextIOWrapper(tar.extractfile(f"banking77/{part}.csv"), "utf8"))
            rows += [(row["text"].replace("\n", " "), row["category"]) for row in table]
    return rows


def family(source):
    template = source.removeprefix("t0/")
    return source if template == source else next(family for family in FAMILIES if template.startswith(family))


def prompts(path, name, most, least, rng):
    of_source = defaultdict(set)
    for line in lzma.open(path, "rt"):
        example = json.loads(line)
        of_source[name(example["source"])].add(" ".join(example["prompt"].split()[:48]))
    rows = []
    for source, texts in sorted(of_source.items()):
        texts = sorted(texts - {""})
        rng.shuffle(texts)
        rows += [(text, source) for text in texts[:most] if len(texts) >= least]
    return rows


def mnist(archives):
    with tarfile.open(archives / "mnist.tar.xz") as tar:
        files = {Path(name).name: tar.extractfile(name).read() for name in tar.getnames() if "train" in name}
    read = {name: data if data[:2] == b"\0\0" else gzip.decompress(data) for name, data in files.items()}
    images = next(data for name, data in read.items() if "images" in name)
    labels = next(data for name, data in read.items() if "labels" in name)
    rows = np.frombuffer(images, np.uint8)[16:].reshape(-1, 784)[:12000]
    return (rows / 255).astype(np.float32), np.frombuffer(labels, np.uint8)[8:][:12000]


def tensors(path):
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    for name, tensor in json.loads(data[8 : 8 + size]).items():
        if name in ("embeddings", "labels"):
            start, end = tensor["data_offsets"]
            numbers = np.float32 if tensor["dtype"] == "F32" else np.int64
            yield name, np.frombuffer(data[8 + size + start : 8 + size + end], numbers).reshape(tensor["shape"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for name in ("archives", "minilm", "lite0", "folder"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--homing", default="homing")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    rng = random.Random(0)

    def homing(*arguments):
        subprocess.run([options.homing, *map(str, arguments)], check=True)

    def label(name, labels):
        (options.folder / f"{name}.labels.txt").write_text("".join(f"{label}\n" for label in labels))

    texts = {
        "clinc150": clinc150(options.archives),
        "banking77": banking77(options.archives),
        "instructions": prompts(options.archives / "instruct_pool.jsonl.xz", family, 150, 60, rng),
        "benchmarks": prompts(options.archives / "instruct_targets.jsonl.xz", str, 60, 60, rng),
    }
    for name, rows in texts.items():
        table = options.folder / f"{name}.csv"
        with table.open("w", newline="") as file:
            csv.writer(file).writerows([("text", "label"), *rows])
        homing("embed", table, "--model", options.minilm, "--out", options.folder / f"{name}.npy")
        table.unlink()
        label(name, (label for _, label in rows))
    rows, labels = mnist(options.archives)
    np.save(options.folder / "mnist.npy", rows)
    label("mnist", labels)
    images, found = options.archives / "cifar100_webp.tar", options.folder / "cifar100.safetensors"
    homing("embed", images, "--part", "test", "--model", "efficientnet-lite0", "--weights", options.lite0, "--out", found)
    of = dict(tensors(found))
    found.unlink()
    np.save(options.folder / "cifar100.npy", of["embeddings"])
    label("cifar100", of["labels"])
    for name in ("banking77", "mnist"):
        rows = np.load(options.folder / f"{name}.npy")
        rows = rows - rows.mean(0)
        axes = np.linalg.eigh(rows.T @ rows)[1][:, ::-1][:, :16]
        np.save(options.folder / f"{name}-16.npy", (rows @ axes).astype(np.float32))
        shutil.copy(options.folder / f"{name}.labels.txt", options.folder / f"{name}-16.labels.txt")


if __name__ == "__main__":
    main()
