"""Chooses the rows most similar to the targets."""

from __future__ import annotations

from typing import Any

from homing.compat.activeft.acquisition_functions.bace import TargetedBaCE


class CosineSimilarity(TargetedBaCE):
    """Chooses the rows most similar to the targets; the value is the mean cosine."""

    rule = "cosine"

    def __init__(
        self,
        target: Any,
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
        super().__init__(target, None, subsampled_target_frac, max_target_size, *batching, seed=seed)
