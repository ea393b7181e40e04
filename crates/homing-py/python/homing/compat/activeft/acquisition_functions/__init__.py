"""activeft's acquisition functions, chosen by Homing's core."""

from __future__ import annotations

import math
import sys
from abc import ABC, abstractmethod
from types import ModuleType
from typing import Any, ClassVar

import numpy as np

import homing
from homing.compat.activeft import _arrays, _strict
from homing.compat.activeft._arrays import Array

DEFAULT_NOISE_VAR = 0.01
"""ρ² where `noise_std` is None."""


class AcquisitionFunction(ABC):
    """How the next batch is chosen.

    `mini_batch_size` matters only with `subsample`, which chooses from so many random rows; `num_workers` does nothing here.
    """

    def __init__(
        self,
        mini_batch_size: int = 1_000,
        num_workers: int = 0,
        subsample: bool = False,
        *,
        strict: bool = False,
        seed: int | None = None,
    ) -> None:
        self.mini_batch_size, self.num_workers, self.subsample = mini_batch_size, num_workers, subsample
        self.strict, self.seed = strict, seed

    def select(self, batch_size: int, model: Any, dataset: Any, device: Any = None) -> Any:
        """The indices of the next batch and its values; the pair also indexes as the indices do."""
        data = _arrays.rows_of(dataset)
        rows = np.arange(len(data))
        if self.subsample and len(data) > self.mini_batch_size:
            rows = np.sort(self._random().choice(len(data), self.mini_batch_size, replace=False))
        some = data if len(rows) == len(data) else data[rows]
        indices, values = self._choose(batch_size, model, some, device)
        return _arrays.pair(rows[indices], values, data)

    @abstractmethod
    def _choose(self, count: int, model: Any, data: Any, device: Any) -> tuple[Array, Array]:
        """Row numbers of data, and their values."""

    def _random(self) -> np.random.Generator:
        """Seeded as asked for, or by NumPy's global generator."""
        return np.random.default_rng(np.random.randint(2**31) if self.seed is None else self.seed)


class BatchAcquisitionFunction(AcquisitionFunction):
    """The best rows of one scoring; `compute` scores them."""

    @abstractmethod
    def compute(self, model: Any, data: Any, device: Any = None) -> Any:
        """One value a row."""

    def _choose(self, count: int, model: Any, data: Any, device: Any) -> tuple[Array, Array]:
        values = _arrays.to_numpy(self.compute(model, data, device)).reshape(-1)
        best = np.argsort(-values, kind="stable")[:count]
        return best, values[best]


class SequentialAcquisitionFunction(AcquisitionFunction):
    """One row after another: `initialize` makes a state, `compute` scores the rows in it, `step` takes a pick in."""

    def __init__(
        self,
        mini_batch_size: int = 1_000,
        num_workers: int = 0,
        subsample: bool = False,
        force_nonsequential: bool = False,
        *,
        strict: bool = False,
        seed: int | None = None,
    ) -> None:
        super().__init__(mini_batch_size, num_workers, subsample, strict=strict, seed=seed)
        self.force_nonsequential = force_nonsequential

    def initialize(self, model: Any, data: Any, device: Any) -> Any:
        raise NotImplementedError

    def compute(self, state: Any) -> Any:
        raise NotImplementedError

    def step(self, state: Any, i: int) -> Any:
        raise NotImplementedError

    @staticmethod
    def selector(values: Any) -> int:
        """The largest; a NaN is none."""
        return int(np.nanargmax(_arrays.to_numpy(values)))

    def _choose(self, count: int, model: Any, data: Any, device: Any) -> tuple[Array, Array]:
        state = self.initialize(model, data, device)
        if self.force_nonsequential:
            values = _arrays.to_numpy(self.compute(state)).reshape(-1)
            best = np.argsort(-values, kind="stable")[:count]
            return best, values[best]
        picks: list[int] = []
        scores: list[float] = []
        for _ in range(count):
            values = _arrays.to_numpy(self.compute(state)).reshape(-1)
            if not self.strict:
                values[picks] = -np.inf
            pick = self.selector(values)
            picks.append(pick)
            scores.append(values[pick])
            state = self.step(state, pick)
        return np.array(picks, dtype=np.int64), np.array(scores)


class EmbeddingBased(ABC):
    """What needs embeddings: those of the model, or the data itself."""

    def __init__(self, embedding_batch_size: int = 100) -> None:
        self.embedding_batch_size = embedding_batch_size

    @staticmethod
    def compute_embedding(model: Any, data: Any, batch_size: int = 100) -> Any:
        """The embeddings of data by ``model.embed``; the data itself without a model."""
        return data if model is None else _arrays.in_batches(model.embed, model, data, batch_size)


