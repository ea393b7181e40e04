"""Chooses the rows whose two most probable classes are nearly tied."""

from __future__ import annotations

from homing.compat.activeft.acquisition_functions._probability_rule import ProbabilityRule


class MinMargin(ProbabilityRule):
    """Chooses the rows whose two most probable classes are nearly tied; the value is minus the margin."""

    rule = "max-margin"
