"""Checks that the command and the Python package choose the same rows on a GPU as on the CPU. `bench/gpu.sh` runs it."""

import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

import homing

COMMAND = sys.argv[1]
failures = []


def same(name, a, b):
    a, b = list(a), list(b)
    if a != b:
        failures.append(name)
    print(f"{'same' if a == b else 'DIFFERENT'}: {name}" + ("" if a == b else f"\n  {a}\n  {b}"), flush=True)


def rows_of(seed, count, dim, clusters=300):
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(0).standard_normal((clusters, dim), dtype=np.float32)
    x = centres[rng.integers(clusters, size=count)] + 0.7 * rng.standard_normal((count, dim), dtype=np.float32)
    return (x * np.arange(1, dim + 1, dtype=np.float32) ** -0.7 + 0.1).astype(np.float32)


def command(folder):
    pool, targets = rows_of(1, 200_000, 256), rows_of(2, 20, 256)
    np.save(folder / "pool.npy", pool)
    np.save(folder / "half.npy", pool.astype(np.float16))
    np.save(folder / "targets.npy", targets)

    def picks(name, *options):
        start = time.perf_counter()
        arguments = [COMMAND, "select", folder / f"{name}.npy", "--targets", folder / "targets.npy", "-n", "50", "--out", "-", *options]
        run = subprocess.run([str(argument) for argument in arguments], capture_output=True, text=True)
        if run.returncode:
            print(run.stderr)
        notes = [line for line in run.stderr.splitlines() if "cuda" in line]
        return [line.split(",")[1] for line in run.stdout.splitlines()[1:]], notes, time.perf_counter() - start

    for name in ("pool", "half"):
        for options in ([], ["--rule", "vtl"], ["--center=false", "--normalize=false"], ["--rule", "ctl", "--noise-std", "0.3"],
                        ["--rule", "cosine"], ["--rule", "nearest-each"], ["--rule", "itl-top-b"]):
            here, _, seconds = picks(name, *options)
            there, notes, on_device = picks(name, *options, "--device", "cuda:0")
            same(f"homing select {name}.npy {' '.join(options)} ({seconds:.2f} s, with --device cuda:0 {on_device:.2f} s; {' '.join(notes)})", here, there)
    same("--device auto", picks("pool")[0], picks("pool", "--device", "auto")[0])
    _, notes, _ = picks("pool", "--device", "cuda:0", "--rule", "max-dist")
    print("a rule of the CPU:", *notes)
    same("a rule of the CPU says so", ["was not used" in note for note in notes], [True])
    wrong = subprocess.run([COMMAND, "select", str(folder / "pool.npy"), "--rule", "undirected-itl", "-n", "5", "--device", "cuda:9"], capture_output=True, text=True)
    print("a wrong name:", wrong.stderr.strip())
    said = wrong.stderr.strip()
    same("a wrong name is refused", [wrong.returncode != 0, len(said.splitlines()), "there is no device cuda:9" in said], [True, 1, True])


def python():
    pool, targets = rows_of(3, 60_000, 192), rows_of(4, 12, 192)
    rules = ["itl", "itl-exact", "vtl", "ctl", "undirected-itl", "uncertainty"]
    top = ["itl-top-b", "itl-exact-top-b", "itl-value-top-b", "ctl-top-b", "vtl-top-b", "undirected-itl-top-b", "uncertainty-top-b"]
    for rule in [*rules, *top, "cosine", "nearest-each"]:
        own = None if rule.startswith(("undirected-itl", "uncertainty")) else targets
        here = homing.select(pool, own, 40, rule)
        there = homing.select(pool, own, 40, rule, device="cuda:0")
        same(f"homing.select({rule}, device='cuda:0')", here.indices, there.indices)
        if not np.allclose(here.information, there.information, rtol=1e-9):
            failures.append(rule)
            print("DIFFERENT information:", here.information, there.information)
    selectors = [homing.Selector(pool, device=device) for device in ("cpu", "cuda:0")]
    batches = [[s.next_batch(targets, 9).indices.tolist() for _ in range(4)] for s in selectors]
    same("homing.Selector(device='cuda:0')", *batches)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        homing.select(pool, targets, 3, "max-dist", device="cuda:0")
    same("a rule of the CPU says so", ["was not used" in str(w.message) for w in caught], [True])
    try:
        homing.select(pool, targets, 3, device="cuda:9")
    except RuntimeError as error:
        print("a wrong device:", error)
    try:
        import torch
    except ImportError:
        print("skipped: tensors, because there is no PyTorch")
        return
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        tensor = torch.tensor(pool).to(dtype)
        for options in ({}, {"noise_std": 0.4}):
            for rule in ("itl", "vtl", "ctl", "cosine"):
                here = homing.select(tensor, targets, 40, rule, **options)
                there = homing.select(tensor.cuda(), torch.tensor(targets).cuda(), 40, rule, **options)
                same(f"a tensor in {dtype} on the GPU, {rule}, {options}", here.indices, there.indices)
    tensor = torch.tensor(pool)
    retrievers = [homing.Retriever(rows) for rows in (tensor, tensor.cuda())]
    for query in range(3):
        found = [list(r.search(targets[query], N=5, K=200)) for r in retrievers]
        same(f"homing.Retriever, query {query}", *found)
    big = torch.nn.functional.normalize(torch.randn(1_000_000, 512, device="cuda"))
    wanted = big[:30] + 0.02
    for _ in range(3):
        torch.cuda.synchronize()
        start = time.perf_counter()
        homing.select(big, wanted, 100)
        print(f"1,000,000 × 512 on the GPU, 100 picks with the defaults, from Python: {time.perf_counter() - start:.3f} s")


with tempfile.TemporaryDirectory() as folder:
    command(Path(folder))
python()
print(f"{len(failures)} failures", *failures)
sys.exit(bool(failures))
