"""activeft's retriever: finds the nearest rows of a Faiss index, then chooses those that teach the most about a query."""

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
"""The largest `N` that an index with fewer rows accepts; missing rows are filled with −1."""


class RetrievalTime(NamedTuple):
    """The seconds that the two steps of a search took."""

    faiss: float
    sift: float


class Retriever:
    """Retrieves rows of a Faiss index for queries at test time.

    :meth:`search` returns (values, indices, embeddings, time), which can also be used as an index. Answers are in the order
    of the queries. Rows that an approximate index did not find are left out; if fewer than `N` rows are found, the rest is −1.
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
        """Returns `N` rows for one query of m vectors (m × d), chosen among the `K` rows nearest to their mean."""
        values, indices, embeddings, seconds = self.batch_search(to_numpy(query)[None], N, K, mean_pooling, threads)
        return picks(indices[0], (values[0], indices[0], embeddings[0], seconds), query)

    def batch_search(
        self, queries: Any, N: int, K: int | None = None, mean_pooling: bool = False, threads: int = 1
    ) -> Any:
        """Answers n queries (n × m × d) as :meth:`search` answers one."""
        vectors = to_numpy(queries)
        if vectors.ndim != 3:
            raise ValueError(f"the queries have shape {vectors.shape}; n × m × d is needed: n queries of m vectors each")
        vectors = self._nearest._queries(vectors)
        count = self._nearest._index.rows
        N = _inputs.whole(N, "N", 1)
        if N > max(count, _SMALL):
            raise ValueError(f"N is {N}, but the index has only {count} rows; lower it")
        start = time.perf_counter()
        found = [self._nearest._candidates(query, K) for query in vectors]
        faiss = time.perf_counter() - start

        def answer(i: int) -> tuple[Array, Array]:
            rows, embeddings = found[i]
            target = vectors[i].mean(axis=0, keepdims=True) if mean_pooling else vectors[i]
            return self._choose(min(N, len(rows)), embeddings, target)

        start = time.perf_counter()
        with ThreadPoolExecutor(max_workers=_inputs.threads(threads)) as pool:
            chosen = list(pool.map(answer, range(len(vectors))))
        sift = time.perf_counter() - start
        shape = (len(vectors), N)
        values = np.full(shape, np.nan, dtype=np.float32)
        indices = np.full(shape, -1, dtype=np.int64)
        embeddings = np.zeros((*shape, vectors.shape[2]), dtype=np.float32)
        for i, (rows, scores) in enumerate(chosen):
            values[i, : len(rows)] = scores
            indices[i, : len(rows)] = found[i][0][rows]
            embeddings[i, : len(rows)] = found[i][1][rows]
        seconds = RetrievalTime(faiss=faiss, sift=0.0 if self.only_faiss else sift)
        return picks(indices, (values, indices, embeddings, seconds), queries)

    def _choose(self, count: int, embeddings: Array, target: Array) -> tuple[Array, Array]:
        function = self.acquisition_function
        if self.only_faiss:
            return np.arange(count), embeddings[:count] @ target.mean(axis=0)
        if isinstance(function, BaCE):
            # `among` does not change the function, which threads share.
            return function.among(count, None, embeddings, target if isinstance(function, Targeted) else None)
        return function._choose(count, None, embeddings, self.device)