class Targeted(ABC):
    """What knows the task by targets."""

    def __init__(self, target: Any, subsampled_target_frac: float = 1, max_target_size: int | None = None) -> None:
        if not 0 < subsampled_target_frac <= 1:
            raise AssertionError("Fraction of target must be in (0, 1]")
        if max_target_size is not None and max_target_size <= 0:
            raise AssertionError("Max target size must be positive")
        self._target = target
        self.subsampled_target_frac, self.max_target_size = subsampled_target_frac, max_target_size

    def set_target(self, new_target: Any) -> None:
        """Replaces the targets."""
        self._target = new_target

    def add_to_target(self, new_target: Any) -> None:
        """Adds targets."""
        if _arrays.is_tensor(self._target):
            import torch

            self._target = torch.cat([self._target, new_target])
        else:
            self._target = np.concatenate([self._target, new_target])

    def get_target(self) -> Any:
        """The targets of this round: all, or a random part of them."""
        count = len(self._target)
        most = count if self.max_target_size is None else self.max_target_size
        size = min(math.ceil(self.subsampled_target_frac * count), most)
        if size == count:
            return self._target
        random = getattr(self, "_random", np.random.default_rng)()
        return self._target[random.permutation(count)[:size]]


class _Core(SequentialAcquisitionFunction, EmbeddingBased):
    """A rule of the core, or a formula of activeft where that is asked for."""

    rule: ClassVar[str]
    formula: ClassVar[_strict.Formula | None] = None

    def __init__(
        self,
        noise_std: float | None = None,
        mini_batch_size: int = 1_000,
        embedding_batch_size: int = 100,
        num_workers: int = 0,
        subsample: bool = False,
        force_nonsequential: bool = False,
        *,
        strict: bool = False,
        seed: int | None = None,
    ) -> None:
        SequentialAcquisitionFunction.__init__(
            self, mini_batch_size, num_workers, subsample, force_nonsequential, strict=strict, seed=seed
        )
        EmbeddingBased.__init__(self, embedding_batch_size)
        self.noise_std = noise_std

    @property
    def noise_var(self) -> float:
        """ρ²."""
        return DEFAULT_NOISE_VAR if self.noise_std is None else float(self.noise_std) ** 2

    def _targets(self) -> Any:
        """The targets of a batch; none for an undirected rule."""
        return None

    def _choose(self, count: int, model: Any, data: Any, device: Any) -> tuple[Array, Array]:
        return self._among(count, model, data, self._targets())

    def _among(self, count: int, model: Any, data: Any, target: Any) -> tuple[Array, Array]:
        """Picks for given targets; nothing of this object changes, so that threads may share it."""
        rows = len(data)
        if _has_kernel(model):
            points = data if target is None else _joined(data, target)
            covariance = _arrays.to_numpy(model.kernel(points, points)).astype(np.float64)
            covariance = 0.5 * (covariance + covariance.T)
            if self.strict:
                return self._strictly(count, covariance, rows)
            others = np.arange(rows, len(covariance))
            return self._by_core(count, np.arange(rows), others if target is not None else None, kernel=covariance)
        embeddings = self._embedded(model, data)
        targets = None if target is None else self._embedded(model, target)
        if self.strict:
            joint = embeddings if targets is None else np.concatenate([embeddings, targets])
            joint = joint.astype(np.float64)
            return self._strictly(count, joint @ joint.T, rows)
        return self._by_core(count, embeddings, targets)

    def _embedded(self, model: Any, data: Any) -> Array:
        size = self.embedding_batch_size
        embeddings = _arrays.matrix(_arrays.to_numpy(self.compute_embedding(model, data, size)))
        if hasattr(model, "latent_covariance"):
            sigma = _arrays.to_numpy(model.latent_covariance()).astype(np.float64)
            values, vectors = np.linalg.eigh(0.5 * (sigma + sigma.T))
            embeddings = embeddings @ (vectors * np.sqrt(np.maximum(values, 0.0)))
        return np.ascontiguousarray(embeddings)

    def _strictly(self, count: int, covariance: Array, rows: int) -> tuple[Array, Array]:
        formula = type(self).formula
        if formula is None:
            raise ValueError(f"{type(self).__name__} has no strict formula; leave strict out")
        return _strict.choose(formula, covariance, rows, count, self.noise_var, not self.force_nonsequential)

    def _by_core(self, count: int, pool: Array, targets: Array | None, **kernel: Any) -> tuple[Array, Array]:
        rule = type(self).rule
        if self.force_nonsequential and not rule.endswith("-top-b"):
            rule += "-top-b"
        seed = int(self._random().integers(2**31)) if rule == "k-means++" else 0
        made = homing.select(
            pool, targets, count, rule, noise_std=math.sqrt(self.noise_var), seed=seed, progress=False, **kernel
        )
        return made.indices, self._values(made, pool, targets, kernel.get("kernel"))

    def _values(self, made: homing.Selection, pool: Array, targets: Array | None, kernel: Array | None) -> Array:
        """The values as activeft reports them."""
        return made.scores


