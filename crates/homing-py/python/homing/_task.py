"""Checks the data of a selection and opens it in place."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from homing import _homing, _inputs
from homing._encoder import Encoder, encoder_for, strings_of
from homing._files import files_of
from homing._homing import Data, Task
from homing._inputs import Embeddings, Rows
from homing._label_run import LabelRun
from homing._pool_table import PoolTable
from homing._progress import Pick, pick_callback
from homing._selection import Selection
from homing._settings import Columns, Inputs, Stop, StopLike

_PATHS = ("observed_points", "forbidden", "probabilities", "target_probabilities")
"""Inputs that may be paths."""


class TaskData:
    """The data of a selection, checked and opened."""

    def __init__(
        self, pool: Embeddings, targets: Embeddings | None, observed: Rows | Embeddings | None, inputs: Inputs
    ) -> None:
        given: dict[str, Any] = {**inputs}
        paths = (x for name, x in given.items() if not isinstance(x, str) or (name in _PATHS and _looks_like_file(x)))
        self.files = files_of(pool, targets, observed, *paths)
        if given.get("kernel") is not None and not isinstance(given["kernel"], str):
            matrix = given["kernel"] = _inputs.data(given["kernel"], "kernel matrix", copy=True)
            pool, targets = _points(pool, matrix.rows, "pool"), _points(targets, matrix.rows, "targets")
        columns = {name: given.pop(name) for name in Columns.__optional_keys__ if name in given}
        own = {name: columns[name] for name in ("embedding_column",) if name in columns}
        _take_columns(pool, ("groups", "costs", "probabilities"), given, columns)
        chosen = given.pop("encoder", None)
        self.encoder = encoder_for(chosen, pool, columns.get("text_column"))
        if self.encoder is not None and not isinstance(pool, Data):
            self.pool = self.encoder._data(pool, columns)
        else:
            self.pool = self._opened(pool, columns, is_embedded=chosen is not None)
        rows, pool_columns = self.pool.rows, self.pool.columns
        self.table = PoolTable(pool, self.pool, columns.get("embedding_column"), columns.get("id_column"))
        _take_columns(targets, ("target_probabilities",), given, own)
        self.targets = None
        if targets is not None:
            if self.encoder is not None and (isinstance(targets, (str, os.PathLike)) or strings_of(targets, explicit=True) is not None):
                self.targets = self.encoder._data(targets, {})
            elif self.encoder is not None and chosen is None:
                raise TypeError("the pool holds texts or images, but the targets hold embeddings; give the same for both")
            else:
                self.targets = _inputs.data(targets, "targets", copy=True, columns=own, pool_columns=pool_columns)
        for name in ("groups", "costs"):
            if name in columns:
                given[name] = getattr(self.pool, name)
        for name in ("probabilities", "target_probabilities"):
            if given.get(name) is not None:
                given[name] = _inputs.data(given[name], name, copy=True)
        if given.get("observed_points") is not None:
            points = given["observed_points"]
            given["observed_points"] = _inputs.data(points, "observed points", copy=True, pool_columns=pool_columns)
        observed_rows, points = observed_of(observed, self.pool)
        if points is not None:
            if given.get("observed_points") is not None:
                raise ValueError("observed and observed_points both hold embeddings; join them")
            given["observed_points"] = points
        given["observed"] = observed_rows
        given["forbidden"] = _forbidden(given.get("forbidden"), self.pool)
        given["quotas"], given["groups"] = _groups(given.get("groups"), given.get("quotas"), rows)
        self.task = Task(self.pool, self.targets, given)

    def _opened(self, pool: Any, columns: dict[str, Any], *, is_embedded: bool) -> Data:
        """Opens a pool of embeddings. The texts or images of a file are embedded by a built-in encoder, unless `is_embedded`."""

        def are_items() -> bool:
            return isinstance(pool, (str, os.PathLike)) and not is_embedded and _homing.holds_items(os.fspath(pool), columns)

        try:
            data = _inputs.data(pool, "pool", columns=columns)
        except ValueError:
            if not are_items():
                raise
        else:
            if not (_homing.are_facts("text", data.columns or []) and are_items()):
                return data
        self.encoder = Encoder()
        return self.encoder._data(pool, columns)

    def select(
        self,
        settings: Mapping[str, Any],
        made: Sequence[tuple[int, float]] = (),
        on_pick: Callable[[Pick], Any] | None = None,
    ) -> Selection:
        """Chooses rows; `settings` are `n`, `rule`, `noise_std` and the keys of :class:`homing.Settings`.

        `made` are the rows and scores of the first picks, if an earlier call has made them, and `on_pick` is called with all.
        """
        stop, is_enough = _stop(settings.get("stop"))
        if on_pick is not None:
            is_enough = _both(on_pick, is_enough)
        n = _inputs.whole(settings["n"], "n", 1)
        with pick_callback(settings.get("progress"), is_enough, n) as progress:
            core = _homing.select(self.task, {**settings, "stop": stop, "progress": progress}, list(made))
        return Selection._of(core, self.files, self.table)


def _both(on_pick: Callable[[Pick], Any], is_enough: Callable[[Pick], Any] | None) -> Callable[[Pick], Any]:
    def both(pick: Pick) -> Any:
        on_pick(pick)
        return is_enough is not None and is_enough(pick)

    return both


def rows_as_given(inputs: Mapping[str, Any]) -> Any:
    """Returns inputs that leave rows as they are, unless they ask for another preparation themselves."""
    return {**inputs, "center": bool(inputs.get("center")), "normalize": bool(inputs.get("normalize"))}


def inputs_for(noise_std: float | None, inputs: Mapping[str, Any]) -> Any:
    """Returns the inputs of a selection with this noise. A given noise is in the units of the rows as they are."""
    given = noise_std is not None or inputs.get("noise_vars") is not None
    return rows_as_given(inputs) if given else inputs


def _take_columns(table: Any, names: tuple[str, ...], given: dict[str, Any], columns: dict[str, Any]) -> None:
    """Replaces inputs that name columns of a table by these columns; names of columns of a file move to `columns`."""
    for name in names:
        value = given.get(name)
        if not isinstance(value, str) or (name in _PATHS and _looks_like_file(value)):
            continue
        if _inputs.paths_of(table) is not None:
            columns[name.removeprefix("target_")] = given.pop(name)
        else:
            given[name] = column_of(table, value, name)


def column_of(table: Any, name: Any, what: str) -> Any:
    """Returns the column of this name of a table in memory; a value that is no name is returned unchanged."""
    if not isinstance(name, str):
        return name
    if isinstance(table, (Data, np.ndarray)) or not hasattr(table, "__getitem__") or _inputs.module_of(table) == "torch":
        raise TypeError(f"{what} is the name {name!r}, but the pool has no columns; give one value per row")
    try:
        column = table[name]
    except Exception as error:  # every library raises another exception
        raise ValueError(f"{what} is the name {name!r}, but there is no such column; name another") from error
    return column if what.endswith("probabilities") else np.asarray(column[:] if hasattr(column, "source") else column)


def _stop(stop: StopLike) -> tuple[Stop | None, Callable[[Pick], Any] | None]:
    """Returns the conditions that the core checks, and the function that ends the selection."""
    if callable(stop):
        return None, stop
    if stop is None or isinstance(stop, Stop):
        return stop, None
    if not isinstance(stop, Mapping):
        raise TypeError(f"stop is {_inputs.shown(stop)}; a Stop, a dict of its fields, or a function of a Pick is needed")
    return Stop(**stop), None


def _looks_like_file(text: str) -> bool:
    return os.path.exists(text) or "." in os.path.basename(text)


def _points(x: Any, rows: int, what: str) -> Any:
    """Returns row numbers of a kernel matrix as points."""
    if x is None or isinstance(x, Data):
        return x
    numbers = np.asarray(x)
    if numbers.dtype.kind not in "iu" or numbers.ndim > 2 or (numbers.ndim == 2 and numbers.shape[1] != 1):
        raise TypeError(f"with a kernel matrix, the {what} must be a list of its row numbers")
    return _inputs.rows(numbers, what, rows).reshape(-1, 1).astype(np.float64)


def observed_of(x: Any, pool: Data) -> tuple[npt.NDArray[np.int64], Data | None]:
    """Returns the observed rows, or else the observed points: floats are embeddings, and a file may hold either.

    Rows of a file count if they have a label or none has one. The folder of a labelling run stands for its observed rows."""
    none = np.empty(0, np.int64)
    if _are_ids(x):
        return _rows_of_ids(x, pool), None
    if isinstance(x, (str, os.PathLike)):
        if os.path.isfile(os.path.join(x, "events.jsonl")):
            ids = LabelRun(x).observed
            return (np.array(list(map(int, ids)), dtype=np.int64) if pool.ids_of([]) is None else _rows_of_ids(ids, pool)), None
        named, points = pool.named(x, labelled=True)
        return (none, points) if named is None else (np.array(named, dtype=np.int64), None)
    if x is None or isinstance(x, (Selection, set, frozenset)) or (_inputs.paths_of(x) is None and _is_of_whole_numbers(x)):
        return _inputs.rows(x, "observed rows", pool.rows), None
    return none, _inputs.data(x, "observed points", copy=True, pool_columns=pool.columns)


def _are_ids(x: Any) -> bool:
    """Whether these are ids: texts that are not the paths of files."""
    return isinstance(x, (list, tuple, set, frozenset)) and bool(x) and all(isinstance(i, str) and not os.path.exists(i) for i in x)


def _rows_of_ids(ids: Any, pool: Data) -> npt.NDArray[np.int64]:
    known = pool.ids_of(list(range(pool.rows)))
    if known is None:
        raise ValueError("the observed rows are named by ids, but the pool has none; give their row numbers")
    row_of = {id: row for row, id in enumerate(known)}
    unknown = next((id for id in ids if id not in row_of), None)
    if unknown is not None:
        raise ValueError(f"the observed rows name the id {unknown!r}, which the pool lacks; check that both belong together")
    return np.array(sorted({row_of[id] for id in ids}), dtype=np.int64)


def _is_of_whole_numbers(x: Any) -> bool:
    """Whether these are row numbers or a mask. An empty list is one."""
    kind = getattr(x, "dtype", getattr(x, "type", None))
    if kind is None and _inputs.module_of(x) not in ("datasets", "pyarrow", "polars", "pandas"):
        kind = np.asarray(x).dtype if np.size(x) else "int"
    return str(kind).removeprefix("torch.").lower().startswith(("int", "uint", "bool"))


def _forbidden(x: Any, pool: Data) -> npt.NDArray[np.int64]:
    if not isinstance(x, (str, os.PathLike)):
        return _inputs.rows(x, "forbidden rows", pool.rows)
    named, _ = pool.named(x)
    if named is None:
        raise ValueError(f"{os.fspath(x)} holds embeddings, but forbidden rows must be named by their indices or ids")
    return np.array(named, dtype=np.int64)


def _groups(
    groups: Any, quotas: int | Mapping[Any, int] | None, rows: int
) -> tuple[npt.NDArray[np.int64] | None, npt.NDArray[np.int64] | None]:
    """Returns the quota of every group number, and the group number of every row."""
    if groups is None:
        if quotas is not None:
            raise ValueError("quotas need groups; give the group of every row")
        return None, None
    try:
        names, numbers = np.unique(np.asarray(groups), return_inverse=True)
    except ValueError:
        raise ValueError(f"the groups have lists of different lengths; one group per row, ({rows},), is needed") from None
    except TypeError:
        raise TypeError("the groups have types that cannot be compared with each other; pass them as strings") from None
    if numbers.shape != (rows,):
        raise ValueError(f"the groups have shape {np.shape(groups)}; one group per row, ({rows},), is needed")
    most = 2**62
    if quotas is None:
        limits = None
    elif isinstance(quotas, Mapping):
        known = set(names.tolist())
        unknown = [name for name in quotas if name not in known]
        if unknown:
            raise ValueError(f"quotas name the group {_inputs.shown(unknown[0])}, which no row of the pool has")
        limits = [
            _inputs.whole(quotas.get(name, most), f"the quota of {_inputs.shown(name)}", 0) for name in names.tolist()
        ]
    else:
        limits = [_inputs.whole(quotas, "the quota of a group", 0)] * len(names)
    return None if limits is None else np.array(limits, dtype=np.int64), numbers.astype(np.int64)

