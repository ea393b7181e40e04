"""Tables of picks carry the pool's texts and labels."""

import pickle

import homing
import pandas as pd
import pyarrow as pa
import pytest

OWN = ["rank", "index", "id", "score", "information", "gain", "variance_left"]


@pytest.fixture
def frame(pool):
    rows = range(len(pool))
    return pd.DataFrame(
        {
            "id": [f"r{row}" for row in rows],
            "text": [None if row == 3 else f'a "text", {row}\n' for row in rows],
            "score": [float(row) for row in rows],
            "meta": [{"row": row} for row in rows],
            "embedding": list(pool),
        }
    )


@pytest.fixture
def tables(frame, tmp_path):
    frame.to_parquet(tmp_path / "pool.parquet")
    frame.to_json(tmp_path / "pool.jsonl", orient="records", lines=True, double_precision=15)
    return [frame, pa.Table.from_pandas(frame), tmp_path / "pool.parquet", tmp_path / "pool.jsonl"]


def test_texts_are_carried_from_every_kind_of_table(pool, targets, frame, tables):
    want = homing.select(pool, targets, 6).indices.tolist()
    for table in tables:
        made = homing.select(table, targets, 6)
        assert made.indices.tolist() == want
        shown = made.to_pandas()
        assert shown.columns.tolist() == [*OWN, "text"]
        assert shown["text"].tolist() == frame["text"].iloc[want].tolist()
        assert shown["id"].tolist() == frame["id"].iloc[want].tolist()


def test_columns_are_chosen_by_name(targets, frame, tables):
    for table in tables:
        made = homing.select(table, targets, 3)
        every = made.to_pandas(columns="all")
        assert sorted(every.columns[len(OWN) :]) == ["meta", "score_pool", "text"]
        assert every["score_pool"].tolist() == frame["score"].iloc[made.indices].tolist()
        assert every["meta"].tolist() == frame["meta"].iloc[made.indices].tolist()
        assert made.to_pandas(columns="none").columns.tolist() == OWN
        assert made.to_pandas(columns=["meta"]).columns.tolist() == [*OWN, "meta"]
        with pytest.raises(ValueError, match="has no column 'txt'"):
            made.to_pandas(columns=["txt"])
        with pytest.raises(ValueError, match="give 'all', 'none' or a list of names"):
            made.to_pandas(columns="text")


def test_arrays_have_no_columns(pool, targets):
    made = homing.select(pool, targets, 3)
    assert "text" not in made.to_pandas()
    with pytest.raises(ValueError, match="the pool has no named columns"):
        made.to_pandas(columns=["text"])


def test_copies_do_not_know_the_columns(targets, frame):
    made = pickle.loads(pickle.dumps(homing.select(frame, targets, 3)))
    assert "text" not in made.to_pandas()
    with pytest.raises(ValueError, match="pickled or copied"):
        made.to_pandas(columns="all")


def test_pages_show_texts_of_files(targets, tables, tmp_path):
    homing.select(tables[2], targets, 3).report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "a &quot;text&quot;, " in page
