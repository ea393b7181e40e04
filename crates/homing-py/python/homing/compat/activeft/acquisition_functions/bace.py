"""Batch selection via conditional embeddings (BaCE), with the rules of Homing's core or activeft's formulas."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

import homing
from homing.compat.activeft import _arrays, _strict
from homing.compat.activeft._arrays import Array
from homing.compat.activeft.acquisition_functions._base import EmbeddingBased, SequentialAcquisitionFunction, Targeted

DEFAULT_NOISE_VAR = 0.01
"""ρ² if `noise_std` is None."""


class BaCE(SequentialAcquisitionFunction, EmbeddingBased):
    """Batch selection via conditional embeddings without targets: a rule of the core, or activeft's formula if `strict`."""

    rule: ClassVar[str]
    formula: ClassVar[_strict.Formula | None] = None

    def __init__(
        self,
        noise_std: float | None = None,
        mini_batch_size: int = 1_000,
        embedding_batch_size: int = 100,
        num_workers: int = 0,
        subsample: bool = False,
        force_nonsequential: bool = False,
        *,
        strict: bool = False,
        seed: int | None = None,
    ) -> None:
        batching = mini_batch_size, num_workers, subsample, force_nonsequential
        SequentialAcquisitionFunction.__init__(self, *batching, strict=strict, seed=seed)
        EmbeddingBased.__init__(self, embedding_batch_size)
        self.noise_std = noise_std

    @property
    def noise_var(self) -> float:
        """The noise variance ρ²."""
        return DEFAULT_NOISE_VAR if self.noise_std is None else float(self.noise_std) ** 2

    def _choose(self, count: int, model: Any, data: Any, device: Any) -> tuple[Array, Array]:
        return self.among(count, model, data, None)

    def among(self, count: int, model: Any, data: Any, target: Any) -> tuple[Array, Array]:
        """Picks rows for the given targets, or without any. It does not change this object, so threads may share it."""
        rows = len(data)
        if model is not None and hasattr(model, "kernel") and not hasattr(model, "embed"):
            points = data if target is None else _arrays.joined(data, target)
            covariance = _arrays.to_numpy(model.kernel(points, points)).astype(np.float64)
            covariance = 0.5 * (covariance + covariance.T)
            if self.strict:
                return self._strictly(count, covariance, rows)
            others = None if target is None else np.arange(rows, len(covariance))
            return self._by_core(count, np.arange(rows), others, kernel=covariance)
        embeddings = self._embedded(model, data)
        targets = None if target is None else self._embedded(model, target)
        if self.strict:
            joint = embeddings if targets is None else np.concatenate([embeddings, targets])
            joint = joint.astype(np.float64)
            return self._strictly(count, joint @ joint.T, rows)
        return self._by_core(count, embeddings, targets)

    def _strictly(self, count: int, covariance: Array, rows: int) -> tuple[Array, Array]:
        formula = type(self).formula
        if formula is None:
            raise ValueError(f"{type(self).__name__} has no strict formula; leave strict out")
        return _strict.choose(formula, covariance, rows, count, self.noise_var, not self.force_nonsequential)

    def _by_core(self, count: int, pool: Array, targets: Array | None, **more: Any) -> tuple[Array, Array]:
        rule = type(self).rule
        if self.force_nonsequential and not rule.endswith("-top-b"):
            rule += "-top-b"
        noise_std = math.sqrt(self.noise_var)
        as_given: dict[str, Any] = {"center": False, "normalize": False, "progress": False}
        selection = homing.select(pool, targets, count, rule, noise_std=noise_std, **as_given, **more)
        return selection.indices, self._values(selection, targets, more.get("kernel"))

    def _values(self, selection: homing.Selection, targets: Array | None, kernel: Array | None) -> Array:
        """Returns the values as activeft reports them."""
        return selection.scores


class TargetedBaCE(Targeted, BaCE):
    """Batch selection via conditional embeddings for targets."""

    def __init__(
        self,
        target: Any,
        noise_std: float | None = None,
        subsampled_target_frac: float = 1,
        max_target_size: int | None = None,
        mini_batch_size: int = 1_000,
        embedding_batch_size: int = 100,
        num_workers: int = 0,
        subsample: bool = False,
        force_nonsequential: bool = False,
        *,
        strict: bool = False,
        seed: int | None = None,
    ) -> None:
        Targeted.__init__(self, target, subsampled_target_frac, max_target_size)
        batching = mini_batch_size, embedding_batch_size, num_workers, subsample, force_nonsequential
        BaCE.__init__(self, noise_std, *batching, strict=strict, seed=seed)

    def _choose(self, count: int, model: Any, data: Any, device: Any) -> tuple[Array, Array]:
        return self.among(count, model, data, self.get_target())


def minus_variance_left(selection: homing.Selection, targets: Array, kernel: Array | None, scored_once: bool) -> Array:
    """Returns minus the targets' total variance after each pick, or after that pick alone if all rows were scored once."""
    assert selection.variance_left is not None
    prior = (targets.astype(np.float64) ** 2).sum() if kernel is None else np.diag(kernel)[targets].sum()
    return np.asarray(selection.scores - prior if scored_once else -prior * selection.variance_left)
