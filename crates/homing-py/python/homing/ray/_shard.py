"""What an actor of the cluster does: it holds rows, and answers questions about them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from homing import _inputs
from homing._homing import Data, PoolPart
from homing._nearest import Found, LostRow, scan
from homing._pool_table import PoolTable

_BLOCK = 1 << 22
"""How many numbers a search reads at once."""


@dataclass(frozen=True)
class Piece:
    """Rows of one file, or of one block of a dataset."""

    source: Any
    """The path of a file, or a reference to a block."""
    start: int
    stop: int


@dataclass(frozen=True)
class Reading:
    """How files and blocks are read: the names of columns, and how the numbers of a file are accessed."""

    embedding_column: str | None = None
    id_column: str | None = None
    probabilities: str | None = None
    pool_access: str | None = None

    def open(self, source: Any) -> tuple[Any, Data, Data | None]:
        """Opens a file or a block. Returns it, its embeddings, and the class probabilities of a block."""
        if isinstance(source, str):
            columns = {name: value for name, value in vars(self).items() if value is not None}
            return source, Data.open([source], columns), None
        table = source
        embeddings = _column(table, self.embedding_column or _only_vectors(table))
        probabilities = None if self.probabilities is None else _column(table, self.probabilities)
        return table, embeddings, probabilities


def _column(table: Any, name: str) -> Data:
    """Returns a column of vectors of an Arrow table."""
    if name not in table.column_names:
        named = ", ".join(map(repr, table.column_names))
        raise ValueError(f"the dataset has no column {name!r}; it has {named}")
    column = table.column(name)
    if hasattr(column.type, "extension_name"):
        # A column of tensors, as Ray makes them of arrays.
        parts = [np.asarray(chunk.to_numpy(zero_copy_only=False)) for chunk in column.chunks if len(chunk)]
        rows = np.concatenate([np.stack(list(part)) if part.dtype == object else part for part in parts])
        return _inputs.data(np.ascontiguousarray(rows.reshape(len(rows), -1)), "pool")
    return Data.arrow(table.select([name]).combine_chunks(), name)


def _only_vectors(table: Any) -> str:
    """Returns the only column of vectors."""
    import pyarrow as pa

    def is_vectors(kind: Any) -> bool:
        lists = pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
        return hasattr(kind, "extension_name") or (lists and pa.types.is_floating(kind.value_type))

    found = [field.name for field in table.schema if is_vectors(field.type)]
    if len(found) != 1:
        what = f"{len(found)} columns of vectors ({', '.join(found)})" if found else "no column of vectors"
        raise ValueError(f"the dataset has {what}; name one in `embedding_column`")
    return str(found[0])


class Shard:
    """Rows that one actor holds. A failure is kept and told, because an actor that raises cannot say why."""

    def __init__(self, pieces: list[Piece], first: int, reading: Reading, threads: int | None) -> None:
        self.pieces, self.error = pieces, ""
        try:
            self._open(first, reading, threads)
        except Exception as error:
            self.error = f"{error}"

    def _open(self, first: int, reading: Reading, threads: int | None) -> None:
        import ray

        opened: dict[Any, tuple[Any, Data, Data | None]] = {}
        for piece in self.pieces:
            if piece.source not in opened:
                whole = piece.source if isinstance(piece.source, str) else ray.get(piece.source)
                opened[piece.source] = reading.open(whole)
        self.first, self.reading = first, reading
        self.opened = [opened[piece.source] for piece in self.pieces]
        rows = [(data, piece.start, piece.stop) for (_, data, _), piece in zip(self.opened, self.pieces)]
        given = [
            (data, piece.start, piece.stop) for (_, _, data), piece in zip(self.opened, self.pieces) if data is not None
        ]
        self.part = PoolPart(rows, first, given, threads)

    def describe(self) -> dict[str, Any]:
        """Returns the shape of the rows, or why they cannot be read."""
        if self.error:
            return {"error": self.error}
        part = self.part
        return {"rows": part.rows, "dim": part.dim, "is_single": part.is_single, "classes": part.classes, "pid": os.getpid()}

    def answer(self, message: bytes) -> bytes | str:
        """Answers a message of the coordinator; a text says why there is no answer."""
        return self.error or self.part.answer(message)

    def _each(self, rows: list[int]) -> list[tuple[Any, Data, list[int], list[int]]]:
        """Returns the table and the data that hold some rows, with these rows' places in the list and their rows there."""
        starts = np.cumsum([0, *(piece.stop - piece.start for piece in self.pieces)])
        own = np.asarray(rows, dtype=np.int64) - self.first
        of = np.searchsorted(starts, own, side="right") - 1
        found = []
        for number in dict.fromkeys(of.tolist()):
            places = np.flatnonzero(of == number)
            inside = own[places] - starts[number] + self.pieces[number].start
            table, data, _ = self.opened[number]
            found.append((table, data, places.tolist(), inside.tolist()))
        return found

    def ids(self, rows: list[int]) -> list[str | None]:
        """Returns the ids of some rows; None for rows without one."""
        ids: list[str | None] = [None] * len(rows)
        for table, data, places, inside in self._each(rows):
            if isinstance(table, str):
                found = data.ids_of(inside)
            else:
                columns = PoolTable(table, data, self.reading.embedding_column, self.reading.id_column)
                found = columns.ids(np.asarray(inside, dtype=np.int64))
            for place, name in zip(places, found or []):
                ids[place] = name
        return ids

    def values(self, rows: list[int]) -> list[dict[str, Any]]:
        """Returns all columns of some rows, except the embeddings of files."""
        values: list[dict[str, Any]] = [{} for _ in rows]
        for table, data, places, inside in self._each(rows):
            if isinstance(table, str):
                columns = PoolTable(table, data, self.reading.embedding_column, self.reading.id_column)
                found = columns.values("all", np.asarray(inside, dtype=np.int64))
                ids = data.ids_of(inside)
                found = found if ids is None else {"id": ids, **found}
                records = [dict(zip(found, row)) for row in zip(*found.values())] if found else [{} for _ in inside]
            else:
                records = table.take(inside).to_pylist()
            for place, record in zip(places, records):
                values[place] = record
        return values

    def nearest(self, query: npt.NDArray[np.float32], count: int) -> Found | int | str:
        """Returns the rows with the largest inner products with a query; or one whose product is not finite, or why there are none."""
        if self.error:
            return self.error
        try:
            return scan(self._blocks(), query, count)
        except LostRow as lost:
            return lost.row

    def _blocks(self) -> Iterator[tuple[int, npt.NDArray[np.float32]]]:
        """Reads the rows in blocks, each with the number of its first row."""
        first = self.first
        for (_, data, _), piece in zip(self.opened, self.pieces):
            step = max(1, _BLOCK // data.dim)
            for start in range(piece.start, piece.stop, step):
                block = data.to_numpy(start, min(start + step, piece.stop))
                yield first, block
                first += len(block)
