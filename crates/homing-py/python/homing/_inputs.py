"""What people hold in their hands, as the core looks at it: in place wherever the layout allows."""

from __future__ import annotations

import os
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from homing._homing import Data

Embeddings: TypeAlias = Any
"""Rows of floats: a NumPy array (memory-mapped too), a CPU tensor, an Arrow column or table, a Hugging Face dataset or
column of one, a path, or a list of lists."""

Rows: TypeAlias = Any
"""Row numbers: integers in any sequence or array, a boolean mask, or a :class:`homing.Selection`."""

_FLOATS = (np.float32, np.float64, np.float16)

_BFLOAT16 = np.dtype([("bfloat16", np.uint16)])
"""The bits of bfloat16, which NumPy has no name for."""


def data(x: Embeddings, what: str, *, copy: bool = False, column: str | None = None, **columns: str | None) -> Data:
    """Looks at embeddings; `what` names them in messages, `copy` allows a copy where they cannot be looked at in place.

    `columns` are those of a file: id, group, cost, label, probabilities, and access.
    """
    if isinstance(x, Data):
        return x
    if isinstance(x, (str, os.PathLike)):
        given = {name: value for name, value in columns.items() if value is not None}
        return Data.open(os.fspath(x), embedding=column, **given)
    module = type(x).__module__.partition(".")[0]
    if module == "datasets":
        return _dataset(x, what, column)
    if module == "torch":
        x = _tensor(x, what)
    elif module == "pandas" and hasattr(x, "columns"):
        x = np.stack(x[column].to_list()) if column is not None else x.to_numpy()
    elif hasattr(x, "__arrow_c_stream__") or hasattr(x, "__arrow_c_array__"):
        return Data.arrow(x, column)
    elif hasattr(x, "toarray"):
        raise TypeError(f"the {what} are sparse ({type(x).__name__}); pass {what}.toarray(), a dense array")
    return Data.array(_array(x, what, copy))


def _array(x: Any, what: str, copy: bool) -> npt.NDArray[Any]:
    """A C-contiguous matrix that the core can look at."""
    array = x if isinstance(x, np.ndarray) else _asarray(x, what)
    if isinstance(array, np.ma.MaskedArray):
        raise TypeError(f"the {what} are a masked array; fill or drop what is masked")
    if array.ndim == 1 and copy:
        array = array[None, :]
    if array.ndim != 2:
        raise ValueError(f"the {what} have shape {array.shape}; rows by columns are wanted")
    if array.dtype == _BFLOAT16 or array.dtype.name == "bfloat16":
        array = array.view(np.uint16)
    elif array.dtype.type not in _FLOATS:
        raise TypeError(f"the {what} are {array.dtype}; floats are wanted, such as {what}.astype('float32')")
    elif not array.dtype.isnative:
        raise TypeError(f"the {what} are in the byte order of another machine; pass {what}.astype('{array.dtype.name}')")
    if not (array.flags.c_contiguous and array.flags.aligned):
        if not copy:
            how = "in Fortran order" if array.flags.f_contiguous else "a view with gaps or of odd alignment"
            raise ValueError(f"the {what} are {how}; pass numpy.ascontiguousarray({what}), which copies them")
        array = np.ascontiguousarray(array)
    return array


def _asarray(x: Any, what: str) -> npt.NDArray[Any]:
    try:
        array = np.asarray(x)
    except ValueError:
        raise ValueError(f"the {what} are ragged; every row needs the same number of floats") from None
    if isinstance(x, (list, tuple)) and array.dtype.kind in "iu":
        array = array.astype(np.float64)
    return array


def _tensor(x: Any, what: str) -> npt.NDArray[Any]:
    """The memory of a CPU tensor."""
    if x.device.type != "cpu":
        raise TypeError(f"the {what} are a tensor on {x.device}; pass {what}.cpu()")
    if x.layout != _torch().strided:
        raise TypeError(f"the {what} are a sparse tensor; pass {what}.to_dense()")
    x = x.detach()
    if x.dtype == _torch().bfloat16:
        bits: npt.NDArray[Any] = x.view(_torch().int16).numpy()
        return bits.view(_BFLOAT16)
    array: npt.NDArray[Any] = x.numpy()
    return array


def _torch() -> Any:
    import torch

    return torch


def _dataset(x: Any, what: str, column: str | None) -> Data:
    """A column of a Hugging Face dataset, in the rows and the order that the dataset has them."""
    kind = type(x).__name__
    if kind == "Column" and hasattr(x, "source") and isinstance(x.column_name, str):
        x, column, kind = x.source, x.column_name, type(x.source).__name__
    if kind != "Dataset":
        raise TypeError(f"the {what} are a {kind}; pass one split of it, a Dataset, or a column of one")
    indices = x._indices
    rows = None
    if indices is not None:
        rows = np.ascontiguousarray(indices.column(0).to_numpy(), dtype=np.uint64)
    return Data.arrow(x.data.table, column, rows)


def rows(x: Rows | None, what: str, count: int) -> npt.NDArray[np.int64]:
    """Row numbers of a pool of `count` rows; negative ones are refused by the core."""
    if x is None:
        return np.empty(0, np.int64)
    array = np.asarray(getattr(x, "indices", x) if type(x).__module__.startswith("homing") else x)
    if array.dtype == np.bool_:
        if array.shape != (count,):
            raise ValueError(f"the mask of {what} has shape {array.shape}; one truth value a row, ({count},), is wanted")
        return np.flatnonzero(array).astype(np.int64)
    if array.size == 0:
        return np.empty(0, np.int64)
    if array.dtype.kind not in "iu":
        raise TypeError(f"the {what} are {array.dtype}; row numbers are integers")
    return np.ascontiguousarray(array.reshape(-1), dtype=np.int64)


def numbers(x: Any, what: str, count: int) -> npt.NDArray[np.float64] | None:
    """One number a row."""
    if x is None:
        return None
    array = np.ascontiguousarray(x, dtype=np.float64)
    if array.shape != (count,):
        raise ValueError(f"the {what} have shape {array.shape}; one number a row, ({count},), is wanted")
    return array


def name(x: Any, fallback: str) -> str:
    """What a report calls an input."""
    if isinstance(x, (str, os.PathLike)):
        return os.path.basename(os.fspath(x))
    return fallback
