"""Finds the rows with the largest inner products with a query."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

BLOCK = 1 << 26
"""How many numbers a search multiplies at once."""


class Found(NamedTuple):
    """The rows that a search found, nearest first."""

    near: npt.NDArray[np.float32]
    """Their inner products with the query."""
    rows: npt.NDArray[np.int64]
    """Their numbers."""
    embeddings: npt.NDArray[np.float32]


class LostRow(ValueError):
    """A row whose inner product with a query is not finite."""

    def __init__(self, row: int) -> None:
        super().__init__(f"row {row} of the index holds a value that is not finite or too large; remove or repair it")
        self.row = row


def check(near: npt.NDArray[Any], first: int = 0) -> None:
    """Refuses products that are not finite. `first` is the number of the first row."""
    lost = np.flatnonzero(~np.isfinite(near))
    if len(lost):
        raise LostRow(first + int(lost[0]))


def largest(near: npt.NDArray[Any], rows: npt.NDArray[np.int64], count: int) -> npt.NDArray[np.intp]:
    """Returns the places of the `count` largest numbers, largest first. Of equal ones, the smaller row comes first."""
    places = np.arange(len(near))
    if count < len(near):
        least = np.partition(near, len(near) - count)[len(near) - count]
        places = np.flatnonzero(near >= least)
    return places[np.lexsort((rows[places], -near[places]))][:count]


def join(parts: Sequence[Found], count: int) -> Found:
    """Returns the `count` best rows of several searches."""
    near, rows, embeddings = (np.concatenate(fields) for fields in zip(*parts))
    best = largest(near, rows, count)
    return Found(near[best], rows[best], np.ascontiguousarray(embeddings[best]))


def scan(blocks: Iterable[tuple[int, npt.NDArray[Any]]], query: npt.NDArray[np.float32], count: int) -> Found:
    """Searches blocks of rows, each with the number of its first row, for the `count` best rows."""
    found: list[Found] = []
    for first, block in blocks:
        with np.errstate(over="ignore", invalid="ignore"):
            near = (block @ query).astype(np.float32, copy=False)
        check(near, first)
        best = largest(near, np.arange(len(near)), count)
        found.append(Found(near[best], first + best, block[best].astype(np.float32, copy=False)))
        if sum(len(part.rows) for part in found) > 2 * count:
            found = [join(found, count)]
    return join(found, count)
