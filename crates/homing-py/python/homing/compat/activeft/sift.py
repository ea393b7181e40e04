"""activeft's retriever: the nearest rows of a Faiss index, and of those the ones that teach most about a query."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from math import sqrt
from typing import Any, NamedTuple

import numpy as np

import homing
from homing import _inputs
from homing.compat.activeft._arrays import Array, picks, to_numpy
from homing.compat.activeft.acquisition_functions import VTL, AcquisitionFunction, BaCE, LazyVTL, Targeted
from homing.compat.activeft.data import Dataset as Dataset


_SMALL = 1 << 16
"""Answers are filled up with −1 to so many rows, and to as many as the index has."""


class RetrievalTime(NamedTuple):
    """Seconds."""

    faiss: float
    sift: float


class Retriever:
    """Rows of a Faiss index for queries at test time.

    The answer of :meth:`search` is (values, indices, embeddings, time), and indexes as the indices do. Answers are in the order of the
    queries, rows that an approximate index did not find are left out, and where fewer than `N` are found the rest is −1.
    """

    def __init__(
        self,
        index: Any,
        acquisition_function: AcquisitionFunction | None = None,
        llambda: float = 0.01,
        fast: bool = False,
        also_query_opposite: bool = True,
        only_faiss: bool = False,
        device: Any = None,
        *,
        strict: bool = False,
    ) -> None:
        self.index, self.only_faiss, self.device = index, only_faiss, device
        self.also_query_opposite = also_query_opposite
        if acquisition_function is None:
            kind = LazyVTL if fast else VTL
            acquisition_function = kind([], noise_std=sqrt(llambda), strict=strict)
        self.acquisition_function = acquisition_function
        self._nearest = homing.Retriever(index, also_opposite=also_query_opposite)

    def search(self, query: Any, N: int, K: int | None, mean_pooling: bool = False, threads: int = 1) -> Any:
        """The `N` rows for one query of m vectors (m × d), of the `K` nearest to their mean."""
        values, indices, embeddings, spent = self.batch_search(to_numpy(query)[None], N, K, mean_pooling, threads)
        return picks(indices[0], (values[0], indices[0], embeddings[0], spent), query)

    def batch_search(
        self, queries: Any, N: int, K: int | None = None, mean_pooling: bool = False, threads: int = 1
    ) -> Any:
        """The same for n queries (n × m × d)."""
        vectors = to_numpy(queries)
        if vectors.ndim != 3:
            raise ValueError(f"the queries have shape {vectors.shape}; n × m × d are wanted, m vectors for each of n queries")
        asked = self._nearest._queries(vectors)
        rows = self._nearest._index.rows
        N = _inputs.whole(N, "N", 1)
        if N > max(rows, _SMALL):
            raise ValueError(f"N is {N}, but the index has only {rows} rows")
        start = time.perf_counter()
        found = [self._nearest._candidates(query, K) for query in asked]
        faiss = time.perf_counter() - start

        def answer(i: int) -> tuple[Array, Array]:
            rows, embeddings = found[i]
            target = asked[i].mean(axis=0, keepdims=True) if mean_pooling else asked[i]
            return self._choose(min(N, len(rows)), embeddings, target)

        start = time.perf_counter()
        with ThreadPoolExecutor(max_workers=_inputs.threads(threads)) as pool:
            chosen = list(pool.map(answer, range(len(asked))))
        sift = time.perf_counter() - start
        shape = (len(asked), N)
        values = np.full(shape, np.nan, dtype=np.float32)
        indices = np.full(shape, -1, dtype=np.int64)
        embeddings = np.zeros((*shape, asked.shape[2]), dtype=np.float32)
        for i, (rows, scores) in enumerate(chosen):
            values[i, : len(rows)] = scores
            indices[i, : len(rows)] = found[i][0][rows]
            embeddings[i, : len(rows)] = found[i][1][rows]
        spent = RetrievalTime(faiss=faiss, sift=0.0 if self.only_faiss else sift)
        return picks(indices, (values, indices, embeddings, spent), queries)

    def _choose(self, count: int, embeddings: Array, target: Array) -> tuple[Array, Array]:
        function = self.acquisition_function
        if self.only_faiss:
            return np.arange(count), embeddings[:count] @ target.mean(axis=0)
        if isinstance(function, BaCE):
            # Nothing is set on the function, which threads share.
            return function.among(count, None, embeddings, target if isinstance(function, Targeted) else None)
        return function._choose(count, None, embeddings, self.device)
