"""Choosing in a loop: pick, label, observe, pick again (Algorithm 1)."""

from __future__ import annotations

import mmap
import os
from collections.abc import Mapping
from threading import RLock
from typing import Any

import numpy as np
import numpy.typing as npt

from homing import _inputs
from homing._files import files_of
from homing._homing import Data
from homing._inputs import Embeddings, Rows
from homing._progress import Progress
from homing._question import Question, StopLike, column_of, observed_of
from homing._selection import Selection


class Selector:
    """A pool, and what is labelled of it so far.

    A batch counts as observed as soon as it is chosen: the next one is conditioned on it and offers none of its rows again.
    :meth:`forget` gives rows back that did not get a label after all. The batches are those of one long call of
    :func:`homing.select` with as many picks a round.

    Threads may share a selector: they take turns, and no two get the same row.

    The arguments are those of :func:`homing.select`; `pool` may be replaced with :meth:`update` when a model embeds it anew.

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
        probabilities: Embeddings | str | None = None,
        groups: Any = None,
        costs: Any = None,
        seed: int = 0,
        threads: int | None = None,
        progress: Progress = None,
        *,
        quotas: int | Mapping[Any, int] | None = None,
        budget: float | None = None,
        observed_points: Embeddings | None = None,
        **more: Any,
    ) -> None:
        self._pool = pool
        self._probabilities = probabilities
        self._inputs: dict[str, Any] = {"groups": groups, "costs": costs}
        self._settings: dict[str, Any] = {"rule": rule, "noise_std": noise_std, "seed": seed, "threads": threads}
        self._settings["progress"] = progress
        self._points = observed_points
        self._quotas, self._budget = quotas, budget
        for name, value in more.items():
            if name in _INPUTS:
                self._inputs[name] = value
            elif name in _SETTINGS:
                self._settings[name] = value
            elif name == "stop":
                raise TypeError("a Selector has no argument 'stop'; give it to next_batch")
            else:
                raise TypeError(f"a Selector has no argument {name!r}; it knows those of homing.select")
        # The columns outlast the embeddings, which may be replaced.
        for name, column in (("groups", groups), ("costs", costs)):
            if isinstance(column, str):
                self._inputs[name] = self._column(name, column)
        self._picked: list[int] = []
        self._others: list[int] = []
        self._data: Data | None = None
        self._files = files_of(observed)
        self._lock, self._choosing = RLock(), False
        if observed is not None:
            known, points = observed_of(observed, self._view())
            if points is not None and observed_points is not None:
                raise ValueError("observed and observed_points both hold embeddings; join them")
            self._points = observed_points if points is None else points
            self.observe(known)

    def _column(self, name: str, column: str) -> npt.NDArray[Any]:
        if not isinstance(self._pool, (str, os.PathLike)):
            return np.asarray(column_of(self._pool, column, name))
        named: dict[str, Any] = {name.removesuffix("s"): column}
        file = _inputs.data(self._pool, "pool", column=self._inputs.get("embedding"), **named)
        return np.asarray(getattr(file, name))

    def _view(self) -> Data:
        """The pool, looked at once."""
        if self._data is None:
            self._data = self._question(None, None).pool
        return self._data

    def _question(self, targets: Embeddings | None, probabilities: Embeddings | None) -> Question:
        quotas, groups = self._quotas_left()
        inputs = {**self._inputs, "groups": groups}
        likely = self._probabilities if probabilities is None else probabilities
        known = [*self._others, *self._picked]
        return Question(
            self._pool if self._data is None or isinstance(likely, str) else self._data,
            targets,
            observed=np.array(known, dtype=np.int64),
            observed_points=self._points,
            probabilities=likely,
            quotas=quotas,
            **inputs,
        )

    def _quotas_left(self) -> tuple[Any, Any]:
        """The quotas less what was picked already, and the groups."""
        groups = self._inputs["groups"]
        if self._quotas is None or groups is None:
            return self._quotas, groups
        groups = np.asarray(groups)
        taken = dict(zip(*np.unique(groups[self._picked], return_counts=True))) if self._picked else {}
        limits = self._quotas if isinstance(self._quotas, Mapping) else {name: self._quotas for name in np.unique(groups)}
        return {name: max(0, most - int(taken.get(name, 0))) for name, most in limits.items()}, groups

    def _budget_left(self) -> float | None:
        if self._budget is None or not self._picked:
            return self._budget
        costs = np.asarray(self._inputs["costs"], dtype=np.float64)
        left = self._budget - float(costs[self._picked].sum())
        if left <= 0:
            raise ValueError("the budget is spent; forget rows, or make a Selector with a larger one")
        return left

    @property
    def observed(self) -> npt.NDArray[np.int64]:
        """The rows that are labelled, or about to be."""
        with self._lock:
            return np.array([*self._others, *self._picked], dtype=np.int64)

    def observe(self, indices: Rows | None) -> None:
        """Takes rows as labelled; those that are already stay so."""
        if indices is None:
            return
        with self._lock:
            named = _inputs.rows(indices, "observed rows", self._view().rows).tolist()
            known = {*self._others, *self._picked}
            # A list of its own: a copy of the selector has the old one.
            self._others = [*self._others, *(row for row in dict.fromkeys(named) if row not in known)]

    def forget(self, indices: Rows) -> None:
        """Takes rows as not labelled: they may be picked again."""
        with self._lock:
            gone = set(_inputs.rows(indices, "forgotten rows", self._view().rows).tolist())
            for row in gone.difference(self._others, self._picked):
                raise ValueError(f"row {row} was not observed, so it cannot be forgotten")
            self._others = [row for row in self._others if row not in gone]
            self._picked = [row for row in self._picked if row not in gone]

    def update(self, pool: Embeddings, probabilities: Embeddings | None = None) -> None:
        """Replaces the embeddings of the pool, whose rows stay who they are: after the model has learned."""
        with self._lock:
            column, old = self._inputs.get("embedding"), self._view()
            data = _inputs.data(pool, "pool", column=column)
            if data.columns and old.columns and sorted(data.columns) == sorted(old.columns):
                # Points that were observed have the order of the first.
                data = _inputs.data(pool, "pool", column=column, wanted=old.columns)
            rows = old.rows
            if data.rows != rows:
                raise ValueError(f"the pool has {rows} rows, but {data.rows} came; its rows must stay who they are")
            self._pool, self._data = pool, data
            if probabilities is not None:
                self._probabilities = probabilities

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
        """Chooses the next `n` rows, given everything observed.

        `probabilities` are those of this round, for the rules that want them. With ``observe=False`` the rows are only looked
        at: they are not taken as labelled.
        """
        settings = {**self._settings}
        if progress is not None:
            settings["progress"] = progress
        with self._lock:
            if self._choosing:
                raise ValueError("next_batch was called by what it tells its picks to; wait until it has returned")
            self._choosing = True
            try:
                question = self._question(targets, probabilities)
                question.pool_name = _inputs.name(self._pool, "an array")
                question.files = (*question.files, *self._files, *files_of(self._pool))
                if self._data is None:
                    self._data = question.pool
                batch = question.select(
                    n, stop=stop, budget=self._budget_left(), made=len(self._picked), **{"round_size": n, **settings}
                )
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
        if _Mapped.can_hold(self._pool):
            state["_pool"] = _Mapped(self._pool)
        if isinstance(self._points, Data):
            state["_points"] = self._points.to_numpy()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = RLock()
        if isinstance(self._pool, _Mapped):
            self._pool = self._pool.open()


class _Mapped:
    """A memory-mapped array by its file, so that pickling does not copy it."""

    def __init__(self, array: np.memmap[Any, Any]) -> None:
        self.file, self.dtype, self.shape = str(array.filename), array.dtype, array.shape
        # A slice of a mapped array has the offset of the whole; a map begins at a multiple of the system's pages.
        whole: Any = array
        start = np.frombuffer(whole._mmap, np.uint8).ctypes.data
        self.offset = whole.offset - whole.offset % mmap.ALLOCATIONGRANULARITY + array.ctypes.data - start

    @staticmethod
    def can_hold(array: Any) -> bool:
        """Whether these are the numbers of a file, in its order: a copy, or one changed in memory, is not."""
        is_mapped = isinstance(array, np.memmap) and array.filename is not None and array.mode != "c"
        return is_mapped and array.flags.c_contiguous

    def open(self) -> npt.NDArray[Any]:
        return np.memmap(self.file, dtype=self.dtype, mode="r", offset=self.offset, shape=self.shape)


_INPUTS = {
    "kernel", "center", "forbidden", "noise_vars", "target_probabilities", "embedding", "id_column", "label_column",
    "pool_access",
}
_SETTINGS = {"target_sample", "target_weights", "round_size", "beta", "repeat", "greedy", "engine"}
