"""VTL with the values that SIFT's fast retriever reports."""

from __future__ import annotations

from homing.compat.activeft import _strict
from homing.compat.activeft.acquisition_functions.bace import TargetedBaCE


class LazyVTL(TargetedBaCE):
    """Chooses the same rows as VTL; the value is the variance that a pick removes."""

    rule = "vtl"
    formula = _strict.lazy_vtl
