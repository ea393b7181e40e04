"""Shows a progress bar in terminals and notebooks while rows are chosen."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from homing._inputs import shown

@dataclass(frozen=True)
class Pick:
    """A row that was just chosen; functions given as `progress` and `stop` are called with it."""

    rank: int
    """1 for the first pick."""
    count: int
    """Number of requested picks."""
    row: int
    """The row of the pool."""
    score: float
    """Score that the rule gave it."""
    information: float
    """Information about the targets from this and all earlier picks, in nats."""
    variance_left: float | None
    """Share of the targets' variance that is left."""


Progress: TypeAlias = "bool | Callable[[Pick], Any] | None"
"""True for a bar, False for none, None for a bar in terminals and notebooks, or a function that is called with every pick."""

PickCallback: TypeAlias = Callable[["dict[str, Any]"], bool]
"""The function that the core calls with the fields of every :class:`Pick`; the selection ends if it returns False."""


class _Bar(Protocol):
    def update(self, n: int) -> Any: ...
    def set_postfix_str(self, s: str, refresh: bool) -> Any: ...
    def close(self) -> Any: ...


class _Line:
    """A progress line on standard error, if tqdm is not installed; it appears after `delay` seconds."""

    def __init__(self, total: int, delay: float) -> None:
        self.total, self.done, self.note, self.is_shown = total, 0, "", False
        self.start = time.monotonic() + delay

    def update(self, n: int) -> None:
        self.done += n
        is_new = self.done * 100 // self.total != (self.done - n) * 100 // self.total
        if is_new and time.monotonic() >= self.start:
            self.is_shown = True
            print(f"\rchoosing {self.done}/{self.total} {self.note}", end="", file=sys.stderr, flush=True)

    def set_postfix_str(self, s: str, refresh: bool) -> None:
        self.note = s

    def close(self) -> None:
        if self.is_shown:
            print("\r" + " " * 60 + "\r", end="", file=sys.stderr, flush=True)


def _bar(total: int, delay: float) -> _Bar:
    try:
        with warnings.catch_warnings():
            # In a notebook without widgets, tqdm warns and shows a bar of text.
            warnings.simplefilter("ignore")
            from tqdm.auto import tqdm
    except ImportError:
        return _Line(total, delay)
    bar: _Bar = tqdm(total=total, desc="choosing", unit="pick", leave=False, delay=delay)
    return bar


def _is_watched() -> bool:
    """Whether the output goes to a terminal or a notebook."""
    return "ipykernel" in sys.modules or sys.stderr.isatty()


@contextmanager
def pick_callback(
    progress: Progress,
    is_enough: Callable[[Pick], Any] | None,
    total: int,
) -> Iterator[PickCallback | None]:
    """Yields the function that the core calls with every pick; None if no call is needed.

    With ``progress=None``, the bar appears after a second.
    """
    if not (progress is None or isinstance(progress, bool) or callable(progress)):
        raise TypeError(f"progress is {shown(progress)}; True, False, None or a function of a Pick is needed")
    listener = progress if callable(progress) else None
    bar = None
    if listener is None and (progress is True or (progress is None and _is_watched())):
        bar = _bar(total, 0.0 if progress else 1.0)
    if listener is None and is_enough is None and bar is None:
        yield None
        return

    def on_pick(fields: dict[str, Any]) -> bool:
        pick = Pick(**fields)
        if bar is not None:
            # `update` draws the note, as often as the bar refreshes.
            bar.set_postfix_str(f"{pick.information:.2f} nats", False)
            bar.update(1)
        if listener is not None and listener(pick) is False:
            return False
        return not (is_enough is not None and is_enough(pick))

    try:
        yield on_pick
    finally:
        if bar is not None:
            bar.close()
