"""Chooses the rows that leave the least variance in the whole data set."""

from __future__ import annotations

from typing import Any

import homing
from homing.compat.activeft import _strict
from homing.compat.activeft._arrays import Array
from homing.compat.activeft.acquisition_functions.bace import BaCE, minus_variance_left


class UndirectedVTL(BaCE):
    """Chooses the rows that leave the least variance in the whole data set; the value is minus its total variance."""

    rule = "vtl"
    formula = _strict.vtl

    def _by_core(self, count: int, pool: Array, targets: Array | None, **more: Any) -> tuple[Array, Array]:
        # There are as many targets as rows, so the plain engine would visit all pairs for every pick.
        return super()._by_core(count, pool, pool, engine="speculative", **more)

    def _values(self, selection: homing.Selection, targets: Array | None, kernel: Array | None) -> Array:
        assert targets is not None
        return minus_variance_left(selection, targets, kernel, self.force_nonsequential)
