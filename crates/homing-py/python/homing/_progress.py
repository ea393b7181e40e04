"""A bar while rows are chosen, in terminals and notebooks."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from homing._inputs import shown

Tell: TypeAlias = Callable[[int, int, int, float, float, "float | None"], "bool | None"]
"""Told rank, number of picks asked for, row, score, information and variance left; False ends the selection."""


@dataclass(frozen=True)
class Pick:
    """A row just chosen, as `progress` and `stop` are told of it."""

    rank: int
    """1 for the first pick."""
    count: int
    """Picks asked for."""
    index: int
    """The row of the pool."""
    score: float
    """What the rule gave it."""
    information: float
    """Information about the targets from this and all earlier picks, in nats."""
    variance_left: float | None
    """Share of the targets' variance that is left."""


Progress: TypeAlias = "bool | Callable[[Pick], Any] | None"
"""True for a bar, False for none, None for one where somebody looks, or a function that is told every pick."""


class _Bar(Protocol):
    def update(self, n: int) -> Any: ...
    def set_postfix_str(self, s: str, refresh: bool) -> Any: ...
    def close(self) -> Any: ...


class _Line:
    """A line on standard error, where there is no tqdm; it appears after so many seconds."""

    def __init__(self, total: int, delay: float) -> None:
        self.total, self.done, self.said, self.is_shown = total, 0, "", False
        self.start = time.monotonic() + delay

    def update(self, n: int) -> None:
        self.done += n
        is_new = self.done * 100 // self.total != (self.done - n) * 100 // self.total
        if is_new and time.monotonic() >= self.start:
            self.is_shown = True
            print(f"\rchoosing {self.done}/{self.total} {self.said}", end="", file=sys.stderr, flush=True)

    def set_postfix_str(self, s: str, refresh: bool) -> None:
        self.said = s

    def close(self) -> None:
        if self.is_shown:
            print("\r" + " " * 60 + "\r", end="", file=sys.stderr, flush=True)


def _bar(total: int, delay: float) -> _Bar:
    try:
        with warnings.catch_warnings():
            # A notebook without widgets gets a bar of text.
            warnings.simplefilter("ignore")
            from tqdm.auto import tqdm
    except ImportError:
        return _Line(total, delay)
    bar: _Bar = tqdm(total=total, desc="choosing", unit="pick", leave=False, delay=delay)
    return bar


def _is_watched() -> bool:
    """Whether somebody looks: a terminal, or a notebook."""
    return "ipykernel" in sys.modules or sys.stderr.isatty()


@contextmanager
def telling(
    progress: Progress,
    stop: Callable[[Pick], Any] | None,
    total: int,
) -> Iterator[Tell | None]:
    """What the core is to call with every pick; nothing where nobody listens.

    The bar of ``progress=None`` appears after a second.
    """
    if not (progress is None or isinstance(progress, bool) or callable(progress)):
        raise TypeError(f"progress is {shown(progress)}; True, False, None or a function of a Pick is wanted")
    tell = progress if callable(progress) else None
    bar = None
    if tell is None and (progress is True or (progress is None and _is_watched())):
        bar = _bar(total, 0.0 if progress else 1.0)
    if tell is None and stop is None and bar is None:
        yield None
        return

    def told(*picked: Any) -> bool | None:
        rank, count, index, score, information, left = picked
        pick = Pick(rank, count, index, score, information, left)
        if bar is not None:
            # Drawn by the update, as seldom as that likes.
            bar.set_postfix_str(f"{information:.2f} nats", False)
            bar.update(1)
        if tell is not None and tell(pick) is False:
            return False
        return not (stop is not None and stop(pick))

    try:
        yield told
    finally:
        if bar is not None:
            bar.close()
