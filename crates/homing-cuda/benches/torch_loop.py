"""The yardstick of the device bench: ITL picks with one pass per pick in PyTorch, and an exact scan for 30 targets."""

import sys
import time

import torch


def timed(f):
    times = []
    for _ in range(4):
        torch.cuda.synchronize()
        start = time.perf_counter()
        f()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    return sorted(times[1:])[1]


def picks(pool, norms, targets, noise, count):
    """Two products with the pool per pick: those of Var f and of Var f given the targets."""
    dim = pool.shape[1]
    data = torch.eye(dim, device="cuda", dtype=torch.float64)
    a = targets.double()
    gram = a @ a.T + noise * torch.eye(len(a), device="cuda", dtype=torch.float64)
    joint = data - a.T @ torch.linalg.solve(gram, a)
    v = norms.clone()
    root = torch.linalg.solve_triangular(torch.linalg.cholesky(gram), a, upper=False).T.to(pool.dtype)
    u = norms - torch.cat([(part @ root).float().pow(2).sum(1) for part in pool.split(1 << 22)])
    for _ in range(count):
        row = torch.argmax((v - u) / (u + noise))
        x = pool[row].double()
        probes = []
        for cov in (data, joint):
            w = cov @ x
            p = x @ w + noise
            cov -= torch.outer(w, w) / p
            probes.append(w / p.sqrt())
        product = (pool @ torch.stack(probes, 1).to(pool.dtype)).float()
        v -= product[:, 0] ** 2
        u -= product[:, 1] ** 2
        v[row] = -1


def norms_of(pool):
    return torch.cat([part.float().pow(2).sum(1) for part in pool.split(1 << 20)])


def main():
    for name, rows, dtype in (("1m", 10**6, torch.float32), ("10m", 10**7, torch.float32), ("50m", 5 * 10**7, torch.bfloat16)):
        if len(sys.argv) > 1 and name not in sys.argv[1:]:
            continue
        pool = torch.empty(rows, 512, dtype=dtype, device="cuda")
        for part in pool.split(1 << 20):
            part.copy_(torch.nn.functional.normalize(torch.randn(part.shape, device="cuda"), dim=1))
        targets = torch.nn.functional.normalize(torch.randn(30, 512, device="cuda"), dim=1)
        norms = norms_of(pool)
        loop = timed(lambda: picks(pool, norms, targets, 0.01, 100))
        scan = timed(lambda: (targets.to(dtype) @ pool.T).topk(100, dim=1))
        print(f"{name}: 100 picks with one pass per pick {loop:.4f} s, scan for 30 targets {scan:.4f} s", flush=True)
        del pool, norms


main()
