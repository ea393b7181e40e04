"""Reads embeddings from pandas tables, whose columns are matched by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


def is_frame(x: Any) -> bool:
    return type(x).__module__.partition(".")[0] == "pandas" and hasattr(x, "columns")


def side_by_side(x: Any, what: str, pool_columns: list[str] | None) -> tuple[npt.NDArray[Any], list[str] | None]:
    """Returns the float columns of a table as a matrix, and their names if they have some.

    `pool_columns` are the names of the pool's columns; the matrix has these columns, in this order.
    """
    labels = list(map(str, x.columns))
    order = _order(labels, what, pool_columns)
    if any(x.dtypes.iloc[at].kind != "f" for at in order):
        raise TypeError(f"not all columns of the {what} hold floats; drop the others, or name a column in embedding_column")
    names = [labels[at] for at in order]
    return np.ascontiguousarray(x.iloc[:, order].to_numpy()), None if names == _numbered(len(names)) else names


def found_lists(x: Any) -> str | None:
    """Returns the column of lists of floats that has a usual name, or the only one; None if there is none or several."""
    found = []
    for at, label in enumerate(map(str, x.columns)):
        first = x.iloc[0, at] if len(x) and x.dtypes.iloc[at].kind == "O" else None
        if isinstance(first, (list, tuple, np.ndarray)) and np.asarray(first).dtype.kind == "f":
            found.append(label)
    usual = [name for name in ("embedding", "embeddings", "vector", "features", "emb") if name in found]
    return usual[0] if usual else found[0] if len(found) == 1 else None


def column_of_lists(x: Any, what: str, column: str) -> list[Any]:
    """Returns the column of this name."""
    labels = list(map(str, x.columns))
    if column not in labels:
        raise ValueError(f"there is no column {column!r} in the {what}; there are {', '.join(labels)}")
    values: list[Any] = x.iloc[:, labels.index(column)].to_list()
    return values


def _numbered(count: int) -> list[str]:
    """The names that pandas gives to columns without names."""
    return [str(at) for at in range(count)]


def _order(labels: list[str], what: str, pool_columns: list[str] | None) -> list[int]:
    """Returns the positions of `pool_columns`, or of all columns in their order if the pool or the table has no names."""
    places = {label: at for at, label in enumerate(labels)}
    if len(places) < len(labels):
        twice = next(label for at, label in enumerate(labels) if places[label] != at)
        raise ValueError(f"two columns of the {what} are called {twice!r}; give each column its own name")
    numbered = _numbered(len(labels))
    names = numbered if pool_columns is None else pool_columns
    if set(names) != set(labels) and (pool_columns is None or labels == numbered):
        return list(range(len(labels)))
    lacking = [repr(name) for name in names if name not in places]
    if lacking:
        some = ", ".join(lacking[:6]) + (", …" if len(lacking) > 6 else "")
        raise ValueError(f"there is no column {some} in the {what}, but the pool's embedding has it; give both the same columns")
    return [places[name] for name in names]
