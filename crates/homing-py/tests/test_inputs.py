"""Embeddings give the same picks in every form, and are read in place if the layout allows it."""

import subprocess
import sys

import homing
import ml_dtypes
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from homing._inputs import data


def picks(pool, targets, **more):
    return homing.select(pool, targets, 8, **more).indices.tolist()


def table(array, kind=pa.float32(), fixed=True, chunks=1):
    parts = []
    for part in np.array_split(array, chunks):
        flat = pa.array(part.reshape(-1), kind)
        offsets = np.arange(0, part.size + 1, part.shape[1], dtype=np.int32)
        lists = pa.FixedSizeListArray.from_arrays(flat, part.shape[1]) if fixed else pa.ListArray.from_arrays(offsets, flat)
        parts.append(lists)
    return pa.table({"id": [f"r{i}" for i in range(len(array))], "embedding": pa.chunked_array(parts)})


def test_number_formats(pool, targets):
    for kind in [np.float64, np.float16, ml_dtypes.bfloat16]:
        stored = pool.astype(kind)
        assert picks(stored, targets) == picks(stored.astype(np.float32), targets), kind
    assert data(pool.astype(ml_dtypes.bfloat16), "pool").dtype == "bfloat16"


def test_lists_and_single_targets(pool, targets):
    assert picks(pool, targets.tolist()) == picks(pool, targets.astype(np.float64))
    assert picks(pool, targets[0]) == picks(pool, targets[:1])
    assert picks([[1, 0]] * 4 + pool[:20, :2].tolist(), [[1, 0]])


def test_mapped_arrays(pool, targets, tmp_path):
    np.save(tmp_path / "pool.npy", pool)
    mapped = np.load(tmp_path / "pool.npy", mmap_mode="r")
    assert not mapped.flags.writeable
    assert picks(mapped, targets) == picks(pool, targets)


def test_layouts_that_cannot_be_looked_at_are_refused(pool, targets):
    for bad, match in [
        (np.asfortranarray(pool), "Fortran order; pass numpy.ascontiguousarray"),
        (pool[::2], "view with gaps"),
        (pool[:, :6], "view with gaps"),
        (pool.reshape(20, 20, 12), "shape"),
        (np.ma.masked_invalid(pool), "masked"),
        (pool.astype(">f4"), "byte order"),
        (pool.astype(np.int64), "int64; floats are needed"),
        (pool.astype(np.uint16), "uint16; floats are needed"),
        (pool.astype(object), "object; floats are needed"),
        (np.empty((0, 12), np.float32), "the pool came empty"),
        (None, "the pool came as NoneType"),
        (pool[0], "shape"),
        ([["a", "b"]], "floats are needed"),
        ([[1.0, 2.0], [3.0]], "rows of different lengths"),
    ]:
        with pytest.raises((ValueError, TypeError), match=match):
            homing.select(bad, targets, 3)
    # Targets are few, so they are copied if necessary.
    assert picks(pool, np.asfortranarray(targets)) == picks(pool, targets)
    assert picks(pool, np.repeat(targets, 2, axis=0)[::2]) == picks(pool, targets)
    assert picks(pool, targets.astype(">f4")) == picks(pool, targets)
    with pytest.raises(ValueError, match="the targets came empty"):
        homing.select(pool, targets[:0], 3)


@pytest.mark.parametrize("kind", [pa.float16(), pa.float32(), pa.float64()])
@pytest.mark.parametrize("fixed", [True, False])
@pytest.mark.parametrize("chunks", [1, 7])
def test_arrow_columns(pool, targets, kind, fixed, chunks):
    pool = pool.astype(np.float16).astype(kind.to_pandas_dtype())
    arrow = table(pool, kind, fixed, chunks)
    want = picks(pool, targets)
    assert picks(arrow, targets) == want
    assert picks(arrow["embedding"], targets) == want
    assert picks(arrow.rename_columns(["id", "x"]), targets, embedding_column="x") == want
    assert picks(arrow.slice(3, 200), targets) == picks(pool[3:203].copy(), targets)
    assert data(arrow, "pool").place == "arrow"


def test_arrow_refusals(pool, targets):
    ragged = pa.table({"embedding": [[1.0, 2.0], [3.0]]})
    with pytest.raises(ValueError, match="row 1 .* has 1 values"):
        homing.select(ragged, targets, 1)
    with pytest.raises(ValueError, match="row 1 .* has no value in column .embedding"):
        homing.select(pa.table({"embedding": [[1.0, 2.0], None]}), targets, 1)
    with pytest.raises(ValueError, match="name one in `embedding_column`"):
        homing.select(pa.table({"a": [[1.0]], "b": [[1.0]]}), targets, 1)
    with pytest.raises(TypeError, match="the pool holds texts or images, but the targets hold embeddings; give the same for both"):
        homing.select(pa.array(["x"]), targets, 1)


