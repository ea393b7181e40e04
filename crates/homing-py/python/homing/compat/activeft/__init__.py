"""Homing with the names, arguments and return values of activeft 0.1.1.

``import homing.compat.activeft as activeft`` runs code that was written for activeft. By default, the picks are Homing's: they
are computed in float64, without repetition, over the whole data set instead of a tournament of mini-batches, and with ρ² in
ITL's ratio. ``strict=True`` computes activeft's own formulas for comparison; rows may then repeat. torch is needed only for
tensors and models.

>>> import numpy as np
>>> rng = np.random.default_rng(0)
>>> dataset, target = rng.standard_normal((100, 8)), rng.standard_normal((3, 8))
>>> loader = ActiveDataLoader.initialize(dataset, target, batch_size=5)
>>> indices, values = loader.next()
>>> len(indices), dataset[loader.next()].shape
(5, (5, 8))
"""

from __future__ import annotations

from homing.compat.activeft import acquisition_functions, data, embeddings, model, sift
from homing.compat.activeft.active_data_loader import ActiveDataLoader

__all__ = ["ActiveDataLoader", "acquisition_functions", "data", "embeddings", "model", "sift"]

__version__ = "0.1.1"
