"""The base classes of acquisition functions."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from threading import Lock
from typing import Any

import numpy as np

from homing.compat.activeft import _arrays
from homing.compat.activeft._arrays import Array


_ADDING = Lock()
"""Guards :meth:`Targeted.add_to_target`. All functions share it, because an object with its own lock cannot be pickled."""


class AcquisitionFunction(ABC):
    """A rule that chooses the next batch.

    `mini_batch_size` matters only with `subsample`, which chooses among this many random rows. `num_workers` and `device` have
    no effect. `seed` is the seed for all random choices; without it, NumPy's global generator draws one.
    """

    def __init__(
        self, mini_batch_size: int = 1_000, num_workers: int = 0, subsample: bool = False, *, seed: int | None = None
    ) -> None:
        self.mini_batch_size, self.num_workers, self.subsample = mini_batch_size, num_workers, subsample
        self.seed = seed

    def select(self, batch_size: int, model: Any, dataset: Any, device: Any = None) -> Any:
        """Returns the indices and values of the next batch, a pair that can also be used as an index."""
        data = _arrays.rows_of(dataset)
        rows = np.arange(len(data))
        if self.subsample and len(data) > self.mini_batch_size:
            rows = np.sort(self._random().choice(len(data), self.mini_batch_size, replace=False))
        some = data if len(rows) == len(data) else data[rows]
        indices, values = self._choose(batch_size, model, some, device)
        return _arrays.pair(rows[indices], values, data)

    @abstractmethod
    def _choose(self, count: int, model: Any, data: Any, device: Any) -> tuple[Array, Array]:
        """Returns row numbers of `data` and their values."""

    def _random(self) -> np.random.Generator:
        return np.random.default_rng(np.random.randint(2**31) if self.seed is None else self.seed)


def largest(values: Any, count: int) -> tuple[Array, Array]:
    """Returns the rows with the largest values, and these values."""
    values = _arrays.to_numpy(values).reshape(-1)
    best = np.argsort(-values, kind="stable")[:count]
    return best, values[best]


class BatchAcquisitionFunction(AcquisitionFunction):
    """A rule that takes the best rows of one scoring by `compute`."""

    @abstractmethod
    def compute(self, model: Any, data: Any, device: Any = None) -> Any:
        """Returns one value per row."""

    def _choose(self, count: int, model: Any, data: Any, device: Any) -> tuple[Array, Array]:
        return largest(self.compute(model, data, device), count)


class SequentialAcquisitionFunction(AcquisitionFunction):
    """A rule that picks one row after another: `initialize` makes a state, `compute` scores the rows, `step` adds a pick.

    `force_nonsequential` takes the best rows of the first scoring. `strict` lets rows repeat, as activeft does.
    """

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
        super().__init__(mini_batch_size, num_workers, subsample, seed=seed)
        self.force_nonsequential, self.strict = force_nonsequential, strict

    def initialize(self, model: Any, data: Any, device: Any) -> Any:
        raise NotImplementedError

    def compute(self, state: Any) -> Any:
        raise NotImplementedError

    def step(self, state: Any, i: int) -> Any:
        raise NotImplementedError

    @staticmethod
    def selector(values: Any) -> int:
        """Returns the position of the largest value, ignoring NaN."""
        return int(np.nanargmax(_arrays.to_numpy(values)))

    def _choose(self, count: int, model: Any, data: Any, device: Any) -> tuple[Array, Array]:
        state = self.initialize(model, data, device)
        if self.force_nonsequential:
            return largest(self.compute(state), count)
        picks: list[int] = []
        scores: list[float] = []
        for _ in range(count):
            values = np.array(_arrays.to_numpy(self.compute(state)).reshape(-1))
            if not self.strict:
                values[picks] = -np.inf
            pick = self.selector(values)
            picks.append(pick)
            scores.append(values[pick])
            state = self.step(state, pick)
        return np.array(picks, dtype=np.int64), np.array(scores)


class EmbeddingBased(ABC):
    """A rule that needs embeddings: the model's, computed for `embedding_batch_size` rows at a time, or the data itself."""

    def __init__(self, embedding_batch_size: int = 100) -> None:
        self.embedding_batch_size = embedding_batch_size

    @staticmethod
    def compute_embedding(model: Any, data: Any, batch_size: int = 100) -> Any:
        """Returns the embeddings by ``model.embed``, or the data itself if there is no model."""
        return data if model is None else _arrays.in_batches(model.embed, model, data, batch_size)

    def _embedded(self, model: Any, data: Any) -> Array:
        """Returns the embeddings as a matrix, multiplied by a square root of the model's latent covariance if it has one."""
        embeddings = _arrays.to_numpy(self.compute_embedding(model, data, self.embedding_batch_size))
        embeddings = embeddings.reshape(len(embeddings), -1)
        if hasattr(model, "latent_covariance"):
            sigma = _arrays.to_numpy(model.latent_covariance()).astype(np.float64)
            values, vectors = np.linalg.eigh(0.5 * (sigma + sigma.T))
            embeddings = embeddings @ (vectors * np.sqrt(np.maximum(values, 0.0)))
        return np.ascontiguousarray(embeddings)


class Targeted(ABC):
    """A rule that has targets."""

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
        with _ADDING:
            self._target = _arrays.joined(self._target, new_target)

    def get_target(self) -> Any:
        """Returns the targets of this round: all of them, or a random subset."""
        target = self._target
        count = len(target)
        if not count:
            raise ValueError("there is no target; give one, or call with_target first")
        most = count if self.max_target_size is None else self.max_target_size
        size = min(math.ceil(self.subsampled_target_frac * count), most)
        if size == count:
            return target
        random = getattr(self, "_random", np.random.default_rng)()
        return target[random.permutation(count)[:size]]
