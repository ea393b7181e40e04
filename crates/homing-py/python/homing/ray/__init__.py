"""Chooses rows of a pool that lies on a Ray cluster: the same picks as on one machine.

:func:`select` starts actors, each of which holds a part of the pool near the data, asks them, and ends them. A :class:`Pool`
keeps them for several selections, and a :class:`homing.Retriever` takes it as its index. The extra ``homing[ray]`` installs Ray.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

try:
    import ray as _ray
    import ray.data as _ray_data
except ImportError as error:
    raise ImportError(f"homing.ray needs Ray ({error}); pip install 'homing[ray]'") from None

from homing._inputs import Embeddings, Rows
from homing._selection import Selection
from homing._settings import Options
from homing.ray._cluster import ShardLost
from homing.ray._pool import Pool

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["Pool", "ShardLost", "select"]


def select(
    rows: Any,
    targets: Embeddings | None,
    n: int,
    rule: str = "itl",
    noise_std: float | None = None,
    observed: Rows | Embeddings | None = None,
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
    checkpoint: str | os.PathLike[str] | None = None,
    dataset: bool = False,
    **options: Unpack[Options],
) -> Any:
    """Chooses the `n` rows of a pool on a cluster whose labels would be most informative about some targets.

    The arguments from `shards` to `address` are those of :class:`Pool`, the others those of :meth:`Pool.select`. Returns a
    :class:`homing.Selection`, and with ``dataset=True`` the chosen rows as a Ray ``Dataset``, too.

    The selection no longer has its pool: to explain or report it, choose from a :class:`Pool`.
    """
    pool = Pool(
        rows,
        shards=shards,
        embedding_column=embedding_column,
        id_column=id_column,
        probabilities=probabilities,
        pool_access=pool_access,
        num_cpus=num_cpus,
        resources=resources,
        placement=placement,
        threads=threads,
        restarts=restarts,
        address=address,
    )
    with pool:
        selection: Selection = pool.select(
            targets, n, rule, noise_std, observed, checkpoint=checkpoint, **options
        )
        chosen = pool.dataset(selection).materialize() if dataset else None
    object.__setattr__(selection, "_core", None)
    object.__setattr__(selection, "_table", None)
    return selection if chosen is None else (selection, chosen)
