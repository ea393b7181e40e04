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
except ImportError as error:
    raise ImportError(f"homing.ray needs Ray ({error}); pip install 'homing[ray]'") from None

from homing._inputs import Embeddings, Rows
from homing._settings import Options
from homing.ray._cluster import ShardLost
from homing.ray._pool import Pool

if TYPE_CHECKING:
    from typing_extensions import Unpack

_OF_POOL = ("embedding_column", "id_column", "probabilities", "pool_access", "threads")
"""Options that belong to the pool."""

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
    num_cpus: float = 1.0,
    resources: dict[str, float] | None = None,
    placement: Any = "SPREAD",
    restarts: int = 20,
    address: str | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    dataset: bool = False,
    **options: Unpack[Options],
) -> Any:
    """Chooses the `n` rows of a pool on a cluster whose labels would be most informative about some targets.

    The arguments of :class:`Pool`, also `embedding_column`, `id_column`, `probabilities`, `pool_access` and `threads`, say where
    the rows are; the others are those of :meth:`Pool.select`. Returns a :class:`homing.Selection`, and with ``dataset=True`` the
    chosen rows as a Ray ``Dataset``, too.

    The selection no longer has its pool: to explain or report it, choose from a :class:`Pool`.
    """
    given: dict[str, Any] = {**options}
    of_pool = {name: given.pop(name) for name in _OF_POOL if name in given}
    pool = Pool(
        rows,
        shards=shards,
        num_cpus=num_cpus,
        resources=resources,
        placement=placement,
        restarts=restarts,
        address=address,
        **of_pool,
    )
    with pool:
        selection = pool.select(targets, n, rule, noise_std, observed, checkpoint=checkpoint, **given)
        chosen = pool.dataset(selection).materialize() if dataset else None
    object.__setattr__(selection, "_core", None)
    object.__setattr__(selection, "_table", None)
    return selection if chosen is None else (selection, chosen)
