"""Columns of the pool beyond its embeddings, which tables of picks carry."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from homing import _homing
from homing._frames import is_frame
from homing._homing import Data
from homing._inputs import paths_of

IDS = ("id", "ids", "_id", "uid")


class PoolTable:
    """The table that a pool came from. It is read only when its values are needed."""

    def __init__(self, pool: Any, data: Data, embedding_column: str | None, id_column: str | None) -> None:
        self._pool, self._data = pool, data
        self._embedding = {embedding_column} if embedding_column else set(data.columns or [])
        self._id = id_column

    def values(self, choice: str | Iterable[str] | None, rows: npt.NDArray[np.int64]) -> dict[str, Any]:
        """Returns the chosen columns of some rows by their names: ``None`` stands for those with usual names."""
        if choice is not None and not isinstance(choice, str):
            choice = list(choice)
            if not all(isinstance(name, str) for name in choice):
                raise TypeError("columns is a list of something else than names; give 'all', 'none' or a list of names")
        elif choice not in (None, "all", "none"):
            raise ValueError(f"columns is {choice!r}; give 'all', 'none' or a list of names")
        if choice == "none":
            return {}
        if self._is_file():
            named = choice if isinstance(choice, list) else None
            return dict(json.loads(self._data.values(named, choice == "all", rows.tolist())))
        names = self._names()
        if isinstance(choice, list):
            if choice and not names:
                raise ValueError("the pool has no named columns; pass a table as the pool, or leave columns out")
            lacking = [name for name in choice if name not in names]
            if lacking:
                raise ValueError(f"the pool has no column {lacking[0]!r}; it has {', '.join(map(repr, names))}")
            chosen = choice
        else:
            free = [name for name in names if name not in self._embeddings(names) and name != "id"]
            chosen = free if choice == "all" else [name for name in free if _homing.is_usual_column(name)]
        return {name: self._column(name, rows) for name in chosen}

    def ids(self, rows: npt.NDArray[np.int64]) -> list[str] | None:
        """Returns the ids of some rows of a table in memory; None if it has none."""
        if self._is_file():
            return None
        names = self._names()
        found = [name for name in ([self._id] if self._id else IDS) if name in names]
        return [str(value) for value in self._column(found[0], rows)] if found else None

    def _is_file(self) -> bool:
        return isinstance(self._pool, Data) or paths_of(self._pool) is not None

    def _names(self) -> list[str]:
        if is_frame(self._pool):
            return list(map(str, self._pool.columns))
        names = getattr(self._pool, "column_names", getattr(self._pool, "columns", None))
        return list(names) if isinstance(names, (list, tuple)) else []

    def _embeddings(self, names: list[str]) -> set[str]:
        """Returns the columns of embeddings: those that are known, or else columns of lists of floats."""
        if self._embedding:
            return self._embedding
        return {name for name in names if _is_list(self._column(name, np.zeros(1, np.int64)))}

    def _column(self, name: str, rows: npt.NDArray[np.int64]) -> Any:
        pool = self._pool
        if is_frame(pool):
            return pool.iloc[rows, list(map(str, pool.columns)).index(name)].to_list()
        if type(pool).__module__.partition(".")[0] == "datasets":
            return pool.select_columns([name])[rows.tolist()][name]
        column = pool[name]
        return column.take(rows).to_pylist() if hasattr(column, "take") else column[rows].to_list()


def _is_list(values: list[Any]) -> bool:
    return bool(values) and isinstance(values[0], (list, tuple, np.ndarray)) and np.asarray(values[0]).dtype.kind == "f"


def joined(own: dict[str, Any], carried: dict[str, Any]) -> dict[str, Any]:
    """Returns all columns; a carried one whose name is taken gets the suffix ``_pool``, as in files of picks."""
    table = dict(own)
    for name, values in carried.items():
        while name in table:
            name += "_pool"
        table[name] = values
    return table
