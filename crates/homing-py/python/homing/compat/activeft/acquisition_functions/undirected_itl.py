"""Most information about the whole data set."""

from __future__ import annotations

from homing.compat.activeft import _strict
from homing.compat.activeft.acquisition_functions.bace import BaCE


class UndirectedITL(BaCE):
    """Most information about everything; the value is the variance."""

    rule = "uncertainty"
    formula = _strict.variance
