"""Typical code of a user, which mypy checks and nothing runs."""

import numpy as np
import numpy.typing as npt

import homing
from homing import theory
from homing.compat.activeft import ActiveDataLoader
from homing.sklearn import TargetedSelector


def use(pool: npt.NDArray[np.float32], targets: npt.NDArray[np.float32]) -> list[int]:
    picks = homing.select(pool, targets, 5, progress=lambda pick: pick.rank < 3, stop=homing.Stop(min_gain=0.1))
    rows: npt.NDArray[np.int64] = picks.indices
    left: npt.NDArray[np.float64] | None = picks.variance_left
    share: float = picks.explain().picks[0].serves[0][1]
    batch: homing.Selection = homing.Selector(pool, "vtl", quotas={"a": 2}).next_batch(targets, 3)
    found: list[homing.Retrieval] = homing.Retriever(pool).batch_search(targets, N=3, K=10)
    upper: float = theory.Model(pool, targets).capacity(3).upper
    verdict: str = homing.diagnose(pool, targets, picks).verdict
    chosen: npt.NDArray[np.int64] = TargetedSelector(3).fit(pool, targets=targets).select()
    indices, values = ActiveDataLoader.initialize(pool, targets, batch_size=3).next()
    print(rows, left, share, batch, found, upper, verdict, chosen, indices, values)
    options: homing.Options = {"seed": 3, "kernel": "gaussian:2", "threads": None}
    again = homing.select(pool, targets, 5, **options)
    homing.select(pool, targets, 5, kernal="linear")  # type: ignore[call-arg]
    homing.Selector(pool, seed="three")  # type: ignore[arg-type]
    homing.diagnose(pool, targets, greedy="exact")  # type: ignore[call-arg]
    return [*picks, *again]
