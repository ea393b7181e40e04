"""Checks embeddings and row numbers and passes them to the core, without a copy wherever the memory layout allows it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from homing import _homing
from homing._devices import device_data, is_on_device
from homing._frames import column_of_lists, found_lists, is_frame, side_by_side
from homing._homing import Data
from homing._homing import real as real
from homing._homing import shown as shown
from homing._homing import threads as threads
from homing._homing import whole as whole

Embeddings: TypeAlias = Any
"""Rows of floats: a NumPy array (also memory-mapped), a tensor (also on an NVIDIA GPU), an Arrow column or table, a Hugging Face
dataset or one of its columns, a path (also of a folder, a pattern such as ``shards/*.npy``, or a ``.list``), a list of paths, or a
list of lists."""

Rows: TypeAlias = Any
"""Row numbers: integers in any sequence or array, a boolean mask, or a :class:`homing.Selection`."""

_FLOATS = (np.float32, np.float64, np.float16)

_BFLOAT16 = np.dtype([("bfloat16", np.uint16)])
"""The bits of bfloat16, a type that NumPy does not have."""


def data(
    x: Embeddings,
    what: str,
    *,
    copy: bool = False,
    columns: Mapping[str, Any] | None = None,
    pool_columns: list[str] | None = None,
) -> Data:
    """Opens embeddings. `what` names them in messages; `copy` allows a copy if they cannot be read in place.

    `columns` says how tables and files are read (:class:`homing.Columns`). If each column of a table holds one number per row,
    the columns named in `pool_columns` are taken, in that order.
    """
    if isinstance(x, Data):
        return x
    columns = {**columns} if columns else {}
    paths = paths_of(x)
    if paths is not None:
        return Data.open(paths, columns, pool_columns or [])
    column = columns.get("embedding_column")
    if column is not None and not isinstance(column, str):
        raise TypeError(f"embedding_column is {shown(column)}; a name is needed")
    module, names = module_of(x), None
    if module == "datasets":
        return _dataset(x, what, column)
    if is_on_device(x):
        found = device_data(x, what)
        return Data.array(found.to_numpy()) if copy else found
    if module == "torch":
        x = _tensor(x, what)
    elif is_frame(x):
        x, names = _frame(x, what, column, pool_columns)
    elif hasattr(x, "__arrow_c_stream__") or hasattr(x, "__arrow_c_array__"):
        return Data.arrow(x, column)
    elif hasattr(x, "toarray"):
        raise TypeError(f"the {what} came as a sparse matrix ({type(x).__name__}); pass a dense array, {what}.toarray()")
    return Data.array(_array(x, what, copy), names)


def paths_of(x: Any) -> list[str] | None:
    """Returns the paths of a path, or of a list of files of embeddings; None for anything else.

    Only a list whose members all have the ending of such a file is one: other strings in a list are texts, or paths of images."""
    if isinstance(x, (str, os.PathLike)):
        return [os.fsdecode(x)]
    if not isinstance(x, (list, tuple)) or not x or not all(map(_is_pool_path, x)):
        return None
    return [os.fsdecode(path) for path in x]


def _is_pool_path(x: Any) -> bool:
    return isinstance(x, (str, os.PathLike)) and _homing.is_pool_name(x)


def module_of(x: Any) -> str:
    """Returns the name of the package that defines the class of an object."""
    return type(x).__module__.partition(".")[0]


def _array(x: Any, what: str, copy: bool) -> npt.NDArray[Any]:
    """Returns a C-contiguous matrix that the core can read in place."""
    array = x if isinstance(x, np.ndarray) else _asarray(x, what)
    if isinstance(array, np.ma.MaskedArray):
        raise TypeError(f"the {what} came as a masked array; fill or drop the masked values")
    if array.ndim == 1 and copy:
        array = array[None, :]
    if array.ndim != 2:
        raise ValueError(f"the {what} came with shape {array.shape}; a matrix with one row per example is needed")
    if array.size == 0:
        raise ValueError(f"the {what} came empty, with shape {array.shape}; at least one row and one column are needed")
    if is_bfloat16(array.dtype):
        array = array.view(np.uint16)
    elif array.dtype.type not in _FLOATS:
        raise TypeError(f"the {what} came as {array.dtype}; floats are needed, such as {what}.astype('float32')")
    elif not array.dtype.isnative:
        if not copy:
            raise TypeError(f"the {what} came in another machine's byte order; pass {what}.astype('{array.dtype.name}')")
        array = array.astype(array.dtype.newbyteorder("="))
    if not (array.flags.c_contiguous and array.flags.aligned):
        if not copy:
            how = "in Fortran order" if array.flags.f_contiguous else "as a view with gaps or with odd alignment"
            raise ValueError(f"the {what} came {how}; pass numpy.ascontiguousarray({what}), which copies them")
        array = np.ascontiguousarray(array)
    return array


def is_bfloat16(dtype: np.dtype[Any]) -> bool:
    return dtype == _BFLOAT16 or dtype.name == "bfloat16"


def _asarray(x: Any, what: str) -> npt.NDArray[Any]:
    try:
        array = np.asarray(x)
    except (ValueError, OverflowError):
        raise ValueError(f"the {what} came with rows of different lengths; every row needs the same number of floats") from None
    if array.ndim == 0:
        raise TypeError(f"the {what} came as {type(x).__name__}; an array, a tensor, a table or a path is needed")
    if isinstance(x, (list, tuple)) and array.dtype.kind in "iu":
        array = array.astype(np.float64)
    return array


def _frame(
    x: Any, what: str, column: str | None, pool_columns: list[str] | None
) -> tuple[npt.NDArray[Any], list[str] | None]:
    """Returns the float columns of a pandas table as a matrix with their names, or a column of lists as a matrix."""
    column = column or found_lists(x)
    if column is None:
        return side_by_side(x, what, pool_columns)
    return np.ascontiguousarray(_asarray(column_of_lists(x, what, column), what)), None


def floats(x: Any, what: str, pool_columns: list[str] | None = None) -> npt.NDArray[Any]:
    """Returns floats of any shape as an array, without a copy if they are in memory and NumPy has their type."""
    return named_floats(x, what, pool_columns)[0]


def named_floats(x: Any, what: str, pool_columns: list[str] | None = None) -> tuple[npt.NDArray[Any], list[str] | None]:
    """Returns the floats as :func:`floats` does, and the names of their columns if they have some."""
    if is_frame(x):
        return side_by_side(x, what, pool_columns)
    if is_on_device(x):
        return device_data(x, what).to_numpy(), None
    if module_of(x) == "torch":
        x = _tensor(x, what)
    elif not isinstance(x, (np.ndarray, list, tuple)):
        rows = data(x, what, copy=True, pool_columns=pool_columns)
        return rows.to_numpy(), rows.columns
    return _floats(_asarray(x, what), what), None


def _floats(array: npt.NDArray[Any], what: str) -> npt.NDArray[Any]:
    if is_bfloat16(array.dtype):
        return (array.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
    if array.dtype.kind != "f":
        raise TypeError(f"the {what} came as {array.dtype}; floats are needed, such as {what}.astype('float32')")
    return array


def _tensor(x: Any, what: str) -> npt.NDArray[Any]:
    """Returns an array over the memory of a CPU tensor."""
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
    """Opens a column of a Hugging Face dataset, with the rows and the order that the dataset has now."""
    kind = type(x).__name__
    if kind == "Column" and hasattr(x, "source") and isinstance(x.column_name, str):
        x, column, kind = x.source, x.column_name, type(x.source).__name__
    if kind != "Dataset":
        raise TypeError(f"the {what} came as a {kind}; pass one split of it, a Dataset, or a column of a Dataset")
    indices = x._indices
    rows = None
    if indices is not None:
        rows = np.ascontiguousarray(indices.column(0).to_numpy(), dtype=np.uint64)
    return Data.arrow(x.data.table, column, rows)


def rows(x: Rows | None, what: str, count: int) -> npt.NDArray[np.int64]:
    """Returns row numbers of a pool of `count` rows."""
    if x is None:
        return np.empty(0, np.int64)
    if isinstance(x, (set, frozenset)):
        x = sorted(x)
    array = np.asarray(getattr(x, "indices", x) if module_of(x) == "homing" else x)
    if array.dtype == np.bool_:
        if array.shape != (count,):
            raise ValueError(f"the mask of {what} has shape {array.shape}; one truth value per row, ({count},), is needed")
        return np.flatnonzero(array).astype(np.int64)
    if array.size == 0:
        return np.empty(0, np.int64)
    if array.dtype.kind not in "iu":
        raise TypeError(f"the {what} came as {array.dtype}; integers are needed")
    if array.min() < 0:
        raise ValueError(f"row {array.min()} is named in the {what}, but rows are counted from 0")
    if array.max() >= count:
        raise ValueError(f"row {array.max()} is named in the {what}, but there are only {count} rows (counted from 0)")
    return np.ascontiguousarray(array.reshape(-1), dtype=np.int64)
