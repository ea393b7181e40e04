"""Chooses random rows that are far from each other."""

from __future__ import annotations

from homing.compat.activeft.acquisition_functions.max_dist import MaxDist


class KMeansPP(MaxDist):
    """Repeatedly chooses a random row, preferring rows that are far from all picks."""

    rule = "k-means++"
