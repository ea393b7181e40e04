"""Choosing rows in one call."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from homing import _homing, _inputs
from homing._homing import Data, Task
from homing._inputs import Embeddings, Rows
from homing._progress import Pick, telling
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
Progress: TypeAlias = "bool | Callable[[Pick], Any] | None"


def select(
    pool: Embeddings,
    targets: Embeddings | None,
    n: int,
    rule: str = "itl",
    noise_std: float | None = None,
    observed: Rows | Embeddings | None = None,
    probabilities: Embeddings | str | None = None,
    groups: Any = None,
    costs: Any = None,
    seed: int = 0,
    threads: int | None = None,
    progress: Progress = None,
    stop: StopLike = None,
    *,
    kernel: str | npt.NDArray[Any] = "linear",
    center: bool = False,
    quotas: int | Mapping[Any, int] | None = None,
    budget: float | None = None,
    forbidden: Rows | None = None,
    noise_vars: Any = None,
    target_probabilities: Embeddings | str | None = None,
    target_sample: float | int | str | None = None,
    target_weights: Any = None,
    round_size: int | None = None,
    beta: float | None = None,
    repeat: bool = False,
    greedy: str = "exact",
    engine: str = "auto",
    embedding: str | None = None,
    id_column: str | None = None,
    label_column: str | None = None,
    pool_access: str | None = None,
    made: int = 0,
) -> Selection:
    """Chooses the `n` rows of a pool whose labels would tell most about some targets.

    Parameters
    ----------
    pool, targets
        Embeddings, one row an example: NumPy arrays (memory-mapped too), CPU tensors, Arrow columns or tables, Hugging Face
        datasets or columns of them, or paths to files; float32, float64, float16 or bfloat16. The pool is looked at where it
        is and not copied; do not write to it meanwhile. Rules without targets take ``None`` for them.
    n
        How many rows to choose.
    rule
        How to choose; :func:`homing.rules` lists all.
    noise_std
        Noise ρ of a label; by default ρ² is 0.01 × the pool's mean squared norm.
    observed
        What is labelled already: row numbers, a mask, a :class:`Selection` (conditioned on, and not picked again), or
        embeddings (conditioned on); or a file of either, such as picks that the command wrote.
    probabilities
        Class probabilities of the pool's rows, for the rules that want them; the name of a column where the pool is a file.
    groups, quotas
        The group of every row (the name of a column where the pool is a file), and the most picks of a group: a number for
        all, or one by group.
    costs, budget
        The cost of every row, by which a score is divided, and the most total cost.
    seed
        Seed of everything random.
    threads
        How many to use; one a core by default. The picks do not depend on it.
    progress
        True for a bar, False for none, None for one that appears after a second in terminals and notebooks; or a function
        that is told every :class:`Pick` and may return False to stop.
    stop
        A :class:`Stop`, a dict of its fields, or a function of a :class:`Pick` that is true when it is enough.
    kernel
        ``linear``, ``gaussian:LENGTH``, ``laplace:LENGTH``, ``matern:SMOOTHNESS:LENGTH``, ``loss-gradient``; or a kernel
        matrix, with pool and targets as columns of its row numbers.
    center
        Subtract the pool's mean embedding first.
    forbidden
        Rows that must not be picked.
    noise_vars
        ρ² of every row, in place of `noise_std`.
    target_sample, target_weights, round_size
        Which targets count in a round of `round_size` picks: a share (0.1), a number (20), or the most explanatory
        (``max-det:20``, ``max-dist:20``); drawn by weight where weights are given.
    beta
        Weight of the similarity in ``information-density``.
    repeat
        Let a row be picked more than once.
    greedy
        ``exact``, ``stochastic:EPSILON`` or ``partitioned:PARTS``; the last two do less work, and
        :attr:`Selection.guarantee` says what is left.
    engine
        ``auto``, ``plain`` or ``speculative``; the picks are the same.
    embedding, id_column, label_column, pool_access
        Columns of tables and files, and how a file is looked at (``auto``, ``map``, ``read``).
    made
        Picks made in earlier calls that this one continues; :class:`homing.Selector` keeps count.

    Examples
    --------
    >>> import numpy as np
    >>> pool = np.array([[1, 0], [0.9, 0.1], [0, 1], [-1, 0.2]], dtype=np.float32)
    >>> picks = select(pool, [[0.8, 0.3]], n=2)
    >>> picks.indices
    array([1, 2])
    >>> print(f"{picks.information[-1]:.2f} nats, {picks.variance_left[-1]:.0%} of the variance left")
    1.87 nats, 1% of the variance left
    """
    question = Question(
        pool,
        targets,
        observed=observed,
        probabilities=probabilities,
        groups=groups,
        costs=costs,
        kernel=kernel,
        center=center,
        quotas=quotas,
        forbidden=forbidden,
        noise_vars=noise_vars,
        target_probabilities=target_probabilities,
        embedding=embedding,
        id_column=id_column,
        label_column=label_column,
        pool_access=pool_access,
    )
    return question.select(
        n,
        rule=rule,
        noise_std=noise_std,
        seed=seed,
        threads=threads,
        progress=progress,
        stop=stop,
        budget=budget,
        target_sample=target_sample,
        target_weights=target_weights,
        round_size=round_size,
        beta=beta,
        repeat=repeat,
        greedy=greedy,
        engine=engine,
        made=made,
    )


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
        gram = None if isinstance(kernel, str) else _inputs.data(kernel, "kernel matrix", copy=True)
        if gram is not None:
            pool, targets = _points(pool, gram.rows, "pool"), _points(targets, gram.rows, "targets")
        self.pool_name, self.targets_name = _inputs.name(pool, "an array"), _inputs.name(targets, "an array")
        column = _Columns(probabilities, groups, costs)
        self.pool = _inputs.data(
            pool,
            "pool",
            column=embedding,
            id=id_column,
            label=label_column,
            group=column.group,
            cost=column.cost,
            probabilities=column.probabilities,
            access=pool_access,
        )
        rows = self.pool.rows
        likely = target_probabilities if isinstance(target_probabilities, str) else None
        is_column = likely is not None and not _looks_like_file(likely)
        self.targets = None
        if targets is not None:
            own = {"probabilities": likely} if is_column else {}
            self.targets = _inputs.data(targets, "targets", copy=True, column=embedding, **own)
        observed_rows, points = _observed(observed, self.pool)
        groups = self.pool.groups if column.group is not None else groups
        costs = self.pool.costs if column.cost is not None else costs
        self.quotas, numbered = _groups(groups, quotas, rows)
        self.task = Task(
            self.pool,
            self.targets,
            observed_rows=observed_rows,
            observed_points=points if points is not None else _table(observed_points, "observed points"),
            probabilities=_table(None if column.probabilities else probabilities, "probabilities"),
            target_probabilities=_table(None if is_column else target_probabilities, "target_probabilities"),
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
        if isinstance(n, bool) or not isinstance(n, (int, np.integer)):
            raise TypeError(f"n is {n!r}; a whole number of rows is wanted")
        if n < 1:
            raise ValueError(f"n is {n}; ask for at least 1 row")
        enough = stop if callable(stop) else None
        ends = Stop() if stop is None or callable(stop) else stop if isinstance(stop, Stop) else Stop(**stop)
        weights = None
        if target_weights is not None:
            weights = _inputs.numbers(target_weights, "target weights", self.targets.rows if self.targets else 0)
        with telling(progress, enough, int(n)) as tell:
            indices, scores, information, left, noise_var, ended, passes, seconds, guarantee = _homing.select(
                self.task,
                int(n),
                rule=rule,
                beta=beta,
                noise_std=noise_std,
                target_sample=_sample(target_sample),
                target_weights=weights,
                round_size=round_size,
                seed=seed,
                made=made,
                min_gain=ends.min_gain,
                reduced_share=ends.variance,
                quotas=self.quotas,
                budget=budget,
                repeat=repeat,
                greedy=greedy,
                engine=engine,
                threads=threads,
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
        )


class _Columns:
    """Which of these are names of columns in the pool's file."""

    def __init__(self, probabilities: Any, groups: Any, costs: Any) -> None:
        named = isinstance(probabilities, str) and not _looks_like_file(probabilities)
        self.probabilities = probabilities if named else None
        self.group = groups if isinstance(groups, str) else None
        self.cost = costs if isinstance(costs, str) else None


