"""Measures how many answers a simulated person needs: `python bench/labelling.py OUT.csv NAME EMBEDDINGS.npy LABELS.txt [HOMING]`.

Draws tasks of five classes, takes twenty rows of each task as unlabelled targets, and lets `homing label --simulate` answer for each
rule. The pool holds the rows of all classes, of which those of the other classes are "not my task", or only the rows of the task. After every
ten answers, the accuracy is measured on all rows of the task that have no answer yet. Adds the mean over the tasks and its standard error to OUT.csv, which `cargo run -p homing-report --example labelling` draws, and prints
how many answers each rule needs to reach some accuracies.

The committed table is from embeddings of CLINC150 by all-MiniLM-L6-v2, for all 22,500 texts with an intent, and of CIFAR-100 by
EfficientNet-Lite0, for 100 images of each class (`homing embed FOLDER --size 224 --model efficientnet-lite0 --weights FILE --out
EMBEDDINGS.npy`), of which the first 256 principal components are kept.
"""

import random
import struct
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import mean, stdev

TASKS, CLASSES, TARGETS, ANSWERS = 6, 5, 20, 100
RULES = ["itl", "ctl", "nearest-each", "uncertainty", "random"]
POOLS = ["all classes", "only the task"]
GOALS = [60, 70, 80, 90]


def read(path):
    """Returns the header and the rows of a .npy file of two dimensions, as bytes."""
    data = Path(path).read_bytes()
    end = 10 + struct.unpack("<H", data[8:10])[0]
    header = eval(data[10:end].decode(), {})
    rows, dim = header["shape"]
    size = dim * int(header["descr"][2:])
    return header, [data[end + row * size : end + (row + 1) * size] for row in range(rows)]


def write(path, header, rows, chosen):
    shape = (len(chosen), header["shape"][1])
    text = f"{{'descr': '{header['descr']}', 'fortran_order': False, 'shape': {shape}, }}"
    text += " " * (-(11 + len(text)) % 64) + "\n"
    head = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode()
    path.write_bytes(head + b"".join(rows[row] for row in chosen))


def curve(homing, place, task, rule):
    """Returns the accuracy by the number of answers."""
    command = [homing, "label", "pool.npy", "--targets", "targets.npy", "--classes", ",".join(task)]
    command += ["--run", rule, "--rule", rule, "--simulate", "answers.csv", "-n", str(ANSWERS)]
    out = subprocess.run(command, cwd=place, check=True, capture_output=True, text=True).stdout
    found = {0: 100 / CLASSES}
    for line in out.splitlines()[1:]:
        words = line.split()
        # Before two classes have two labels each there is no classifier, which is as good as guessing.
        found[int(words[0])] = float(words[2]) if words.count("%") == 3 else 100 / CLASSES
    return found


def main(out, data, embeddings, labels, homing="target/release/homing"):
    homing = str(Path(homing).resolve())
    header, rows = read(embeddings)
    labels = Path(labels).read_text().split("\n")[: len(rows)]
    names = sorted(set(labels) - {"oos"})
    for scope in POOLS:
        curves = {rule: [] for rule in RULES}
        for number in range(TASKS):
            draw = random.Random(number)
            task = draw.sample(names, CLASSES)
            of_task = [row for row, label in enumerate(labels) if label in task]
            targets = set(draw.sample(of_task, TARGETS))
            pool = [row for row in (range(len(rows)) if scope == POOLS[0] else of_task) if row not in targets]
            with tempfile.TemporaryDirectory() as place:
                place = Path(place)
                write(place / "pool.npy", header, rows, pool)
                write(place / "targets.npy", header, rows, sorted(targets))
                lines = [f"{at},{labels[row]}" for at, row in enumerate(pool)]
                (place / "answers.csv").write_text("id,label\n" + "\n".join(lines) + "\n")
                for rule in RULES:
                    curves[rule].append(curve(homing, place, task, rule))
            print(f"{data}, {scope}: task {number + 1} of {TASKS}", file=sys.stderr, flush=True)
        report(out, data, scope, curves)


def report(out, data, scope, curves):
    """Adds the curves of a pool to the table, and prints how many answers each rule needs."""
    at = list(range(0, ANSWERS + 1, 10))
    is_new = not Path(out).exists()
    with open(out, "a") as file:
        if is_new:
            file.write("data,pool,rule,answers,accuracy,standard_error\n")
        for rule, found in curves.items():
            for n in at:
                values = [one[n] for one in found]
                file.write(f"{data},{scope},{rule},{n},{mean(values):.2f},{stdev(values) / TASKS**0.5:.2f}\n")
    heads = [f"to {goal} %" for goal in GOALS] + [f"at {n}" for n in (10, 20, 50, 100)]
    print(f"{data + ', ' + scope:<26}" + "".join(f"{head:>9}" for head in heads))
    for rule, found in curves.items():
        means = {n: mean(one[n] for one in found) for n in at}
        reached = [next((str(n) for n in at if means[n] >= goal), f"> {ANSWERS}") for goal in GOALS]
        numbers = reached + [f"{means[n]:.1f}" for n in (10, 20, 50, 100)]
        print(f"{rule:<26}" + "".join(f"{number:>9}" for number in numbers), flush=True)


main(*sys.argv[1:])
