"""The data of a selection as people give it, checked and looked at in place, and what is asked of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from homing import _homing, _inputs
from homing._files import files_of
from homing._homing import Data, Task
from homing._inputs import Embeddings, Rows
from homing._progress import Pick, Progress, telling
from homing._selection import Selection


@dataclass(frozen=True)
class Stop:
    """When to stop before `n` picks.

    >>> Stop(min_gain=0.01)
    Stop(min_gain=0.01, variance=None)
    """

    min_gain: float | None = None
    """Stop when the next pick would add less information about the targets than this, in nats."""
    variance: float | None = None
    """Stop when this share (0 to 1) of the targets' reducible variance is gone."""


StopLike: TypeAlias = "Stop | Mapping[str, float] | Callable[[Pick], Any] | None"


class Question:
    """The data of a selection, checked and looked at in place."""

    def __init__(
        self,
        pool: Embeddings,
        targets: Embeddings | None,
        *,
        observed: Rows | Embeddings | None = None,
        observed_points: Embeddings | None = None,
        probabilities: Embeddings | str | None = None,
        groups: Any = None,
        costs: Any = None,
        kernel: str | npt.NDArray[Any] = "linear",
        center: bool = False,
        quotas: int | Mapping[Any, int] | None = None,
        forbidden: Rows | None = None,
        noise_vars: Any = None,
        target_probabilities: Embeddings | str | None = None,
        embedding: str | None = None,
        id_column: str | None = None,
        label_column: str | None = None,
        pool_access: str | None = None,
    ) -> None:
        self.files = files_of(
            pool,
            targets,
            observed,
            observed_points,
            *(x for x in (probabilities, target_probabilities) if not isinstance(x, str) or _looks_like_file(x)),
            *(x for x in (groups, costs, kernel) if not isinstance(x, str)),
            forbidden,
            noise_vars,
        )
        gram = None if isinstance(kernel, str) else _inputs.data(kernel, "kernel matrix", copy=True)
        if gram is not None:
            pool, targets = _points(pool, gram.rows, "pool"), _points(targets, gram.rows, "targets")
        self.pool_name, self.targets_name = _inputs.name(pool, "an array"), _inputs.name(targets, "an array")
        likely_column = isinstance(probabilities, str) and not _looks_like_file(probabilities)
        columns: dict[str, Any] = {}
        if isinstance(pool, (str, os.PathLike)):
            named = {"group": groups, "cost": costs, "probabilities": probabilities if likely_column else None}
            columns = {what: column for what, column in named.items() if isinstance(column, str)}
        else:
            groups, costs = column_of(pool, groups, "groups"), column_of(pool, costs, "costs")
            if likely_column:
                probabilities = column_of(pool, probabilities, "probabilities")
        self.pool = _inputs.data(
            pool, "pool", column=embedding, id=id_column, label=label_column, access=pool_access, **columns
        )
        rows = self.pool.rows
        own: dict[str, Any] = {}
        if isinstance(target_probabilities, str) and not _looks_like_file(target_probabilities):
            if isinstance(targets, (str, os.PathLike)):
                own, target_probabilities = {"probabilities": target_probabilities}, None
            else:
                target_probabilities = column_of(targets, target_probabilities, "target_probabilities")
        wanted = self.pool.columns
        self.targets = (
            None
            if targets is None
            else _inputs.data(targets, "targets", copy=True, column=embedding, wanted=wanted, **own)
        )
        observed_rows, points = observed_of(observed, self.pool)
        if points is None and observed_points is not None:
            points = _inputs.data(observed_points, "observed points", copy=True, wanted=wanted)
        groups = self.pool.groups if "group" in columns else groups
        costs = self.pool.costs if "cost" in columns else costs
        self.quotas, numbered = _groups(groups, quotas, rows)
        self.task = Task(
            self.pool,
            self.targets,
            observed_rows=observed_rows,
            observed_points=points,
            probabilities=_table(None if "probabilities" in columns else probabilities, "probabilities"),
            target_probabilities=_table(target_probabilities, "target_probabilities"),
            gram=gram,
            kernel=kernel if isinstance(kernel, str) else "linear",
            center=center,
            forbidden=_forbidden(forbidden, self.pool),
            noise_vars=_inputs.numbers(noise_vars, "noise variances", rows),
            costs=_inputs.numbers(costs, "costs", rows),
            groups=numbered,
        )

    def select(
        self,
        n: int,
        *,
        rule: str = "itl",
        noise_std: float | None = None,
        seed: int = 0,
        threads: int | None = None,
        progress: Progress = None,
        stop: StopLike = None,
        budget: float | None = None,
        target_sample: float | int | str | None = None,
        target_weights: Any = None,
        round_size: int | None = None,
        beta: float | None = None,
        repeat: bool = False,
        greedy: str = "exact",
        engine: str = "auto",
        made: int = 0,
    ) -> Selection:
        n = _inputs.whole(n, "n", 1)
        if round_size is not None:
            round_size = _inputs.whole(round_size, "round_size", 1)
        ends, enough = _ends(stop)
        budget, beta = _inputs.real_or_none(budget, "budget"), _inputs.real_or_none(beta, "beta")
        seed, noise_std = _inputs.whole(seed, "seed", 0), _inputs.real_or_none(noise_std, "noise_std")
        weights = None
        if target_weights is not None:
            weights = _inputs.numbers(target_weights, "target weights", self.targets.rows if self.targets else 0)
        with telling(progress, enough, n) as tell:
            indices, scores, information, left, noise_var, ended, passes, seconds, guarantee = _homing.select(
                self.task,
                n,
                rule=rule,
                beta=beta,
                noise_std=noise_std,
                target_sample=_sample(target_sample),
                target_weights=weights,
                round_size=round_size,
                seed=seed,
                made=_inputs.whole(made, "made", 0),
                min_gain=_inputs.real_or_none(ends.min_gain, "min_gain"),
                reduced_share=_inputs.real_or_none(ends.variance, "variance"),
                quotas=self.quotas,
                budget=budget,
                repeat=repeat,
                greedy=greedy,
                engine=engine,
                threads=_inputs.threads(threads),
                progress=tell,
            )
        return Selection(
            indices=indices,
            scores=scores,
            information=information,
            variance_left=left,
            noise_var=noise_var,
            rule=rule,
            ended=ended,
            passes=passes,
            guarantee=guarantee,
            seconds=seconds,
            rows=self.pool.rows,
            seed=seed,
            _default_noise=noise_std is None,
            _names=(self.pool_name, self.targets_name if self.targets is not None else None),
            _task=self.task,
            _ids=self.pool.ids,
            _files=self.files,
        )


