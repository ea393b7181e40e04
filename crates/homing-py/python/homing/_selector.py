"""Chooses rows in a loop: pick, label, observe, pick again (Algorithm 1)."""

from __future__ import annotations

import mmap
import os
from collections.abc import Mapping
from threading import RLock
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from homing import _inputs
from homing._encoder import encoder_for
from homing._files import files_of
from homing._homing import Data
from homing._inputs import Embeddings, Rows
from homing._progress import Progress
from homing._task import TaskData, column_of, inputs_for, observed_of
from homing._selection import Selection
from homing._settings import Options, StopLike, check, split

if TYPE_CHECKING:
    from typing_extensions import Unpack

_ELSEWHERE = {"stop": "give it to next_batch", "earlier_picks": "it counts its own picks"}
"""Options of :func:`homing.select` that a Selector does not take."""


class Selector:
    """Chooses batches of a pool, and remembers which rows are labelled.

    A batch counts as observed as soon as it is chosen: the next batch is conditioned on it and contains none of its rows.
    :meth:`forget` returns rows that could not be labelled to the pool. Together, the batches equal the picks of one call of
    :func:`homing.select` with the same number of picks per round.

    Threads may share a selector. They take turns, and no two receive the same row.

    The arguments are those of :func:`homing.select`, except `n`, `stop` and `earlier_picks`. :meth:`update` replaces the
    embeddings after the model that computes them has changed.

    >>> import numpy as np, homing
    >>> rng = np.random.default_rng(0)
    >>> pool, targets = rng.standard_normal((200, 8)), rng.standard_normal((3, 8))
    >>> selector = Selector(pool)
    >>> batches = [selector.next_batch(targets, 4).indices for _ in range(3)]
    >>> bool((np.concatenate(batches) == homing.select(pool, targets, 12).indices).all())
    True
    """

    def __init__(
        self,
        pool: Embeddings,
        rule: str = "itl",
        noise_std: float | None = None,
        observed: Rows | Embeddings | None = None,
        **options: Unpack[Options],
    ) -> None:
        check("a Selector", options, Options, _ELSEWHERE)
        inputs, settings = split(options)
        self._pool = pool
        self._inputs: dict[str, Any] = {**inputs_for(noise_std, inputs)}
        self._settings: dict[str, Any] = {"rule": rule, "noise_std": noise_std, **settings}
        # The columns are read now, because `update` may replace the table that has them.
        for name in ("groups", "costs"):
            if isinstance(self._inputs.get(name), str):
                self._inputs[name] = self._column(name)
        self._picked: list[int] = []
        self._others: list[int] = []
        # It is kept, because a built-in encoder has learned from the pool.
        self._inputs["encoder"] = encoder_for(self._inputs.get("encoder"), pool)
        self._data: Data | None = None
        self._files = files_of(observed)
        self._lock, self._choosing = RLock(), False
        if observed is not None:
            rows, points = observed_of(observed, self._view())
            if points is not None:
                if self._inputs.get("observed_points") is not None:
                    raise ValueError("observed and observed_points both hold embeddings; join them")
                self._inputs["observed_points"] = points
            self.observe(rows)

    def _column(self, name: str) -> npt.NDArray[Any]:
        """Reads groups or costs from a column of the pool."""
        column = self._inputs[name]
        if _inputs.paths_of(self._pool) is None:
            return np.asarray(column_of(self._pool, column, name))
        columns = {"embedding_column": self._inputs.get("embedding_column"), name: column}
        return np.asarray(getattr(_inputs.data(self._pool, "pool", columns=columns), name))

    def _view(self) -> Data:
        """Returns the pool's data, which is opened once."""
        if self._data is None:
            opened = self._task_data(None, None)
            self._data, self._inputs["encoder"] = opened.pool, opened.encoder
        return self._data

    def _task_data(self, targets: Embeddings | None, probabilities: Embeddings | None) -> TaskData:
        inputs = {**self._inputs, "quotas": self._quotas_left()}
        if probabilities is not None:
            inputs["probabilities"] = probabilities
        is_column = isinstance(inputs.get("probabilities"), str)
        pool = self._pool if self._data is None or is_column else self._data
        known = np.array([*self._others, *self._picked], dtype=np.int64)
        return TaskData(pool, targets, known, split(inputs)[0])

    def _quotas_left(self) -> Any:
        """Returns the quotas minus the rows that were picked."""
        quotas, groups = self._inputs.get("quotas"), self._inputs.get("groups")
        if quotas is None or groups is None:
            return quotas
        groups = np.asarray(groups)
        taken = dict(zip(*np.unique(groups[self._picked], return_counts=True))) if self._picked else {}
        limits = quotas if isinstance(quotas, Mapping) else {name: quotas for name in np.unique(groups)}
        return {name: max(0, most - int(taken.get(name, 0))) for name, most in limits.items()}

    def _budget_left(self) -> float | None:
        budget: float | None = self._settings.get("budget")
        if budget is None or not self._picked:
            return budget
        costs = np.asarray(self._inputs["costs"], dtype=np.float64)
        left = budget - float(costs[self._picked].sum())
        if left <= 0:
            raise ValueError("the budget is spent; forget rows, or make a Selector with a larger one")
        return left

    @property
    def observed(self) -> npt.NDArray[np.int64]:
        """The rows that count as labelled: those that were observed and those that were picked."""
        with self._lock:
            return np.array([*self._others, *self._picked], dtype=np.int64)

    def observe(self, indices: Rows | None) -> None:
        """Marks rows as labelled. Rows that are labelled already stay so."""
        if indices is None:
            return
        with self._lock:
            named = _inputs.rows(indices, "observed rows", self._view().rows).tolist()
            known = {*self._others, *self._picked}
            # A new list, because a copy of the selector shares the old one.
            self._others = [*self._others, *(row for row in dict.fromkeys(named) if row not in known)]

    def forget(self, indices: Rows) -> None:
        """Marks rows as not labelled, so that they may be picked again."""
        with self._lock:
            gone = set(_inputs.rows(indices, "forgotten rows", self._view().rows).tolist())
            for row in gone.difference(self._others, self._picked):
                raise ValueError(f"row {row} was not observed, so it cannot be forgotten")
            self._others = [row for row in self._others if row not in gone]
            self._picked = [row for row in self._picked if row not in gone]

    def update(self, pool: Embeddings, probabilities: Embeddings | None = None) -> None:
        """Replaces the embeddings after the model has learned. The pool must have the same examples in the same order."""
        with self._lock:
            columns, old = {"embedding_column": self._inputs.get("embedding_column")}, self._view()
            data = _inputs.data(pool, "pool", columns=columns)
            if data.columns and old.columns and sorted(data.columns) == sorted(old.columns):
                # Observed points have the column order of the first pool.
                data = _inputs.data(pool, "pool", columns=columns, pool_columns=old.columns)
            rows = old.rows
            if data.rows != rows:
                raise ValueError(f"the pool has {rows} rows, but the new embeddings have {data.rows}; give one row for each")
            self._pool, self._data = pool, data
            if probabilities is not None:
                self._inputs = {**self._inputs, "probabilities": probabilities}

    def next_batch(
        self,
        targets: Embeddings | None,
        n: int,
        *,
        probabilities: Embeddings | None = None,
        progress: Progress = None,
        stop: StopLike = None,
        observe: bool = True,
    ) -> Selection:
        """Chooses the next `n` rows, conditioned on all observed rows.

        `probabilities` are the class probabilities of this round, for the rules that need them. With ``observe=False``, the
        rows are returned but not marked as labelled.
        """
        settings = {"picks_per_round": n, **self._settings, "n": n, "stop": stop}
        if progress is not None:
            settings["progress"] = progress
        with self._lock:
            if self._choosing:
                raise ValueError("next_batch was called from a function that it calls with its picks; wait until it returns")
            self._choosing = True
            try:
                task_data = self._task_data(targets, probabilities)
                task_data.files = (*task_data.files, *self._files, *files_of(self._pool))
                if self._data is None:
                    self._data = task_data.pool
                batch = task_data.select({**settings, "budget": self._budget_left(), "earlier_picks": len(self._picked)})
                if observe:
                    self._picked = [*self._picked, *batch.indices.tolist()]
                return batch
            finally:
                self._choosing = False

    def __repr__(self) -> str:
        with self._lock:
            rows, observed = self._view().rows, len(self.observed)
        return f"Selector({rows:,} rows, {observed:,} observed, rule={self._settings['rule']!r})"

    def __getstate__(self) -> dict[str, Any]:
        with self._lock:
            state = {**self.__dict__, "_data": None, "_choosing": False}
        # A lock belongs to its process.
        del state["_lock"]
        if _MappedFile.can_hold(self._pool):
            state["_pool"] = _MappedFile(self._pool)
        points = self._inputs.get("observed_points")
        if isinstance(points, Data):
            state["_inputs"] = {**self._inputs, "observed_points": points.to_numpy()}
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = RLock()
        if isinstance(self._pool, _MappedFile):
            self._pool = self._pool.open()


class _MappedFile:
    """The file of a memory-mapped array, which is pickled instead of its numbers."""

    def __init__(self, array: np.memmap[Any, Any]) -> None:
        self.file, self.dtype, self.shape = str(array.filename), array.dtype, array.shape
        # A slice of a mapped array has the offset of the whole array, and the mapping starts at a page boundary.
        whole: Any = array
        start = np.frombuffer(whole._mmap, np.uint8).ctypes.data
        self.offset = whole.offset - whole.offset % mmap.ALLOCATIONGRANULARITY + array.ctypes.data - start

    @staticmethod
    def can_hold(array: Any) -> bool:
        """Whether an array has the numbers of a file in their order. Copies and copy-on-write maps do not."""
        is_mapped = isinstance(array, np.memmap) and array.filename is not None and array.mode != "c"
        return is_mapped and array.flags.c_contiguous

    def open(self) -> npt.NDArray[Any]:
        return np.memmap(self.file, dtype=self.dtype, mode="r", offset=self.offset, shape=self.shape)

