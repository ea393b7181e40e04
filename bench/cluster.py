"""Measures selections on a Ray cluster of this machine against the same selections in one process, in one run.

Usage: python bench/cluster.py [ROWS [WIDTH]] (1000000 512). It writes ROWS × WIDTH × 4 bytes to a temporary folder. Times of processors are
summed over all processes that compute, so other load on the machine matters little.
"""

import os
import sys
import tempfile
import time

import numpy as np
import ray

import homing
import homing.ray
from homing._homing import Data, PoolPart, Task

TICKS = os.sysconf("SC_CLK_TCK")


def seconds_of(pids):
    """Seconds of processor time that processes have used."""
    total = 0
    for pid in pids:
        fields = open(f"/proc/{pid}/stat").read().rsplit(") ", 1)[1].split()
        total += int(fields[11]) + int(fields[12])
    return total / TICKS


def write(path, rows, width):
    """Clustered rows of unit length, and targets near some of them."""
    rng = np.random.default_rng(0)
    centres = rng.standard_normal((200, width), dtype=np.float32)
    out = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(rows, width))
    for at in range(0, rows, 50_000):
        part = out[at : at + 50_000]
        part[:] = centres[rng.integers(200, size=len(part))] + 0.7 * rng.standard_normal(part.shape, dtype=np.float32)
        part /= np.linalg.norm(part, axis=1, keepdims=True)
    out.flush()
    return np.ascontiguousarray(out[:30] + 0.02 * rng.standard_normal((30, width), dtype=np.float32))


def measured(pids, call):
    """Calls a function. Returns its result, its seconds, and the processor seconds of the processes."""
    start, before = time.perf_counter(), seconds_of(pids)
    result = call()
    return result, time.perf_counter() - start, seconds_of(pids) - before


def on_cluster(path, shards, targets, **settings):
    with homing.ray.Pool(path, shards=shards, num_cpus=0.5, threads=1) as pool:
        described = pool._actors.call(list(range(pool.shards)), "describe")
        pids = [os.getpid(), *(shape["pid"] for shape in described)]
        pool.select(targets, 1, **settings)  # reads the rows into the cache
        actors = pool._actors
        before = actors.questions, actors.bytes_sent, actors.bytes_received
        result = measured(pids, lambda: pool.select(targets, 100, **settings))
        sent = [now - then for now, then in zip((actors.questions, actors.bytes_sent, actors.bytes_received), before)]
        return (*result, sent)


def of_the_model(path, targets):
    """Measures what a model of larger pools needs: the coordinator's time per call of an actor, and a shard's time for continuing the
    sums of the pool's mean, which go from shard to shard."""
    with homing.ray.Pool(path, shards=4, num_cpus=0.5, threads=1) as pool:
        all_shards = list(range(pool.shards))
        _, wall, busy = measured([os.getpid()], lambda: [pool._actors.call(all_shards, "describe") for _ in range(500)])
        print(f"2,000 calls of 4 actors: {wall / 2:.2f} ms per call, {busy / 2:.2f} ms of the coordinator's processor time")
    data = Data.open([path], {})
    part, seconds = PoolPart([(data, 0, data.rows)], 0, threads=1), []

    def ask(_, message):
        start = time.perf_counter()
        answer = part.answer(message)
        seconds.append(time.perf_counter() - start)
        return [answer]

    Task(Data.remote(ask, [data.rows], data.dim, True, False), Data.array(targets), {"center": True})
    adds = data.rows // 256 * data.dim
    print(f"the mean: {seconds[-2] * 1e9 / data.rows / data.dim:.2f} ns per number for sums of blocks, then {seconds[-1] * 1e9 / adds:.2f} ns "
          f"per number of these sums")


def main():
    rows, width = [*map(int, sys.argv[1:]), 1_000_000, 512][:2] if len(sys.argv) < 2 else (int(sys.argv[1]), int((sys.argv + [512])[2]))
    ray.init(num_cpus=8, include_dashboard=False, log_to_driver=False)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "pool.npy")
        targets = write(path, rows, width)
        for name, settings in (("as they are", {"center": False, "normalize": False}), ("prepared", {})):
            pool = np.load(path, mmap_mode="r")
            homing.select(pool, targets, 1, threads=2, **settings)
            here, wall, busy = measured([os.getpid()], lambda: homing.select(pool, targets, 100, threads=2, **settings))
            there, far_wall, far_busy, (asked, sent, received) = on_cluster(path, 4, targets, **settings)
            assert here.indices.tolist() == there.indices.tolist()
            print(f"{rows:,} × {width}, rows {name}: 100 picks in {here.passes} passes here, {there.passes} over 4 actors; the same picks")
            print(f"  one process, 2 threads: {wall:.2f} s, {busy:.2f} s of processor time")
            print(f"  4 actors and coordinator: {far_wall:.2f} s, {far_busy:.2f} s of processor time, ratio {far_busy / busy:.2f}")
            print(f"  {asked} questions; sent {sent / 1e6:.2f} MB, received {received / 1e6:.2f} MB: per pass and shard "
                  f"{sent / there.passes / 4 / 1e3:.0f} kB sent and {received / there.passes / 4 / 1e3:.0f} kB received, "
                  f"per pick {(sent + received) / 100 / 1e3:.0f} kB")
        each = rows // 4
        first = None
        for shards in (1, 2, 4):
            part = os.path.join(folder, f"part-{shards}.npy")
            np.save(part, np.load(path, mmap_mode="r")[: each * shards])
            there, wall, busy, (asked, sent, received) = on_cluster(part, [each] * shards, targets)
            per_pass = busy / there.passes / shards
            first = first or per_pass
            print(f"weak scaling, {each:,} rows per shard, {shards} shards: {there.passes} passes, {asked} questions, {wall:.2f} s, "
                  f"{per_pass * 1e3:.0f} ms of processor time per pass and shard ({per_pass / first:.2f} ×)")
            os.remove(part)
        of_the_model(path, targets)
    ray.shutdown()


if __name__ == "__main__":
    main()
