"""The files behind what people hand over, which nothing may be written to."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from homing import _homing


def files_of(*inputs: Any) -> tuple[str, ...]:
    """The files that inputs are read from: paths, memory-mapped arrays, Hugging Face datasets."""
    return tuple(dict.fromkeys(file for x in inputs for file in _of(x)))


def _of(x: Any) -> list[str]:
    if isinstance(x, (str, os.PathLike)):
        return [os.path.abspath(os.fsdecode(x))]
    if type(x).__module__.partition(".")[0] == "datasets":
        cached = getattr(getattr(x, "source", x), "cache_files", None)
        return [os.path.abspath(file["filename"]) for file in cached] if isinstance(cached, list) else []
    found = []
    # A part of a mapped array, or another array over the same memory, has it as its base.
    while isinstance(x, np.ndarray):
        if isinstance(x, np.memmap) and x.filename is not None:
            found.append(os.path.abspath(x.filename))
        x = x.base
    return found


def check_output(path: Any, read: tuple[str, ...]) -> str:
    """The path of a page, refused where it is no path, cannot be written, or holds something that was read."""
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"the page came with a path of type {type(path).__name__}; a path is wanted")
    name = os.fsdecode(path)
    if "\0" in name:
        raise ValueError("the path of the page has a null character; name a file without")
    _homing.check_output(name, list(read))
    return name
