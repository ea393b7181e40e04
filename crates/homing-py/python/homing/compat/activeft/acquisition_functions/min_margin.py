"""Predictions with two classes nearly tied."""

from __future__ import annotations

from homing.compat.activeft.acquisition_functions._likely import Likely


class MinMargin(Likely):
    """Predictions with two classes nearly tied; the value is minus the margin."""

    rule = "max-margin"
