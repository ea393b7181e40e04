"""VTL as SIFT's fast retriever reports it."""

from __future__ import annotations

from homing.compat.activeft import _strict
from homing.compat.activeft.acquisition_functions.bace import TargetedBaCE


class LazyVTL(TargetedBaCE):
    """The picks of VTL; the value is the variance that a pick takes."""

    rule = "vtl"
    formula = _strict.lazy_vtl