def column_of(table: Any, name: Any, what: str) -> Any:
    """A column of a table in memory by its name; what is no name stays."""
    if not isinstance(name, str):
        return name
    if isinstance(table, (Data, np.ndarray)) or not hasattr(table, "__getitem__") or _inputs.module_of(table) == "torch":
        raise TypeError(f"{what} is the name {name!r}, but the pool has no columns; give one value a row")
    try:
        column = table[name]
    except Exception as error:  # every library has one of its own
        raise ValueError(f"{what} is the name {name!r}, and there is no such column") from error
    return column if what.endswith("probabilities") else np.asarray(column[:] if hasattr(column, "source") else column)


def _ends(stop: StopLike) -> tuple[Stop, Callable[[Pick], Any] | None]:
    """The stops that the core knows, and the function that says when it is enough."""
    if callable(stop):
        return Stop(), stop
    if stop is None or isinstance(stop, Stop):
        return stop or Stop(), None
    if not isinstance(stop, Mapping):
        raise TypeError(f"stop is {_inputs.shown(stop)}; a Stop, a dict of its fields, or a function of a Pick is wanted")
    return Stop(**stop), None


def _looks_like_file(text: str) -> bool:
    return os.path.exists(text) or "." in os.path.basename(text)


def _table(x: Embeddings | None, what: str) -> Data | None:
    return None if x is None else _inputs.data(x, what, copy=True)


