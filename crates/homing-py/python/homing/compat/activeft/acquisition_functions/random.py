"""Chooses random rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from homing.compat.activeft._arrays import Array
from homing.compat.activeft.acquisition_functions._base import AcquisitionFunction


class Random(AcquisitionFunction):
    """Chooses random rows; the values only decrease from pick to pick."""

    def __init__(self, mini_batch_size: int = 1_000, num_workers: int = 0, *, seed: int | None = None) -> None:
        super().__init__(mini_batch_size, num_workers, False, seed=seed)

    def _choose(self, count: int, model: Any, data: Any, device: Any) -> tuple[Array, Array]:
        order = self._random().permutation(len(data))[:count]
        return order, np.arange(len(order), 0, -1, dtype=np.float64)
