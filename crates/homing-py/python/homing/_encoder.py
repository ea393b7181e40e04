"""Turns texts and images into embeddings."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from homing import _homing
from homing._frames import is_frame
from homing._homing import Data
from homing._inputs import paths_of
from homing._pool_table import IDS


class Encoder:
    """Turns texts and images into embeddings: the same numbers as the command, from the same cache.

    `model` is a folder with a model in the layout of Hugging Face, or an ``.onnx`` file. Without it, a built-in encoder learns
    from the first items that it embeds, and embeds later ones in the same way; a model made for the purpose is better.

    >>> encoder = Encoder()
    >>> pool = encoder.encode(["refund for a lost parcel", "reset my password", "where is my parcel"])
    >>> targets = encoder.encode(["my parcel did not arrive"])
    >>> int((pool @ targets[0]).argmax())
    2
    """

    def __init__(self, model: str | os.PathLike[str] | None = None) -> None:
        self._core = _homing.Encoder(None if model == "built-in" else model)

    def encode(self, items: Any) -> npt.NDArray[np.float32]:
        """Embeds items, one row per item: a list or a column of texts or of paths of image files; a table or the path of a
        table with a column of texts or paths, of lines of text, or of a folder of images."""
        if isinstance(items, (str, os.PathLike)):
            return self._open(items, {}).to_numpy()
        strings = strings_of(items, explicit=True)
        if strings is None:
            if paths_of(items) is not None:
                raise TypeError("the items came as a list of files; pass a pattern, such as 'folder/*.csv', or a .list file")
            raise TypeError(f"the items came as {type(items).__name__}; a list of texts, of paths, a table or a path is needed")
        if strings and all(map(_homing.is_image_name, strings)) and all(map(os.path.isfile, strings)):
            return self._core.images(strings)
        return self._core.texts(strings)

    @property
    def dim(self) -> int | None:
        """Number of values per embedding; None before a built-in encoder has learned."""
        return self._core.dim

    @property
    def cached(self) -> int:
        """How many items had their embeddings in the cache."""
        return self._core.cached

    def _open(self, path: str | os.PathLike[str], columns: Mapping[str, Any]) -> Data:
        return self._core.open(os.fspath(path), {**columns})

    def _data(self, x: Any, columns: Mapping[str, Any]) -> Data:
        """Embeds the pool or the targets of a selection."""
        if isinstance(x, (str, os.PathLike)):
            return self._open(x, columns)
        strings = strings_of(x, columns.get("text_column"), explicit=True)
        return Data.array(self.encode(x if strings is None else strings))

    def __repr__(self) -> str:
        size = "" if self.dim is None else f", {self.dim} numbers per embedding"
        return f"<Encoder: {self._core.name or 'built-in'}{size}>"


def strings_of(x: Any, column: str | None = None, *, explicit: bool = False) -> list[str] | None:
    """Returns the texts or paths in a list, a column or a table; None if it holds something else.

    A table with columns of floats holds embeddings, unless the texts are asked for (`explicit`)."""
    if paths_of(x) is not None:
        return None
    if is_frame(x):
        names = list(map(str, x.columns))
        if column is not None and column not in names:
            raise ValueError(f"there is no column {column!r}; there are {', '.join(names)}")
        usual = [name for item in _homing.item_names() for name in names if name.lower() == item]
        if not explicit and _has_embeddings(x, names, column or next(iter(usual), None)):
            return None
        texts = [name for at, name in enumerate(names) if _is_free_text(x.iloc[:, at], name)]
        column = column or (usual[0] if usual else texts[0] if len(texts) == 1 else None)
        return None if column is None else _filled(x.iloc[:, names.index(column)])
    is_column = type(x).__module__.partition(".")[0] in ("pandas", "polars", "pyarrow", "datasets")
    if not (is_column or isinstance(x, (list, tuple)) or (isinstance(x, np.ndarray) and x.dtype.kind in "UO")) or not len(x):
        return None
    try:
        first = x.iloc[0] if hasattr(x, "iloc") else x[0]
    except Exception:  # tables of some libraries have no first row
        return None
    if not isinstance(first.as_py() if hasattr(first, "as_py") else first, (str, os.PathLike)):
        return None
    return _filled(x.to_pylist() if hasattr(x, "to_pylist") else list(x))


def _has_embeddings(x: Any, names: list[str], text: str | None) -> bool:
    """Whether a table with these columns has a column of lists, or columns of floats that are more than facts about its texts."""
    columns = [x.iloc[:, at] for at in range(len(names))]
    if any(len(column) and isinstance(column.iloc[0], (list, tuple, np.ndarray)) for column in columns):
        return True
    numbers = [name for name, column in zip(names, columns) if column.dtype.kind in "fiu" and name.lower() not in IDS]
    has_floats = any(column.dtype.kind == "f" for column in columns)
    return has_floats and not (text is not None and _homing.are_facts(text, numbers))


def _is_free_text(column: Any, name: str) -> bool:
    """Whether a column of a table holds texts that are no ids or labels."""
    values = column.dropna()
    is_text = bool(len(values)) and isinstance(values.iloc[0], str)
    return is_text and name not in IDS and not _homing.is_usual_column(name)


def _filled(values: Any) -> list[str]:
    """Returns the values as texts; a missing one is empty."""
    return [os.fspath(value) if isinstance(value, (str, os.PathLike)) else "" for value in values]


def encoder_for(given: Any, pool: Any, column: str | None = None) -> Encoder | None:
    """Returns the encoder that was given, or a built-in one for a pool of texts or images; None if the pool has embeddings."""
    if isinstance(given, Encoder):
        return given
    if given == "none":
        return None
    if given is not None:
        return Encoder(given)
    return None if strings_of(pool, column) is None else Encoder()