def test_pandas(pool, targets):
    want = picks(pool, targets)
    assert picks(pd.DataFrame(pool), pd.DataFrame(targets)) == want
    lists = pd.DataFrame({"e": list(pool), "source": "web"})
    assert picks(lists, targets, embedding_column="e") == want
    assert picks(lists, targets) == want, "the only column of lists is the embedding"
    with pytest.raises(TypeError, match="not all columns of the pool hold floats"):
        homing.select(lists.assign(f=list(pool)), targets, 3)
    with pytest.raises(ValueError, match="no column 'x' in the pool; there are e, source"):
        homing.select(lists, targets, 3, embedding_column="x")


def test_columns_by_name(pool, targets):
    """Groups, costs and probabilities may name columns of tables in memory, as they may for files."""
    datasets = pytest.importorskip("datasets")
    likely = np.random.default_rng(1).dirichlet(np.ones(3), 400)
    columns = {"embedding": list(pool), "source": ["web", "book"] * 200, "price": np.ones(400), "likely": list(likely)}
    frame = pd.DataFrame(columns)
    arrow = pa.Table.from_pandas(frame)
    order = np.random.default_rng(3).permutation(400)
    shuffled = datasets.Dataset(arrow).select(order.tolist())
    named = {"groups": "source", "quotas": {"web": 2}, "costs": "price", "budget": 6, "embedding_column": "embedding"}
    for table in [frame, arrow, shuffled]:
        rows = order if table is shuffled else np.arange(400)
        made = homing.select(table, targets, 8, **named)
        assert len(made) == 6 and sum(rows[row] % 2 == 0 for row in made) == 2
        uncertain = homing.select(table, None, 5, "max-entropy", probabilities="likely", embedding_column="embedding")
        want = homing.select(pool, None, 5, "max-entropy", probabilities=likely)
        assert rows[uncertain.indices].tolist() == want.indices.tolist()
        selector = homing.Selector(table, **named)
        assert [len(selector.next_batch(targets, 4)) for _ in range(2)] == [4, 2]
    for column in ["groups", "costs", "probabilities"]:
        with pytest.raises(TypeError, match="has no columns; give one value per row"):
            homing.select(pool, targets, 3, **{column: "source"})
        with pytest.raises(ValueError, match="no such column"):
            homing.select(arrow, targets, 3, embedding_column="embedding", **{column: "sauce"})


def test_rows_in_any_hands(pool, targets):
    want = picks(pool, targets, observed=[1, 2])
    for rows in [{1, 2}, range(1, 3), pa.array([1, 2]), pd.Series([1, 2]), pd.Index([1, 2]), np.array([[1], [2]], np.uint8)]:
        assert picks(pool, targets, observed=rows) == want
        assert not set(picks(pool, targets, forbidden=rows)) & {1, 2}


def test_datasets(pool, targets, tmp_path):
    datasets = pytest.importorskip("datasets")
    whole = datasets.Dataset.from_dict(
        {"text": [str(i) for i in range(len(pool))], "embedding": pool},
        features=datasets.Features(
            {"text": datasets.Value("string"), "embedding": datasets.List(datasets.Value("float32"), length=12)}
        ),
    )
    want = picks(pool, targets)
    assert picks(whole, targets) == want
    assert picks(whole["embedding"], targets) == want
    # After shuffling or filtering, the rows of a dataset differ from those of its table.
    order = np.random.default_rng(3).permutation(len(pool))[:150]
    for some in [whole.select(order.tolist()), whole.select(order.tolist()).with_format("numpy")]:
        assert some._indices is not None
        assert picks(some, targets) == picks(pool[order].copy(), targets)
    column = whole.select(order.tolist())["embedding"]
    assert picks(column, targets) == picks(pool[order].copy(), targets)
    even = whole.filter(lambda row: int(row["text"]) % 2 == 0)
    assert picks(even, targets) == picks(pool[::2].copy(), targets)
    whole.shuffle(seed=1).flatten_indices().save_to_disk(str(tmp_path / "saved"))
    assert len(picks(str(tmp_path / "saved"), targets)) == 8
    with pytest.raises(TypeError, match="one split"):
        homing.select(datasets.DatasetDict({"train": whole}), targets, 3)


