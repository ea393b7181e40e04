"""The picks so far in a file, from which a selection continues."""

from __future__ import annotations

import hashlib
import json
import os
import time
from typing import Any

_EVERY = 0.5
"""Seconds between two writes."""


class Checkpoint:
    """A file of the picks so far."""

    def __init__(self, path: str | os.PathLike[str], selection: Any) -> None:
        self.path = os.fsdecode(path)
        self.selection = hashlib.sha256(repr(selection).encode()).hexdigest()
        self.picks: list[tuple[int, float]] = []
        self._written = 0.0
        if not os.path.exists(self.path):
            self.write()
            return
        try:
            with open(self.path, encoding="utf-8") as file:
                found = json.load(file)
            picks = [(int(row), float(score)) for row, score in found["picks"]]
            selection = found["selection"]
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{self.path} is no checkpoint ({error}); give another path, or remove it") from None
        if selection != self.selection:
            raise ValueError(
                f"{self.path} is the checkpoint of another selection (its pool, targets or settings differ); "
                "give another path, or remove it"
            )
        self.picks = picks

    def __enter__(self) -> Checkpoint:
        return self

    def __exit__(self, *_: object) -> None:
        self.write()

    def add(self, rank: int, row: int, score: float) -> None:
        """Adds a pick, and writes the file if that is due."""
        if self.picks[rank - 1 : rank] == [(row, score)]:
            return
        del self.picks[rank - 1 :]
        self.picks.append((row, score))
        if time.monotonic() - self._written > _EVERY:
            self.write()

    def write(self) -> None:
        """Writes the file beside its place, and then puts it there."""
        beside = f"{self.path}.{os.getpid()}.part"
        with open(beside, "w", encoding="utf-8") as file:
            json.dump({"selection": self.selection, "picks": self.picks}, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, self.path)
        self._written = time.monotonic()
