"""The result of a selection."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from homing import _homing, _inputs, _notebook
from homing._files import check_output
from homing._pool_table import PoolTable, joined

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class PickReasons:
    """The reasons for one pick."""

    rank: int
    row: int
    variance_removed: float
    """Variance that this pick removed from all targets together."""
    serves: list[tuple[int, float]]
    """Targets that this pick serves: (target, share of `variance_removed`), largest share first."""
    nearest: list[tuple[int, float]]
    """Targets that are most similar to this pick: (target, cosine)."""
    redundant: int
    """Number of pool rows that are near-duplicates of this pick and are not closer to another pick."""
    redundant_example: tuple[int, float] | None
    """The most similar of these rows: (row, cosine)."""

    def __str__(self) -> str:
        text = f"{self.rank}. row {self.row}"
        if self.serves:
            served = ", ".join(f"{target} ({share:.0%})" for target, share in self.serves[:3])
            text += f" removes variance from target {served}"
        if self.redundant:
            text += f"; it makes {self.redundant} similar row{'' if self.redundant == 1 else 's'} redundant"
        return text


@dataclass(frozen=True)
class TargetStory:
    """How the variance of one target changed."""

    row: int
    """The target's row number."""
    start_var: float
    """Variance before the first pick."""
    var: float
    """Variance after the last pick."""
    best_pick: int
    """Rank of the pick that removed most of it; 0 if no pick removed any."""


@dataclass(frozen=True)
class Explanation:
    """Why each row was picked, and how the variance of each target changed."""

    picks: list[PickReasons]
    targets: list[TargetStory]

    def __str__(self) -> str:
        return "\n".join(map(str, self.picks))


@dataclass(frozen=True, eq=False, repr=False)
class Selection:
    """The picks in order, and how they were made."""

    indices: npt.NDArray[np.int64]
    """The chosen rows, first pick first."""
    scores: npt.NDArray[np.float64]
    """The score of each row when the rule picked it."""
    information: npt.NDArray[np.float64]
    """Information about the targets from each pick and all earlier picks, in nats."""
    variance_left: npt.NDArray[np.float64] | None
    """Share of the targets' variance that is left after each pick; None without targets."""
    noise_var: float
    """The noise variance ρ²."""
    rule: str
    ended: str
    """Why the selection ended: count (all picks were made), gain or variance (see `Stop`), limits (quotas or the budget
    allowed no more picks) or progress (a function given as `progress` or `stop` ended it)."""
    passes: int
    """Number of passes over the pool."""
    guarantee: str | None
    """What an inexact `greedy` guarantees; None if it is exact."""
    seconds: float
    """Seconds that the core took."""
    rows: int
    """Number of rows of the pool."""
    seed: int
    ids: list[str] | None
    """The ids of the chosen rows, if the pool is a file that has ids."""
    _files: tuple[str, ...] = ()
    # Copies and pickles drop it, because it holds the task and therefore the pool.
    _core: _homing.Selection | None = field(default=None, init=False)
    _table: PoolTable | None = field(default=None, init=False)

    @classmethod
    def _of(cls, core: _homing.Selection, files: tuple[str, ...], table: PoolTable | None = None) -> Selection:
        selection = cls(**core.fields(), _files=files)
        object.__setattr__(selection, "_core", core)
        object.__setattr__(selection, "_table", table)
        return selection

    @property
    def noise_std(self) -> float:
        """The noise ρ of a label."""
        return float(np.sqrt(self.noise_var))

    @property
    def gains(self) -> npt.NDArray[np.float64]:
        """Information that each pick added, in nats."""
        return np.diff(self.information, prepend=0.0)

    def __len__(self) -> int:
        return len(self.indices)

    def __iter__(self) -> Iterator[int]:
        return iter(self.indices.tolist())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return np.array(self.indices, dtype=dtype, copy=True if copy is None else copy)

    def __repr__(self) -> str:
        shown = ", ".join(map(str, self.indices[:8])) + (", …" if len(self) > 8 else "")
        nats = f", {self.information[-1]:.3g} nats" if len(self) else ""
        left = "" if self.variance_left is None or not len(self) else f", {self.variance_left[-1]:.1%} of the variance left"
        return f"Selection([{shown}], {len(self)} of {self.rows:,} rows by {self.rule}{nats}{left})"

    def _repr_html_(self) -> str:
        return _notebook.selection_html(self)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_core": None, "_table": None}

    def _with_pool(self) -> _homing.Selection:
        """Returns the core's selection, which has the pool."""
        if self._core is None:
            raise ValueError("this selection was pickled or copied without its pool; select again to explain or report it")
        return self._core

    def explain(self, threads: int | None = None) -> Explanation:
        """Explains why each row was picked, which targets it serves, and which rows it makes redundant.

        >>> import homing, numpy as np
        >>> pool = np.array([[1, 0], [0.9, 0.1], [0, 1]], dtype=np.float32)
        >>> print(homing.select(pool, np.array([[0.8, 0.3]], dtype=np.float32), n=1).explain())
        1. row 1 removes variance from target 0 (100%); it makes 1 similar row redundant
        """
        picks, targets = self._with_pool().explain(_inputs.threads(threads))
        return Explanation([PickReasons(**pick) for pick in picks], [TargetStory(**target) for target in targets])

    def to_pandas(self, columns: str | Iterable[str] | None = None) -> pandas.DataFrame:
        """Returns the picks as a table: rank, index, id (if there are ids), score, information, gain, variance_left.

        Columns of the pool follow, if it is a table or a file: by default its texts, labels and paths that have usual names;
        otherwise ``all``, ``none`` or a list of names. A name that the table has already gets the suffix ``_pool``. Copies and
        pickles of a selection no longer know the pool's columns.

        >>> import homing, pandas
        >>> pool = pandas.DataFrame({"text": ["a", "b"], "embedding": [[1.0, 0.0], [0.0, 1.0]]})
        >>> homing.select(pool, [[0.1, 0.9]], n=1).to_pandas()[["rank", "index", "text"]]
           rank  index text
        0     1      1    b
        """
        try:
            import pandas
        except ImportError:
            raise ImportError("to_pandas needs pandas; pip install pandas") from None

        table: dict[str, Any] = {"rank": np.arange(1, len(self) + 1), "index": self.indices}
        pool = self._table
        if pool is None and columns not in (None, "none"):
            raise ValueError("this selection was pickled or copied without its pool, so it has no further columns")
        ids = self.ids if self.ids is not None or pool is None else pool.ids(self.indices)
        if ids is not None:
            table["id"] = ids
        table |= {"score": self.scores, "information": self.information, "gain": self.gains}
        if self.variance_left is not None:
            table["variance_left"] = self.variance_left
        return pandas.DataFrame(table if pool is None else joined(table, pool.values(columns, self.indices)))

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        title: str | None = None,
        ids: list[str] | None = None,
        labels: list[str] | None = None,
        threads: int | None = None,
    ) -> None:
        """Writes an HTML page that shows and explains the picks; `ids` and `labels` are those of all rows of the pool."""
        out = check_output(path, self._files)
        row_ids, row_labels = self._row_names("ids", ids), self._row_names("labels", labels)
        page = self._with_pool().page(title=title, ids=row_ids, labels=row_labels, threads=_inputs.threads(threads))
        _homing.write_page(out, page)

    def _row_names(self, what: str, names: list[str] | None) -> list[str] | None:
        if names is None:
            return None
        texts = list(map(str, names))
        if len(texts) != self.rows:
            raise ValueError(f"there are {len(texts)} {what} for {self.rows} rows; give one per row")
        return texts
