"""Chooses the most uncertain rows."""

from __future__ import annotations

from homing.compat.activeft import _strict
from homing.compat.activeft.acquisition_functions.bace import BaCE


class UncertaintySampling(BaCE):
    """Chooses the most uncertain rows of one scoring."""

    rule = "uncertainty-top-b"
    formula = _strict.variance

    def __init__(
        self,
        noise_std: float | None = None,
        mini_batch_size: int = 1_000,
        num_workers: int = 0,
        subsample: bool = False,
        *,
        strict: bool = False,
        seed: int | None = None,
    ) -> None:
        super().__init__(noise_std, mini_batch_size, 100, num_workers, subsample, True, strict=strict, seed=seed)
