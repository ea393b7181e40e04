"""Chooses rows in one call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from homing._inputs import Embeddings, Rows
from homing._task import TaskData, inputs_for
from homing._selection import Selection
from homing._settings import Options, check, split

if TYPE_CHECKING:
    from typing_extensions import Unpack


def select(
    pool: Embeddings,
    targets: Embeddings | None,
    n: int,
    rule: str = "itl",
    noise_std: float | None = None,
    observed: Rows | Embeddings | None = None,
    **options: Unpack[Options],
) -> Selection:
    """Chooses the `n` rows of a pool whose labels would be most informative about some targets.

    Parameters
    ----------
    pool, targets
        Embeddings, one row per example: NumPy arrays (also memory-mapped), tensors, Arrow columns or tables, Hugging Face
        datasets or their columns, or paths to files; float32, float64, float16 or bfloat16. The pool is read in place and not
        copied; do not write to it during the call. If it is on an NVIDIA GPU (a tensor of PyTorch, or an array of CuPy or JAX),
        the passes run there. Rules without targets take ``None`` as targets.
    n
        How many rows to choose.
    rule
        The rule that chooses; :func:`homing.rules` lists all rules.
    noise_std
        Noise ρ of a label, in the units of the rows, which then stay as they are unless `center` or `normalize` is True. By
        default, ρ² is the mean squared norm of the rows if they have unit length, and 0.01 × that if not.
    observed
        The examples that are already labelled: row numbers, a mask or a :class:`Selection`, whose rows are not picked again;
        embeddings; or a file of either, such as picks that the command wrote. The picks are conditioned on them.
    options
        The keys of :class:`homing.Inputs` and :class:`homing.Settings`, where each is explained.

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
    check("select", options, Options)
    inputs, settings = split(options)
    task_data = TaskData(pool, targets, observed, inputs_for(noise_std, inputs))
    return task_data.select({"n": n, "rule": rule, "noise_std": noise_std, **settings})
