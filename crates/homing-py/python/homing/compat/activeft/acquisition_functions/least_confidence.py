"""Chooses the rows with the least confident predictions."""

from __future__ import annotations

from homing.compat.activeft.acquisition_functions._probability_rule import ProbabilityRule


class LeastConfidence(ProbabilityRule):
    """Chooses the rows with the least confident predictions; the value is minus the largest probability."""

    rule = "least-confidence"
    offset = -1.0
