"""Tests of Ctrl-C, progress, the interpreter lock, threads and forks."""

import multiprocessing
import subprocess
import sys
import threading
import time

import homing
import numpy as np
import pytest

LONG = """
import os, signal, sys, threading, time
import numpy as np, homing
signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs of a shell ignore SIGINT
rng = np.random.default_rng(0)
pool = rng.standard_normal(({rows}, 64), dtype=np.float32)
targets = pool[:20].copy()
before = pool[:5].tobytes()
sent = []
def interrupt():
    time.sleep({delay})
    sent.append(time.perf_counter())
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=interrupt).start()
try:
    {call}
    print("ended by itself")
except KeyboardInterrupt:
    print(f"{{time.perf_counter() - sent[0]:.3f}}")
assert pool[:5].tobytes() == before
assert len(homing.select(pool[:3000], targets, 3)) == 3
"""


@pytest.mark.parametrize(
    "call",
    [
        "homing.select(pool, targets, 100_000, threads=1)",
        "homing.select(pool, targets, 5_000, threads=1, engine='plain')",
        "homing.select(pool, targets, 2_000, threads=1, kernel='gaussian:3')",
        "homing.select(pool, targets, 5_000, threads=1, greedy='partitioned:3')",
        "homing.diagnose(pool, targets, n=5_000, threads=1)",
        "homing.Retriever(pool[:50_000]).batch_search(pool[:500], N=5_000)",
    ],
)
def test_ctrl_c_stops_within_a_second(call):
    code = LONG.format(rows=300_000, delay=1.0, call=call)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "ended" not in done.stdout, "the work was too short to interrupt"
    assert float(done.stdout) < 1.0


def test_the_lock_is_released(rng):
    pool = rng.standard_normal((200_000, 64), dtype=np.float32)
    counted, done = [0], threading.Event()

    def count():
        while not done.is_set():
            counted[0] += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    start = counted[0]
    homing.select(pool, pool[:10], 30, threads=1)
    grown = counted[0] - start
    done.set()
    thread.join()
    assert grown > 20


def test_many_threads_select_at_once(pool, targets):
    want = homing.select(pool, targets, 10).indices.tolist()
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(homing.select(pool, targets, 10).indices.tolist())) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [want] * 8


def _child(queue, pool, targets):
    queue.put(homing.select(pool, targets, 5, center=True).indices.tolist())


def test_a_forked_child_selects_too(pool, targets):
    want = homing.select(pool, targets, 5, center=True).indices.tolist()
    fork = multiprocessing.get_context("fork")
    queue = fork.Queue()
    child = fork.Process(target=_child, args=(queue, pool, targets))
    child.start()
    assert queue.get(timeout=60) == want
    child.join()


def test_progress_receives_every_pick_and_may_stop(pool, targets):
    whole = homing.select(pool, targets, 10)
    picks = []
    homing.select(pool, targets, 10, progress=picks.append)
    assert [pick.rank for pick in picks] == list(range(1, 11)) and picks[0].count == 10
    assert [pick.row for pick in picks] == whole.indices.tolist()
    assert [pick.information for pick in picks] == whole.information.tolist()
    cut = homing.select(pool, targets, 10, progress=lambda pick: pick.rank < 4)
    assert (len(cut), cut.ended) == (4, "progress")


def test_an_exception_of_progress_comes_out(pool, targets):
    def fail(pick):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        homing.select(pool, targets, 10, progress=fail)


def test_a_bar(pool, targets, capsys):
    homing.select(pool, targets, 10, progress=True)
    assert "choosing" in capsys.readouterr().err
    homing.select(pool, targets, 10)
    assert capsys.readouterr().err == ""


def test_a_bar_without_tqdm(pool, targets, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    homing.select(pool, targets, 10, progress=True)
    assert "choosing 10/10" in capsys.readouterr().err
    monkeypatch.setattr("homing._progress._is_watched", lambda: True)
    homing.select(pool, targets, 10)
    assert capsys.readouterr().err == "", "a bar that was not requested appears only after a second"


def test_counts_and_threads_that_nobody_can_wait_for_are_refused(pool, targets):
    for n in (10**11, 2**62):
        with pytest.raises(ValueError, match="picks were requested, but one call allows at most 100000000"):
            homing.select(pool, targets, n, repeat=True)
    with pytest.raises(ValueError, match="draws of targets were requested"):
        homing.select(pool, targets, 3, target_sample=10**11, target_weights=np.ones(len(targets)))
    for threads in (1025, 5000, 10**12):
        with pytest.raises(ValueError, match=f"threads is {threads}; at most 1024"):
            homing.select(pool, targets, 3, threads=threads)


def test_target_weights_of_any_size_draw_and_bad_ones_are_named(pool, targets):
    ones = homing.select(pool, targets, 3, target_sample=2, target_weights=np.ones(len(targets)))
    huge = homing.select(pool, targets, 3, target_sample=2, target_weights=np.full(len(targets), 2.0**1023))
    assert huge.indices.tolist() == ones.indices.tolist()
    weights = np.ones(len(targets))
    weights[1] = np.nan
    with pytest.raises(ValueError, match="row 1 of the target weights is NaN"):
        homing.select(pool, targets, 3, target_sample=2, target_weights=weights)
