"""Choose the few examples of a large pool that teach a model most about your task.

>>> import numpy as np
>>> rng = np.random.default_rng(0)
>>> pool = rng.standard_normal((1000, 16), dtype=np.float32)
>>> targets = pool[:5] + 0.1
>>> picks = select(pool, targets, n=10)
>>> len(picks), len(set(picks))
(10, 10)
>>> bool(picks.information[-1] > picks.information[0])
True

:func:`select` chooses once, :class:`Selector` in a loop, :class:`Retriever` for queries at test time; :func:`diagnose` and
:mod:`homing.theory` say what a pool can teach and what is guaranteed; :mod:`homing.sklearn` and :mod:`homing.compat.activeft`
have the manners of those libraries.
"""

from __future__ import annotations

from typing import NamedTuple

from homing import theory
from homing._diagnose import Diagnosis, diagnose
from homing._homing import __version__
from homing._homing import rules as _rules
from homing._progress import Pick
from homing._retriever import Retrieved, Retriever
from homing._question import Stop
from homing._select import select
from homing._selection import Explanation, Selection, TargetStory, Why
from homing._selector import Selector


class Rule(NamedTuple):
    """One row of the table of rules."""

    name: str
    inputs: str
    """What it wants beside the pool."""
    formula: str
    summary: str
    paper: str
    """Where the paper has it."""


def rules() -> list[Rule]:
    """All rules by name.

    >>> rules()[0]
    Rule(name='itl', inputs='targets', formula='½ ln( Var(y_x|D) / Var(y_x|y_A,D) )',
         summary='most information about the targets', paper='Eq. 21')
    """
    return [Rule(*row) for row in _rules()]


__all__ = [
    "Diagnosis",
    "Explanation",
    "Pick",
    "Retrieved",
    "Retriever",
    "Rule",
    "Selection",
    "Selector",
    "Stop",
    "TargetStory",
    "Why",
    "__version__",
    "diagnose",
    "rules",
    "select",
    "theory",
]
