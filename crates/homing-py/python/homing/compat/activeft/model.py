"""What activeft asks of models."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable


class Model(Protocol):
    """A torch module, or what looks like one."""

    def __call__(self, x: Any) -> Any: ...

    def eval(self) -> Any: ...

    def parameters(self) -> Any: ...


@runtime_checkable
class ModelWithEmbedding(Protocol):
    """``embed(x)``: one embedding a row."""

    def embed(self, x: Any) -> Any: ...


@runtime_checkable
class ModelWithLatentCovariance(ModelWithEmbedding, Protocol):
    """``latent_covariance()``: Σ of k(x, x′) = φ(x)ᵀΣφ(x′)."""

    def latent_covariance(self) -> Any: ...


@runtime_checkable
class ModelWithKernel(Protocol):
    """``kernel(x1, x2)``: the kernel matrix of two lists of rows."""

    def kernel(self, x1: Any, x2: Any) -> Any: ...


ModelWithEmbeddingOrKernel = ModelWithEmbedding | ModelWithKernel


@runtime_checkable
class ClassificationModel(Protocol):
    """``predict``, ``logits`` (what goes into the final layer), and the final layer."""

    def predict(self, x: Any) -> Any: ...

    def logits(self, x: Any) -> Any: ...

    @property
    def final_layer(self) -> Any: ...