def _points(x: Any, rows: int, what: str) -> Any:
    """Row numbers of a kernel matrix as points."""
    if x is None or isinstance(x, Data):
        return x
    numbers = np.asarray(x)
    if numbers.dtype.kind not in "iu" or numbers.ndim > 2 or (numbers.ndim == 2 and numbers.shape[1] != 1):
        raise TypeError(f"with a kernel matrix, the {what} are a list of its row numbers")
    return _inputs.rows(numbers, what, rows).reshape(-1, 1).astype(np.float64)


def observed_of(x: Any, pool: Data) -> tuple[npt.NDArray[np.int64] | None, Data | None]:
    """Row numbers, or embeddings: those are floats. A file tells by what is in it."""
    if x is None:
        return None, None
    if isinstance(x, (str, os.PathLike)):
        named, points = pool.named(x)
        return (None, points) if named is None else (np.array(named, dtype=np.int64), None)
    if isinstance(x, (Selection, set, frozenset)) or _is_of_whole_numbers(x):
        return _inputs.rows(x, "observed rows", pool.rows), None
    return None, _inputs.data(x, "observed points", copy=True, wanted=pool.columns)


def _is_of_whole_numbers(x: Any) -> bool:
    """Whether these are row numbers or a mask; nothing at all is."""
    kind = getattr(x, "dtype", getattr(x, "type", None))
    if kind is None and _inputs.module_of(x) not in ("datasets", "pyarrow", "polars", "pandas"):
        kind = np.asarray(x).dtype if np.size(x) else "int"
    return str(kind).removeprefix("torch.").lower().startswith(("int", "uint", "bool"))


def _forbidden(x: Any, pool: Data) -> npt.NDArray[np.int64]:
    if not isinstance(x, (str, os.PathLike)):
        return _inputs.rows(x, "forbidden rows", pool.rows)
    named, _ = pool.named(x)
    if named is None:
        raise ValueError(f"{os.fspath(x)} holds embeddings, but rows are forbidden by their indices or ids")
    return np.array(named, dtype=np.int64)


def _groups(
    groups: Any, quotas: int | Mapping[Any, int] | None, rows: int
) -> tuple[list[int] | None, npt.NDArray[np.int64] | None]:
    """Quotas by group number, and the group number of every row."""
    if groups is None:
        if quotas is not None:
            raise ValueError("quotas need groups, the group of every row")
        return None, None
    try:
        names, numbers = np.unique(np.asarray(groups), return_inverse=True)
    except ValueError:
        raise ValueError(f"the groups came ragged; one a row, ({rows},), is wanted") from None
    except TypeError:
        raise TypeError("the groups are of several kinds that cannot be told apart; pass them as strings") from None
    if numbers.shape != (rows,):
        raise ValueError(f"the groups have shape {np.shape(groups)}; one a row, ({rows},), is wanted")
    most = 2**62
    if quotas is None:
        limits = None
    elif isinstance(quotas, Mapping):
        known = set(names.tolist())
        unknown = [name for name in quotas if name not in known]
        if unknown:
            raise ValueError(f"quotas name the group {_inputs.shown(unknown[0])}, which no row of the pool has")
        limits = [
            _inputs.whole(quotas.get(name, most), f"the quota of {_inputs.shown(name)}", 0) for name in names.tolist()
        ]
    else:
        limits = [_inputs.whole(quotas, "the quota of a group", 0)] * len(names)
    return limits, numbers.astype(np.int64)


def _sample(given: float | int | str | None) -> tuple[str, float] | None:
    """A share, a number, or the way to choose targets with their number."""
    if given is None:
        return None
    if isinstance(given, str):
        kind, _, number = given.partition(":")
        if kind not in ("max-det", "max-dist") or not (number.isascii() and number.isdecimal()):
            raise ValueError(f"target_sample is {_inputs.shown(given)}; give a share (0.1), a number (20), 'max-det:20' or 'max-dist:20'")
        return kind, float(number)
    if isinstance(given, (int, np.integer, np.bool_)):
        return "size", float(_inputs.whole(given, "target_sample", 1))
    return "share", _inputs.real(given, "target_sample")
