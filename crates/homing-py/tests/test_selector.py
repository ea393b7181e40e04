"""A loop of batches equals one long call, and a selector can be pickled."""

import pickle

import homing
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st


@pytest.mark.parametrize("rule", [row.name for row in homing.rules()])
def test_batches_are_one_long_call(rule, rng):
    pool, targets = rng.standard_normal((1200, 9)).astype(np.float32), rng.standard_normal((6, 9)).astype(np.float32)
    likely = rng.dirichlet(np.ones(3), 1200)
    whole = homing.select(pool, targets, 12, rule, probabilities=likely, picks_per_round=4, seed=3)
    selector = homing.Selector(pool, rule, probabilities=likely, seed=3)
    found = [selector.next_batch(targets, 4).indices for _ in range(3)]
    assert np.concatenate(found).tolist() == whole.indices.tolist()
    assert selector.observed.tolist() == whole.indices.tolist()


def test_observing_what_was_picked_changes_nothing(pool, targets):
    one, two = homing.Selector(pool), homing.Selector(pool)
    for _ in range(3):
        batch = one.next_batch(targets, 3)
        one.observe(batch)
        assert batch.indices.tolist() == two.next_batch(targets, 3).indices.tolist()


def test_a_look_is_no_pick(pool, targets):
    selector = homing.Selector(pool)
    first = selector.next_batch(targets, 3, observe=False)
    assert selector.next_batch(targets, 3).indices.tolist() == first.indices.tolist()


@given(st.lists(st.integers(0, 399), max_size=6, unique=True), st.integers(1, 4))
@settings(deadline=None, max_examples=20)
def test_forgetting_undoes_observing(rows, n):
    rng = np.random.default_rng(0)
    pool, targets = rng.standard_normal((400, 12)), rng.standard_normal((5, 12))
    selector = homing.Selector(pool)
    want = selector.next_batch(targets, n, observe=False).indices.tolist()
    selector.observe(rows)
    given_rows = homing.select(pool, targets, n, observed=rows).indices.tolist()
    assert selector.next_batch(targets, n, observe=False).indices.tolist() == given_rows
    selector.forget(rows)
    assert selector.next_batch(targets, n, observe=False).indices.tolist() == want


def test_pickling_in_the_middle(pool, targets, tmp_path):
    np.save(tmp_path / "pool.npy", pool)
    mapped = np.load(tmp_path / "pool.npy", mmap_mode="r")
    want = homing.select(pool, targets, 8).indices.tolist()
    for held in [pool, mapped, str(tmp_path / "pool.npy")]:
        selector = homing.Selector(held)
        first = selector.next_batch(targets, 4).indices.tolist()
        stored = pickle.dumps(selector)
        assert held is pool or len(stored) < 2000, "the pool stays in its file"
        again = pickle.loads(stored)
        assert first + again.next_batch(targets, 4).indices.tolist() == want
        assert "8 observed" in repr(again)


def test_pickling_a_part_of_a_mapped_file(pool, targets, tmp_path):
    """A slice of a mapped array has the offset of the whole; a copy of one has no file."""
    np.save(tmp_path / "pool.npy", pool)
    mapped = np.load(tmp_path / "pool.npy", mmap_mode="r")
    changed = np.load(tmp_path / "pool.npy", mmap_mode="c")
    changed[:] = -pool[::-1]
    for held in [mapped[100:], mapped[100:][50:250], mapped.copy(), changed]:
        want = homing.select(np.array(held), targets, 4).indices.tolist()
        again = pickle.loads(pickle.dumps(homing.Selector(held)))
        assert again.next_batch(targets, 4).indices.tolist() == want
    assert len(pickle.dumps(homing.Selector(mapped[100:]))) < 2000, "the pool stays in its file"


def test_a_kernel_matrix(pool, targets):
    joint = np.concatenate([pool, targets]).astype(np.float64)
    selector = homing.Selector(np.arange(400), kernel=joint @ joint.T, noise_std=0.7)
    rows = [*selector.next_batch(range(400, 405), 4), *selector.next_batch(range(400, 405), 4)]
    assert rows == homing.select(pool, targets, 8, noise_std=0.7).indices.tolist()


def test_what_is_observed_may_be_embeddings(pool, targets):
    want = homing.select(pool, targets, 4, observed=targets[:2]).indices.tolist()
    selector = homing.Selector(pool, observed=targets[:2])
    assert pickle.loads(pickle.dumps(selector)).next_batch(targets, 4).indices.tolist() == want
    assert selector.next_batch(targets, 4).indices.tolist() == want
    assert homing.Selector(pool, observed_points=targets[:2]).next_batch(targets, 4).indices.tolist() == want


def test_quotas_and_budgets_last_over_batches(pool, targets):
    groups = np.array(["a", "b", "c"])[np.arange(400) % 3]
    selector = homing.Selector(pool, groups=groups, quotas={"a": 1, "b": 2})
    rows = np.concatenate([selector.next_batch(targets, 3).indices for _ in range(4)])
    assert [int((groups[rows] == name).sum()) for name in "ab"] == [1, 2]
    whole = homing.select(pool, targets, 12, groups=groups, quotas={"a": 1, "b": 2}, picks_per_round=3)
    assert rows.tolist() == whole.indices.tolist()
    selector = homing.Selector(pool, costs=np.ones(400), budget=5)
    assert [len(selector.next_batch(targets, 3)) for _ in range(2)] == [3, 2]
    with pytest.raises(ValueError, match="budget is spent"):
        selector.next_batch(targets, 3)


def test_columns_of_a_file(pool, targets, tmp_path):
    columns = {"embedding": list(pool), "source": ["a", "b"] * 200, "price": np.ones(400)}
    pd.DataFrame(columns).to_parquet(tmp_path / "pool.parquet")
    selector = homing.Selector(tmp_path / "pool.parquet", groups="source", quotas={"a": 2}, costs="price", budget=5)
    first = selector.next_batch(targets, 3)
    selector.update(pool)
    rows = [*first, *selector.next_batch(targets, 3)]
    assert len(rows) == 5 and sum(row % 2 == 0 for row in rows) <= 2


def test_new_embeddings_of_the_same_rows(pool, targets):
    selector = homing.Selector(pool)
    first = selector.next_batch(targets, 3)
    selector.update(-2 * pool)
    made = selector.next_batch(targets, 3)
    assert made.indices.tolist() == homing.select(-2 * pool, targets, 3, observed=first).indices.tolist()
    with pytest.raises(ValueError, match="the pool has 400 rows, but the new embeddings have 10"):
        selector.update(pool[:10])


def test_refusals(pool, targets):
    selector = homing.Selector(pool)
    for call, match in [
        (lambda: selector.observe([400]), "only 400 rows"),
        (lambda: selector.observe([-1]), "row -1"),
        (lambda: selector.forget([3]), "was not observed"),
    ]:
        with pytest.raises(ValueError, match=match):
            call()
    assert not len(selector.observed)
    with pytest.raises(TypeError, match="no argument 'kernal'"):
        homing.Selector(pool, kernal="linear")
    with pytest.raises(TypeError, match="give it to next_batch"):
        homing.Selector(pool, stop={"min_gain": 0.1})
