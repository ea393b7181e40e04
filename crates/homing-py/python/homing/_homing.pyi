import os
from collections.abc import Callable
from typing import Any, Protocol, final

import numpy as np
import numpy.typing as npt

__all__ = [
    "__version__",
    "Data",
    "Task",
    "rules",
    "select",
    "explain",
    "report",
    "diagnose",
    "check_output",
    "write_page",
    "Model",
    "Diagnosis",
    "guarantee",
    "objective_bound",
    "confidence_width",
    "calibrated_width",
    "linear_growth",
    "gaussian_growth",
    "laplace_growth",
    "matern_growth",
    "sampled",
]

__version__: str

class _Made(Protocol):
    @property
    def indices(self) -> npt.NDArray[np.int64]: ...
    @property
    def scores(self) -> npt.NDArray[np.float64]: ...
    @property
    def information(self) -> npt.NDArray[np.float64]: ...
    @property
    def variance_left(self) -> npt.NDArray[np.float64] | None: ...
    @property
    def noise_var(self) -> float: ...
    @property
    def passes(self) -> int: ...

def rules() -> list[tuple[str, str, str, str, str]]: ...

@final
class Data:
    @property
    def rows(self) -> int: ...
    @property
    def dim(self) -> int: ...
    @property
    def columns(self) -> list[str] | None: ...
    @property
    def dtype(self) -> str: ...
    @property
    def place(self) -> str: ...
    @property
    def ids(self) -> list[str] | None: ...
    @property
    def labels(self) -> list[str] | None: ...
    @property
    def groups(self) -> list[str] | None: ...
    @property
    def costs(self) -> list[float] | None: ...
    @staticmethod
    def array(array: npt.NDArray[Any], columns: list[str] | None = None) -> Data: ...
    @staticmethod
    def arrow(table: Any, column: str | None = None, rows: npt.NDArray[np.uint64] | None = None) -> Data: ...
    @staticmethod
    def open(
        path: str | os.PathLike[str],
        *,
        embedding: str | None = None,
        id: str | None = None,
        group: str | None = None,
        cost: str | None = None,
        label: str | None = None,
        probabilities: str | None = None,
        access: str = "auto",
        side_by_side: list[str] = ...,
    ) -> Data: ...
    def named(self, path: str | os.PathLike[str]) -> tuple[list[int] | None, Data | None]: ...
    def to_numpy(self) -> npt.NDArray[np.float32]: ...

@final
class Task:
    def __new__(
        cls,
        pool: Data,
        targets: Data | None = None,
        *,
        observed_points: Data | None = None,
        probabilities: Data | None = None,
        target_probabilities: Data | None = None,
        gram: Data | None = None,
        kernel: str = "linear",
        center: bool = False,
        observed_rows: npt.NDArray[np.int64] | None = None,
        forbidden: npt.NDArray[np.int64] | None = None,
        noise_vars: npt.NDArray[np.float64] | None = None,
        costs: npt.NDArray[np.float64] | None = None,
        groups: npt.NDArray[np.int64] | None = None,
    ) -> Task: ...

def select(
    task: Task,
    n: int,
    *,
    rule: str = "itl",
    beta: float | None = None,
    noise_std: float | None = None,
    target_sample: tuple[str, float] | None = None,
    target_weights: npt.NDArray[np.float64] | None = None,
    round_size: int | None = None,
    seed: int = 0,
    made: int = 0,
    min_gain: float | None = None,
    reduced_share: float | None = None,
    quotas: list[int] | None = None,
    budget: float | None = None,
    repeat: bool = False,
    greedy: str = "exact",
    engine: str = "auto",
    threads: int | None = None,
    progress: Callable[[int, int, int, float, float, float | None], bool | None] | None = None,
) -> tuple[
    npt.NDArray[np.int64],
    npt.NDArray[np.float64],
    npt.NDArray[np.float64],
    npt.NDArray[np.float64] | None,
    float,
    str,
    int,
    float,
    str | None,
]: ...
def explain(
    task: Task, made: _Made, threads: int | None = None
) -> tuple[
    list[tuple[float, list[tuple[int, float]], list[tuple[int, float]], int, tuple[int, float] | None]],
    list[tuple[float, float, int]],
]: ...
def report(
    task: Task,
    made: _Made,
    *,
    rule: str,
    seed: int = 0,
    title: str | None = None,
    pool_name: str = "",
    targets_name: str | None = None,
    noise_is_default: bool = False,
    seconds: float = 0.0,
    ids: list[str] | None = None,
    labels: list[str] | None = None,
    threads: int | None = None,
) -> str: ...
def diagnose(
    task: Task,
    picks: list[int],
    *,
    n: int = 10,
    noise_std: float | None = None,
    values: npt.NDArray[np.float64] | None = None,
    seed: int = 0,
    threads: int | None = None,
) -> Diagnosis: ...

def check_output(path: str | os.PathLike[str], read: list[str]) -> None: ...
def write_page(path: str | os.PathLike[str], page: str) -> None: ...

@final
class Diagnosis:
    def numbers(self) -> dict[str, Any]: ...
    def verdict(self) -> str: ...
    def warnings(self) -> list[str]: ...
    def facts(self) -> list[tuple[str, str, str, str, str]]: ...
    def checks(self) -> list[tuple[str, str, str, str, str]]: ...
    def page(self, threads: int | None = None) -> str: ...

@final
class Model:
    def __new__(
        cls, task: Task, noise_std: float | None = None, observed: list[int] = ..., threads: int | None = None
    ) -> Model: ...
    @property
    def observed(self) -> list[int]: ...
    def given(self, rows: list[int]) -> Model: ...
    def noise_var(self) -> float: ...
    def prior_vars(self) -> list[float]: ...
    def target_vars(self) -> list[float]: ...
    def irreducible_vars(self) -> list[float]: ...
    def labelled_vars(self) -> list[float]: ...
    def gains(self) -> list[float]: ...
    def information(self) -> float: ...
    def objective(self) -> float: ...
    def next_pick(self) -> tuple[int, float] | None: ...
    def capacity(self, n: int) -> tuple[float, float]: ...
    def submodularity_ratio(self, batch: list[int], seed: int = 0) -> tuple[float, float]: ...
    def boundary(self, target: int, goal: float, most: int) -> tuple[list[int], list[float]]: ...
    def constants(self) -> tuple[float, float, float | None]: ...
    def reducible_bound(self, n: int) -> float | None: ...

def guarantee(ratio: float) -> float: ...
def objective_bound(capacity: float, n: int) -> float: ...
def confidence_width(norm: float, noise_std: float, capacity: float, delta: float) -> float: ...
def calibrated_width(norm: float, capacity: float, delta: float) -> float: ...
def linear_growth(n: float, dim: int) -> float: ...
def gaussian_growth(n: float, dim: int) -> float: ...
def laplace_growth(n: float, dim: int) -> float: ...
def matern_growth(n: float, dim: int, smoothness: float) -> float: ...
def sampled(weight: float, size: int, rounds: int) -> tuple[float, float, float]: ...
