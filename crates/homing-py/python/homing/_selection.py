"""What a selection returns."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from homing import _homing, _inputs, _notebook
from homing._files import check_output
from homing._homing import Task

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class Why:
    """The reasons for one pick."""

    rank: int
    index: int
    variance_removed: float
    """Variance that this pick took from the targets, in all."""
    serves: list[tuple[int, float]]
    """(target, share of `variance_removed`), most served first."""
    nearest: list[tuple[int, float]]
    """Targets most similar to it: (target, cosine)."""
    redundant: int
    """Rows of the pool that are near-duplicates of it, and of no other pick more so."""
    redundant_example: tuple[int, float] | None
    """The most similar of those: (row, cosine)."""

    def __str__(self) -> str:
        text = f"{self.rank}. row {self.index}"
        if self.serves:
            served = ", ".join(f"{target} ({share:.0%})" for target, share in self.serves[:3])
            text += f" takes variance from target {served}"
        if self.redundant:
            text += f"; {self.redundant} rows like it are not worth picking any more"
        return text


@dataclass(frozen=True)
class TargetStory:
    """What happened to one target."""

    index: int
    start_var: float
    """Variance before the first pick."""
    var: float
    """Variance after the last."""
    best_pick: int
    """Rank of the pick that took most of it; 0 where none took any."""


@dataclass(frozen=True)
class Explanation:
    """Why each row was picked, and what happened to each target."""

    picks: list[Why]
    targets: list[TargetStory]

    def __str__(self) -> str:
        return "\n".join(map(str, self.picks))


@dataclass(frozen=True, eq=False, repr=False)
class Selection:
    """The picks in order, and what they were made with."""

    indices: npt.NDArray[np.int64]
    """The chosen rows, first pick first."""
    scores: npt.NDArray[np.float64]
    """What the rule gave each of them when it was picked."""
    information: npt.NDArray[np.float64]
    """Information about the targets from each pick and all before it, in nats."""
    variance_left: npt.NDArray[np.float64] | None
    """Share of the targets' variance that is left after each pick; None without targets."""
    noise_var: float
    """ρ²."""
    rule: str
    ended: str
    """Why there are no more: count, gain, variance, limits or asked."""
    passes: int
    """Passes over the pool that it took."""
    guarantee: str | None
    """What a greedy that is not exact promises."""
    seconds: float
    """What the core took."""
    rows: int
    """Rows of the pool."""
    seed: int
    _default_noise: bool = field(default=True)
    _names: tuple[str, str | None] = field(default=("an array", None))
    _task: Task | None = field(default=None)
    _ids: list[str] | None = field(default=None)
    _files: tuple[str, ...] = field(default=())

    @property
    def noise_std(self) -> float:
        """ρ."""
        return float(np.sqrt(self.noise_var))

    @property
    def gains(self) -> npt.NDArray[np.float64]:
        """What each pick added to the information, in nats."""
        return np.diff(self.information, prepend=0.0)

    @property
    def ids(self) -> list[str] | None:
        """The names that the pool's file gives to the chosen rows."""
        return None if self._ids is None else [self._ids[row] for row in self.indices]

    def __len__(self) -> int:
        return len(self.indices)

    def __iter__(self) -> Iterator[int]:
        return iter(self.indices.tolist())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return np.array(self.indices, dtype=dtype, copy=True if copy is None else copy)

    def __repr__(self) -> str:
        shown = ", ".join(map(str, self.indices[:8])) + (", …" if len(self) > 8 else "")
        told = f", {self.information[-1]:.3g} nats" if len(self) else ""
        left = "" if self.variance_left is None or not len(self) else f", {self.variance_left[-1]:.1%} of the variance left"
        return f"Selection([{shown}], {len(self)} of {self.rows:,} rows by {self.rule}{told}{left})"

    def _repr_html_(self) -> str:
        return _notebook.selection(self)

    def __getstate__(self) -> dict[str, Any]:
        # The pool is not the selection's to carry; what was computed from it is.
        return {**self.__dict__, "_task": None}

    def _asked(self) -> Task:
        if self._task is None:
            raise ValueError("this selection was pickled or copied without its pool; select again to explain or report it")
        return self._task

    def explain(self, threads: int | None = None) -> Explanation:
        """Says why each row was picked, which targets it serves, and what it makes redundant.

        >>> import homing, numpy as np
        >>> pool = np.array([[1, 0], [0.9, 0.1], [0, 1]], dtype=np.float32)
        >>> print(homing.select(pool, np.array([[0.8, 0.3]], dtype=np.float32), n=1).explain())
        1. row 1 takes variance from target 0 (100%); 1 rows like it are not worth picking any more
        """
        picks, targets = _homing.explain(self._asked(), self, _inputs.threads(threads))
        return Explanation(
            [Why(i + 1, int(self.indices[i]), *why) for i, why in enumerate(picks)],
            [TargetStory(i, *story) for i, story in enumerate(targets)],
        )

    def to_pandas(self) -> pandas.DataFrame:
        """The picks as a table: rank, index, score, information, gain, variance_left, and id where there are some."""
        try:
            import pandas
        except ImportError:
            raise ImportError("to_pandas needs pandas; pip install pandas") from None

        table: dict[str, Any] = {"rank": np.arange(1, len(self) + 1), "index": self.indices}
        if self.ids is not None:
            table["id"] = self.ids
        table |= {"score": self.scores, "information": self.information, "gain": self.gains}
        if self.variance_left is not None:
            table["variance_left"] = self.variance_left
        return pandas.DataFrame(table)

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        title: str | None = None,
        ids: list[str] | None = None,
        labels: list[str] | None = None,
        threads: int | None = None,
    ) -> None:
        """Writes a page that shows the picks and why; `ids` and `labels` name the rows of the pool on it."""
        out = check_output(path, self._files)
        named = None if ids is None else list(map(str, ids))
        labelled = None if labels is None else list(map(str, labels))
        for what, names in (("ids", named), ("labels", labelled)):
            if names is not None and len(names) != self.rows:
                raise ValueError(f"{len(names)} {what} for {self.rows} rows; give one a row")
        page = _homing.report(
            self._asked(),
            self,
            rule=self.rule,
            seed=self.seed,
            title=title,
            pool_name=self._names[0],
            targets_name=self._names[1],
            noise_is_default=self._default_noise,
            seconds=self.seconds,
            ids=named,
            labels=labelled,
            threads=_inputs.threads(threads),
        )
        _homing.write_page(out, page)
