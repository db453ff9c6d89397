"""The file in which students keep their progress, if they want to."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from grader.errors import Location, SetupError
from grader.files import read_bytes, write_atomic
from grader.web.practice.spacing import INTERVALS, LEVELS, Box, Progress

SCHEMA = "systems-grader/practice/v1"


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
