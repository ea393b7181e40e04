"""Chooses the rows with the most information about the targets."""

from __future__ import annotations

from homing.compat.activeft import _strict
from homing.compat.activeft.acquisition_functions.bace import TargetedBaCE


class ITL(TargetedBaCE):
    """Chooses the rows with the most information about the targets; `strict` leaves ρ² out of the ratio, as activeft does."""

    rule = "itl"
    formula = _strict.itl
