"""Columns of numbers are matched by their names, in any order."""

import homing
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

NAMES = list("abcdefghijkl")


@pytest.fixture
def frames(pool, targets):
    return pd.DataFrame(pool, columns=NAMES), pd.DataFrame(targets, columns=NAMES)


def picks(pool, targets, **more):
    return homing.select(pool, targets, 8, **more).indices.tolist()


def test_frames_are_matched_by_name_and_not_by_position(pool, targets, frames):
    frame, aims = frames
    want = picks(pool, targets)
    assert picks(frame, aims) == want
    assert picks(frame, aims[NAMES[::-1]]) == want
    assert picks(frame[NAMES[::-1]], aims) == picks(pool[:, ::-1].copy(), targets[:, ::-1].copy())
    assert picks(frame, aims[NAMES[::-1]].assign(weight=1, note="x")) == want, "columns with another use are left out"
    assert picks(frame, targets) == want, "an array has no names"
    observed = picks(pool, targets, observed=targets[:2])
    assert picks(frame, aims, observed=aims[NAMES[::-1]][:2]) == observed
    diagnosis = homing.diagnose(frame, aims[NAMES[::-1]], n=3)
    assert diagnosis.information == homing.diagnose(pool, targets, n=3).information
    found = homing.Retriever(frame).search(aims[NAMES[::-1]], N=5).indices.tolist()
    assert found == homing.Retriever(pool).search(targets, N=5).indices.tolist()


def test_columns_that_lack_are_named(frames):
    frame, aims = frames
    with pytest.raises(ValueError, match="there is no column 'a', 'c' in the targets, but the pool's embedding has it"):
        homing.select(frame, aims.drop(columns=["a", "c"]), 3)
    with pytest.raises(ValueError, match="no column 'a' in the targets"):
        homing.select(frame, aims.rename(columns={"a": "x"}), 3)
    with pytest.raises(ValueError, match="no column 'a' in the query"):
        homing.Retriever(frame).search(aims.rename(columns={"a": "x"}), N=3)


def test_two_columns_of_one_name_are_refused(frames):
    frame, aims = frames
    for pool, targets, what in [
        (frame.rename(columns={"b": "a"}), aims, "pool"),
        (frame, aims.rename(columns={"b": "a"}), "targets"),
    ]:
        with pytest.raises(ValueError, match=f"two columns of the {what} are called 'a'"):
            homing.select(pool, targets, 3)


def test_columns_without_names_are_known_by_their_numbers(pool, targets, frames):
    want = picks(pool, targets)
    order = list(range(12))[::-1]
    bare, aims = pd.DataFrame(pool), pd.DataFrame(targets)
    assert picks(bare, aims) == picks(bare, aims[order]) == picks(pool, aims[order]) == want
    assert picks(bare[order], aims) == picks(pool[:, ::-1].copy(), targets[:, ::-1].copy())
    assert picks(frames[0], aims) == picks(bare, frames[1]) == want, "names on one side only"
    with pytest.raises(ValueError, match="13 dimensions but the pool has 12"):
        homing.select(bare, pd.DataFrame(np.c_[targets, targets[:, :1]]), 3)


def test_files_and_frames_know_each_others_columns(pool, targets, frames, tmp_path):
    frame, aims = frames
    want = picks(pool, targets)
    frame.to_csv(tmp_path / "pool.csv", index=False)
    backwards = aims[NAMES[::-1]]
    backwards.to_csv(tmp_path / "targets.csv", index=False)
    backwards.to_parquet(tmp_path / "targets.parquet")
    for held in [frame, tmp_path / "pool.csv"]:
        for asked in [backwards, tmp_path / "targets.csv", tmp_path / "targets.parquet"]:
            assert picks(held, asked) == want
        points = picks(pool, targets, observed=targets)
        assert picks(held, aims, observed=tmp_path / "targets.csv") == points
        assert picks(held, aims, observed=backwards) == points
    aims.drop(columns="c").to_csv(tmp_path / "short.csv", index=False)
    for held in [frame, tmp_path / "pool.csv"]:
        with pytest.raises(ValueError, match="lacks 'c'"):
            homing.select(held, tmp_path / "short.csv", 3)


def test_a_selector_keeps_the_order_of_its_first_pool(pool, targets, frames):
    frame, aims = frames
    want = homing.Selector(pool, observed=targets[:2])
    selector = homing.Selector(frame, observed=aims[NAMES[::-1]][:2])
    for _ in range(2):
        assert selector.next_batch(aims[NAMES[::-1]], 3).indices.tolist() == want.next_batch(targets, 3).indices.tolist()
        selector.update(-frame[NAMES[::-1]])
        want.update(-pool)


def test_tables_of_single_numbers_have_no_order_to_mistake(frames):
    frame, aims = frames
    with pytest.raises(ValueError, match="no column of embeddings"):
        homing.select(pa.Table.from_pandas(frame), aims, 3)
    with pytest.raises(ValueError, match="no column of embeddings"):
        homing.select(frame, pa.Table.from_pandas(aims), 3)
