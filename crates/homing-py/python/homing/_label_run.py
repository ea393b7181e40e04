"""Reads the folder of a run of ``homing label``."""

from __future__ import annotations

import json
import os
from typing import Any, NamedTuple


class Answer(NamedTuple):
    """The answer of one annotator about an example."""

    annotator: str
    kind: str
    """``label``, ``exclude`` (the example is not part of the task), ``unsure`` or ``skip``."""
    label: str | None
    """Name of the class, for a label."""


_WEIGHTS = {"label": 0, "exclude": 0, "unsure": 1, "skip": 2}


class LabelRun:
    """The answers in the folder of a run of ``homing label``, by the ids of the examples.

    The run may be open in another process; the answers are those on the disk when this object is made.

    >>> run = homing.LabelRun("pets")  # doctest: +SKIP
    >>> run.labels["photo-17.jpg"]  # doctest: +SKIP
    'cat'
    >>> homing.select(pool, targets, n=5, observed=run.observed)  # doctest: +SKIP
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = os.fsdecode(folder)
        path = os.path.join(self.folder, "events.jsonl")
        if not os.path.isfile(path):
            raise FileNotFoundError(f"{self.folder} is not a run of `homing label`: it has no events.jsonl")
        with open(os.path.join(self.folder, "run.json"), encoding="utf-8") as file:
            self.classes: list[str] = list(json.load(file).get("classes", []))
        self.events: list[dict[str, Any]] = _events(path)
        """All events in order, as the file has them."""
        active: list[bool] = []
        about: dict[str, list[int]] = {}
        for event in self.events:
            if event["event"] in ("undo", "redo"):
                active[event["of"] - 1] = event["event"] == "redo"
            elif event["event"] == "class":
                self.classes.append(event["name"])
            for name in event.get("ids", ()):
                about.setdefault(name, []).append(len(active))
            active.append(True)
        self.answers: dict[str, list[Answer]] = {}
        """The annotators' answers about each example, the decisive one first."""
        order: dict[str, int] = {}
        for name, events in about.items():
            self._decide(name, [event for event in events if active[event]], order)
        self._order = sorted(order, key=order.__getitem__)

    def _decide(self, name: str, events: list[int], order: dict[str, int]) -> None:
        last: dict[str, int] = {}
        for event in events:
            last[self.events[event]["annotator"]] = event
        if not last:
            return
        given = [(Answer(who, self.events[at]["event"], self.events[at].get("label")), at) for who, at in last.items()]
        kinds = [answer[1:] for answer, _ in given]
        given.sort(key=lambda one: (_WEIGHTS[one[0].kind], -kinds.count(one[0][1:]), one[1]))
        self.answers[name] = [answer for answer, _ in given]
        tells = _WEIGHTS[given[0][0].kind] == 0
        order[name] = next(at for at in events if (_WEIGHTS[self.events[at]["event"]] == 0) == tells)

    def _of(self, *kinds: str) -> list[str]:
        return [name for name in self._order if self.answers[name][0].kind in kinds]

    @property
    def labels(self) -> dict[str, str]:
        """Label of each labelled example, in the order in which they were labelled."""
        return {name: str(self.answers[name][0].label) for name in self._of("label")}

    @property
    def observed(self) -> list[str]:
        """Ids of the examples that are informative about the task: those with a label, and those that are not part of it."""
        return self._of("label", "exclude")

    @property
    def excluded(self) -> list[str]:
        """Ids of the examples that are not part of the task."""
        return self._of("exclude")

    @property
    def set_aside(self) -> list[str]:
        """Ids of the examples that were skipped, or whose class nobody could tell."""
        return self._of("unsure", "skip")

    @property
    def disputed(self) -> list[str]:
        """Ids of the examples about which annotators disagree."""

        def is_disputed(answers: list[Answer]) -> bool:
            return len({answer[1:] for answer in answers if _WEIGHTS[answer.kind] == 0}) > 1

        return [name for name in self._order if is_disputed(self.answers[name])]

    def __len__(self) -> int:
        return len(self.labels)

    def __repr__(self) -> str:
        return f"LabelRun({self.folder!r}, labels={len(self)}, classes={self.classes!r})"


def _events(path: str) -> list[dict[str, Any]]:
    with open(path, "rb") as file:
        data = file.read()
    # A last line without a line break does not count: a process ended while it was written, and its request was never answered.
    lines = data[: data.rfind(b"\n") + 1].splitlines()
    events = [json.loads(line) for line in lines]
    for number, event in enumerate(events, 1):
        if event.get("seq") != number:
            raise ValueError(f"{path}, line {number}, is not a valid event: its number is {event.get('seq')}, not {number}")
    return events
