"""activeft's data loader, which chooses the next batch."""

from __future__ import annotations

from typing import Any

from homing.compat.activeft.acquisition_functions import VTL, AcquisitionFunction, Targeted, UndirectedVTL


class ActiveDataLoader:
    """Chooses the next batch of a data set with an acquisition function.

    ``batch = dataset[loader.next(model)]`` and ``indices, values = loader.next(model)`` both work.
    """

    def __init__(
        self, dataset: Any, batch_size: int, acquisition_function: AcquisitionFunction, device: Any = None
    ) -> None:
        if len(dataset) == 0:
            raise AssertionError("Data must be non-empty")
        if batch_size <= 0:
            raise AssertionError("Batch size must be positive")
        self.dataset, self.batch_size = dataset, batch_size
        self.acquisition_function, self.device = acquisition_function, device

    @classmethod
    def initialize(
        cls,
        dataset: Any,
        target: Any,
        batch_size: int,
        device: Any = None,
        subsampled_target_frac: float = 1,
        max_target_size: int | None = None,
        mini_batch_size: int = 1_000,
        embedding_batch_size: int = 100,
        num_workers: int = 0,
        subsample_acquisition: bool = False,
        force_targeted: bool = False,
        *,
        strict: bool = False,
        seed: int | None = None,
    ) -> ActiveDataLoader:
        """Creates a loader that uses VTL, or undirected VTL if there is no target and `force_targeted` is False."""
        shared: dict[str, Any] = {
            "mini_batch_size": mini_batch_size,
            "embedding_batch_size": embedding_batch_size,
            "num_workers": num_workers,
            "subsample": subsample_acquisition,
            "strict": strict,
            "seed": seed,
        }
        function: AcquisitionFunction
        if target is not None or force_targeted:
            shared |= {"subsampled_target_frac": subsampled_target_frac, "max_target_size": max_target_size}
            function = VTL([] if target is None else target, **shared)
        else:
            function = UndirectedVTL(**shared)
        return cls(dataset, batch_size, function, device)

    def next(self, model: Any = None) -> Any:
        """Returns the next batch as (indices, values)."""
        return self.acquisition_function.select(self.batch_size, model, self.dataset, self.device)

    def with_target(self, target: Any) -> ActiveDataLoader:
        """Replaces the target of this loader and returns the loader."""
        if not isinstance(self.acquisition_function, Targeted):
            raise AssertionError("Acquisition function must be targeted")
        self.acquisition_function.set_target(target)
        return self
