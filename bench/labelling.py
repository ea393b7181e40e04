"""Measures how many answers a simulated person needs: `python bench/labelling.py EMBEDDINGS.npy LABELS.txt [HOMING]`.

Draws tasks of five classes, takes twenty rows of each task as unlabelled targets, and lets `homing label --simulate` answer for each
rule. A row of another class is "not my task". Prints the mean accuracy on the task's other rows after some answers.
"""

import random
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

TASKS, CLASSES, TARGETS, ANSWERS = 6, 5, 20, 60
RULES = ["itl", "ctl", "vtl", "uncertainty", "cosine", "random"]


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


def main(embeddings, labels, homing="target/release/homing"):
    header, rows = read(embeddings)
    labels = Path(labels).read_text().split("\n")[: len(rows)]
    names = sorted(set(labels))
    curves = {rule: [] for rule in RULES}
    for number in range(TASKS):
        draw = random.Random(number)
        task = draw.sample(names, CLASSES)
        of_task = [row for row, label in enumerate(labels) if label in task]
        targets = draw.sample(of_task, TARGETS)
        pool = [row for row in range(len(rows)) if row not in set(targets)]
        with tempfile.TemporaryDirectory() as place:
            place = Path(place)
            write(place / "pool.npy", header, rows, pool)
            write(place / "targets.npy", header, rows, targets)
            lines = [f"{at},{labels[row]}" for at, row in enumerate(pool)]
            (place / "answers.csv").write_text("id,label\n" + "\n".join(lines) + "\n")
            for rule in RULES:
                command = [homing, "label", "pool.npy", "--targets", "targets.npy", "--classes", ",".join(task)]
                command += ["--run", rule, "--rule", rule, "--simulate", "answers.csv", "-n", str(ANSWERS)]
                out = subprocess.run(command, cwd=place, check=True, capture_output=True, text=True).stdout
                found = {}
                for line in out.splitlines()[1:]:
                    words = line.split()
                    # Before two classes have two labels each there is no classifier, which is as good as guessing.
                    found[int(words[0])] = float(words[2]) if words.count("%") == 3 else 100 / CLASSES
                curves[rule].append(found)
    at = list(range(10, ANSWERS + 1, 10))
    print("answers     " + "".join(f"{n:>8}" for n in at))
    for rule, found in curves.items():
        print(f"{rule:<12}" + "".join(f"{sum(curve[n] for curve in found) / TASKS:8.1f}" for n in at))


main(*sys.argv[1:])
