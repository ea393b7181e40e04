"""Converts between tensors and NumPy: results for tensors are tensors, and results for arrays are arrays."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def is_tensor(x: Any) -> bool:
    return type(x).__module__.partition(".")[0] == "torch" or (hasattr(x, "detach") and hasattr(x, "cpu"))


def to_numpy(x: Any) -> Array:
    """Returns an array of floats; bfloat16 and float16 are widened to float32."""
    if is_tensor(x):
        x = x.detach().cpu()
        x = x if str(x.dtype) in ("torch.float32", "torch.float64") else x.float()
        return np.ascontiguousarray(x.numpy())
    if hasattr(x, "__dataframe__"):
        raise TypeError(f"the data came as a {type(x).__name__}; an array of its numbers is needed, with the data set's columns")
    array = np.asarray(x)
    if array.dtype in (np.float32, np.float64):
        return np.ascontiguousarray(array)
    try:
        return np.ascontiguousarray(array.astype(np.float32))
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"the data came as {array.dtype}; floats are needed") from None


def rows_of(dataset: Any) -> Any:
    """Returns all rows of a data set as one tensor or array."""
    if isinstance(dataset, np.ndarray) or is_tensor(dataset):
        return dataset
    unfit = TypeError(f"the data set came as a {type(dataset).__name__}; one that is indexed by row numbers is needed")
    # Indexing a table returns columns, not rows.
    if isinstance(dataset, Mapping) or hasattr(dataset, "__dataframe__"):
        raise unfit
    try:
        rows = [dataset[i] for i in range(len(dataset))]
    except LookupError:
        raise unfit from None
    if rows and is_tensor(rows[0]):
        import torch

        return torch.stack(rows)
    return np.stack([np.asarray(row) for row in rows])


def joined(a: Any, b: Any) -> Any:
    """Returns the rows of `a` followed by those of `b`."""
    if is_tensor(a):
        import torch

        return torch.cat([a, b])
    return np.concatenate([a, b])


def in_batches(f: Callable[[Any], Any], model: Any, data: Any, size: int) -> Any:
    """Applies `f` to data in batches, on the model's device and without gradients."""
    import torch

    data = data if is_tensor(data) else torch.as_tensor(np.asarray(data))
    parameters = iter(model.parameters()) if hasattr(model, "parameters") else iter(())
    first = next(parameters, None)
    device = first.device if first is not None else data.device
    if hasattr(model, "eval"):
        model.eval()
    with torch.no_grad():
        return torch.cat([f(data[at : at + size].to(device)).detach().cpu() for at in range(0, len(data), size)])


def softmax(logits: Array) -> Array:
    likely = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(likely / likely.sum(axis=-1, keepdims=True))


def probabilities(model: Any, data: Any) -> Array:
    """Returns softmax(model(x)) of every row, as float64."""
    return softmax(to_numpy(in_batches(model, model, data, 100)).astype(np.float64))


class _Parts:
    """Values that are iterated, counted and indexed instead of the array that holds them."""

    parts: tuple[Any, ...]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.parts)

    def __len__(self) -> int:
        return len(self.parts)

    def __getitem__(self, key: Any) -> Any:
        return self.parts[key]


class Picks(_Parts, np.ndarray[Any, Any]):
    """Row numbers that can be used as an index, and that unpack to all returned values.

    >>> rows = np.array([3, 1])
    >>> picks = Picks.of(rows, (rows, np.array([0.5, 0.2])))
    >>> indices, values = picks
    >>> np.arange(10)[picks], values
    (array([3, 1]), array([0.5, 0.2]))
    """

    @classmethod
    def of(cls, indices: Array, parts: tuple[Any, ...]) -> Picks:
        picks = np.asarray(indices).view(cls)
        picks.parts = parts
        return picks


@functools.cache
def _tensor_picks() -> Any:
    """Returns the class that does for tensors what :class:`Picks` does for arrays."""
    torch: Any = importlib.import_module("torch")

    class TensorPicks(_Parts, torch.Tensor):  # type: ignore[misc]
        __torch_function__ = torch._C._disabled_torch_function_impl

    return TensorPicks


def picks(indices: Array, parts: tuple[Any, ...], like: Any) -> Any:
    """Returns parts that can also be used as the index `indices`; as a tensor if `like` is a tensor."""
    if not is_tensor(like):
        return Picks.of(indices, parts)
    import torch

    tensor = torch.Tensor._make_subclass(_tensor_picks(), torch.from_numpy(np.ascontiguousarray(indices)))
    tensor.parts = parts
    return tensor


def pair(indices: Array, values: Array, like: Any) -> Any:
    """Returns (indices, values), which can also be used as the index `indices`; as tensors if `like` is a tensor."""
    if not is_tensor(like):
        return picks(indices, (indices, values), like)
    import torch

    parts = (torch.from_numpy(np.ascontiguousarray(indices)), torch.from_numpy(np.asarray(values, dtype=np.float32)))
    return picks(indices, parts, like)
