"""Divides files and datasets among the shards."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any

import ray
from homing import _homing
from homing.ray._shard import Piece, Reading

_SLICED = (".npy", ".safetensors")
"""Files of which an actor maps its own rows only, as it does with blocks of a dataset. Other files are decoded as a whole, so no two
actors should share one."""

_LEAST_ROWS = 4096
"""How many rows a shard has at least, by default."""


def _rows_of_file(path: str, reading: Reading) -> int:
    if path.endswith(".parquet"):
        import pyarrow.parquet

        try:
            return int(pyarrow.parquet.ParquetFile(path).metadata.num_rows)
        except (OSError, pyarrow.ArrowInvalid):
            pass  # our reader says what is wrong
    return reading.open(path)[1].rows


def _is_dataset(rows: Any) -> bool:
    """Whether this is a Dataset. Whoever has one has loaded the module, which takes each actor over half a second."""
    data = sys.modules.get("ray.data")
    return data is not None and isinstance(rows, data.Dataset)


def _rows_of_block(table: Any) -> int:
    return int(table.num_rows)


def files(rows: Any) -> list[str]:
    """Lists the files that a path, a folder, a pattern or a list of these names, in the order in which a pool has them."""
    if isinstance(rows, (str, os.PathLike)):
        return [os.path.abspath(os.fsdecode(file)) for file in _homing.expand(os.fsdecode(rows))]
    return [file for one in rows for file in files(one)]


def _unsliced(error: BaseException) -> Exception:
    """Returns the error of a task as this process would have raised it."""
    cause = getattr(error, "cause", None)
    if isinstance(cause, (ValueError, OSError)):
        return type(cause)(str(cause))
    return ValueError(str(cause or error))


def pieces(rows: Any, reading: Reading) -> list[Piece]:
    """Returns all files of a pool, or all blocks of a dataset, in the order of their rows."""
    if _is_dataset(rows):
        from ray.data import DataContext

        context = DataContext.get_current()
        kept = context.execution_options.preserve_order
        context.execution_options.preserve_order = True
        try:
            sources: list[Any] = rows.to_arrow_refs()
        finally:
            context.execution_options.preserve_order = kept
        counts = [ray.remote(_rows_of_block).remote(source) for source in sources]
    else:
        if not isinstance(rows, (str, os.PathLike, list, tuple)):
            kind = type(rows).__name__
            raise TypeError(f"the pool came as {kind}; a Ray Dataset, a path or a list of paths is needed")
        sources = files(rows)
        counts = [ray.remote(num_cpus=0.5)(_rows_of_file).remote(source, reading) for source in sources]
    try:
        found = ray.get(counts)
    except ray.exceptions.RayTaskError as error:
        raise _unsliced(error) from None
    all_pieces = [Piece(source, 0, count) for source, count in zip(sources, found)]
    if not sum(found):
        raise ValueError("the pool has no rows")
    return all_pieces


def divided(whole: Sequence[Piece], shards: int | Sequence[int] | None, most: int) -> list[list[Piece]]:
    """Divides files or blocks among shards, whose rows follow each other. `shards` is their number, or their numbers of rows."""
    total = sum(piece.stop for piece in whole)
    if isinstance(shards, Sequence):
        if sum(shards) != total:
            raise ValueError(f"the shards have {sum(shards)} rows together, but the pool has {total}")
        ends, is_exact = [sum(shards[: i + 1]) for i in range(len(shards))], True
    else:
        count = min(most, max(1, total // _LEAST_ROWS)) if shards is None else shards
        ends, is_exact = [total * (i + 1) // count for i in range(count)], False
    edges, start = [0], 0
    for piece in whole:
        start += piece.stop
        edges.append(start)
    result: list[list[Piece]] = []
    at = 0
    for end in ends:
        inside = next(i for i, edge in enumerate(edges[1:]) if end <= edge)
        if not is_exact and not _is_sliced(whole[inside].source) and end not in (edges[inside], edges[inside + 1]):
            end = min(edges[inside], edges[inside + 1], key=lambda edge: abs(edge - end))
        end = max(at, end)
        parts = []
        for piece, edge in zip(whole, edges):
            begin, stop = max(at, edge), min(end, edge + piece.stop)
            if begin < stop:
                parts.append(Piece(piece.source, begin - edge, stop - edge))
        result.append(parts)
        at = end
    return result if is_exact else [parts for parts in result if parts]


def _is_sliced(source: Any) -> bool:
    return not isinstance(source, str) or source.endswith(_SLICED)