def test_files(pool, targets, tmp_path):
    want = picks(pool, targets)
    np.save(tmp_path / "pool.npy", pool)
    np.save(tmp_path / "targets.npy", targets)
    assert picks(tmp_path / "pool.npy", str(tmp_path / "targets.npy")) == want
    for access in ["map", "read"]:
        assert picks(tmp_path / "pool.npy", targets, pool_access=access) == want
    file = table(pool).append_column("source", pa.array(["web", "book"] * 200))
    file = file.append_column("price", pa.array(np.ones(400)))
    pa.parquet.write_table(file, tmp_path / "pool.parquet")
    made = homing.select(tmp_path / "pool.parquet", targets, 8, groups="source", quotas={"web": 3}, costs="price")
    assert made.ids == [f"r{row}" for row in made.indices]
    assert sum(row % 2 == 0 for row in made) <= 3
    assert "id" in made.to_pandas()
    made.report(tmp_path / "x.html")
    assert f"r{made.indices[0]}<" in (tmp_path / "x.html").read_text()
    first = homing.select(tmp_path / "pool.parquet", targets, 3)
    first.to_pandas().to_csv(tmp_path / "picks.csv", index=False)
    pd.DataFrame({"id": first.ids}).to_csv(tmp_path / "ids.csv", index=False)
    np.save(tmp_path / "points.npy", pool[first.indices])
    for observed in ["picks.csv", "ids.csv"]:
        again = homing.select(tmp_path / "pool.parquet", targets, 5, observed=tmp_path / observed)
        assert again.indices.tolist() == want[3:]
        other = homing.select(tmp_path / "pool.parquet", targets, 5, forbidden=tmp_path / observed)
        assert not set(other) & set(first)
    assert homing.select(pool, targets, 5, observed=tmp_path / "picks.csv").indices.tolist() == want[3:]
    by_points = homing.select(pool, targets, 5, observed=tmp_path / "points.npy", forbidden=first)
    assert by_points.indices.tolist() == want[3:]
    with pytest.raises(ValueError, match="no ids"):
        homing.select(pool, targets, 5, observed=tmp_path / "ids.csv")
    with pytest.raises(FileNotFoundError, match="does not exist"):
        homing.select(tmp_path / "none.npy", targets, 3)
    with pytest.raises(ValueError, match="embedding"):
        homing.select(tmp_path / "pool.parquet", targets, 3, embedding_column="vectors")


def test_the_pool_is_not_copied(tmp_path):
    """The peak memory of a selection, measured in a separate process, grows by far less than the pool's 153 MiB."""
    code = """
import resource, numpy as np, homing
rng = np.random.default_rng(0)
pool = rng.standard_normal((400_000, 100), dtype=np.float32)
targets = pool[:5].copy()
homing.select(pool[:1000], targets, 3)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
homing.select(pool, targets, 3, threads=2)
print(1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 400_000)
"""
    grown = float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
    assert grown < 200, f"{grown:.0f} bytes per row in addition to the pool, whose rows have 400"


def test_tensors(pool, targets):
    torch = pytest.importorskip("torch", reason="torch is not installed; `crates/homing-py/test torch` runs these")
    want = picks(pool, targets)
    tensor = torch.from_numpy(pool)
    assert picks(tensor, torch.from_numpy(targets)) == want
    assert picks(tensor.clone().requires_grad_(), targets) == want
    for kind in [torch.float64, torch.float16, torch.bfloat16]:
        stored = tensor.to(kind)
        assert picks(stored, targets) == picks(stored.float().numpy(), targets), kind
    assert data(tensor.bfloat16(), "pool").dtype == "bfloat16"
    with pytest.raises(ValueError, match="Fortran order"):
        homing.select(tensor.T.contiguous().T, targets, 3)
    with pytest.raises(TypeError, match="to_dense"):
        homing.select(tensor.to_sparse(), targets, 3)
    with pytest.raises(TypeError, match=r"on meta; pass pool.cpu\(\)"):
        homing.select(tensor.to("meta"), targets, 3)
    assert homing.select(tensor, targets, 3, observed=torch.tensor([want[0]])).indices[0] == want[1]
    found = homing.Retriever(pool).search(targets[0], N=5, K=50).indices.tolist()
    for query in [torch.from_numpy(targets[0]), torch.from_numpy(targets[0]).requires_grad_()]:
        assert homing.Retriever(tensor).search(query, N=5, K=50).indices.tolist() == found
    halves = homing.Retriever(tensor.bfloat16().float().numpy()).search(targets[0], N=5, K=50).indices.tolist()
    assert homing.Retriever(tensor.bfloat16()).search(torch.from_numpy(targets[0]), N=5, K=50).indices.tolist() == halves
    with pytest.raises(TypeError, match=r"on meta; pass query.cpu\(\)"):
        homing.Retriever(tensor).search(torch.from_numpy(targets[0]).to("meta"), N=5)
