"""The interfaces that activeft's models implement."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable


class Model(Protocol):
    """A torch module, or an object with the same methods."""

    def __call__(self, x: Any) -> Any: ...

    def eval(self) -> Any: ...

    def parameters(self) -> Any: ...


@runtime_checkable
class ModelWithEmbedding(Protocol):
    """A model with ``embed(x)``, which returns one embedding per row."""

    def embed(self, x: Any) -> Any: ...


@runtime_checkable
class ModelWithLatentCovariance(ModelWithEmbedding, Protocol):
    """A model with ``latent_covariance()``, which returns Σ of k(x, x′) = φ(x)ᵀΣφ(x′)."""

    def latent_covariance(self) -> Any: ...


@runtime_checkable
class ModelWithKernel(Protocol):
    """A model with ``kernel(x1, x2)``, which returns the kernel matrix of two lists of rows."""

    def kernel(self, x1: Any, x2: Any) -> Any: ...


ModelWithEmbeddingOrKernel = ModelWithEmbedding | ModelWithKernel


@runtime_checkable
class ClassificationModel(Protocol):
    """A classifier with ``predict``, ``logits`` (which returns the input of the final layer) and ``final_layer``."""

    def predict(self, x: Any) -> Any: ...

    def logits(self, x: Any) -> Any: ...

    @property
    def final_layer(self) -> Any: ...
