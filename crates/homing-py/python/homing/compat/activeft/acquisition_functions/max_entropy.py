"""Chooses the rows whose predictions have the highest entropy."""

from __future__ import annotations

from homing.compat.activeft.acquisition_functions._probability_rule import ProbabilityRule


class MaxEntropy(ProbabilityRule):
    """Chooses the rows whose predictions have the highest entropy, which is the value."""

    rule = "max-entropy"
