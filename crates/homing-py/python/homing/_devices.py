"""Embeddings in the memory of an NVIDIA GPU, read where they are, by the DLPack protocol of PyTorch, CuPy and JAX."""

from __future__ import annotations

import ctypes
from typing import Any

from homing._homing import Data

_CUDA = (2, 13)
"""The kinds of memory of DLPack that a GPU of NVIDIA reads: its own, and managed memory."""

_FORMATS = {(2, 32): "float32", (2, 16): "float16", (4, 16): "bfloat16"}
"""DLPack's type codes and bits of the formats that a GPU multiplies."""

_NUMPY_FORMATS = {"<f4": "float32", "<f2": "float16"}


class _Tensor(ctypes.Structure):
    """DLTensor of DLPack, with which each of its managed tensors begins."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


def is_on_device(x: Any) -> bool:
    """Whether an array lies in the memory of an NVIDIA GPU."""
    if hasattr(x, "__dlpack_device__"):
        return int(x.__dlpack_device__()[0]) in _CUDA
    return hasattr(x, "__cuda_array_interface__")


def device_data(x: Any, what: str) -> Data:
    """Opens an array on a GPU, without a copy."""
    return _by_dlpack(x, what) if hasattr(x, "__dlpack__") else _by_cuda_interface(x, what)


def _by_dlpack(x: Any, what: str) -> Data:
    if hasattr(x, "detach"):
        x = x.detach()
    # The owner of the memory makes stream 1, CUDA's default, wait for what it is still computing.
    capsule = x.__dlpack__(stream=1)
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    tensor = ctypes.cast(pointer(capsule, b"dltensor"), ctypes.POINTER(_Tensor)).contents
    shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
    strides = tuple(tensor.strides[i] for i in range(tensor.ndim)) if tensor.strides else None
    format = _FORMATS.get((tensor.code, tensor.bits)) if tensor.lanes == 1 else None
    address = (tensor.data or 0) + tensor.byte_offset
    return _open(address, shape, strides, format, x.dtype, what, int(tensor.device_id), capsule)


def _by_cuda_interface(x: Any, what: str) -> Data:
    found = x.__cuda_array_interface__
    format = _NUMPY_FORMATS.get(found["typestr"])
    size = int(found["typestr"][2:])
    strides = found.get("strides")
    if strides is not None:
        strides = tuple(stride // size for stride in strides)
    return _open(found["data"][0], tuple(found["shape"]), strides, format, found["typestr"], what, None, x)


def _open(
    address: int,
    shape: tuple[int, ...],
    strides: tuple[int, ...] | None,
    format: str | None,
    dtype: Any,
    what: str,
    device: int | None,
    owner: Any,
) -> Data:
    if format is None:
        raise TypeError(f"the {what} came as {dtype} on a GPU, which reads float32, float16 and bfloat16; convert or copy them")
    if len(shape) != 2:
        raise ValueError(f"the {what} came with shape {shape}; a matrix with one row per example is needed")
    if 0 in shape:
        raise ValueError(f"the {what} came empty, with shape {shape}; at least one row and one column are needed")
    if strides is not None and (strides[1] != 1 or (strides[0] != shape[1] and shape[0] > 1)):
        raise ValueError(f"the {what} came on a GPU as a view with gaps; pass {what}.contiguous(), or another C-ordered copy")
    return Data.on_device(address, shape, format, device, owner)
