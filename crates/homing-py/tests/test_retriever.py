"""Retrieval from arrays and Faiss indexes: the nearest rows, then the rule; in order, also from several threads."""

import pickle
import threading

import faiss
import homing
import ml_dtypes
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest


@pytest.fixture
def rows(rng):
    return rng.standard_normal((800, 16)).astype(np.float32)


@pytest.fixture
def queries(rng):
    return rng.standard_normal((12, 16)).astype(np.float32)


def flat(rows):
    index = faiss.IndexFlatIP(rows.shape[1])
    index.add(rows)
    return index


def test_the_nearest_then_the_rule(rows, queries):
    found = homing.Retriever(rows, noise_var=0.3).search(queries[0], N=6, K=50)
    near = np.argsort(-(rows @ queries[0]), kind="stable")[:50]
    assert found.candidates.tolist() == near.tolist()
    want = homing.select(rows[near], queries[:1], 6, "vtl", noise_std=np.sqrt(0.3))
    assert found.indices.tolist() == near[want.indices].tolist()
    assert found.scores.tolist() == want.scores.tolist()
    np.testing.assert_array_equal(found.embeddings, rows[found.indices])


def test_arrays_and_flat_indexes_agree(rows, queries, tmp_path):
    np.save(tmp_path / "rows.npy", rows)
    column = pa.FixedSizeListArray.from_arrays(pa.array(rows.reshape(-1)), 16)
    want = [found.indices.tolist() for found in homing.Retriever(rows).batch_search(queries, N=5, K=40)]
    for index in [flat(rows), str(tmp_path / "rows.npy"), column, rows.tolist(), pd.DataFrame(rows), np.asfortranarray(rows)]:
        found = homing.Retriever(index).batch_search(queries, N=5, K=40)
        assert [one.indices.tolist() for one in found] == want


def test_half_precision(rows, queries):
    for kind in [np.float16, ml_dtypes.bfloat16]:
        stored = rows.astype(kind)
        found = homing.Retriever(stored).search(queries[0], N=5, K=40)
        want = homing.Retriever(stored.astype(np.float32)).search(queries[0], N=5, K=40)
        assert found.indices.tolist() == want.indices.tolist()


def test_all_rows_without_k(rows, queries):
    found = homing.Retriever(rows).search(queries[0], N=4)
    want = homing.select(rows, queries[:1], 4, "vtl", noise_std=0.1)
    assert found.indices.tolist() == want.indices.tolist()


def test_several_vectors_are_one_query(rows, queries):
    found = homing.Retriever(rows).search(queries[:3], N=6)
    want = homing.select(rows, queries[:3], 6, "vtl", noise_std=0.1)
    assert found.indices.tolist() == want.indices.tolist()
    both = homing.Retriever(rows).batch_search(queries[:6].reshape(2, 3, 16), N=6)
    assert both[0].indices.tolist() == want.indices.tolist()


def test_an_index_that_does_not_find_enough(rows, queries):
    index = faiss.IndexIVFFlat(faiss.IndexFlatIP(16), 16, 40, faiss.METRIC_INNER_PRODUCT)
    index.train(rows)
    index.add(rows)
    index.nprobe = 1
    _, ids = index.search(queries, 200)
    assert (ids == -1).any()
    for query, found in zip(queries, homing.Retriever(index).batch_search(queries, N=300, K=200)):
        known = set(index.search(query[None], 200)[1][0].tolist()) - {-1}
        assert set(found.indices.tolist()) == known
        np.testing.assert_array_equal(found.embeddings, rows[found.indices])
    with pytest.raises(ValueError, match="index is empty"):
        homing.Retriever(faiss.IndexFlatIP(16)).search(queries[0], N=3)


def test_the_opposite_is_found_too(rows, queries):
    found = homing.Retriever(rows, also_opposite=True).search(queries[0], N=5, K=30)
    near = np.argsort(-np.abs(rows @ queries[0]))[:30]
    assert set(found.candidates) == set(near.tolist())
    with pytest.raises(ValueError, match="inner products"):
        index = faiss.IndexFlatL2(16)
        index.add(rows)
        homing.Retriever(index, also_opposite=True).search(queries[0], N=5, K=30)


def test_answers_are_in_the_order_of_the_queries(rows, queries):
    many = np.repeat(queries, 8, axis=0)
    for index in [rows, flat(rows)]:
        retriever = homing.Retriever(index, threads=4)
        alone = [retriever.search(query, 5, 60).indices.tolist() for query in many]
        assert [found.indices.tolist() for found in retriever.batch_search(many, 5, 60)] == alone


def test_threads_share_a_retriever(rows, queries):
    retriever = homing.Retriever(rows)
    want = {i: retriever.search(query, 5, 60).indices.tolist() for i, query in enumerate(queries)}
    found = {}

    def ask(i):
        found[i] = retriever.search(queries[i], 5, 60).indices.tolist()

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(len(queries))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == want
    assert pickle.loads(pickle.dumps(retriever)).search(queries[0], 5, 60).indices.tolist() == want[0]


def test_refusals(rows):
    with pytest.raises(ValueError, match=r"\(m, 16\) or \(16,\) is needed"):
        homing.Retriever(rows).search(np.zeros(5), 3)
    with pytest.raises(ValueError, match="positive"):
        homing.Retriever(rows, noise_var=0)
    with pytest.raises(ValueError, match="K is 0"):
        homing.Retriever(rows).search(rows[0], 3, 0)
    with pytest.raises(TypeError, match="K is 2.5"):
        homing.Retriever(rows).search(rows[0], 3, 2.5)
    with pytest.raises(ValueError, match="N is 0"):
        homing.Retriever(rows).search(rows[0], 0)
    with pytest.raises(ValueError, match="threads is 0"):
        homing.Retriever(rows, threads=0)
    with pytest.raises(TypeError, match="int64; floats are needed"):
        homing.Retriever(np.ones((5, 16), int))
    with pytest.raises(ValueError, match="a query holds a value that is not finite"):
        homing.Retriever(rows).search(np.nan * rows[0], 3)
    bad = rows.copy()
    bad[17, 3] = np.nan
    with pytest.raises(ValueError, match="row 17 of the index"):
        homing.Retriever(bad).search(rows[0], 3)
    without_rows = faiss.IndexIDMap(faiss.IndexFlatIP(16))
    without_rows.add_with_ids(rows, np.arange(800))
    with pytest.raises(ValueError, match="IndexIDMap cannot reconstruct its rows"):
        homing.Retriever(without_rows).search(rows[0], 3, 5)
    with_rows = faiss.IndexIDMap2(faiss.IndexFlatIP(16))
    with_rows.add_with_ids(rows, 5_000 + np.arange(800))
    found = homing.Retriever(with_rows).search(rows[0], 3, 50)
    assert (found.indices - 5_000).tolist() == homing.Retriever(rows).search(rows[0], 3, 50).indices.tolist()
