"""What a pool can teach about some targets, how far picks have come, and what is guaranteed."""

from __future__ import annotations

import copy
import os
from dataclasses import dataclass
from html import escape
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from homing import _homing, _inputs, _notebook
from homing._files import check_output, files_of
from homing._inputs import Embeddings, Rows
from homing._question import Question


class Bounds(NamedTuple):
    """Where a number lies; both ends are equal where it is known exactly."""

    lower: float
    upper: float


@dataclass(frozen=True)
class Target:
    """One target's variances."""

    index: int
    prior_var: float
    """σ²_0 = k(a, a)."""
    irreducible_var: float
    """η²_S: with f known on the whole pool."""
    labelled_var: float
    """With every row labelled once."""
    posterior_var: float
    """σ²_n: with the picks."""


class Fact(NamedTuple):
    """One number in words."""

    name: str
    value: str
    meaning: str
    kind: str
    """exact, bound, sample, given."""
    paper: str


@dataclass(frozen=True, eq=False, repr=False)
class Diagnosis:
    """What :func:`diagnose` answers."""

    targets: list[Target]
    objective: float
    """Γ_n: the most that one more observation tells about the targets (Eq. 6)."""
    next_row: int | None
    next_gain: float | None
    batch: npt.NDArray[np.int64]
    """The rows that `gamma` and `kappa` are about: the picks, or what ITL would pick."""
    information: float
    """I(f_A; y_B) of the batch, in nats."""
    gamma: Bounds
    """γ_n: the most that so many rows tell about anything."""
    kappa: Bounds
    """κ_n: the submodularity ratio."""
    guarantee: float
    """1 − e^−κ: the share of the best batch's information that ITL's has at least."""
    noise_var: float
    suggested_noise_var: float | None
    """ρ² by the marginal likelihood of `values`."""
    mean_var: float
    """Mean prior variance of the pool."""
    target_var: float
    """Mean prior variance of the targets."""
    duplicates: int
    """Rows that equal an earlier one."""
    near_duplicate_share: float
    verdict: str
    warnings: list[str]
    facts: list[Fact]
    checks: list[Fact]
    _numbers: dict[str, Any]
    _made: _homing.Diagnosis | None
    _files: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The numbers, with the keys of ``homing diagnose --format json`` among them."""
        numbers = copy.deepcopy(self._numbers)
        n, lower, upper = numbers["gamma"]
        numbers["gamma"] = {"n": n, "lower": lower, "upper": upper}
        numbers["kappa"] = dict(zip(("lower", "upper"), numbers["kappa"]))
        return numbers

    def report(self, path: str | os.PathLike[str], threads: int | None = None) -> None:
        """Writes the page that ``homing diagnose --report`` writes."""
        if self._made is None:
            raise ValueError("this diagnosis was pickled or copied without its pool; diagnose again to report it")
        out = check_output(path, self._files)
        _homing.write_page(out, self._made.page(_inputs.threads(threads)))

    def __getstate__(self) -> dict[str, Any]:
        # The pool is not the diagnosis's to carry; what was computed from it is.
        return {**self.__dict__, "_made": None}

    def __repr__(self) -> str:
        return f"<{self.verdict} {self.information:.3g} nats from {len(self.batch)} rows, Γ = {self.objective:.3g}>"

    def __str__(self) -> str:
        lines = [self.verdict, *(f"{fact.name}: {fact.value} ({fact.meaning})" for fact in self.facts), *self.warnings]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{escape(fact.name)}</td><td>{escape(fact.value)}</td>"
            f'<td style="text-align:left">{escape(fact.meaning)}</td></tr>'
            for fact in [*self.facts, *self.checks]
        )
        warned = "".join(f"<p>⚠ {escape(warning)}</p>" for warning in self.warnings)
        return _notebook.framed(f"<p><b>{escape(self.verdict)}</b></p>{warned}<table>{rows}</table>")


def diagnose(
    pool: Embeddings,
    targets: Embeddings,
    picks: Rows | None = None,
    n: int = 10,
    noise_std: float | None = None,
    observed: Rows | Embeddings | None = None,
    values: Any = None,
    seed: int = 0,
    threads: int | None = None,
    **inputs: Any,
) -> Diagnosis:
    """Says what a pool can teach about some targets, how far picks have come, and what is guaranteed of them.

    Without `picks`, the guarantee is about the `n` rows that ITL would pick. From `values`, one or several numbers a row, a noise
    is suggested. Further arguments are those of :func:`homing.select`: `kernel`, `center`, `embedding` and so on.

    >>> import numpy as np
    >>> pool = np.array([[1, 0, 0], [0.9, 0.1, 0], [0, 1, 0]], dtype=np.float32)
    >>> found = diagnose(pool, np.array([[0.8, 0.3, 0], [0, 0, 1]], dtype=np.float32), n=2)
    >>> found.verdict
    'This pool cannot teach 1 of 2 targets (1): labels for every row leave it more than 50 % of its variance.'
    """
    question = Question(pool, targets, observed=observed, **inputs)
    if question.targets is None:
        raise ValueError("diagnose is about targets; give some")
    rows = question.pool.rows
    told = None
    if values is not None:
        told = _inputs.float64(values, "values")
        if told.ndim not in (1, 2) or len(told) != rows:
            raise ValueError(f"the values have shape {told.shape}; one or several numbers a row, ({rows}, …), are wanted")
        told = told.reshape(rows, -1)
    made = _homing.diagnose(
        question.task,
        _inputs.rows(picks, "picks", rows).tolist(),
        n=_inputs.whole(n, "n", 1),
        noise_std=_inputs.real_or_none(noise_std, "noise_std"),
        values=told,
        seed=_inputs.whole(seed, "seed", 0),
        threads=_inputs.threads(threads),
    )
    numbers = made.numbers()
    raw = dict(numbers)
    numbers["targets"] = [Target(**target) for target in numbers["targets"]]
    numbers["batch"] = np.array(numbers["batch"], dtype=np.int64)
    numbers["gamma"] = Bounds(*numbers["gamma"][1:])
    numbers["kappa"] = Bounds(*numbers["kappa"])
    return Diagnosis(
        **numbers,
        verdict=made.verdict(),
        warnings=made.warnings(),
        facts=[Fact(*fact) for fact in made.facts()],
        checks=[Fact(*fact) for fact in made.checks()],
        _numbers=raw,
        _made=made,
        _files=(*question.files, *files_of(values)),
    )
