"""activeft's data sets of inputs."""

from __future__ import annotations

from typing import Any


class Dataset:
    """A data set of inputs. ``dataset[i]`` returns one or several; subclasses may override it and ``len(dataset)``."""

    def __init__(self, data: Any = ()) -> None:
        self.data = data

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, index: Any) -> Any:
        return self.data[index]


class InputDataset(Dataset):
    """The inputs of a data set of (input, label) pairs."""

    def __init__(self, dataset: Any) -> None:
        super().__init__(dataset)
        self.dataset = dataset

    def __getitem__(self, index: Any) -> Any:
        x, _ = self.dataset[index]
        return x