def _has_kernel(model: Any) -> bool:
    return model is not None and hasattr(model, "kernel") and not hasattr(model, "embed")


def _joined(data: Any, target: Any) -> Any:
    if _arrays.is_tensor(data):
        import torch

        return torch.cat([data, target])
    return np.concatenate([data, target])


def _left(made: homing.Selection, targets: Array | None, kernel: Array | None, scored_once: bool) -> Array:
    """Minus the variance of all targets after each pick; after that pick alone where all were scored once."""
    assert targets is not None and made.variance_left is not None
    prior = (targets.astype(np.float64) ** 2).sum() if kernel is None else np.diag(kernel)[targets].sum()
    return np.asarray(made.scores - prior if scored_once else -prior * made.variance_left)


class BaCE(_Core):
    """Batches by conditional embeddings, without targets."""


class TargetedBaCE(Targeted, _Core):
    """Batches by conditional embeddings, for targets."""

    def __init__(
        self,
        target: Any,
        noise_std: float | None = None,
        subsampled_target_frac: float = 1,
        max_target_size: int | None = None,
        mini_batch_size: int = 1_000,
        embedding_batch_size: int = 100,
        num_workers: int = 0,
        subsample: bool = False,
        force_nonsequential: bool = False,
        *,
        strict: bool = False,
        seed: int | None = None,
    ) -> None:
        Targeted.__init__(self, target, subsampled_target_frac, max_target_size)
        _Core.__init__(
            self,
            noise_std,
            mini_batch_size,
            embedding_batch_size,
            num_workers,
            subsample,
            force_nonsequential,
            strict=strict,
            seed=seed,
        )

    def _targets(self) -> Any:
        if not len(self._target):
            raise ValueError("there is no target; give one, or call with_target first")
        return self.get_target()


class ITL(TargetedBaCE):
    """Most information about the targets."""

    rule = "itl"
    formula = _strict.itl


class VTL(TargetedBaCE):
    """Least variance of the targets afterwards; the value is minus their total variance."""

    rule = "vtl"
    formula = _strict.vtl

    def _values(self, made: homing.Selection, pool: Array, targets: Array | None, kernel: Array | None) -> Array:
        return _left(made, targets, kernel, self.force_nonsequential)


class LazyVTL(TargetedBaCE):
    """VTL; the value is the variance that a pick takes."""

    rule = "vtl"
    formula = _strict.lazy_vtl


class CTL(TargetedBaCE):
    """Most correlated with the targets; the value is the mean correlation."""

    rule = "ctl"
    formula = _strict.ctl

    def _values(self, made: homing.Selection, pool: Array, targets: Array | None, kernel: Array | None) -> Array:
        assert targets is not None
        return made.scores / len(targets)


class MMITL(TargetedBaCE):
    """Most information about each target by itself, on average: mean_a I(f_a; y_x)."""

    rule = "itl"
    formula = _strict.mmitl

    def _by_core(self, count: int, pool: Array, targets: Array | None, **kernel: Any) -> tuple[Array, Array]:
        """No rule of the core keeps a covariance for every target, so the columns are kept here."""
        assert targets is not None
        matrix = kernel.get("kernel")
        cov = pool.astype(np.float64) @ targets.T.astype(np.float64) if matrix is None else matrix[np.ix_(pool, targets)]
        points = targets.astype(np.float64)
        target_var = (points**2).sum(axis=1) if matrix is None else np.diag(matrix)[targets].copy()
        var = (pool.astype(np.float64) ** 2).sum(axis=1) if matrix is None else np.diag(matrix)[pool].copy()
        columns: list[Array] = []
        target_columns: list[Array] = []
        picks: list[int] = []
        values: list[float] = []
        for _ in range(min(count, len(var))):
            total = var + self.noise_var
            score = (-0.5 * np.log1p(-np.minimum(cov**2 / np.outer(total, target_var), 1 - 1e-15))).mean(axis=1)
            score[picks] = -np.inf
            pick = int(np.argmax(score))
            picks.append(pick)
            values.append(float(score[pick]))
            if self.force_nonsequential:
                continue
            column = pool.astype(np.float64) @ pool[pick].astype(np.float64) if matrix is None else matrix[pool, pool[pick]]
            column = column - sum((c * c[pick] for c in columns), np.zeros(len(var)))
            scale = math.sqrt(total[pick])
            target_column = cov[pick] / scale
            columns.append(column / scale)
            target_columns.append(target_column)
            cov = cov - np.outer(columns[-1], target_column)
            var = np.maximum(var - columns[-1] ** 2, 0.0)
            target_var = np.maximum(target_var - target_column**2, 1e-300)
        return np.array(picks, dtype=np.int64), np.array(values)


