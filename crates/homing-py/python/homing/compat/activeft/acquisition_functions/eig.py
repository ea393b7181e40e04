"""Chooses rows by the expected effect of one gradient step on the predictions at the targets."""

from __future__ import annotations

from typing import Any

import numpy as np

from homing.compat.activeft import _arrays
from homing.compat.activeft._arrays import Array, softmax
from homing.compat.activeft.acquisition_functions._base import BatchAcquisitionFunction, Targeted


class EIG(Targeted, BatchAcquisitionFunction):
    """Chooses rows by the entropy that one gradient step of the final layer is expected to remove at the targets.

    The step is that of the cross-entropy loss at each class c of a row x, W − η (p_x − e_c) φ_xᵀ with η = 0.01, weighted by
    p_x(c). Its effect on a target's logits is −η (p_x − e_c) φ_xᵀφ_a, so no parameter is changed.
    """

    step_size = 0.01

    def __init__(
        self,
        target: Any,
        mini_batch_size: int = 1_000,
        num_workers: int = 0,
        subsample: bool = False,
        *,
        seed: int | None = None,
    ) -> None:
        BatchAcquisitionFunction.__init__(self, mini_batch_size, num_workers, subsample, seed=seed)
        Targeted.__init__(self, target)

    def compute(self, model: Any, data: Any, device: Any = None) -> Array:
        features, logits = _last_layer(model, data)
        target_features, target_logits = _last_layer(model, self.get_target())
        likely = softmax(logits)
        near = features @ target_features.T
        before = _entropy(softmax(target_logits)).sum()
        after = np.zeros(len(likely))
        for c in range(likely.shape[1]):
            residual = likely - np.eye(likely.shape[1])[c]
            moved = target_logits[None] - self.step_size * near[:, :, None] * residual[:, None, :]
            after += likely[:, c] * _entropy(softmax(moved)).sum(axis=1)
        return np.asarray(before - after)


def _entropy(likely: Array) -> Array:
    return np.asarray(-(likely * np.log(np.maximum(likely, 1e-300))).sum(axis=-1))


def _last_layer(model: Any, data: Any) -> tuple[Array, Array]:
    """Returns the inputs of the final layer, and the logits of the model."""
    seen: list[Any] = []
    hook = model.final_layer.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0].detach().cpu()))
    try:
        logits = _arrays.in_batches(model, model, data, 100)
    finally:
        hook.remove()
    import torch

    return _arrays.to_numpy(torch.cat(seen)).astype(np.float64), _arrays.to_numpy(logits).astype(np.float64)
