"""The base class of rules that need class probabilities."""

from __future__ import annotations

from typing import Any, ClassVar

import homing
from homing.compat.activeft._arrays import Array, probabilities
from homing.compat.activeft.acquisition_functions._base import AcquisitionFunction


class ProbabilityRule(AcquisitionFunction):
    """A rule of the core that uses the class probabilities softmax(model(x))."""

    rule: ClassVar[str]
    offset: ClassVar[float] = 0.0
    """The difference between activeft's value and the core's score."""

    def _choose(self, count: int, model: Any, data: Any, device: Any) -> tuple[Array, Array]:
        shares = probabilities(model, data)
        selection = homing.select(shares, None, count, self.rule, probabilities=shares, progress=False)
        return selection.indices, selection.scores + self.offset
