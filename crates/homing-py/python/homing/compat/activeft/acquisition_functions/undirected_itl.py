"""Chooses the rows with the most information about the whole data set."""

from __future__ import annotations

from homing.compat.activeft import _strict
from homing.compat.activeft.acquisition_functions.bace import BaCE


class UndirectedITL(BaCE):
    """Chooses the rows with the most information about the whole data set; the value is the variance."""

    rule = "uncertainty"
    formula = _strict.variance
