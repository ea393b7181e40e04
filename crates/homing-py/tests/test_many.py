"""Pools in several files: a pattern, a folder, a list, and a list of paths stand for one pool."""

from pathlib import Path

import numpy as np
import pytest

import homing

ROWS, DIM = 60, 8
COUNTS = (23, 0, 1, 36)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a pool as an array and a table, each in one file and in parts; rows 30 apart are equal."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    pool = np.tile(rng.standard_normal((ROWS // 2, DIM), dtype=np.float32), (2, 1))
    np.save("one.npy", pool)
    np.save("targets.npy", pool[:3] + np.float32(0.1))
    header = "id,text,kind,price," + ",".join(f"x{column}" for column in range(DIM))
    lines = [
        f"r{row},about {row},{'ab'[row % 2]},{1 + row % 3}," + ",".join(str(float(x)) for x in pool[row]) for row in range(ROWS)
    ]
    Path("one.csv").write_text("\n".join([header, *lines]) + "\n")
    Path("arrays").mkdir()
    Path("tables").mkdir()
    start = 0
    for number, count in enumerate(COUNTS):
        np.save(f"arrays/part-{number}.npy", pool[start : start + count])
        Path(f"tables/part-{number}.csv").write_text("\n".join([header, *lines[start : start + count]]) + "\n")
        start += count
    Path("arrays.list").write_text("".join(f"arrays/part-{number}.npy\n" for number in range(len(COUNTS))))
    return tmp_path


def paths(folder, ending):
    return sorted(Path(folder).glob(f"*{ending}"))


def same(found, expected):
    assert found.indices.tolist() == expected.indices.tolist()
    assert found.scores.tolist() == expected.scores.tolist()
    assert found.information.tolist() == expected.information.tolist()


ARRAYS = ["arrays", "arrays/*.npy", "arrays.list", "paths", "names"]


def arrays(name):
    return {"paths": paths("arrays", ".npy"), "names": [str(path) for path in paths("arrays", ".npy")]}.get(name, name)


@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.parametrize("access", ["auto", "map", "read"])
def test_arrays_in_files_give_the_same_picks(folder, name, access):
    for rule in ("itl", "vtl", "cosine", "k-means++", "max-dist"):
        expected = homing.select("one.npy", "targets.npy", 7, rule=rule)
        same(homing.select(arrays(name), "targets.npy", 7, rule=rule, pool_access=access), expected)
    # The targets may be in several files, too.
    aim = homing.select("one.npy", "one.npy", 5)
    same(homing.select("one.npy", arrays(name), 5), aim)


@pytest.mark.parametrize("pool", ["tables", "tables/*.csv", "paths"])
def test_tables_in_files_keep_their_columns(folder, pool):
    columns = {"id_column": "id", "groups": "kind", "costs": "price", "quotas": 3, "budget": 8.0}
    pool = paths("tables", ".csv") if pool == "paths" else pool
    targets = [[0.5] * DIM]
    expected = homing.select("one.csv", targets, 5, **columns)
    found = homing.select(pool, targets, 5, **columns)
    same(found, expected)
    assert found.ids == expected.ids
    pytest.importorskip("pandas")
    everything = found.to_pandas(columns="all")
    assert everything.equals(expected.to_pandas(columns="all"))
    placed = found.to_pandas(columns=["file", "row"])
    starts = np.cumsum([0, *COUNTS])
    for index, file, row in zip(found.indices, placed["file"], placed["row"]):
        number = int(np.searchsorted(starts, index, side="right")) - 1
        while COUNTS[number] == 0:
            number -= 1
        assert Path(file) == Path(f"tables/part-{number}.csv")
        assert row == index - starts[number]


@pytest.mark.parametrize("name", ARRAYS)
def test_selector_retriever_diagnose_and_explain(folder, name):
    pool = arrays(name)
    targets = np.load("targets.npy")
    one, many = homing.Selector("one.npy"), homing.Selector(pool)
    for _ in range(2):
        assert many.next_batch(targets, 4).indices.tolist() == one.next_batch(targets, 4).indices.tolist()
    one, many = homing.Retriever("one.npy"), homing.Retriever(pool)
    for K in (None, 20):
        expected, found = one.search(targets[0], N=5, K=K), many.search(targets[0], N=5, K=K)
        assert found.indices.tolist() == expected.indices.tolist()
        assert found.candidates.tolist() == expected.candidates.tolist()
        assert (found.embeddings == expected.embeddings).all()
    expected, found = homing.diagnose("one.npy", targets), homing.diagnose(pool, targets)
    assert found.to_dict() == expected.to_dict() if hasattr(found, "to_dict") else repr(found) == repr(expected)


def test_a_selector_takes_groups_from_a_list_of_paths(folder):
    options, targets = {"groups": "kind", "quotas": 2}, [[0.5] * (DIM + 1)]
    expected = homing.Selector("one.csv", **options).next_batch(targets, 4)
    found = homing.Selector(paths("tables", ".csv"), **options).next_batch(targets, 4)
    assert found.indices.tolist() == expected.indices.tolist()


def test_observed_rows_and_points_with_a_pool_in_files(folder):
    expected = homing.select("one.npy", "targets.npy", 4, observed=[2, 40])
    same(homing.select("arrays", "targets.npy", 4, observed=[2, 40]), expected)
    points = homing.select("one.npy", "targets.npy", 4, observed="one.npy")
    same(homing.select("arrays", "targets.npy", 4, observed="arrays/*.npy"), points)
    same(homing.select("arrays", "targets.npy", 4, observed=paths("arrays", ".npy")), points)


def test_no_output_may_be_one_of_the_files(folder):
    picks = homing.select("arrays/*.npy", "targets.npy", 3)
    with pytest.raises(ValueError, match="is an input and would be overwritten"):
        picks.report("arrays/part-0.npy")
    listed = homing.select(paths("arrays", ".npy"), "targets.npy", 3)
    with pytest.raises(ValueError, match="is an input and would be overwritten"):
        listed.report("arrays/part-3.npy")
    picks.report("page.html")
    page = Path("page.html").read_text()
    assert "(number of files: 4)" in page and "part-" in page


def test_files_that_are_no_pool_together_are_refused(folder):
    np.save("arrays/part-4.npy", np.zeros((2, DIM + 1), np.float32))
    with pytest.raises(ValueError, match="part-4.npy does not match the files before it: its rows have 9 values but theirs have 8"):
        homing.select("arrays", "targets.npy", 3)
    with pytest.raises(FileNotFoundError, match="part-9.npy does not exist"):
        homing.select(["arrays/part-0.npy", "arrays/part-9.npy"], "targets.npy", 3)
    with pytest.raises(ValueError, match=r"no file matches arrays/\*.safetensors"):
        homing.select("arrays/*.safetensors", "targets.npy", 3)
    with pytest.raises(ValueError, match="several formats"):
        homing.select(["arrays/part-0.npy", "one.csv"], "targets.npy", 3)


def test_texts_in_a_list_stay_texts(folder):
    texts = ["a parcel is lost", "see one.npy", "reset my password"]
    assert len(homing.select(texts, ["my parcel is lost"], 2).indices) == 2
