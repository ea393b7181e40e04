"""Chooses the rows with the most information about single targets, on average."""

from __future__ import annotations

from typing import Any

import numpy as np

from homing.compat.activeft import _strict
from homing.compat.activeft._arrays import Array
from homing.compat.activeft.acquisition_functions.bace import TargetedBaCE


class MMITL(TargetedBaCE):
    """Chooses the rows with the most information about single targets, on average: mean_a I(f_a; y_x).

    No rule of the core keeps a covariance for every target, so this class keeps the columns, in O(m·(k + n)) memory.
    """

    formula = _strict.mmitl

    def _by_core(self, count: int, pool: Array, targets: Array | None, **more: Any) -> tuple[Array, Array]:
        assert targets is not None
        kernel = more.get("kernel")
        if kernel is None:
            rows, aim = pool.astype(np.float64), targets.astype(np.float64)
            cov, var, target_var = rows @ aim.T, (rows**2).sum(axis=1), (aim**2).sum(axis=1)
        else:
            cov, var, target_var = kernel[np.ix_(pool, targets)], np.diag(kernel)[pool], np.diag(kernel)[targets]
        columns: list[Array] = []
        picks: list[int] = []
        values: list[float] = []
        for _ in range(count):
            total = var + self.noise_var
            cor_sq = np.minimum(cov**2 / np.outer(total, target_var), 1 - 1e-15)
            score = (-0.5 * np.log1p(-cor_sq)).mean(axis=1)
            score[picks] = -np.inf
            pick = int(np.argmax(score))
            picks.append(pick)
            values.append(float(score[pick]))
            if self.force_nonsequential:
                continue
            prior = rows @ rows[pick] if kernel is None else kernel[pool, pool[pick]]
            given = prior - sum((column * column[pick] for column in columns), np.zeros(len(var)))
            columns.append(given / np.sqrt(total[pick]))
            target_column = cov[pick] / np.sqrt(total[pick])
            cov = cov - np.outer(columns[-1], target_column)
            var = np.maximum(var - columns[-1] ** 2, 0.0)
            target_var = np.maximum(target_var - target_column**2, 1e-300)
        return np.array(picks, dtype=np.int64), np.array(values)
