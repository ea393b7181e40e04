"""Lists the arguments of a selection, with their types."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, TypeAlias, TypedDict

import numpy.typing as npt

from homing._encoder import Encoder
from homing._inputs import Embeddings, Rows
from homing._progress import Pick, Progress


@dataclass(frozen=True)
class Stop:
    """When a selection stops before `n` picks. The first condition that holds ends it.

    >>> Stop(min_gain=0.01)
    Stop(min_gain=0.01, variance=None)
    """

    min_gain: float | None = None
    """Stop if the next pick would add less information about the targets than this, in nats."""
    variance: float | None = None
    """Stop once this share (0 to 1) of the targets' reducible variance is removed.

    The reducible variance is the part that the pool can remove at all: the variance before the first pick, minus the variance
    that is left if f is known on the whole pool (η²_S). `variance_left`, in contrast, is a share of the whole variance."""


StopLike: TypeAlias = "Stop | Mapping[str, float] | Callable[[Pick], Any] | None"


class Columns(TypedDict, total=False):
    """How tables and files are read.

    embedding_column
        The column that holds the embeddings.
    id_column, label_column, text_column
        The columns that hold the ids, the labels and the texts of the rows; pages show the texts of files.
    pool_access
        How the numbers of a file are read: ``map`` maps the file into memory, ``read`` reads it block by block, and ``auto``
        chooses.
    """

    embedding_column: str | None
    id_column: str | None
    label_column: str | None
    text_column: str | None
    pool_access: str | None


class Inputs(Columns, total=False):
    """The data of a selection, in addition to the pool, the targets and the observed examples.

    observed_points
        Embeddings of labelled examples that are not in the pool; picks are conditioned on them.
    probabilities, target_probabilities
        Class probabilities of the pool rows and of the targets, or the name of a column, for the rules and kernels that use
        them.
    groups, quotas
        The group of every row (or the name of a column), and the maximum number of picks per group: one number for all
        groups, or a dictionary with numbers for some of them.
    costs
        The cost of every row (or the name of a column). The score of a row is divided by its cost.
    kernel
        ``linear``, ``gaussian:LENGTH``, ``laplace:LENGTH``, ``matern:SMOOTHNESS:LENGTH`` or ``loss-gradient``; or a kernel
        matrix, in which case pool and targets are lists of its row numbers. By default ``linear``, or ``gaussian:1`` for 100 to
        200,000 rows of fewer than 100 numbers that are prepared by default, if rows times targets and picks are at most 20,000,000.
    center
        Whether to subtract the pool's mean embedding. The default is True if there are targets, the kernel is linear, no noise
        is given and the pool has at least 100 rows.
    normalize
        Whether to scale all rows to unit length, after the mean is subtracted. The default is True under the same conditions.
    forbidden
        Rows that must not be picked.
    encoder
        What turns texts and images into embeddings: a :class:`homing.Encoder`, the path of a model (a folder in the layout of
        Hugging Face, or an ``.onnx`` file), ``built-in``, or ``none`` to use columns of numbers. Pool and targets may be texts,
        paths of images, tables with a column of either, or files. By default, texts and images are embedded by the built-in encoder.
    noise_vars
        The noise variance ρ² of every row, instead of `noise_std`.

    The keys of :class:`homing.Columns` say how tables and files are read.
    """

    observed_points: Embeddings | None
    probabilities: Embeddings | str | None
    target_probabilities: Embeddings | str | None
    groups: Any
    quotas: int | Mapping[Any, int] | None
    costs: Any
    kernel: str | npt.NDArray[Any] | None
    center: bool | None
    normalize: bool | None
    forbidden: Rows | None
    encoder: Encoder | str | os.PathLike[str] | None
    noise_vars: Any


class Settings(TypedDict, total=False):
    """How rows are chosen, in addition to their number, the rule and the noise.

    seed
        Seed for all random choices.
    threads
        How many threads to use; one per core by default. The picks do not depend on it.
    progress
        True for a progress bar, False for none, None for one that appears after a second in terminals and notebooks; or a
        function that is called with every :class:`Pick` and may return False to stop.
    stop
        When to stop early: a :class:`Stop`, a dictionary of its fields, or a function that is called with every :class:`Pick`
        and returns True to stop.
    budget
        The largest total cost of the picks.
    target_sample, target_weights, picks_per_round
        The targets that are used in each round of `picks_per_round` picks: a share (0.1), a number (20), or a diverse
        subset (``max-det:20``, ``max-dist:20``). If weights are given, targets are drawn by weight.
    beta
        Weight of the similarity in ``information-density``.
    repeat
        Whether rows may be picked more than once.
    greedy
        ``exact``, ``stochastic:EPSILON`` or ``partitioned:PARTS``. The last two do less work;
        :attr:`Selection.guarantee` says what they still guarantee.
    engine
        The algorithm: ``auto``, ``plain`` or ``speculative``. All make the same picks.
    device
        Where the passes over the pool run: ``cpu``, ``cuda:0`` or another NVIDIA GPU, several (``cuda:0,1``), or ``auto``, which
        uses the first GPU for pools of at least a gibibyte that fit into its memory. The pool is uploaded once, and a
        :class:`Selector` keeps it there. A pool that is on a GPU already is used where it is.
    earlier_picks
        Number of picks that earlier calls have made, if this call continues them. :class:`Selector` counts them for you.
    """

    seed: int
    threads: int | None
    progress: Progress
    stop: StopLike
    budget: float | None
    target_sample: float | int | str | None
    target_weights: Any
    picks_per_round: int | None
    beta: float | None
    repeat: bool
    greedy: str
    engine: str
    device: str | None
    earlier_picks: int


class Options(Inputs, Settings, total=False):
    """All keyword arguments of :func:`homing.select`: :class:`Inputs` and :class:`Settings`."""


def check(owner: str, options: Mapping[str, Any], kind: type[Any], elsewhere: Mapping[str, str] | None = None) -> None:
    """Refuses names that `kind` does not list, and those in `elsewhere`, which says what to do instead."""
    known: frozenset[str] = kind.__optional_keys__
    for name in options:
        if elsewhere and name in elsewhere:
            raise TypeError(f"{owner} has no argument {name!r}; {elsewhere[name]}")
        if name not in known:
            nearest = get_close_matches(name, known, 1, 0.0)[0]
            raise TypeError(f"{owner} has no argument {name!r}; did you mean {nearest!r}?")


def check_model_inputs(owner: str, inputs: Inputs) -> None:
    """Refuses inputs that only affect the choice of rows, which `owner` does not make.

    `groups` and `costs` may be names of columns, because that keeps these columns of a file out of its embeddings.
    """
    check(owner, inputs, Inputs)
    for name in ("groups", "quotas", "costs", "forbidden"):
        value = inputs.get(name)
        is_column = name in ("groups", "costs") and isinstance(value, str)
        if value is not None and not is_column:
            raise TypeError(f"{owner} does not use {name!r}, which only affects the choice of rows; leave it out")


def split(options: Mapping[str, Any]) -> tuple[Inputs, dict[str, Any]]:
    """Splits options into inputs and settings."""
    names = Inputs.__optional_keys__
    inputs: Inputs = {name: value for name, value in options.items() if name in names}  # type: ignore[assignment]
    return inputs, {name: value for name, value in options.items() if name not in names}
