"""The activeft-compatible interface: activeft's golden numbers with strict=True, Homing's picks without it."""

import json
import threading

import faiss
import homing
import homing.compat.activeft as activeft
import numpy as np
import oracle
import pytest
from conftest import ROOT
from homing.compat.activeft.acquisition_functions.itl import ITL
from homing.compat.activeft.acquisition_functions.undirected_vtl import UndirectedVTL
from homing.compat.activeft.acquisition_functions.vtl import VTL
from homing.compat.activeft.sift import Retriever

functions = activeft.acquisition_functions
GOLDEN = json.loads((ROOT / "crates/homing/tests/data/activeft.json").read_text())


def golden_inputs():
    state, values = 1, []
    for _ in range(205 * 16):
        state = (1103515245 * state + 12345) % 2**31
        values.append(2 * state / 2**31 - 1)
    rows = np.array(values, dtype=np.float32).reshape(205, 16)
    return rows[:200], rows[200:]


@pytest.mark.parametrize("name", [name for name in GOLDEN if not name.startswith("Cosine")])
def test_strict_has_the_golden_numbers(name):
    dataset, target = golden_inputs()
    rule, _, noise = name.partition("/noise_std=")
    noise_std = None if noise == "None" else float(noise)
    arguments = {"noise_std": noise_std, "strict": True}
    function = getattr(functions, rule)
    made = function(**arguments) if rule.startswith("Undirected") else function(target, **arguments)
    indices, values = activeft.ActiveDataLoader(dataset, 8, made).next()
    assert indices.tolist() == GOLDEN[name]["idx"]
    np.testing.assert_allclose(values, GOLDEN[name]["val"], rtol=2e-3, atol=2e-4)


def test_cosine_similarity_has_the_golden_numbers():
    dataset, target = golden_inputs()
    name = next(name for name in GOLDEN if name.startswith("Cosine"))
    indices, values = functions.CosineSimilarity(target).select(len(GOLDEN[name]["idx"]), None, dataset)
    assert indices.tolist() == GOLDEN[name]["idx"]
    np.testing.assert_allclose(values, GOLDEN[name]["val"], rtol=1e-4)


def test_the_default_is_correct():
    dataset, target = golden_inputs()
    for rule, function in [("itl", ITL), ("vtl", VTL), ("ctl", functions.CTL), ("vtl", functions.LazyVTL)]:
        indices, values = activeft.ActiveDataLoader(dataset, 20, function(target, noise_std=0.4)).next()
        assert indices.tolist() == homing.select(dataset, target, 20, rule, noise_std=0.4).indices.tolist()
        assert len(set(indices.tolist())) == 20, "no row comes twice"


def test_values_mean_what_activeft_means():
    """The first value equals the strict one, for rules whose strict formula has ρ² too."""
    dataset, target = golden_inputs()
    for function in [VTL, functions.CTL, functions.LazyVTL]:
        ours = function(target, noise_std=0.7).select(3, None, dataset)[1]
        theirs = function(target, noise_std=0.7, strict=True).select(3, None, dataset)[1]
        np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-5)
    for function in [functions.UndirectedITL, UndirectedVTL, functions.UncertaintySampling]:
        ours, theirs = (function(0.7, strict=strict).select(4, None, dataset) for strict in (False, True))
        assert ours[0].tolist() == theirs[0].tolist()
        np.testing.assert_allclose(ours[1], theirs[1], rtol=1e-5)


def test_marginal_information():
    dataset, target = golden_inputs()
    indices, values = functions.MMITL(target, noise_std=0.5).select(6, None, dataset)
    assert len(set(indices.tolist())) == 6
    # The definition: mean_a I(f_a; y_x | D), with the covariance of all rows given the earlier picks.
    joint = oracle.covariance(dataset, target)
    for i, value in enumerate(values):
        known = indices[:i]
        noisy = joint[np.ix_(known, known)] + 0.25 * np.eye(i)
        given = joint - joint[:, known] @ np.linalg.solve(noisy, joint[known])
        cov, var = given[:200, 200:], np.diag(given)
        gained = (-0.5 * np.log1p(-(cov**2) / np.outer(var[:200] + 0.25, var[200:]))).mean(1)
        gained[known] = -np.inf
        assert indices[i] == gained.argmax()
        np.testing.assert_allclose(value, gained.max(), rtol=1e-6)


