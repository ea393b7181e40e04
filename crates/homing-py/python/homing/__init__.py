"""Chooses the few examples of a large pool that teach a model the most about your task.

>>> import numpy as np
>>> rng = np.random.default_rng(0)
>>> pool = rng.standard_normal((1000, 16), dtype=np.float32)
>>> targets = pool[:5] + 0.1
>>> picks = select(pool, targets, n=10)
>>> len(picks), len(set(picks))
(10, 10)
>>> bool(picks.information[-1] > picks.information[0])
True

:func:`select` chooses rows once, :class:`Selector` chooses batches in a loop, and :class:`Retriever` answers queries at test
time. :func:`diagnose` and :mod:`homing.theory` compute what a pool can teach and what is guaranteed. :mod:`homing.sklearn` is a
scikit-learn-style interface, and :mod:`homing.compat.activeft` is compatible with activeft. :class:`Inputs` and
:class:`Settings` list all options.
"""

from __future__ import annotations

from typing import NamedTuple

from homing import theory
from homing._diagnose import Diagnosis, diagnose
from homing._encoder import Encoder
from homing._homing import __version__
from homing._homing import rules as _rules
from homing._label_run import LabelRun
from homing._progress import Pick
from homing._retriever import Retrieval, Retriever
from homing._select import select
from homing._selection import Explanation, PickReasons, Selection, TargetStory
from homing._selector import Selector
from homing._settings import Columns, Inputs, Options, Settings, Stop


class Rule(NamedTuple):
    """A rule, as :func:`rules` lists it."""

    name: str
    inputs: str
    """The data that the rule needs in addition to the pool."""
    formula: str
    summary: str
    paper: str
    """Reference to the place in the paper that defines it."""


def rules() -> list[Rule]:
    """Returns all rules.

    >>> rules()[0]
    Rule(name='itl', inputs='targets', formula='½ ln( Var(y_x|D) / Var(y_x|y_A,D) )',
         summary='the row that is most informative about the targets', paper='Eq. 21')
    """
    return [Rule(**row) for row in _rules()]


__all__ = [
    "Columns",
    "Diagnosis",
    "Encoder",
    "Explanation",
    "Inputs",
    "LabelRun",
    "Options",
    "Pick",
    "PickReasons",
    "Retrieval",
    "Retriever",
    "Rule",
    "Selection",
    "Selector",
    "Settings",
    "Stop",
    "TargetStory",
    "__version__",
    "diagnose",
    "rules",
    "select",
    "theory",
]
