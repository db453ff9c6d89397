"""What an instructor said of a class, kept in the instructor's repository from run to run."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from grader.errors import SetupError

KEPT = "classroom.json"
"""In the instructor's repository; nothing in it is secret."""
SCHEMA = "systems-grader/classroom/v1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What the instructor said of the class; empty where they left it to us."""

    host: str = "github"
    owner: str = ""
    url: str = ""
    notebook: str = ""
    deadline: str = ""
    schedule: str = ""
    branch: str = "main"
    grader_source: str = ""
    """What pip installs in students' and the instructor's repositories."""
    python: str = "3.12"
    gpu_label: str = "gpu"
    classroom: str = "CLASSROOM"
    assignment: str = ""
    scale: int = 100
    sample: bool = True
    """Whether the template has a notebook for practice, where it can't have the exam's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Before:
    """What an earlier run left in the instructor's repository."""

    wishes: Wishes = Wishes()
    notebooks: tuple[str, ...] = ()
    """What it put into the template."""
    lost: bool = False
    """Whether there was a run of which nothing is kept."""


def before(instructor: Path) -> Before:
    """What the earlier run was told; raises SetupError when that can't be read."""
    path = instructor / KEPT
    try:
        data = json.loads(path.read_bytes())
        if data["schema"] != SCHEMA:
            raise ValueError("another schema")
        # Earlier versions kept the name of a package, which may be anybody's on an index.
        options = {n: v for n, v in data["options"].items() if n != "install"}
        return Before(
            wishes=Wishes(**_checked(options)),
            notebooks=tuple(str(name) for name in data["template_notebooks"]),
        )
    except FileNotFoundError:
        return Before(lost=(instructor / ".github" / "workflows").is_dir())
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise SetupError(
            "what an earlier run of `grader classroom init` was told can't be read",
            where=str(path),
            fix="restore the file, or remove it and give all options again",
        ) from None


def _checked(options: Mapping[str, Any]) -> Mapping[str, Any]:
    plain = Wishes()
    for name, value in options.items():
        if type(value) is not type(getattr(plain, name)):
            raise TypeError(name)
    return options


def merged(earlier: Before, given: Mapping[str, object]) -> tuple[Wishes, tuple[str, ...]]:
    """The wishes of this run, and a note where it goes on with what an earlier one was told.

    *given* are those that were said this time, by name; an empty one takes an earlier one back.
    """
    plain = Wishes()
    now: dict[str, Any] = {n: getattr(plain, n) if v == "" else v for n, v in given.items()}
    wishes = replace(earlier.wishes, **now)
    kept = [(n, v) for n, v in _told(earlier.wishes) if n not in given]
    notes = []
    if kept:
        notes.append(
            f"kept from the run before:{options(kept)}; give an option again to change it"
            + (", or '' to take it back" if any(isinstance(v, str) for _, v in kept) else "")
        )
    if earlier.lost:
        notes.append(
            f"this folder was made before options were kept in instructor/{KEPT}: those of the "
            "run before, such as --deadline and --schedule, are gone unless you give them again"
        )
    return wishes, tuple(notes)


def _told(wishes: Wishes) -> Iterator[tuple[str, object]]:
    """What differs from what nobody said."""
    plain = Wishes()
    for field in fields(Wishes):
        value = getattr(wishes, field.name)
        if value != getattr(plain, field.name):
            yield field.name, value


def options(told: list[tuple[str, object]]) -> str:
    """Names and values as options of the command, each with a space before it.

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


def again(wishes: Wishes) -> str:
    """The options that make the same files again in another folder."""
    return options([*_told(wishes)])


def kept_bytes(wishes: Wishes, notebooks: tuple[str, ...]) -> bytes:
    """The file that a later run reads."""
    data = {
        "schema": SCHEMA,
        "about": "What `grader classroom init` was told; it keeps to it when it runs again.",
        "options": dict(_told(wishes)),
        "template_notebooks": list(notebooks),
    }
    return (json.dumps(data, indent=1, ensure_ascii=False) + "\n").encode()
