"""Threads may share selectors, retrievers and acquisition functions."""

import copy
import pickle
import threading

import homing
import numpy as np
import pytest
from homing.compat.activeft.acquisition_functions import ITL
from homing.sklearn import TargetedSelector


def in_threads(count, work):
    """Returns the results of `work` from `count` threads that start at the same time."""
    gate, found, failed = threading.Barrier(count), [], []

    def run(number):
        gate.wait()
        try:
            found.append(work(number))
        except BaseException as error:  # raised again below
            failed.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]
    return found


def test_threads_that_share_a_selector_get_no_row_twice(pool, targets):
    """Regression: without the lock, 160 picks were only 28 different rows."""
    selector = homing.Selector(pool)
    batches = in_threads(8, lambda _: [selector.next_batch(targets, 4).indices.tolist() for _ in range(5)])
    rows = [row for batch in batches for part in batch for row in part]
    assert len(rows) == 160 == len(set(rows)) == len(selector.observed)
    # In any order of the threads, the batches together equal one long call.
    assert sorted(rows) == sorted(homing.select(pool, targets, 160, picks_per_round=4).indices.tolist())


def test_threads_observe_and_forget_nothing_that_another_did(pool, targets):
    selector = homing.Selector(pool)

    def work(number):
        rows = list(range(40 * number, 40 * number + 40))
        for row in rows:
            selector.observe([row])
        selector.forget(rows[20:])
        return rows[:20]

    kept = in_threads(8, work)
    assert sorted(selector.observed.tolist()) == sorted(row for rows in kept for row in rows)


def test_threads_share_quotas_and_budgets(pool, targets):
    groups = np.array(["a", "b"])[np.arange(400) % 2]
    selector = homing.Selector(pool, groups=groups, quotas={"a": 7})
    in_threads(6, lambda _: selector.next_batch(targets, 4))
    assert (groups[selector.observed] == "a").sum() <= 7


def test_threads_that_share_a_selector_of_scikit_learn_get_no_row_twice(pool, targets):
    selector = TargetedSelector(n_select=4).fit(pool, targets=targets)
    rows = np.concatenate(in_threads(8, lambda _: selector.select()))
    assert len(rows) == 32 == len(set(rows.tolist()))
    assert sorted(rows.tolist()) == sorted(selector.indices_.tolist())


def test_threads_that_share_a_retriever_get_the_answers_of_one(pool, targets):
    faiss = pytest.importorskip("faiss")
    index = faiss.IndexFlatIP(12)
    index.add(pool)
    for retriever in [homing.Retriever(pool), homing.Retriever(index)]:
        want = [retriever.search(target, N=5, K=60).indices.tolist() for target in targets]
        ask = lambda number: (number % 5, retriever.search(targets[number % 5], N=5, K=60).indices.tolist())  # noqa: E731
        assert all(want[at] == found for at, found in in_threads(10, ask))


def test_targets_that_threads_add_are_all_there(targets):
    function = ITL(targets)
    in_threads(8, lambda number: [function.add_to_target(targets[:1]) for _ in range(50)])
    assert len(function.get_target()) == 5 + 8 * 50
    assert len(pickle.loads(pickle.dumps(copy.deepcopy(function))).get_target()) == 405


def test_copies_of_a_selector_go_their_own_ways(pool, targets):
    selector = homing.Selector(pool)
    first = selector.next_batch(targets, 3).indices.tolist()
    for other in [copy.copy(selector), copy.deepcopy(selector), pickle.loads(pickle.dumps(selector))]:
        other.next_batch(targets, 3)
        other.observe([399])
        assert selector.observed.tolist() == first


def test_a_batch_within_a_batch_is_refused(pool, targets):
    selector = homing.Selector(pool)
    with pytest.raises(ValueError, match="next_batch was called from a function that it calls with its picks"):
        selector.next_batch(targets, 3, progress=lambda _: selector.next_batch(targets, 3))
    seen = []
    selector.next_batch(targets, 3, progress=lambda _: seen.append(len(selector.observed)))
    assert seen == [0, 0, 0] and len(selector.observed) == 3
