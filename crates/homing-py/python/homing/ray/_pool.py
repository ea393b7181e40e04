"""A pool on a cluster, and selections from it."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

import ray
from homing import _inputs
from homing._homing import Data
from homing._inputs import Embeddings, Rows
from homing._nearest import Found, join
from homing._selection import Selection
from homing._settings import Options, check, split
from homing._task import TaskData, inputs_for
from homing.ray._checkpoint import Checkpoint
from homing.ray._cluster import Actors
from homing.ray._shard import Reading
from homing.ray._sources import divided, pieces

if TYPE_CHECKING:
    from typing_extensions import Unpack

_FETCHED = 1 << 25
"""Pools of up to this many numbers are fetched where the shards cannot compute what is asked."""

_ELSEWHERE = {
    "encoder": "embed the pool first, for example with map_batches",
    "target_probabilities": "the kernel loss-gradient does not run on shards",
    **{name: "give it to the Pool" for name in ("embedding_column", "id_column", "pool_access", "probabilities")},
    **{name: "rows of a cluster have none" for name in ("label_column", "text_column")},
    "device": "the rows stay with the actors",
}

_FETCHING = ("costs", "groups", "quotas", "noise_vars", "budget", "repeat")
"""Options for which the coordinator needs all rows."""


class Pool:
    """Rows that actors of a Ray cluster hold.

    Parameters
    ----------
    rows
        A Ray ``Dataset``; or the path of a file, of a folder or of files that match a pattern, or a list of these, on storage
        that all nodes share. Rows are numbered through all files, which a folder or a pattern names in sorted order.
    shards
        The number of actors, or the number of rows of each. By default one per CPU, with at least 4,096 rows each.
    embedding_column, id_column, probabilities
        The columns of the embeddings, the ids and the class probabilities.
    pool_access
        How the numbers of a file are read; see :class:`homing.Columns`.
    num_cpus, resources, placement
        What Ray reserves for each actor, and where it puts them: a ``scheduling_strategy`` of Ray.
    threads
        Number of threads of each actor; `num_cpus` by default.
    restarts
        How often an actor that was lost is started again.
    address
        The cluster to connect to, if the program is not connected yet.

    The actors end with :meth:`close`, at the end of a ``with`` block, or with the program. While they live, every selection
    reads their rows anew from where they are, and no file is opened again.
    """

    def __init__(
        self,
        rows: Any,
        *,
        shards: int | Sequence[int] | None = None,
        embedding_column: str | None = None,
        id_column: str | None = None,
        probabilities: str | None = None,
        pool_access: str | None = None,
        num_cpus: float = 1.0,
        resources: dict[str, float] | None = None,
        placement: Any = "SPREAD",
        threads: int | None = None,
        restarts: int = 20,
        address: str | None = None,
    ) -> None:
        if not ray.is_initialized():
            ray.init(address=address, log_to_driver=False)
        if shards is not None and not isinstance(shards, Sequence):
            shards = _inputs.whole(shards, "shards", 1)
        reading = Reading(embedding_column, id_column, probabilities, pool_access)
        whole = pieces(rows, reading)
        cluster: Any = ray.cluster_resources
        most = max(1, int(cluster().get("CPU", 1.0) // num_cpus)) if num_cpus > 0 else 1
        parts = divided(whole, shards, most)
        options = {"num_cpus": num_cpus, "resources": resources or {}, "scheduling_strategy": placement}
        used = max(1, int(num_cpus)) if threads is None else _inputs.threads(threads)
        self._pieces = parts
        self._actors = Actors(parts, reading, options, _inputs.whole(restarts, "restarts", 0), used)
        try:
            self._describe()
        except BaseException:
            self.close()
            raise

    def _describe(self) -> None:
        """Waits until all actors have opened their rows, and checks that these fit together."""
        numbers = [number for number, parts in enumerate(self._pieces) if parts]
        found = dict(zip(numbers, self._actors.call(numbers, "describe")))
        for shape in found.values():
            if "error" in shape:
                raise ValueError(shape["error"])
        dims = {shape["dim"]: number for number, shape in found.items()}
        if len(dims) > 1:
            (a, first), (b, second) = list(dims.items())[:2]
            names = [_name(self._pieces[number][0].source) for number in (first, second)]
            raise ValueError(f"{names[0]} has {a} numbers per row but {names[1]} has {b}; embed all rows with the same model")
        self.counts = [found[number]["rows"] if number in found else 0 for number in range(len(self._pieces))]
        """Number of rows of each shard."""
        self.rows = sum(self.counts)
        """Number of rows."""
        self.dim = next(iter(dims))
        """Number of values per row."""
        # What a retriever asks of an index.
        self.by_inner_product, self.columns = True, None
        self.files = tuple(dict.fromkeys(one.source for parts in self._pieces for one in parts if isinstance(one.source, str)))
        self._is_single = all(shape["is_single"] for shape in found.values())
        self._classes = min(shape["classes"] for shape in found.values())

    @property
    def shards(self) -> int:
        """Number of shards."""
        return len(self.counts)

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the actors."""
        self._actors.close()

    def __repr__(self) -> str:
        return f"Pool({self.rows:,} rows of {self.dim} numbers in {self.shards} shards)"

    def _data(self, is_probabilities: bool = False) -> Data:
        dim = self._classes if is_probabilities else self.dim
        return Data.remote(self._actors.ask, self.counts, dim, self._is_single and not is_probabilities, is_probabilities)

    def select(
        self,
        targets: Embeddings | None,
        n: int,
        rule: str = "itl",
        noise_std: float | None = None,
        observed: Rows | Embeddings | None = None,
        *,
        checkpoint: str | os.PathLike[str] | None = None,
        **options: Unpack[Options],
    ) -> Selection:
        """Chooses rows as :func:`homing.select` does, and the same ones.

        The picks so far are kept in the file `checkpoint`. If the program dies and the same call is made again, it continues
        from there; functions as `progress` or `stop` are called with all picks again.
        """
        check("a selection on a cluster", options, Options, _ELSEWHERE)
        inputs, settings = split(options)
        settings = {"n": n, "rule": rule, "noise_std": noise_std, **settings}
        kernel = options.get("kernel")
        if kernel is not None and not isinstance(kernel, str):
            raise TypeError("a pool on a cluster has embeddings; give the name of a kernel, not a matrix")
        if checkpoint is not None and not self.files:
            why = "a checkpoint needs a pool of files, because a dataset may come back in another order"
            raise ValueError(f"{why}; write it with write_parquet first, or leave `checkpoint` out")

        def work(on_main: Callable[[Callable[[], Any]], Any]) -> Selection:
            data = self._data()
            given: dict[str, Any] = {**inputs}
            if self._classes:
                given["probabilities"] = self._data(True)
            told = _told(settings, on_main)
            try:
                task = TaskData(data, targets, observed, inputs_for(noise_std, given))
                if self._is_fetched(task.task.kernel(_inputs.whole(n, "n", 1)), options):
                    task = self._fetched(data, targets, observed, inputs_for(noise_std, given))
                if checkpoint is None:
                    return task.select(told)
                with Checkpoint(checkpoint, self._identity(targets, observed, inputs, settings)) as kept:
                    return task.select(told, kept.picks, lambda pick: kept.add(pick.rank, pick.row, pick.score))
            except ValueError as error:
                if data.bad_row is None:
                    raise
                raise ValueError(self._about(data.bad_row)) from error

        return self._named(self._actors.during(work))

    def _fetched(self, data: Data, targets: Any, observed: Any, inputs: Any) -> TaskData:
        """Returns a task whose rows are fetched."""
        inputs = {**inputs}
        if self._classes:
            inputs["probabilities"] = Data.array(inputs["probabilities"].to_numpy64())
        return TaskData(Data.array(data.to_numpy() if self._is_single else data.to_numpy64()), targets, observed, inputs)

    def _is_fetched(self, kernel: str, options: Any) -> bool:
        """Whether all rows are fetched first, because the shards cannot compute what is asked."""
        needed = [name for name in _FETCHING if options.get(name) is not None and options[name] is not False]
        is_other = kernel != "linear" and options.get("greedy", "exact") == "exact"
        if not (is_other or needed):
            return False
        if self.rows * self.dim > _FETCHED:
            what = f"`{needed[0]}`" if needed else f"the kernel {kernel}"
            remedy = "leave it out" if needed else "choose 'linear', or 'partitioned:PARTS' for `greedy`"
            raise ValueError(
                f"{what} needs all rows on one machine, but the pool has {self.rows:,} × {self.dim} numbers, "
                f"and at most {_FETCHED:,} are fetched; {remedy}"
            )
        return True

    def _identity(self, *settings: Any) -> Any:
        """Returns what two selections with the same picks have in common.

        Functions are no part of it: `progress` and `stop` are called with all picks again, in each run of the program.
        """

        def plain(value: Any) -> Any:
            if isinstance(value, dict):
                kept = {name: one for name, one in value.items() if name not in ("progress", "threads") and not callable(one)}
                return sorted((name, plain(one)) for name, one in kept.items())
            if value is None or isinstance(value, (str, int, float, bool, os.PathLike)):
                return str(value)
            array = np.asarray(getattr(value, "indices", value))
            return (array.shape, array.dtype.str, array.tobytes()) if array.dtype != object else repr(value)

        sources = [one.source for parts in self._pieces for one in parts if isinstance(one.source, str)]
        stats = [(os.path.abspath(source), os.stat(source)) for source in dict.fromkeys(sources)]
        files = [(path, stat.st_size, stat.st_mtime_ns) for path, stat in stats]
        return (self.rows, self.dim, files, [plain(one) for one in settings])

    def _about(self, row: int, what: str = "not finite") -> str:
        """Returns the sentence about a row with a value that is `what`, with its file."""
        start = 0
        for parts in self._pieces:
            for piece in parts:
                count = piece.stop - piece.start
                if start <= row < start + count:
                    place = f"row {row - start + piece.start} of {_name(piece.source)}"
                    return f"{place} (row {row} of the pool) holds a value that is {what}; remove or repair it"
                start += count
        return f"row {row} of the pool holds a value that is {what}; remove or repair it"

    def _named(self, selection: Selection) -> Selection:
        """Gives a selection the ids of its rows."""
        ids = self.ids(selection.indices)
        if ids is not None:
            object.__setattr__(selection, "ids", ids)
        return selection

    def _by_shard(self, rows: Any, method: str) -> list[Any]:
        """Calls a method of the shards with their own ones of some rows, and returns the results in the order of the rows."""
        wanted = np.asarray(rows, dtype=np.int64)
        ends = np.cumsum(self.counts)
        of = np.searchsorted(ends, wanted, side="right")
        calls = {number: np.flatnonzero(of == number) for number in dict.fromkeys(of.tolist())}
        answers: list[Any] = [None] * len(wanted)
        for number, places in calls.items():
            (found,) = self._actors.call([number], method, wanted[places].tolist())
            for place, value in zip(places.tolist(), found):
                answers[place] = value
        return answers

    def ids(self, rows: Any) -> list[str] | None:
        """Returns the ids of some rows; None if they have none."""
        found = self._by_shard(_inputs.rows(rows, "rows", self.rows), "ids")
        return None if any(name is None for name in found) else list(map(str, found))

    def dataset(self, selection: Selection) -> ray.data.Dataset:
        """Returns the chosen rows with their columns, and in front of these ``rank``, ``row``, ``score``, ``information`` and
        ``variance_left``. A column of the pool whose name is taken gets the suffix ``_pool``."""
        from ray.data import from_items

        own: dict[str, Any] = {"rank": range(1, len(selection) + 1), "row": selection.indices.tolist()}
        own |= {"score": selection.scores.tolist(), "information": selection.information.tolist()}
        if selection.variance_left is not None:
            own["variance_left"] = selection.variance_left.tolist()
        records = []
        for number, values in enumerate(self._by_shard(selection.indices, "values")):
            record = {name: column[number] for name, column in own.items()}
            for name, value in values.items():
                record[f"{name}_pool" if name in own else name] = value
            records.append(record)
        return from_items(records)

    def nearest(self, query: npt.NDArray[np.float32], count: int) -> Found:
        """Returns the `count` rows with the largest inner products with a query: these, the rows' numbers, and the rows."""
        numbers = [number for number, rows in enumerate(self.counts) if rows]
        answers = self._actors.call(numbers, "nearest", query, count)
        for answer in answers:
            if isinstance(answer, str):
                raise ValueError(answer)
            if isinstance(answer, int):
                raise ValueError(self._about(answer, "not finite or too large"))
        return join(answers, count)


def _name(source: Any) -> str:
    return source if isinstance(source, str) else "the dataset"


def _told(settings: dict[str, Any], on_main: Callable[[Callable[[], Any]], Any]) -> dict[str, Any]:
    """Returns settings whose functions are called on the waiting thread."""
    told = dict(settings)
    for name in ("stop", "progress"):
        if callable(function := settings.get(name)):
            told[name] = lambda pick, function=function: on_main(lambda: function(pick))
    return told
