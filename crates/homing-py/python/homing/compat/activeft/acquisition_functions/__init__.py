"""activeft's acquisition functions, computed by Homing's core. As in activeft, each has its own module."""

from __future__ import annotations

from homing.compat.activeft.acquisition_functions._base import (
    AcquisitionFunction,
    BatchAcquisitionFunction,
    EmbeddingBased,
    SequentialAcquisitionFunction,
    Targeted,
)
from homing.compat.activeft.acquisition_functions.bace import BaCE, TargetedBaCE
from homing.compat.activeft.acquisition_functions.cosine_similarity import CosineSimilarity
from homing.compat.activeft.acquisition_functions.ctl import CTL
from homing.compat.activeft.acquisition_functions.eig import EIG
from homing.compat.activeft.acquisition_functions.information_density import InformationDensity
from homing.compat.activeft.acquisition_functions.itl import ITL
from homing.compat.activeft.acquisition_functions.kmeans_pp import KMeansPP
from homing.compat.activeft.acquisition_functions.lazy_vtl import LazyVTL
from homing.compat.activeft.acquisition_functions.least_confidence import LeastConfidence
from homing.compat.activeft.acquisition_functions.max_dist import MaxDist
from homing.compat.activeft.acquisition_functions.max_entropy import MaxEntropy
from homing.compat.activeft.acquisition_functions.min_margin import MinMargin
from homing.compat.activeft.acquisition_functions.mm_itl import MMITL
from homing.compat.activeft.acquisition_functions.random import Random
from homing.compat.activeft.acquisition_functions.uncertainty_sampling import UncertaintySampling
from homing.compat.activeft.acquisition_functions.undirected_itl import UndirectedITL
from homing.compat.activeft.acquisition_functions.undirected_vtl import UndirectedVTL
from homing.compat.activeft.acquisition_functions.vtl import VTL

__all__ = [
    "AcquisitionFunction",
    "BaCE",
    "BatchAcquisitionFunction",
    "CTL",
    "CosineSimilarity",
    "EIG",
    "EmbeddingBased",
    "ITL",
    "InformationDensity",
    "KMeansPP",
    "LazyVTL",
    "LeastConfidence",
    "MMITL",
    "MaxDist",
    "MaxEntropy",
    "MinMargin",
    "Random",
    "SequentialAcquisitionFunction",
    "Targeted",
    "TargetedBaCE",
    "UncertaintySampling",
    "UndirectedITL",
    "UndirectedVTL",
    "VTL",
]
