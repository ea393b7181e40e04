"""Finds the files that inputs are read from, which no output may overwrite."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from homing import _homing
from homing._inputs import paths_of


def files_of(*inputs: Any) -> tuple[str, ...]:
    """Returns the files that inputs are read from: paths, and those of memory-mapped arrays and Hugging Face datasets."""
    return tuple(dict.fromkeys(file for x in inputs for file in _of(x)))


def _of(x: Any) -> list[str]:
    paths = paths_of(x)
    if paths is not None:
        return [os.path.abspath(path) for path in paths]
    if type(x).__module__.partition(".")[0] == "datasets":
        cached = getattr(getattr(x, "source", x), "cache_files", None)
        return [os.path.abspath(file["filename"]) for file in cached] if isinstance(cached, list) else []
    found = []
    # A slice or view of a mapped array has the mapped array as its base.
    while isinstance(x, np.ndarray):
        if isinstance(x, np.memmap) and x.filename is not None:
            found.append(os.path.abspath(x.filename))
        x = x.base
    return found


def check_output(path: Any, read: tuple[str, ...]) -> str:
    """Returns the path of a page, unless it is no path, cannot be written, or is a file that was read."""
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"the path of the page is a {type(path).__name__}; a str or os.PathLike is needed")
    name = os.fsdecode(path)
    if "\0" in name:
        raise ValueError("the path of the page has a null character; remove it")
    _homing.check_output(name, list(read))
    return name
