"""Rules of class probabilities."""

from __future__ import annotations

from typing import Any, ClassVar

import homing
from homing.compat.activeft._arrays import Array, probabilities
from homing.compat.activeft.acquisition_functions._base import AcquisitionFunction


class Likely(AcquisitionFunction):
    """A rule of the core that reads softmax(model(x))."""

    rule: ClassVar[str]
    offset: ClassVar[float] = 0.0
    """What activeft's value has beside the core's score."""

    def _choose(self, count: int, model: Any, data: Any, device: Any) -> tuple[Array, Array]:
        likely = probabilities(model, data)
        made = homing.select(likely, None, count, self.rule, probabilities=likely, progress=False)
        return made.indices, made.scores + self.offset
