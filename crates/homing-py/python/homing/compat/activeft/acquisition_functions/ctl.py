"""Chooses the rows most correlated with the targets."""

from __future__ import annotations

import homing
from homing.compat.activeft import _strict
from homing.compat.activeft._arrays import Array
from homing.compat.activeft.acquisition_functions.bace import TargetedBaCE


class CTL(TargetedBaCE):
    """Chooses the rows most correlated with the targets; the value is the mean correlation."""

    rule = "ctl"
    formula = _strict.ctl

    def _values(self, selection: homing.Selection, targets: Array | None, kernel: Array | None) -> Array:
        assert targets is not None
        return selection.scores / len(targets)