class UndirectedITL(BaCE):
    """Most information about everything; the value is the variance."""

    rule = "uncertainty"
    formula = _strict.variance


class UndirectedVTL(BaCE):
    """Least variance of the whole data set afterwards."""

    rule = "vtl"
    formula = _strict.vtl

    def _by_core(self, count: int, pool: Array, targets: Array | None, **kernel: Any) -> tuple[Array, Array]:
        # As many targets as rows: one pass a pick would look at all pairs in each.
        return super()._by_core(count, pool, pool, engine="speculative", **kernel)

    def _values(self, made: homing.Selection, pool: Array, targets: Array | None, kernel: Array | None) -> Array:
        return _left(made, targets, kernel, self.force_nonsequential)


class UncertaintySampling(BaCE):
    """The most uncertain rows of one scoring."""

    rule = "uncertainty-top-b"
    formula = _strict.variance

    def __init__(
        self,
        noise_std: float | None = None,
        mini_batch_size: int = 1_000,
        num_workers: int = 0,
        subsample: bool = False,
        *,
        strict: bool = False,
        seed: int | None = None,
    ) -> None:
        super().__init__(noise_std, mini_batch_size, 100, num_workers, subsample, True, strict=strict, seed=seed)


class _Distances(_Core):
    """Rules of distances between rows, which have no noise."""

    def __init__(
        self,
        mini_batch_size: int = 1_000,
        embedding_batch_size: int = 100,
        num_workers: int = 0,
        subsample: bool = False,
        force_nonsequential: bool = False,
        *,
        seed: int | None = None,
    ) -> None:
        super().__init__(None, mini_batch_size, embedding_batch_size, num_workers, subsample, False, seed=seed)


class MaxDist(_Distances):
    """The row farthest from all picks, again and again."""

    rule = "max-dist"


class KMeansPP(_Distances):
    """A random row far from all picks, again and again."""

    rule = "k-means++"


class CosineSimilarity(TargetedBaCE):
    """The rows most similar to the targets."""

    rule = "cosine"

    def __init__(
        self,
        target: Any,
        subsampled_target_frac: float = 1,
        max_target_size: int | None = None,
        mini_batch_size: int = 1_000,
        embedding_batch_size: int = 100,
        num_workers: int = 0,
        subsample: bool = False,
        *,
        strict: bool = False,
        seed: int | None = None,
    ) -> None:
        super().__init__(
            target,
            None,
            subsampled_target_frac,
            max_target_size,
            mini_batch_size,
            embedding_batch_size,
            num_workers,
            subsample,
            seed=seed,
        )


def _probabilities(model: Any, data: Any) -> Array:
    """softmax(model(x)) of every row, as float64."""
    logits = _arrays.to_numpy(_arrays.in_batches(model, model, data, 100)).astype(np.float64)
    likely = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(likely / likely.sum(axis=1, keepdims=True))


class _Likely(AcquisitionFunction):
    """Rules of class probabilities."""

    rule: ClassVar[str]
    offset: ClassVar[float] = 0.0

    def _choose(self, count: int, model: Any, data: Any, device: Any) -> tuple[Array, Array]:
        likely = _probabilities(model, data)
        made = homing.select(likely, None, count, self.rule, probabilities=likely, progress=False)
        return made.indices, made.scores + self.offset


class MaxEntropy(_Likely):
    """The most spread predictions."""

    rule = "max-entropy"


class MinMargin(_Likely):
    """Predictions with two classes nearly tied; the value is minus the margin."""

    rule = "max-margin"


class LeastConfidence(_Likely):
    """The least sure predictions; the value is minus the largest probability."""

    rule = "least-confidence"
    offset = -1.0


