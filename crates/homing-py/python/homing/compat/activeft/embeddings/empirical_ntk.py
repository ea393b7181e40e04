"""Embeds inputs by the gradient of the output, for the empirical neural tangent kernel."""

from __future__ import annotations

from typing import Any


class EmpiricalNTKEmbedding:
    """The embedding ∇_θ of the summed output, computed one row at a time."""

    def embed(self, data: Any) -> Any:
        """Returns one embedding per row."""
        import torch

        parameters = [p for p in self.parameters() if p.requires_grad]  # type: ignore[attr-defined]

        def gradient(x: Any) -> Any:
            parts = torch.autograd.grad(self(x[None]).sum(), parameters, allow_unused=True)  # type: ignore[operator]
            full = [torch.zeros_like(p) if g is None else g for p, g in zip(parameters, parts)]
            return torch.cat([part.flatten() for part in full]).detach()

        with torch.enable_grad():
            return torch.stack([gradient(x) for x in data])
