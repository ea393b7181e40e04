"""Loss gradients at the label that a classifier would give itself (Eq. 22)."""

from __future__ import annotations

from typing import Any


class HallucinatedCrossEntropyEmbedding:
    """(p − e_ŷ) ⊗ [φ, 1], with φ what ``logits(x)`` returns, p the softmax of the model's output, and ŷ ``predict(x)``.

    The 1 is there where the final layer has a bias.
    """

    final_layer: Any

    def embed(self, data: Any) -> Any:
        """One embedding a row."""
        import torch

        features = self.logits(data)  # type: ignore[attr-defined]
        likely = torch.softmax(self(data), dim=1)  # type: ignore[operator]
        residual = likely - torch.nn.functional.one_hot(self.predict(data), likely.shape[1])  # type: ignore[attr-defined]
        if self.final_layer.bias is not None:
            features = torch.cat([features, torch.ones_like(features[:, :1])], dim=1)
        return torch.einsum("nc,nk->nck", residual, features).flatten(1)
