"""The options of `grader classroom init`, stored in the instructor's repository between runs."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from grader.errors import SetupError

KEPT = "classroom.json"
"""File in the instructor's repository; nothing in it is secret."""
SCHEMA = "systems-grader/classroom/v1"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassroomOptions:
    """The instructor's options; an empty one has a default that depends on the release."""

    host: str = "github"
    owner: str = ""
    url: str = ""
    notebook: str = ""
    deadline: str = ""
    schedule: str = ""
    branch: str = "main"
    grader_source: str = ""
    """Where pip installs the grader from in students' and the instructor's repositories."""
    python: str = "3.12"
    gpu_label: str = "gpu"
    classroom: str = "CLASSROOM"
    assignment: str = ""
    scale: int = 100
    sample: bool = True
    """Whether the template has a practice notebook if it can't have the exam's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviousRun:
    """What an earlier run stored in the instructor's repository."""

    wishes: ClassroomOptions = ClassroomOptions()
    notebooks: tuple[str, ...] = ()
    """Notebooks that it put into the template."""
    lost: bool = False
    """Whether there was an earlier run that stored no options."""


def load_previous(instructor: Path) -> PreviousRun:
    """Reads what an earlier run stored. Raises SetupError if the file can't be read."""
    path = instructor / KEPT
    try:
        data = json.loads(path.read_bytes())
        if data["schema"] != SCHEMA:
            raise ValueError("another schema")
        # Earlier versions stored the name of a package, which anyone may own on an index.
        options = {n: v for n, v in data["options"].items() if n != "install"}
        return PreviousRun(
            wishes=ClassroomOptions(**_require_types(options)),
            notebooks=tuple(str(name) for name in data["template_notebooks"]),
        )
    except FileNotFoundError:
        return PreviousRun(lost=(instructor / ".github" / "workflows").is_dir())
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise SetupError(
            "the options of an earlier run of `grader classroom init` can't be read",
            where=str(path),
            fix="restore the file, or remove it and pass all options again",
        ) from None


def _require_types(options: Mapping[str, Any]) -> Mapping[str, Any]:
    plain = ClassroomOptions()
    for name, value in options.items():
        if type(value) is not type(getattr(plain, name)):
            raise TypeError(name)
    return options


def merge_options(
    earlier: PreviousRun, given: Mapping[str, object]
) -> tuple[ClassroomOptions, tuple[str, ...]]:
    """The options of this run, and notes on options that it keeps from an earlier one.

    *given* has the options of this run by name; an empty one resets an earlier one.
    """
    plain = ClassroomOptions()
    now: dict[str, Any] = {n: getattr(plain, n) if v == "" else v for n, v in given.items()}
    wishes = replace(earlier.wishes, **now)
    kept = [(n, v) for n, v in _changed_options(earlier.wishes) if n not in given]
    notes = []
    if kept:
        notes.append(
            f"kept from the previous run:{format_options(kept)}; pass an option again to change it"
            + (", or pass '' to reset it" if any(isinstance(v, str) for _, v in kept) else "")
        )
    if earlier.lost:
        notes.append(
            f"an earlier version wrote this folder without instructor/{KEPT}: if you used "
            "options such as --deadline and --schedule, pass them again"
        )
    return wishes, tuple(notes)


def _changed_options(wishes: ClassroomOptions) -> Iterator[tuple[str, object]]:
    """Yields name and value of each option that differs from its default."""
    plain = ClassroomOptions()
    for field in fields(ClassroomOptions):
        value = getattr(wishes, field.name)
        if value != getattr(plain, field.name):
            yield field.name, value


def format_options(told: list[tuple[str, object]]) -> str:
    """Names and values as command-line options, each preceded by a space.

    >>> options([("schedule", "5 23 * * *"), ("sample", False)])
    " --schedule '5 23 * * *' --no-sample"
    """
    written = []
    for name, value in told:
        option = name.replace("_", "-")
        if isinstance(value, bool):
            written.append(f" --{option}" if value else f" --no-{option}")
        else:
            written.append(f" --{option} {shlex.quote(str(value))}")
    return "".join(written)


def command_line(wishes: ClassroomOptions) -> str:
    """The command-line options that write the same files in another folder."""
    return format_options([*_changed_options(wishes)])


def stored_options(wishes: ClassroomOptions, notebooks: tuple[str, ...]) -> bytes:
    """Content of the file that a later run reads."""
    data = {
        "schema": SCHEMA,
        "about": "The options of `grader classroom init`, which reuses them when it runs again.",
        "options": dict(_changed_options(wishes)),
        "template_notebooks": list(notebooks),
    }
    return (json.dumps(data, indent=1, ensure_ascii=False) + "\n").encode()
