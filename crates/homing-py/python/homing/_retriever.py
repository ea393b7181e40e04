"""Rows for a query at test time: the nearest first, then those of them that teach most about it (SIFT)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import CancelledError, ThreadPoolExecutor
from dataclasses import dataclass, replace
from threading import Event
from typing import Any

import numpy as np
import numpy.typing as npt

from homing import _inputs
from homing._files import files_of
from homing._select import select
from homing._selection import Selection

_BLOCK = 1 << 26
"""Numbers of a scan that are multiplied at once."""

_LONG = 1 << 15
"""Candidates from which on a choice is long enough to be asked after every pick whether it is still wanted."""


@dataclass(frozen=True, eq=False)
class Retrieved:
    """What was found for one query."""

    indices: npt.NDArray[np.int64]
    """The chosen rows of the index, first pick first."""
    scores: npt.NDArray[np.float64]
    """What the rule gave each."""
    embeddings: npt.NDArray[np.float32]
    """Their embeddings, a row each."""
    candidates: npt.NDArray[np.int64]
    """The rows that were chosen among, nearest first."""
    selection: Selection
    """The choice among the candidates."""

    def __len__(self) -> int:
        return len(self.indices)

    def __iter__(self) -> Iterator[int]:
        return iter(self.indices.tolist())


class Retriever:
    """Finds the rows that teach most about a query: the `K` nearest, and of those the `N` that a rule chooses.

    Parameters
    ----------
    index
        Embeddings as :func:`homing.select` takes them, or a Faiss index of any kind.
    rule
        How to choose among the nearest; ``vtl`` is SIFT's.
    noise_var
        ρ², SIFT's λ.
    also_opposite
        With inner products, look among the nearest of the negated query too: a label there tells as much.
    threads
        Queries that are answered at once in :meth:`batch_search`.

    A retriever keeps nothing of a query, so that threads may share it.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> rows = rng.standard_normal((500, 16)).astype(np.float32)
    >>> retriever = Retriever(rows)
    >>> found = retriever.search(rows[7], N=5, K=50)
    >>> bool(found.indices[0] == 7), len(found)
    (True, 5)
    """

    def __init__(
        self,
        index: Any,
        *,
        rule: str = "vtl",
        noise_var: float = 0.01,
        also_opposite: bool = False,
        threads: int | None = None,
        seed: int = 0,
    ) -> None:
        noise_var = _inputs.real(noise_var, "noise_var")
        if not noise_var > 0:
            raise ValueError(f"noise_var is {noise_var}; it must be a positive number")
        self.rule, self.noise_var, self.also_opposite, self.seed = rule, noise_var, also_opposite, seed
        self.threads = _inputs.threads(threads)
        self._index: _Faiss | _Rows = _Faiss(index) if hasattr(index, "search_and_reconstruct") else _Rows(index)

    def search(self, query: Any, N: int, K: int | None = None) -> Retrieved:
        """Answers one query: a vector, or several that are targets together. Without `K`, all rows are candidates."""
        return self._answer(self._queries(_inputs.floats(query, "query", self._index.columns)[None])[0], N, K, self.threads)

    def batch_search(self, queries: Any, N: int, K: int | None = None) -> list[Retrieved]:
        """Answers queries (n × d, or n × m × d for m vectors each), in their order."""
        asked = self._queries(_inputs.floats(queries, "queries", self._index.columns))
        given_up = Event()
        with ThreadPoolExecutor(max_workers=self.threads or os.cpu_count()) as pool:
            try:
                return list(pool.map(lambda query: self._answer(query, N, K, 1, given_up), asked))
            except BaseException:
                # Signals come to the main thread only; queries that wait are cancelled by map.
                given_up.set()
                raise

    def _queries(self, queries: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
        if queries.ndim == 2:
            queries = queries[:, None]
        if queries.ndim != 3 or queries.shape[2] != self._index.dim:
            shape = queries.shape[1:]
            raise ValueError(f"a query has shape {shape}; (m, {self._index.dim}) or ({self._index.dim},) is wanted")
        with np.errstate(over="ignore"):
            singles = queries.astype(np.float32, copy=False)
        if not np.isfinite(singles).all():
            raise ValueError("a query holds a value that is not finite or beyond float32; remove or repair it")
        return singles

    def _answer(
        self, query: npt.NDArray[np.float32], N: int, K: int | None, threads: int | None, given_up: Event | None = None
    ) -> Retrieved:
        rows, embeddings = self._candidates(query, K)
        if not len(rows):
            raise ValueError("the index answered the query with no row at all; raise nprobe, or fill the index")
        if given_up is not None and given_up.is_set():
            raise CancelledError
        chosen = select(
            embeddings,
            np.ascontiguousarray(query),
            min(_inputs.whole(N, "N", 1), len(rows)),
            self.rule,
            noise_std=float(np.sqrt(self.noise_var)),
            seed=self.seed,
            threads=threads,
            progress=False,
            stop=(lambda _: given_up.is_set()) if given_up and len(rows) > _LONG else None,
        )
        chosen = replace(chosen, _files=self._index.files)
        picks = chosen.indices
        return Retrieved(rows[picks], chosen.scores, embeddings[picks], rows, chosen)

    def _candidates(
        self, query: npt.NDArray[np.float32], K: int | None
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]:
        """The K nearest to the mean of the query, each once, in the order of their nearness, with their embeddings."""
        mean = query.mean(axis=0)
        if not self._index.rows:
            raise ValueError("the index is empty; add rows to it")
        count = self._index.rows if K is None else min(_inputs.whole(K, "K", 1), self._index.rows)
        near, rows, embeddings = self._index.nearest(mean, count)
        if self.also_opposite:
            if not self._index.by_inner_product:
                raise ValueError("also_opposite is for inner products; this index measures distances")
            far, others, opposite = self._index.nearest(-mean, count)
            near, rows = np.concatenate([near, far]), np.concatenate([rows, others])
            embeddings = np.concatenate([embeddings, opposite])
            order = np.argsort(-near, kind="stable")
            _, first = np.unique(rows[order], return_index=True)
            order = order[np.sort(first)][:count]
            rows, embeddings = rows[order], embeddings[order]
        return rows, np.ascontiguousarray(embeddings)


class _Faiss:
    """A Faiss index, of which some answers may be missing."""

    columns: list[str] | None
    files: tuple[str, ...]

    def __init__(self, index: Any) -> None:
        self.index = index
        self.columns, self.files = None, ()
        self.dim = int(index.d)
        self.by_inner_product = index.metric_type == 0

    @property
    def rows(self) -> int:
        return int(self.index.ntotal)

    def nearest(
        self, query: npt.NDArray[np.float32], count: int
    ) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64], npt.NDArray[np.float32]]:
        try:
            near, rows, embeddings = self.index.search_and_reconstruct(query[None], count)
        except RuntimeError as error:
            kind = type(self.index).__name__
            raise ValueError(f"{kind} does not give rows back; wrap it in one that does, such as IndexIDMap2") from error
        # Where an approximate index finds too few rows, the rest is -1; a row may come twice.
        found = np.flatnonzero(rows[0] >= 0)
        _, first = np.unique(rows[0][found], return_index=True)
        found = found[np.sort(first)]
        return near[0][found], rows[0][found], embeddings[0][found]


class _Rows:
    """An array, scanned as a whole."""

    by_inner_product = True

    def __init__(self, rows: Any) -> None:
        self.files = files_of(rows)
        if _is_npy(rows):
            # Whether it is one that can be mapped, in the words that everything else is refused with.
            _inputs.data(rows, "index")
            rows = np.load(rows, mmap_mode="r")
        array, self.columns = _inputs.named_floats(rows, "index")
        if array.ndim != 2 or not array.size:
            raise ValueError(f"the index has shape {array.shape}; rows by columns are wanted")
        self.array = array
        self.rows, self.dim = array.shape

    def nearest(
        self, query: npt.NDArray[np.float32], count: int
    ) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64], npt.NDArray[np.float32]]:
        step = max(1, _BLOCK // self.dim)
        with np.errstate(over="ignore", invalid="ignore"):
            blocks = [self.array[at : at + step] @ query for at in range(0, self.rows, step)]
            near = np.concatenate(blocks).astype(np.float32, copy=False)
        lost = np.flatnonzero(~np.isfinite(near))
        if len(lost):
            raise ValueError(f"row {lost[0]} of the index holds a value that is not finite or too large; remove or repair it")
        best = np.argpartition(-near, count - 1)[:count] if count < self.rows else np.arange(self.rows)
        order = best[np.lexsort((best, -near[best]))].astype(np.int64)
        return near[order], order, np.asarray(self.array[order], dtype=np.float32)


def _is_npy(rows: Any) -> bool:
    return isinstance(rows, (str, os.PathLike)) and os.fspath(rows).endswith(".npy")
