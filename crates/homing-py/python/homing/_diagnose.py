"""Diagnoses what a pool can teach about some targets, what the picks have achieved, and what is guaranteed."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from homing import _homing, _inputs, _notebook
from homing._files import check_output, files_of
from homing._inputs import Embeddings, Rows
from homing._task import TaskData, inputs_for
from homing._settings import Inputs, check_model_inputs

if TYPE_CHECKING:
    from typing_extensions import Unpack


class Bounds(NamedTuple):
    """A lower and an upper bound of a number; they are equal if it is known exactly."""

    lower: float
    upper: float


@dataclass(frozen=True)
class Target:
    """How near the pool is to one target, and the target's variances."""

    row: int
    """The target's row number."""
    closeness: float | None
    """From 0, no row of the pool resembles it more than chance would, to 1; None if that cannot be told."""
    nearest_row: int | None
    """The row of the pool that is most similar to it."""
    nearest_cosine: float | None
    prior_var: float
    """σ²_0 = k(a, a): the variance before anything is observed."""
    irreducible_var: float
    """η²_S: the variance that is left if f is known on the whole pool."""
    labelled_var: float
    """The variance that is left if every row is labelled once."""
    posterior_var: float
    """σ²_n: the variance that is left after the picks."""


@dataclass(frozen=True)
class Closeness:
    """Whether the pool has rows like the targets."""

    mean: float
    """From 0.65 on, the pool has rows like the targets; below 0.5, it has none."""
    offer: str
    """What the pool offers: ``rows``, ``few-rows``, ``no-rows`` or ``chance``."""
    nearest_cosine: float
    """Mean cosine of the targets with their nearest rows."""
    cosine_among_rows: float
    """The same for rows of the pool."""
    cosine_by_chance: float
    """The same for unrelated rows."""


@dataclass(frozen=True)
class Prospect:
    """The share of the targets' variance that is left after n picks."""

    n: int
    left: float
    left_by_random: float
    """The share that n random rows leave."""
    left_of_rows: float | None
    """The share of the variance of rows of the pool that is left after n picks for them; None for a small pool."""


class Fact(NamedTuple):
    """A number, with what it means."""

    name: str
    value: str
    meaning: str
    kind: str
    """How the number was found: exact, bound, sample or given."""
    paper: str


@dataclass(frozen=True, eq=False, repr=False)
class Diagnosis:
    """The result of :func:`diagnose`."""

    targets: list[Target]
    closeness: Closeness | None
    """Whether the pool has rows like the targets; None if that cannot be told."""
    prospect: Prospect
    objective: float
    """Γ_n: the most information about the targets that one more observation can give (Eq. 6)."""
    next_row: int | None
    next_gain: float | None
    batch: npt.NDArray[np.int64]
    """The rows that `gamma` and `kappa` refer to: the picks, or the rows that ITL would pick."""
    information: float
    """I(f_A; y_B): the information of the batch about the targets, in nats."""
    gamma: Bounds
    """γ_n: the most information that any batch of this size can give about the whole function."""
    kappa: Bounds
    """κ_n: the submodularity ratio."""
    guarantee: float
    """1 − e^−κ: ITL's batch has at least this share of the best batch's information."""
    noise_var: float
    suggested_noise_var: float | None
    """ρ² that maximizes the marginal likelihood of `values`; None without values of at least 20 rows."""
    mean_var: float
    """Mean prior variance of the pool."""
    target_var: float
    """Mean prior variance of the targets."""
    duplicates: int
    """Number of rows that equal an earlier row."""
    near_duplicate_share: float
    verdict: str
    warnings: list[str]
    facts: list[Fact]
    checks: list[Fact]
    _files: tuple[str, ...] = ()
    # Copies and pickles drop it, because it holds the task and therefore the pool.
    _core: _homing.Diagnosis | None = field(default=None, init=False)

    @classmethod
    def _of(cls, core: _homing.Diagnosis, files: tuple[str, ...]) -> Diagnosis:
        numbers, words = core.fields(), core.words()
        numbers["targets"] = [Target(**target) for target in numbers["targets"]]
        numbers["closeness"] = numbers["closeness"] and Closeness(**numbers["closeness"])
        numbers["prospect"] = Prospect(**numbers["prospect"])
        numbers["batch"] = np.array(numbers["batch"], dtype=np.int64)
        for name in ("gamma", "kappa"):
            numbers[name] = Bounds(*numbers[name])
        for name in ("facts", "checks"):
            words[name] = [Fact(**fact) for fact in words[name]]
        diagnosis = cls(**numbers, **words, _files=files)
        object.__setattr__(diagnosis, "_core", core)
        return diagnosis

    def to_dict(self) -> dict[str, Any]:
        """Returns the verdict and the numbers, including all that ``homing diagnose --format json`` prints, under the same keys."""
        words = ("warnings", "facts", "checks")
        numbers = {name: value for name, value in self.__dict__.items() if name not in words and name[0] != "_"}
        targets = [asdict(target) for target in self.targets]
        numbers["targets"] = [{"index": target.pop("row"), **target} for target in targets]
        numbers["closeness"] = self.closeness and asdict(self.closeness)
        numbers["prospect"] = asdict(self.prospect)
        numbers["batch"] = self.batch.tolist()
        numbers["gamma"] = {"n": len(self.batch), **self.gamma._asdict()}
        numbers["kappa"] = self.kappa._asdict()
        return numbers

    def report(self, path: str | os.PathLike[str], threads: int | None = None) -> None:
        """Writes the page that ``homing diagnose --report`` writes."""
        if self._core is None:
            raise ValueError("this diagnosis was pickled or copied without its pool; diagnose again to report it")
        out = check_output(path, self._files)
        _homing.write_page(out, self._core.page(_inputs.threads(threads)))

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_core": None}

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
        warnings = "".join(f"<p>⚠ {escape(warning)}</p>" for warning in self.warnings)
        return _notebook.frame(f"<p><b>{escape(self.verdict)}</b></p>{warnings}<table>{rows}</table>")


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
    **inputs: Unpack[Inputs],
) -> Diagnosis:
    """Diagnoses what a pool can teach about some targets, what the picks have achieved, and what is guaranteed.

    Without `picks`, the guarantee refers to the `n` rows that ITL would pick. If `values` are given, a noise is estimated from them:
    one or several numbers per row, or the path of a file with these or with labels (columns index or id, and label). The other arguments are those of :func:`homing.select`, and `inputs` are the keys of
    :class:`homing.Inputs` except those that only affect the choice of rows: `quotas` and `forbidden` are refused, and
    `groups` and `costs` may only name columns of a file, which are then not read as part of its embeddings.

    >>> import numpy as np
    >>> pool = np.array([[1, 0, 0], [0.9, 0.1, 0], [0, 1, 0]], dtype=np.float32)
    >>> found = diagnose(pool, np.array([[0.8, 0.3, 0], [0, 0, 1]], dtype=np.float32), n=2)
    >>> found.verdict
    'This pool cannot teach 1 of 2 targets (1): with labels for every row, more than 50 % of its variance is left.'
    """
    check_model_inputs("diagnose", inputs)
    task_data = TaskData(pool, targets, observed, inputs_for(noise_std, inputs))
    if task_data.targets is None:
        raise ValueError("diagnose needs targets; give some")
    rows = _inputs.rows(picks, "picks", task_data.pool.rows).tolist()
    settings = {"n": n, "noise_std": noise_std, "seed": seed, "threads": threads}
    core = _homing.diagnose(task_data.task, rows, values, settings)
    return Diagnosis._of(core, (*task_data.files, *files_of(values)))
