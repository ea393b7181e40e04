"""Random rows far from one another."""

from __future__ import annotations

from homing.compat.activeft.acquisition_functions.max_dist import MaxDist


class KMeansPP(MaxDist):
    """A random row far from all picks, again and again."""

    rule = "k-means++"