class InformationDensity(CosineSimilarity):
    """Uncertain and similar: H(p) · cos^β."""

    def __init__(
        self,
        target: Any,
        beta: float = 1.0,
        subsampled_target_frac: float = 1,
        max_target_size: int | None = None,
        mini_batch_size: int = 1_000,
        embedding_batch_size: int = 100,
        num_workers: int = 0,
        subsample: bool = False,
        *,
        strict: bool = False,
        seed: int | None = None,
    ) -> None:
        super().__init__(
            target,
            subsampled_target_frac,
            max_target_size,
            mini_batch_size,
            embedding_batch_size,
            num_workers,
            subsample,
            seed=seed,
        )
        self.beta = beta

    def _among(self, count: int, model: Any, data: Any, target: Any) -> tuple[Array, Array]:
        likely = _probabilities(model, data)
        pool, targets = self._embedded(model, data), self._embedded(model, target)
        made = homing.select(
            pool, targets, count, "information-density", probabilities=likely, beta=self.beta, progress=False
        )
        return made.indices, made.scores


class EIG(Targeted, BatchAcquisitionFunction):
    """Expected entropy that one gradient step of the final layer takes from the predictions at the targets.

    The step is that of the cross-entropy loss at each class c of a row x, W − η (p_x − e_c) φ_xᵀ with η = 0.01, weighed by p_x(c).
    Its effect on a target's logits is −η (p_x − e_c) φ_xᵀφ_a, so no parameter is touched.
    """

    step_size = 0.01

    def __init__(
        self,
        target: Any,
        mini_batch_size: int = 1_000,
        num_workers: int = 0,
        subsample: bool = False,
        *,
        seed: int | None = None,
    ) -> None:
        BatchAcquisitionFunction.__init__(self, mini_batch_size, num_workers, subsample, seed=seed)
        Targeted.__init__(self, target)

    def compute(self, model: Any, data: Any, device: Any = None) -> Array:
        features, logits = _last_layer(model, data)
        target_features, target_logits = _last_layer(model, self._target)
        likely = _softmax(logits)
        near = features @ target_features.T
        before = _entropy(_softmax(target_logits)).sum()
        after = np.zeros(len(likely))
        for c in range(likely.shape[1]):
            residual = likely - np.eye(likely.shape[1])[c]
            moved = target_logits[None] - self.step_size * near[:, :, None] * residual[:, None, :]
            after += likely[:, c] * _entropy(_softmax(moved)).sum(axis=1)
        return np.asarray(before - after)


def _softmax(logits: Array) -> Array:
    likely = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(likely / likely.sum(axis=-1, keepdims=True))


def _entropy(likely: Array) -> Array:
    return np.asarray(-(likely * np.log(np.maximum(likely, 1e-300))).sum(axis=-1))


def _last_layer(model: Any, data: Any) -> tuple[Array, Array]:
    """What goes into the final layer, and the logits that come out of the model."""
    seen: list[Any] = []
    hook = model.final_layer.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0].detach().cpu()))
    try:
        logits = _arrays.in_batches(model, model, data, 100)
    finally:
        hook.remove()
    import torch

    return _arrays.to_numpy(torch.cat(seen)).astype(np.float64), _arrays.to_numpy(logits).astype(np.float64)


class Random(AcquisitionFunction):
    """Rows at random."""

    def __init__(self, mini_batch_size: int = 1_000, num_workers: int = 0, *, seed: int | None = None) -> None:
        super().__init__(mini_batch_size, num_workers, False, seed=seed)

    def _choose(self, count: int, model: Any, data: Any, device: Any) -> tuple[Array, Array]:
        order = self._random().permutation(len(data))[:count]
        return order, np.arange(len(order), 0, -1, dtype=np.float64)


_MODULES: dict[str, list[type]] = {
    "bace": [BaCE, TargetedBaCE],
    "cosine_similarity": [CosineSimilarity],
    "ctl": [CTL],
    "eig": [EIG],
    "information_density": [InformationDensity],
    "itl": [ITL],
    "kmeans_pp": [KMeansPP],
    "lazy_vtl": [LazyVTL],
    "least_confidence": [LeastConfidence],
    "max_dist": [MaxDist],
    "max_entropy": [MaxEntropy],
    "min_margin": [MinMargin],
    "mm_itl": [MMITL],
    "random": [Random],
    "uncertainty_sampling": [UncertaintySampling],
    "undirected_itl": [UndirectedITL],
    "undirected_vtl": [UndirectedVTL],
    "vtl": [VTL],
}
"""activeft has a module for each of them."""

for _name, _classes in _MODULES.items():
    _module = ModuleType(f"{__name__}.{_name}", _classes[0].__doc__)
    for _class in _classes:
        setattr(_module, _class.__name__, _class)
    sys.modules[_module.__name__] = _module
    globals()[_name] = _module
