"""Chooses the rows that leave the least variance at the targets."""

from __future__ import annotations

import homing
from homing.compat.activeft import _strict
from homing.compat.activeft._arrays import Array
from homing.compat.activeft.acquisition_functions.bace import TargetedBaCE, minus_variance_left


class VTL(TargetedBaCE):
    """Chooses the rows that leave the least variance at the targets; the value is minus their total variance."""

    rule = "vtl"
    formula = _strict.vtl

    def _values(self, selection: homing.Selection, targets: Array | None, kernel: Array | None) -> Array:
        assert targets is not None
        return minus_variance_left(selection, targets, kernel, self.force_nonsequential)
