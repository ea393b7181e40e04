"""Retrieves rows for a query at test time: finds the nearest rows, then chooses those that teach the most about it (SIFT)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import CancelledError, ThreadPoolExecutor
from dataclasses import dataclass
from threading import Event
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from homing import _homing, _inputs, _nearest
from homing._devices import device_data, is_on_device
from homing._files import files_of
from homing._nearest import BLOCK, Found, scan
from homing._task import TaskData, rows_as_given
from homing._selection import Selection
from homing._settings import Settings, check

if TYPE_CHECKING:
    from typing_extensions import Unpack

_ELSEWHERE = {
    "progress": "it shows no progress",
    "earlier_picks": "it answers every query independently",
    "device": "give the index as a tensor on the GPU",
}
"""Settings of :func:`homing.select` that a Retriever does not take."""

_LONG = 1 << 15
"""With more candidates than this, a choice takes so long that every pick checks whether the search was cancelled."""


@dataclass(frozen=True, eq=False)
class Retrieval:
    """The rows that were found for one query."""

    indices: npt.NDArray[np.int64]
    """The chosen rows of the index, first pick first."""
    scores: npt.NDArray[np.float64]
    """The score that the rule gave each row."""
    embeddings: npt.NDArray[np.float32]
    """The embeddings of the chosen rows, one row per pick."""
    candidates: npt.NDArray[np.int64]
    """The rows among which the rule chose, nearest first."""
    selection: Selection
    """The choice among the candidates."""

    def __len__(self) -> int:
        return len(self.indices)

    def __iter__(self) -> Iterator[int]:
        return iter(self.indices.tolist())


class Retriever:
    """Finds the rows that teach the most about a query: among the `K` nearest rows, a rule chooses `N`.

    Parameters
    ----------
    index
        Embeddings in any form that :func:`homing.select` accepts, a Faiss index of any kind, or a :class:`homing.ray.Pool`.
    rule
        The rule that chooses among the nearest rows; SIFT uses ``vtl``.
    noise_var
        The noise variance ρ², which SIFT calls λ.
    also_opposite
        Whether to include the rows nearest to the negated query, whose labels tell as much. This needs inner products.
    settings
        The keys of :class:`homing.Settings`, without `progress`, `earlier_picks` and `device`; `threads` is the number of queries that
        :meth:`batch_search` answers at once.

    A retriever keeps no state between queries, so threads may share it.

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
        **settings: Unpack[Settings],
    ) -> None:
        check("a Retriever", settings, Settings, _ELSEWHERE)
        noise_var = _inputs.real(noise_var, "noise_var")
        if not noise_var > 0:
            raise ValueError(f"noise_var is {noise_var}; it must be a positive number")
        self.rule, self.noise_var, self.also_opposite, self.settings = rule, noise_var, also_opposite, settings
        self.threads = _inputs.threads(settings.get("threads"))
        self._index = _index_of(index)

    def search(self, query: Any, N: int, K: int | None = None) -> Retrieval:
        """Answers one query: a vector, or several vectors that are targets together. Without `K`, all rows are candidates."""
        return self._answer(self._queries(_inputs.floats(query, "query", self._index.columns)[None])[0], N, K, self.threads)

    def batch_search(self, queries: Any, N: int, K: int | None = None) -> list[Retrieval]:
        """Answers several queries (n × d, or n × m × d for m vectors per query), in their order."""
        vectors = self._queries(_inputs.floats(queries, "queries", self._index.columns))
        cancelled = Event()
        with ThreadPoolExecutor(max_workers=self.threads or os.cpu_count()) as pool:
            try:
                return list(pool.map(lambda query: self._answer(query, N, K, 1, cancelled), vectors))
            except BaseException:
                # Only the main thread receives signals. `map` cancels the waiting queries; this cancels the running ones.
                cancelled.set()
                raise

    def _queries(self, queries: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
        if queries.ndim == 2:
            queries = queries[:, None]
        if queries.ndim != 3 or queries.shape[2] != self._index.dim:
            shape = queries.shape[1:]
            raise ValueError(f"a query has shape {shape}; (m, {self._index.dim}) or ({self._index.dim},) is needed")
        with np.errstate(over="ignore"):
            singles = queries.astype(np.float32, copy=False)
        if not np.isfinite(singles).all():
            raise ValueError("a query holds a value that is not finite or beyond float32; remove or repair it")
        return singles

    def _answer(
        self, query: npt.NDArray[np.float32], N: int, K: int | None, threads: int | None, cancelled: Event | None = None
    ) -> Retrieval:
        rows, embeddings = self._candidates(query, K)
        if not len(rows):
            raise ValueError("the index returned no row for the query; raise nprobe, or add rows to the index")
        if cancelled is not None and cancelled.is_set():
            raise CancelledError
        keep_going = (lambda _: not cancelled.is_set()) if cancelled and len(rows) > _LONG else False
        task_data = TaskData(embeddings, np.ascontiguousarray(query), None, rows_as_given({}))
        task_data.files = self._index.files
        settings: dict[str, Any] = {**self.settings, "rule": self.rule}
        settings |= {"noise_std": float(np.sqrt(self.noise_var)), "threads": threads, "progress": keep_going}
        chosen = task_data.select({**settings, "n": min(_inputs.whole(N, "N", 1), len(rows))})
        picks = chosen.indices
        return Retrieval(rows[picks], chosen.scores, embeddings[picks], rows, chosen)

    def _candidates(
        self, query: npt.NDArray[np.float32], K: int | None
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]:
        """Returns the K rows nearest to the mean of the query, nearest first and without duplicates, with their embeddings."""
        mean = query.mean(axis=0)
        if not self._index.rows:
            raise ValueError("the index is empty; add rows to it")
        count = self._index.rows if K is None else min(_inputs.whole(K, "K", 1), self._index.rows)
        near, rows, embeddings = self._index.nearest(mean, count)
        if self.also_opposite:
            if not self._index.by_inner_product:
                raise ValueError("also_opposite needs an index of inner products, but this one measures distances; leave it out")
            far, others, opposite = self._index.nearest(-mean, count)
            near, rows = np.concatenate([near, far]), np.concatenate([rows, others])
            embeddings = np.concatenate([embeddings, opposite])
            order = np.argsort(-near, kind="stable")
            _, first = np.unique(rows[order], return_index=True)
            order = order[np.sort(first)][:count]
            rows, embeddings = rows[order], embeddings[order]
        return rows, np.ascontiguousarray(embeddings)


class _Index(Protocol):
    """What a retriever finds rows in."""

    by_inner_product: bool
    columns: list[str] | None
    files: tuple[str, ...]
    dim: int

    @property
    def rows(self) -> int: ...
    def nearest(self, query: npt.NDArray[np.float32], count: int) -> Found: ...


def _index_of(index: Any) -> _Index:
    if _inputs.module_of(index) == "homing" and hasattr(index, "nearest"):
        found: _Index = index  # a pool on a cluster
        return found
    if is_on_device(index):
        return _OnDevice(index)
    return _Faiss(index) if hasattr(index, "search_and_reconstruct") else _Rows(index)


class _Faiss:
    """A Faiss index, which may return fewer rows than requested."""

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

    def nearest(self, query: npt.NDArray[np.float32], count: int) -> Found:
        try:
            near, rows, embeddings = self.index.search_and_reconstruct(query[None], count)
        except RuntimeError as error:
            kind = type(self.index).__name__
            raise ValueError(f"{kind} cannot reconstruct its rows; wrap it in an index that can, such as IndexIDMap2") from error
        # An approximate index fills missing rows with -1, and may return a row twice.
        found = np.flatnonzero(rows[0] >= 0)
        _, first = np.unique(rows[0][found], return_index=True)
        found = found[np.sort(first)]
        return Found(near[0][found], rows[0][found], embeddings[0][found])


class _OnDevice:
    """An array in the memory of a GPU, which is read where it is."""

    by_inner_product = True
    columns: list[str] | None = None
    files: tuple[str, ...] = ()

    def __init__(self, rows: Any) -> None:
        self.data = device_data(rows, "index")
        self.rows, self.dim = self.data.rows, self.data.dim

    def nearest(self, query: npt.NDArray[np.float32], count: int) -> Found:
        near = self.data.products(np.ascontiguousarray(query))
        _nearest.check(near)
        rows = _nearest.largest(near, np.arange(len(near)), count).astype(np.int64)
        return Found(near[rows], rows, self.data.take(rows.tolist()))


class _Rows:
    """An array, or several with the rows of one after the other, all of which are scanned for every query."""

    by_inner_product = True

    def __init__(self, rows: Any) -> None:
        self.files = files_of(rows)
        files = _npy_files(rows)
        if files:
            # This refuses files that cannot be mapped or do not fit together, with the usual messages.
            self.columns = _inputs.data(rows, "index").columns
            arrays = [np.load(file, mmap_mode="r") for file in files]
        else:
            array, self.columns = _inputs.named_floats(rows, "index")
            if array.ndim != 2 or not array.size:
                raise ValueError(f"the index has shape {array.shape}; a matrix with one row per example is needed")
            arrays = [array]
        self.arrays = [array for array in arrays if array.size]
        self.starts = np.cumsum([0, *map(len, self.arrays)])
        self.rows, self.dim = int(self.starts[-1]), self.arrays[0].shape[1]

    def nearest(self, query: npt.NDArray[np.float32], count: int) -> Found:
        step = max(1, BLOCK // self.dim)
        blocks = (
            (int(start) + at, array[at : at + step])
            for array, start in zip(self.arrays, self.starts)
            for at in range(0, len(array), step)
        )
        return scan(blocks, query, count)


def _npy_files(rows: Any) -> list[str]:
    """Returns the files of a pool in ``.npy`` files; none for anything else."""
    files = [file for path in _inputs.paths_of(rows) or [] for file in _homing.expand(path)]
    return files if all(os.fspath(file).endswith(".npy") for file in files) else []
