"""Computes activeft's own formulas for comparison: ITL's ratio has no ρ², and rows may repeat."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


class Process:
    """The covariances of the rows S and the targets A, given the picks so far."""

    def __init__(self, covariance: Array, rows: int) -> None:
        """`covariance` is that of [S; A]; without targets, the rows are the targets."""
        self.joint, self.rows = np.array(covariance, dtype=np.float64), rows

    @property
    def var(self) -> Array:
        return np.diag(self.joint)[: self.rows]

    @property
    def targets(self) -> slice:
        return slice(self.rows, None) if len(self.joint) > self.rows else slice(0, None)

    @property
    def cross(self) -> Array:
        return self.joint[: self.rows, self.targets]

    @property
    def target_cov(self) -> Array:
        return self.joint[self.targets, self.targets]

    def correlations(self) -> Array:
        return self.cross / np.sqrt(np.outer(self.var, np.diag(self.target_cov)))

    def observe(self, row: int, noise_var: float) -> None:
        column = self.joint[:, row] / np.sqrt(self.joint[row, row] + noise_var)
        self.joint -= np.outer(column, column)


def itl(process: Process, noise_var: float) -> Array:
    """½ max(0, ln(k_xx / (k_xx − k_xA (K_AA + ρ²I)⁻¹ k_Ax)))."""
    noisy = process.target_cov + noise_var * np.eye(len(process.target_cov))
    explained = np.einsum("xa,ax->x", process.cross, np.linalg.solve(noisy, process.cross.T))
    gain: Array = 0.5 * np.maximum(np.log(process.var / (process.var - explained)), 0.0)
    return gain


def vtl(process: Process, noise_var: float) -> Array:
    """−Σ_a (k_aa − k_ax² / (k_xx + ρ²))."""
    return lazy_vtl(process, noise_var) - float(np.trace(process.target_cov))


def lazy_vtl(process: Process, noise_var: float) -> Array:
    """Σ_a k_ax² / (k_xx + ρ²)."""
    explained: Array = (process.cross**2).sum(axis=1) / (process.var + noise_var)
    return explained


def ctl(process: Process, noise_var: float) -> Array:
    """mean_a k_xa / √(k_xx k_aa)."""
    mean: Array = process.correlations().mean(axis=1)
    return mean


def mmitl(process: Process, noise_var: float) -> Array:
    """mean_a −½ ln(1 − cor²)."""
    mean: Array = (-0.5 * np.log1p(-(process.correlations() ** 2))).mean(axis=1)
    return mean


def variance(process: Process, noise_var: float) -> Array:
    """k_xx."""
    return process.var.copy()


Formula = Callable[[Process, float], Array]


def choose(
    formula: Formula, covariance: Array, rows: int, count: int, noise_var: float, sequential: bool = True
) -> tuple[npt.NDArray[np.int64], Array]:
    """Picks rows one after another, conditioned on the earlier ones, or the best rows of one scoring if not `sequential`."""
    process = Process(covariance, rows)
    if not sequential:
        values = formula(process, noise_var)
        best = np.argsort(-values, kind="stable")[:count]
        return best, values[best]
    picks, scores = [], []
    for _ in range(count):
        values = formula(process, noise_var)
        pick = int(np.argmax(values))
        picks.append(pick)
        scores.append(values[pick])
        process.observe(pick, noise_var)
    return np.array(picks, dtype=np.int64), np.array(scores)
