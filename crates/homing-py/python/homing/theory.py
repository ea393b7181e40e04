"""The paper's theory as numbers: what a pool can teach, how far picks have come, and what is guaranteed."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from homing import _homing, _inputs
from homing._diagnose import Bounds
from homing._inputs import Embeddings, Rows
from homing._question import Question


class Sampled(NamedTuple):
    """What Lemma F.1 says of one target."""

    inclusion: float
    """The chance that a round has it."""
    at_least: float
    """It is in at least so many rounds …"""
    probability: float
    """… with this probability or more."""


class Constants(NamedTuple):
    """What the bounds are made of."""

    max_var: float
    """Largest prior variance of a row."""
    max_total_var: float
    """Largest prior variance of a label."""
    least_eigenvalue: float | None
    """λ_min(K_SS); None where the pool is too large to know."""


def sampled(weight: float, size: int, rounds: int) -> Sampled:
    """Lemma F.1 for a target drawn with probability `weight` in each of `size` draws a round, after so many rounds."""
    size, rounds = _inputs.whole(size, "size", 0), _inputs.whole(rounds, "rounds", 0)
    return Sampled(*_homing.sampled(_inputs.real(weight, "weight"), size, rounds))


def guarantee(ratio: float) -> float:
    """1 − e^−κ: the share of the best batch's information that ITL's has at least (Theorem C.2)."""
    return _homing.guarantee(_inputs.real(ratio, "ratio"))


def objective_bound(capacity: float, n: int) -> float:
    """γ_n/n, which Γ_{n−1} does not exceed where the pool is among the targets and ITL chose the first n rows (Eq. 7)."""
    return _homing.objective_bound(_inputs.real(capacity, "capacity"), _inputs.whole(n, "n", 1))


def confidence_width(norm: float, noise_std: float, capacity: float, delta: float) -> float:
    """β_n(δ) = ‖f*‖ + ρ·√(2(γ_n + 1 + ln(1/δ))), as Theorem 3.2 states it; for ρ < 1 it is too narrow."""
    width = _inputs.real(norm, "norm"), _inputs.real(noise_std, "noise_std"), _inputs.real(capacity, "capacity")
    return _homing.confidence_width(*width, _inputs.real(delta, "delta"))


def calibrated_width(norm: float, capacity: float, delta: float) -> float:
    """‖f*‖ + √(2(γ_n + ln(1/δ))): the width for which the band of Theorem 3.2 holds whatever ρ is."""
    return _homing.calibrated_width(
        _inputs.real(norm, "norm"), _inputs.real(capacity, "capacity"), _inputs.real(delta, "delta")
    )


def linear_growth(n: float, dim: int) -> float:
    """d·ln n: how fast γ_n grows with the linear kernel."""
    return _homing.linear_growth(_inputs.real(n, "n"), _inputs.whole(dim, "dim", 1))


def gaussian_growth(n: float, dim: int) -> float:
    """lnᵈ⁺¹ n: with the Gaussian kernel."""
    return _homing.gaussian_growth(_inputs.real(n, "n"), _inputs.whole(dim, "dim", 1))


def laplace_growth(n: float, dim: int) -> float:
    """n^(d/(1+d)) · ln^(1/(1+d)) n: with the Laplace kernel."""
    return _homing.laplace_growth(_inputs.real(n, "n"), _inputs.whole(dim, "dim", 1))


def matern_growth(n: float, dim: int, smoothness: float) -> float:
    """n^(d/(2ν+d)) · ln^(2ν/(2ν+d)) n: with the Matérn kernel of smoothness ν."""
    smoothness = _inputs.real(smoothness, "smoothness")
    return _homing.matern_growth(_inputs.real(n, "n"), _inputs.whole(dim, "dim", 1), smoothness)


class Model:
    """A Gaussian process with its pool S, targets A, noise ρ² and observations.

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
        **inputs: Any,
    ) -> None:
        question = Question(pool, targets, **inputs)
        self._rows = question.pool.rows
        noise_std = _inputs.real_or_none(noise_std, "noise_std")
        self._model = _homing.Model(question.task, noise_std, self._named(observed), _inputs.threads(threads))

    def _named(self, rows: Rows | None) -> list[int]:
        numbers: list[int] = _inputs.rows(rows, "observations", self._rows).tolist()
        return numbers

    @property
    def observed(self) -> list[int]:
        """The rows that were observed, in order."""
        return self._model.observed

    def given(self, rows: Rows) -> Model:
        """The same process after further observations."""
        after = Model.__new__(Model)
        after._rows = self._rows
        after._model = self._model.given(self._named(rows))
        return after

    def noise_var(self) -> float:
        """ρ²."""
        return self._model.noise_var()

    def prior_vars(self) -> npt.NDArray[np.float64]:
        """σ²_0 of every target."""
        return np.array(self._model.prior_vars())

    def target_vars(self) -> npt.NDArray[np.float64]:
        """σ²_n of every target."""
        return np.array(self._model.target_vars())

    def irreducible_vars(self) -> npt.NDArray[np.float64]:
        """η²_S of every target: what stays with f known on the whole pool."""
        return np.array(self._model.irreducible_vars())

    def labelled_vars(self) -> npt.NDArray[np.float64]:
        """The variance of every target with each row labelled once."""
        return np.array(self._model.labelled_vars())

    def gains(self) -> npt.NDArray[np.float64]:
        """I(f_A; y_x | D) of every row x, in nats."""
        return np.array(self._model.gains())

    def information(self) -> float:
        """I(f_A; y_D): what the observations tell about the targets, in nats."""
        return self._model.information()

    def objective(self) -> float:
        """Γ_n: the most that one more observation tells about the targets (Eq. 6)."""
        return self._model.objective()

    def next_pick(self) -> tuple[int, float] | None:
        """The row that ITL picks next, and its gain; None when all are observed."""
        return self._model.next_pick()

    def capacity(self, n: int) -> Bounds:
        """γ_n: the most that n rows tell about anything (Section 2)."""
        return Bounds(*self._model.capacity(_inputs.whole(n, "n", 0)))

    def submodularity_ratio(self, batch: Rows, seed: int = 0) -> Bounds:
        """κ of a batch (Definition C.1)."""
        return Bounds(*self._model.submodularity_ratio(self._named(batch), _inputs.whole(seed, "seed", 0)))

    def boundary(self, target: int, goal: float, most: int = 10) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
        """Rows that bring a target's variance to `goal` (an approximate Markov boundary, Definition D.3), at most so many.

        The variances are those before the first row and after each.
        """
        target, most = _inputs.whole(target, "target", 0), _inputs.whole(most, "most", 0)
        rows, variances = self._model.boundary(target, _inputs.real(goal, "goal"), most)
        return np.array(rows, dtype=np.int64), np.array(variances)

    def constants(self) -> Constants:
        """What the bounds of Theorem 3.1 are made of."""
        return Constants(*self._model.constants())

    def reducible_bound(self, n: int) -> float | None:
        """C·γ_n/√n: bounds σ²_n − η²_S where the pool is among the targets (Theorem 3.1); None where unknown."""
        return self._model.reducible_bound(_inputs.whole(n, "n", 1))


__all__ = [
    "Bounds",
    "Constants",
    "Model",
    "Sampled",
    "calibrated_width",
    "confidence_width",
    "gaussian_growth",
    "guarantee",
    "laplace_growth",
    "linear_growth",
    "matern_growth",
    "objective_bound",
    "sampled",
]
