"""The least sure predictions."""

from __future__ import annotations

from homing.compat.activeft.acquisition_functions._likely import Likely


class LeastConfidence(Likely):
    """The least sure predictions; the value is minus the largest probability."""

    rule = "least-confidence"
    offset = -1.0