def test_other_functions_run():
    dataset, target = golden_inputs()
    for function in [functions.MaxDist(), functions.KMeansPP(seed=1), functions.Random(seed=2)]:
        indices, values = function.select(7, None, dataset)
        assert len(set(indices.tolist())) == 7 and len(values) == 7
    subsampled = VTL(target, mini_batch_size=50, subsample=True, seed=1, subsampled_target_frac=0.5, max_target_size=2)
    assert len(subsampled.get_target()) == 2
    assert len(set(subsampled.select(7, None, dataset)[0].tolist())) == 7
    for function in [functions.CosineSimilarity, functions.InformationDensity, functions.EIG]:
        with pytest.raises(TypeError, match="strict"):
            function(target, strict=True)
    with pytest.raises(ValueError, match="no target"):
        ITL([]).select(3, None, dataset)
    top = ITL(target, noise_std=0.5, force_nonsequential=True).select(5, None, dataset)[0]
    assert top.tolist() == homing.select(dataset, target, 5, "itl-top-b", 0.5).indices.tolist()


def test_the_loader():
    dataset, target = golden_inputs()
    loader = activeft.ActiveDataLoader.initialize(dataset, target, batch_size=6)
    assert isinstance(loader.acquisition_function, VTL)
    assert dataset[loader.next()].shape == (6, 16)
    indices, values = loader.next()
    np.testing.assert_array_equal(dataset[loader.next()], dataset[indices])
    assert loader.next()[0].tolist() == indices.tolist()
    undirected = activeft.ActiveDataLoader.initialize(dataset, None, batch_size=4)
    assert isinstance(undirected.acquisition_function, UndirectedVTL)
    later = activeft.ActiveDataLoader.initialize(dataset, None, batch_size=6, force_targeted=True)
    with pytest.raises(ValueError, match="no target"):
        later.next()
    assert later.with_target(target).next()[0].tolist() == indices.tolist()
    wrapped = activeft.data.InputDataset([(row, 0) for row in dataset])
    assert activeft.ActiveDataLoader.initialize(wrapped, target, batch_size=6).next()[0].tolist() == indices.tolist()

    class Own(activeft.data.Dataset):
        def __len__(self):
            return len(dataset)

        def __getitem__(self, index):
            return dataset[index]

    assert activeft.ActiveDataLoader.initialize(Own(), target, batch_size=6).next()[0].tolist() == indices.tolist()
    with pytest.raises(AssertionError, match="positive"):
        activeft.ActiveDataLoader.initialize(dataset, target, batch_size=0)


def test_what_breaks_activeft_does_not_break_us():
    rng = np.random.default_rng(0)
    dataset, target = 100 * rng.standard_normal((20_000, 8)), 100 * rng.standard_normal((3, 8))
    indices, _ = activeft.ActiveDataLoader(dataset, 10, ITL(target, noise_std=0.01)).next()
    assert len(set(indices.tolist())) == 10


def test_the_retriever():
    rng = np.random.default_rng(0)
    embeddings = rng.standard_normal((1000, 32)).astype(np.float32)
    index = faiss.IndexFlatIP(32)
    index.add(embeddings)
    queries = rng.standard_normal((6, 2, 32)).astype(np.float32)
    retriever = Retriever(index)
    values, indices, found, spent = retriever.search(queries[0], N=10, K=100)
    assert indices.shape == (10,) and spent.faiss >= 0 and spent.sift >= 0
    np.testing.assert_array_equal(found, embeddings[indices])
    assert (np.diff(values) >= -1e-4).all(), "minus the variance that is left never falls"
    np.testing.assert_array_equal(embeddings[retriever.search(queries[0], N=10, K=100)], found)
    batch = retriever.batch_search(queries, N=10, K=100, threads=4)
    for i, query in enumerate(queries):
        assert batch[1][i].tolist() == retriever.search(query, N=10, K=100)[1].tolist()
    pooled = Retriever(index, ITL([], noise_std=0.1)).search(queries[0], N=4, K=50, mean_pooling=True)
    assert pooled[1].shape == (4,)
    fast = Retriever(index, fast=True).batch_search(queries, N=10, K=100)
    assert fast[1].tolist() == batch[1].tolist()
    only = Retriever(index, only_faiss=True, also_query_opposite=False).search(queries[0], N=5, K=20)
    assert only[1].tolist() == index.search(queries[0].mean(0)[None], 5)[1][0].tolist()


def test_the_retriever_and_answers_of_minus_one():
    rng = np.random.default_rng(0)
    embeddings = rng.standard_normal((300, 8)).astype(np.float32)
    index = faiss.IndexIVFFlat(faiss.IndexFlatIP(8), 8, 30, faiss.METRIC_INNER_PRODUCT)
    index.train(embeddings)
    index.add(embeddings)
    values, indices, found, _ = Retriever(index).search(embeddings[:1], N=60, K=60)
    some = indices >= 0
    assert 0 < some.sum() < 60 and np.isnan(values[~some]).all()
    np.testing.assert_array_equal(found[some], embeddings[indices[some]])


def test_threads_share_a_function():
    dataset, target = golden_inputs()
    function = VTL(target)
    want = function.select(5, None, dataset)[0].tolist()
    found = []
    threads = [threading.Thread(target=lambda: found.append(function.select(5, None, dataset)[0].tolist())) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [want] * 6
