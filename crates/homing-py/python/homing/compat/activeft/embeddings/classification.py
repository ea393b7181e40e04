"""Embeds inputs by the loss gradient at the label that the classifier predicts (Eq. 22)."""

from __future__ import annotations

from typing import Any


class HallucinatedCrossEntropyEmbedding:
    """The embedding (p − e_ŷ) ⊗ [φ, 1], where φ is ``logits(x)``, p the softmax of the model's output, and ŷ ``predict(x)``.

    The 1 is appended if the final layer has a bias.
    """

    final_layer: Any

    def embed(self, data: Any) -> Any:
        """Returns one embedding per row."""
        import torch

        features = self.logits(data)  # type: ignore[attr-defined]
        likely = torch.softmax(self(data), dim=1)  # type: ignore[operator]
        residual = likely - torch.nn.functional.one_hot(self.predict(data), likely.shape[1])  # type: ignore[attr-defined]
        if self.final_layer.bias is not None:
            features = torch.cat([features, torch.ones_like(features[:, :1])], dim=1)
        return torch.einsum("nc,nk->nck", residual, features).flatten(1)
