"""Chooses rows that are far from each other."""

from __future__ import annotations

from typing import Any

from homing.compat.activeft._arrays import Array
from homing.compat.activeft.acquisition_functions.bace import BaCE


class MaxDist(BaCE):
    """Repeatedly chooses the row farthest from all picks. The first is the row with the largest norm; activeft takes any.

    `force_nonsequential` has no effect, because before the first pick all rows are equally far.
    """

    rule = "max-dist"

    def __init__(
        self,
        mini_batch_size: int = 1_000,
        embedding_batch_size: int = 100,
        num_workers: int = 0,
        subsample: bool = False,
        force_nonsequential: bool = False,
        *,
        seed: int | None = None,
    ) -> None:
        super().__init__(None, mini_batch_size, embedding_batch_size, num_workers, subsample, seed=seed)

    def _by_core(self, count: int, pool: Array, targets: Array | None, **more: Any) -> tuple[Array, Array]:
        return super()._by_core(count, pool, targets, seed=int(self._random().integers(2**31)), **more)
