"""Computes the quantities of the paper's theory: what a pool can teach, what observations achieve, and what is guaranteed."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from homing import _homing, _inputs
from homing._diagnose import Bounds
from homing._inputs import Embeddings, Rows
from homing._task import TaskData, rows_as_given
from homing._settings import Inputs, check_model_inputs

if TYPE_CHECKING:
    from typing_extensions import Unpack


class SamplingBound(NamedTuple):
    """What Lemma F.1 guarantees for one target."""

    inclusion: float
    """The probability that a round includes the target."""
    at_least: float
    """The number of rounds that include the target at least …"""
    probability: float
    """… with this probability or more."""


class Constants(NamedTuple):
    """The constants in the bounds of Theorem 3.1."""

    max_var: float
    """Largest prior variance of a row."""
    max_total_var: float
    """Largest prior variance of a label."""
    least_eigenvalue: float | None
    """λ_min(K_SS); None if the pool is too large to compute it."""


def sampling_bound(weight: float, size: int, rounds: int) -> SamplingBound:
    """Applies Lemma F.1 to `rounds` rounds of `size` draws, each of which takes the target with probability `weight`."""
    size, rounds = _inputs.whole(size, "size", 0), _inputs.whole(rounds, "rounds", 0)
    return SamplingBound(*_homing.sampling_bound(_inputs.real(weight, "weight"), size, rounds))


def guarantee(ratio: float) -> float:
    """Returns 1 − e^−κ: ITL's batch has at least this share of the best batch's information (Theorem C.2)."""
    return _homing.guarantee(_inputs.real(ratio, "ratio"))


def objective_bound(capacity: float, n: int) -> float:
    """Returns γ_n/n, an upper bound of Γ_{n−1} if the targets include the pool and ITL chose the first n rows (Eq. 7)."""
    return _homing.objective_bound(_inputs.real(capacity, "capacity"), _inputs.whole(n, "n", 1))


def confidence_width(norm: float, noise_std: float, capacity: float, delta: float) -> float:
    """Returns β_n(δ) = ‖f*‖ + ρ·√(2(γ_n + 1 + ln(1/δ))), as Theorem 3.2 states it; for ρ < 1 it is too narrow."""
    width = _inputs.real(norm, "norm"), _inputs.real(noise_std, "noise_std"), _inputs.real(capacity, "capacity")
    return _homing.confidence_width(*width, _inputs.real(delta, "delta"))


def calibrated_width(norm: float, capacity: float, delta: float) -> float:
    """Returns ‖f*‖ + √(2(γ_n + ln(1/δ))), the width for which the band of Theorem 3.2 holds for every ρ."""
    return _homing.calibrated_width(
        _inputs.real(norm, "norm"), _inputs.real(capacity, "capacity"), _inputs.real(delta, "delta")
    )


def linear_growth(n: float, dim: int) -> float:
    """Returns d·ln n, the growth of γ_n with the linear kernel."""
    return _homing.linear_growth(_inputs.real(n, "n"), _inputs.whole(dim, "dim", 1))


def gaussian_growth(n: float, dim: int) -> float:
    """Returns lnᵈ⁺¹ n, the growth of γ_n with the Gaussian kernel."""
    return _homing.gaussian_growth(_inputs.real(n, "n"), _inputs.whole(dim, "dim", 1))


def laplace_growth(n: float, dim: int) -> float:
    """Returns n^(d/(1+d)) · ln^(1/(1+d)) n, the growth of γ_n with the Laplace kernel."""
    return _homing.laplace_growth(_inputs.real(n, "n"), _inputs.whole(dim, "dim", 1))


def matern_growth(n: float, dim: int, smoothness: float) -> float:
    """Returns n^(d/(2ν+d)) · ln^(2ν/(2ν+d)) n, the growth of γ_n with the Matérn kernel of smoothness ν."""
    smoothness = _inputs.real(smoothness, "smoothness")
    return _homing.matern_growth(_inputs.real(n, "n"), _inputs.whole(dim, "dim", 1), smoothness)


class Model:
    """A Gaussian process with its pool S, targets A, noise ρ² and observed rows.

    The arguments are those of :func:`homing.select`, and `inputs` are the keys of :class:`homing.Inputs` except those that
    only affect the choice of rows: `quotas` and `forbidden` are refused, and `groups` and `costs` may only name columns of a
    file, which are then not read as part of its embeddings.

    >>> import numpy as np
    >>> pool = np.array([[1, 0], [0.9, 0.1], [0, 0.4]])
    >>> model = Model(pool, np.array([[0.8, 0.3]]), noise_std=0.5)
    >>> after = model.given([1])
    >>> bool(after.target_vars()[0] < model.target_vars()[0])
    True
    >>> model.objective() <= model.capacity(1).upper
    True
    """

    def __init__(
        self,
        pool: Embeddings,
        targets: Embeddings | None,
        noise_std: float | None = None,
        observed: Rows | None = None,
        threads: int | None = None,
        **inputs: Unpack[Inputs],
    ) -> None:
        check_model_inputs("Model", inputs)
        task_data = TaskData(pool, targets, None, rows_as_given(inputs))
        self._rows = task_data.pool.rows
        settings = {"noise_std": noise_std, "threads": threads}
        self._model = _homing.Model(task_data.task, self._row_numbers(observed), settings)

    def _row_numbers(self, rows: Rows | None) -> list[int]:
        numbers: list[int] = _inputs.rows(rows, "observations", self._rows).tolist()
        return numbers

    @property
    def observed(self) -> list[int]:
        """The observed rows, in order."""
        return self._model.observed

    def given(self, rows: Rows) -> Model:
        """Returns the same process after further observations."""
        after = Model.__new__(Model)
        after._rows = self._rows
        after._model = self._model.given(self._row_numbers(rows))
        return after

    def noise_var(self) -> float:
        """Returns the noise variance ρ²."""
        return self._model.noise_var()

    def prior_vars(self) -> npt.NDArray[np.float64]:
        """Returns σ²_0 of every target: its variance before anything is observed."""
        return np.array(self._model.prior_vars())

    def target_vars(self) -> npt.NDArray[np.float64]:
        """Returns σ²_n of every target: its variance given the observations."""
        return np.array(self._model.target_vars())

    def irreducible_vars(self) -> npt.NDArray[np.float64]:
        """Returns η²_S of every target: the variance that is left if f is known on the whole pool."""
        return np.array(self._model.irreducible_vars())

    def labelled_vars(self) -> npt.NDArray[np.float64]:
        """Returns the variance of every target if every row is labelled once."""
        return np.array(self._model.labelled_vars())

    def gains(self) -> npt.NDArray[np.float64]:
        """Returns I(f_A; y_x | D) of every row x, in nats."""
        return np.array(self._model.gains())

    def information(self) -> float:
        """Returns I(f_A; y_D), the information of the observations about the targets, in nats."""
        return self._model.information()

    def objective(self) -> float:
        """Returns Γ_n, the most information about the targets that one more observation can give (Eq. 6)."""
        return self._model.objective()

    def next_pick(self) -> tuple[int, float] | None:
        """Returns the row that ITL picks next and its gain, or None if all rows are observed."""
        return self._model.next_pick()

    def capacity(self, n: int) -> Bounds:
        """Bounds γ_n, the most information that n rows can give about the whole function (Section 2)."""
        return Bounds(*self._model.capacity(_inputs.whole(n, "n", 0)))

    def submodularity_ratio(self, batch: Rows, seed: int = 0) -> Bounds:
        """Bounds κ, the submodularity ratio of a batch (Definition C.1)."""
        return Bounds(*self._model.submodularity_ratio(self._row_numbers(batch), _inputs.whole(seed, "seed", 0)))

    def boundary(self, target: int, goal: float, most: int = 10) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
        """Finds at most `most` rows that reduce a target's variance to `goal` (an approximate Markov boundary, Definition D.3).

        Returns the rows, and the target's variance before the first row and after each row.
        """
        target, most = _inputs.whole(target, "target", 0), _inputs.whole(most, "most", 0)
        rows, variances = self._model.boundary(target, _inputs.real(goal, "goal"), most)
        return np.array(rows, dtype=np.int64), np.array(variances)

    def constants(self) -> Constants:
        """Returns the constants in the bounds of Theorem 3.1."""
        return Constants(*self._model.constants())

    def reducible_bound(self, n: int) -> float | None:
        """Returns C·γ_n/√n, or None if it is unknown.

        If the targets include the pool, σ²_n − η²_S is at most this (Theorem 3.1).
        """
        return self._model.reducible_bound(_inputs.whole(n, "n", 1))


__all__ = [
    "Bounds",
    "Constants",
    "Model",
    "SamplingBound",
    "calibrated_width",
    "confidence_width",
    "gaussian_growth",
    "guarantee",
    "laplace_growth",
    "linear_growth",
    "matern_growth",
    "objective_bound",
    "sampling_bound",
]
