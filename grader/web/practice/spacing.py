"""Which problem comes next: Leitner boxes, levels that follow the results, and their file."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, get_args

from grader.bank.heads import Head
from grader.errors import Location, SetupError
from grader.files import read_bytes, write_atomic
from grader.model import Level

INTERVALS = (3, 8, 20, 50, 120)
"""How many answered questions later a problem in each box returns, from box 1."""
LEVELS: tuple[str, ...] = get_args(Level)
HALF = 0.5
SCHEMA = "systems-grader/practice/v1"


@dataclass(frozen=True, slots=True)
class Box:
    """Where a problem is, as after S. Leitner, So lernt man lernen, 1972."""

    number: int
    """From 1; a missed problem is in box 1."""
    due: int
    """The count of answered questions at which it returns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """What was practiced, without the answers."""

    answer_count: int = 0
    level: int = 0
    """The index in LEVELS of the next new problem."""
    boxes: Mapping[str, Box] = field(default_factory=dict)

    def record(self, problem: str, share: float) -> Progress:
        """Returns the progress after an answer that earned *share* of the points.

        Full points move the problem to the next box, half or more leave it in its box, and less
        moves it back to box 1. Full points raise the level of the next new problem by one, and less
        than half lowers it.
        """
        old = self.boxes.get(problem)
        number = old.number if old else 1
        if share >= 1:
            number = min(number + 1, len(INTERVALS))
        elif share < HALF:
            number = 1
        answered = self.answer_count + 1
        step = (share >= 1) - (share < HALF)
        return replace(
            self,
            answer_count=answered,
            level=min(max(self.level + step, 0), len(LEVELS) - 1),
            boxes={**self.boxes, problem: Box(number, answered + INTERVALS[number - 1])},
        )


def next_problem(heads: Sequence[Head], progress: Progress, last: str, dice: random.Random) -> Head:
    """Returns the next problem of *heads*, which is not *last* if there is another.

    A due problem comes first: the lowest box, then the longest overdue. Otherwise, a new problem
    near the current level follows, preferably one that shares a concept or topic with a problem in
    box 1. If nothing is due or new, the problem that is due first is asked again.
    """
    choices = [head for head in heads if head.id != last] or list(heads)
    boxes = progress.boxes
    practiced = [head for head in choices if head.id in boxes]
    due = [head for head in practiced if boxes[head.id].due <= progress.answer_count]
    if due:
        return min(due, key=lambda head: (boxes[head.id].number, boxes[head.id].due))
    new = [head for head in choices if head.id not in boxes]
    if not new:
        return min(practiced, key=lambda head: boxes[head.id].due)
    missed = {name for head in heads if _is_missed(head, progress) for name in _subjects(head)}

    def distance(head: Head) -> tuple[int, bool]:
        return abs(LEVELS.index(head.level) - progress.level), missed.isdisjoint(_subjects(head))

    nearest = min(map(distance, new))
    return dice.choice([head for head in new if distance(head) == nearest])


def _is_missed(head: Head, progress: Progress) -> bool:
    box = progress.boxes.get(head.id)
    return box is not None and box.number == 1


def _subjects(head: Head) -> set[str]:
    return {*head.concepts, *head.topics}


def load_progress(path: Path) -> Progress:
    """Returns the progress in the file at *path*; raises SetupError if it is another file."""
    try:
        data = json.loads(read_bytes(path, "the progress"))
        if data["schema"] != SCHEMA:
            raise ValueError
        return Progress(
            answer_count=_check_count(data["answered"], 10**9),
            level=LEVELS.index(data["level"]),
            boxes={str(name): _read_box(one) for name, one in data["boxes"].items()},
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise SetupError(
            "this file was not written by `grader practice`",
            where=Location(str(path)),
            fix="name another file, which may not exist yet, with --progress",
        ) from None


def save_progress(path: Path, progress: Progress) -> None:
    """Writes *progress* to the file at *path*: counts and boxes by problem, but no answers."""
    data = {
        "schema": SCHEMA,
        "answered": progress.answer_count,
        "level": LEVELS[progress.level],
        "boxes": {
            name: {"box": box.number, "due": box.due}
            for name, box in sorted(progress.boxes.items())
        },
    }
    write_atomic(path, f"{json.dumps(data, indent=1)}\n".encode())


def _read_box(data: Mapping[str, Any]) -> Box:
    number = _check_count(data["box"], len(INTERVALS))
    return Box(max(number, 1), _check_count(data["due"], 10**9 + max(INTERVALS)))


def _check_count(value: object, most: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= most:
        raise ValueError
    return value
