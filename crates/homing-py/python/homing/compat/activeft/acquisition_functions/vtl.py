"""Least variance of the targets."""

from __future__ import annotations

import homing
from homing.compat.activeft import _strict
from homing.compat.activeft._arrays import Array
from homing.compat.activeft.acquisition_functions.bace import TargetedBaCE, minus_variance_left


class VTL(TargetedBaCE):
    """Least variance of the targets afterwards; the value is minus their total variance."""

    rule = "vtl"
    formula = _strict.vtl

    def _values(self, made: homing.Selection, targets: Array | None, kernel: Array | None) -> Array:
        assert targets is not None
        return minus_variance_left(made, targets, kernel, self.force_nonsequential)
