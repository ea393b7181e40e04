"""Chooses rows that are uncertain and similar to the targets."""

from __future__ import annotations

from typing import Any

import homing
from homing.compat.activeft._arrays import Array, probabilities
from homing.compat.activeft.acquisition_functions.cosine_similarity import CosineSimilarity


class InformationDensity(CosineSimilarity):
    """Chooses rows that are uncertain and similar to the targets; the value is H(p) · cos^β."""

    def __init__(
        self,
        target: Any,
        beta: float = 1.0,
        subsampled_target_frac: float = 1,
        max_target_size: int | None = None,
        mini_batch_size: int = 1_000,
        embedding_batch_size: int = 100,
        num_workers: int = 0,
        subsample: bool = False,
        *,
        seed: int | None = None,
    ) -> None:
        batching = mini_batch_size, embedding_batch_size, num_workers, subsample
        super().__init__(target, subsampled_target_frac, max_target_size, *batching, seed=seed)
        self.beta = beta

    def among(self, count: int, model: Any, data: Any, target: Any) -> tuple[Array, Array]:
        selection = homing.select(
            self._embedded(model, data),
            self._embedded(model, target),
            count,
            "information-density",
            probabilities=probabilities(model, data),
            beta=self.beta,
            center=False,
            normalize=False,
            progress=False,
        )
        return selection.indices, selection.scores
