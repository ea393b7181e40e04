"""The most spread predictions."""

from __future__ import annotations

from homing.compat.activeft.acquisition_functions._likely import Likely


class MaxEntropy(Likely):
    """The most spread predictions; the value is their entropy."""

    rule = "max-entropy"