def _looks_like_file(text: str) -> bool:
    return os.path.exists(text) or "." in os.path.basename(text)


def _table(x: Embeddings | None, what: str) -> Data | None:
    return None if x is None else _inputs.data(x, what, copy=True)


def _points(x: Any, rows: int, what: str) -> Any:
    """Row numbers of a kernel matrix as points."""
    if x is None:
        return None
    numbers = np.asarray(x)
    if numbers.dtype.kind not in "iu" or numbers.ndim > 2 or (numbers.ndim == 2 and numbers.shape[1] != 1):
        raise TypeError(f"with a kernel matrix, the {what} are a list of its row numbers")
    if numbers.size and not (0 <= numbers.min() and numbers.max() < rows):
        raise ValueError(f"the {what} name row {numbers.max()} of a kernel matrix with {rows} rows, counted from 0")
    return numbers.reshape(-1, 1).astype(np.float64)


def _observed(x: Any, pool: Data) -> tuple[npt.NDArray[np.int64] | None, Data | None]:
    """Row numbers, or embeddings: those are floats. A file tells by what is in it."""
    if x is None:
        return None, None
    if isinstance(x, (str, os.PathLike)):
        named, points = pool.named(x)
        return (None, points) if named is None else (np.array(named, dtype=np.int64), None)
    module = type(x).__module__.partition(".")[0]
    if module in ("datasets", "pyarrow", "polars") or (module == "torch" and x.is_floating_point()):
        return None, _inputs.data(x, "observed points", copy=True)
    numbers = np.asarray(x.indices if isinstance(x, Selection) else x)
    if numbers.dtype.kind in "iub" or numbers.size == 0:
        return _inputs.rows(numbers, "observed rows", pool.rows), None
    return None, _inputs.data(x, "observed points", copy=True)


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
    names, numbers = np.unique(np.asarray(groups), return_inverse=True)
    if numbers.shape != (rows,):
        raise ValueError(f"the groups have shape {np.shape(groups)}; one a row, ({rows},), is wanted")
    most = 2**62
    if quotas is None:
        limits = None
    elif isinstance(quotas, Mapping):
        unknown = [name for name in quotas if name not in names]
        if unknown:
            raise ValueError(f"quotas name the group {unknown[0]!r}, which no row of the pool has")
        limits = [int(quotas.get(name, most)) for name in names.tolist()]
    else:
        limits = [int(quotas)] * len(names)
    return limits, numbers.astype(np.int64)


def _sample(given: float | int | str | None) -> tuple[str, float] | None:
    """A share, a number, or the way to choose targets with their number."""
    if given is None:
        return None
    if isinstance(given, str):
        kind, _, number = given.partition(":")
        if kind not in ("max-det", "max-dist") or not number.isdigit():
            raise ValueError(f"target_sample is {given!r}; give a share (0.1), a number (20), 'max-det:20' or 'max-dist:20'")
        return kind, float(number)
    return ("size" if isinstance(given, (int, np.integer)) else "share"), float(given)
