"""Choosing rows in one call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy.typing as npt

from homing._inputs import Embeddings, Rows
from homing._progress import Progress
from homing._question import Question, StopLike
from homing._selection import Selection


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
        Class probabilities of the pool's rows, for the rules that want them; the name of a column where the pool is a file or table.
    groups, quotas
        The group of every row (the name of a column where the pool is a file or table), and the most picks of a group: a number for
        all, or one by group.
    costs, budget
        The cost of every row (or the name of a column), by which a score is divided, and the most total cost.
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
