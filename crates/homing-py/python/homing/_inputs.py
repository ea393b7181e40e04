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
    module = module_of(x)
    if module == "datasets":
        return _dataset(x, what, column)
    if module == "torch":
        x = _tensor(x, what)
    elif is_frame(x):
        x = _frame(x, what, column)
    elif hasattr(x, "__arrow_c_stream__") or hasattr(x, "__arrow_c_array__"):
        return Data.arrow(x, column)
    elif hasattr(x, "toarray"):
        raise TypeError(f"the {what} came sparse ({type(x).__name__}); pass {what}.toarray(), a dense array")
    return Data.array(_array(x, what, copy))


def module_of(x: Any) -> str:
    """The package that made an object."""
    return type(x).__module__.partition(".")[0]


def is_frame(x: Any) -> bool:
    return module_of(x) == "pandas" and hasattr(x, "columns")


def _array(x: Any, what: str, copy: bool) -> npt.NDArray[Any]:
    """A C-contiguous matrix that the core can look at."""
    array = x if isinstance(x, np.ndarray) else _asarray(x, what)
    if isinstance(array, np.ma.MaskedArray):
        raise TypeError(f"the {what} came as a masked array; fill or drop what is masked")
    if array.ndim == 1 and copy:
        array = array[None, :]
    if array.ndim != 2:
        raise ValueError(f"the {what} came with shape {array.shape}; rows by columns are wanted")
    if array.size == 0:
        raise ValueError(f"the {what} came empty, with shape {array.shape}; at least one row and one column are wanted")
    if is_bfloat16(array.dtype):
        array = array.view(np.uint16)
    elif array.dtype.type not in _FLOATS:
        raise TypeError(f"the {what} came as {array.dtype}; floats are wanted, such as {what}.astype('float32')")
    elif not array.dtype.isnative:
        if not copy:
            raise TypeError(f"the {what} came in another machine's byte order; pass {what}.astype('{array.dtype.name}')")
        array = array.astype(array.dtype.newbyteorder("="))
    if not (array.flags.c_contiguous and array.flags.aligned):
        if not copy:
            how = "in Fortran order" if array.flags.f_contiguous else "as a view with gaps or of odd alignment"
            raise ValueError(f"the {what} came {how}; pass numpy.ascontiguousarray({what}), which copies them")
        array = np.ascontiguousarray(array)
    return array


def is_bfloat16(dtype: np.dtype[Any]) -> bool:
    return dtype == _BFLOAT16 or dtype.name == "bfloat16"


def _asarray(x: Any, what: str) -> npt.NDArray[Any]:
    try:
        array = np.asarray(x)
    except ValueError:
        raise ValueError(f"the {what} came ragged; every row needs the same number of floats") from None
    if array.ndim == 0:
        raise TypeError(f"the {what} came as {type(x).__name__}; an array, a tensor, a table or a path is wanted")
    if isinstance(x, (list, tuple)) and array.dtype.kind in "iu":
        array = array.astype(np.float64)
    return array


def _frame(x: Any, what: str, column: str | None) -> npt.NDArray[Any]:
    """The float columns of a pandas table as a matrix, or a column of lists."""
    if column is None:
        if any(kind.kind != "f" for kind in x.dtypes):
            raise TypeError(f"not all columns of the {what} hold floats; drop the others, or name one of lists with embedding=")
        return np.ascontiguousarray(x.to_numpy())
    if column not in x.columns:
        raise ValueError(f"there is no column {column!r} in the {what}; there are {', '.join(map(str, x.columns))}")
    return np.ascontiguousarray(_asarray(x[column].to_list(), what))


def floats(x: Any, what: str) -> npt.NDArray[Any]:
    """Floats of any shape as NumPy has them: in place where they are in memory and NumPy has a name for their format."""
    if module_of(x) == "torch":
        x = _tensor(x, what)
    elif is_frame(x):
        x = _frame(x, what, None)
    elif not isinstance(x, (np.ndarray, list, tuple)):
        return data(x, what, copy=True).to_numpy()
    array = _asarray(x, what)
    if is_bfloat16(array.dtype):
        return (array.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
    if array.dtype.kind != "f":
        raise TypeError(f"the {what} came as {array.dtype}; floats are wanted, such as {what}.astype('float32')")
    return array


def _tensor(x: Any, what: str) -> npt.NDArray[Any]:
    """The memory of a CPU tensor."""
    if x.device.type != "cpu":
        raise TypeError(f"the {what} came as a tensor on {x.device}; pass {what}.cpu()")
    if x.layout != _torch().strided:
        raise TypeError(f"the {what} came as a sparse tensor; pass {what}.to_dense()")
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
        raise TypeError(f"the {what} came as a {kind}; pass one split of it, a Dataset, or a column of one")
    indices = x._indices
    rows = None
    if indices is not None:
        rows = np.ascontiguousarray(indices.column(0).to_numpy(), dtype=np.uint64)
    return Data.arrow(x.data.table, column, rows)


def rows(x: Rows | None, what: str, count: int) -> npt.NDArray[np.int64]:
    """Row numbers of a pool of `count` rows."""
    if x is None:
        return np.empty(0, np.int64)
    if isinstance(x, (set, frozenset)):
        x = sorted(x)
    array = np.asarray(getattr(x, "indices", x) if module_of(x) == "homing" else x)
    if array.dtype == np.bool_:
        if array.shape != (count,):
            raise ValueError(f"the mask of {what} has shape {array.shape}; one truth value a row, ({count},), is wanted")
        return np.flatnonzero(array).astype(np.int64)
    if array.size == 0:
        return np.empty(0, np.int64)
    if array.dtype.kind not in "iu":
        raise TypeError(f"the {what} came as {array.dtype}; row numbers are integers")
    if array.min() < 0:
        raise ValueError(f"row {array.min()} is named in the {what}, but rows are counted from 0")
    if array.max() >= count:
        raise ValueError(f"row {array.max()} is named in the {what}, but there are only {count} rows (counted from 0)")
    return np.ascontiguousarray(array.reshape(-1), dtype=np.int64)


def whole(x: Any, what: str, least: int) -> int:
    """A whole number."""
    if isinstance(x, (bool, np.bool_)) or not isinstance(x, (int, np.integer)):
        raise TypeError(f"{what} is {x!r}; a whole number is wanted")
    if x < least:
        raise ValueError(f"{what} is {x}; at least {least} is wanted")
    if x >= 2**63:
        raise ValueError(f"{what} is {x}; a number below 2**63 is wanted")
    return int(x)


def threads(x: Any) -> int | None:
    """How many threads to use; None is one a core."""
    if x is not None and whole(x, "threads", 1) > 1024:
        raise ValueError(f"threads is {x}; at most 1024 are wanted")
    return None if x is None else int(x)


def numbers(x: Any, what: str, count: int) -> npt.NDArray[np.float64] | None:
    """One number a row."""
    if x is None:
        return None
    try:
        array = np.ascontiguousarray(x, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"the {what} are not all numbers; one a row is wanted") from None
    if array.shape != (count,):
        raise ValueError(f"the {what} have shape {array.shape}; one number a row, ({count},), is wanted")
    return array


def name(x: Any, fallback: str) -> str:
    """What a report calls an input."""
    if isinstance(x, (str, os.PathLike)):
        return os.path.basename(os.fspath(x))
    return fallback
