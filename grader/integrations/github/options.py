"""The options of `grader classroom init`, stored in the instructor's repository between runs."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from grader.errors import SetupError
from grader.integrations.base import option
from grader.integrations.install import Source

KEPT = "classroom.json"
"""File in the instructor's repository; nothing in it is secret."""
SCHEMA = "systems-grader/classroom/v1"

_ODD = frozenset("\"'`$\\<>|;&*?[]()#!~\n\r\t")
"""Characters that are special in a shell or in YAML."""


class Host(StrEnum):
    """The service that manages students' repositories."""

    GITHUB = "github"
    CLASSROOM50 = "classroom50"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassroomOptions:
    """The instructor's options; an empty one has a default that depends on the release."""

    host: Host = option(Host.GITHUB, help="Where the repositories are.")
    owner: str = option(
        "", metavar="ORG", help="GitHub organization or user that owns the students' repositories."
    )
    url: str = option("", metavar="PATTERN", help="URL of each repository, with {id} in it.")
    notebook: str = option(
        "", metavar="NAME", help="Name of the notebook file.  [default: SET.ipynb]"
    )
    deadline: str = option(
        "", metavar="INSTANT", help="Deadline, such as 2026-12-01T23:59:00+01:00."
    )
    schedule: str = option(
        "", metavar="CRON", help="Grading schedule, as a cron expression in UTC."
    )
    branch: str = option("main", metavar="NAME", help="Branch to hand out to and to collect.")
    grader_source: str = option(
        "",
        metavar="URL@COMMIT|WHEEL",
        help="Where pip gets the grader: a repository's URL at a commit, or a wheel's URL with "
        "#sha256=.  [default: GRADER_SOURCE, or where this grader was installed from]",
    )
    python: str = option("3.12", metavar="VERSION", help="Python version of the workflows.")
    gpu_label: str = option("gpu", metavar="LABEL", help="Label of the runners with a GPU.")
    classroom: str = option(
        "CLASSROOM", metavar="NAME", help="Name of the classroom in Classroom 50."
    )
    assignment: str = option("", metavar="NAME", help="Name of the assignment in Classroom 50.")
    scale: int = option(
        100,
        least=1,
        most=10_000,
        metavar="N",
        help="Classroom 50 points per exam point, as it supports only integers.",
    )
    sample: bool = option(
        True,
        help="If students have individual numbers, put a practice notebook into the template.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassroomCourse(ClassroomOptions):
    """Values for the templates of a class's files, with all defaults; none of them is secret."""

    title: str
    source: Source
    torch: bool = False
    cuda: bool = False
    rerun_options: str = ""
    """The command-line options that write the same files again."""
    shared_version: str = ""
    """The version that all students share, and so the same notebook; empty if there is none."""
    sample_path: str = ""
    """Path of the practice notebook in the template; empty if there is none."""

    @property
    def chosen_branch(self) -> str:
        """The branch that commands must name; empty for the default, which they use anyway."""
        return str(changed_options(self).get("branch", ""))

    @property
    def title_line(self) -> str:
        """The title without characters that are special in a docstring."""
        return "".join(c for c in self.title if c.isprintable() and c not in '"\\')


def check_options(options: ClassroomOptions) -> None:
    """Raises SetupError for values that would break a workflow file."""
    names = "notebook url deadline branch gpu_label python classroom assignment"
    for name in names.split():
        value = getattr(options, name)
        odd = sorted(set(value) & _ODD | {c for c in value if not c.isprintable() or c.isspace()})
        if odd or "${{" in value:
            raise SetupError(
                f"--{name.replace('_', '-')} '{value}' has characters that are special in a "
                f"workflow: {' '.join(map(repr, odd))}",
                fix="remove them",
            )
    if "{id}" not in options.url:
        raise SetupError(
            f"--url '{options.url}' does not contain {{id}}",
            fix="write {id} in place of the student's id: https://github.com/ORG/midterm-{id}.git",
        )
    schedule = options.schedule
    if set(schedule) - set("0123456789*/,- ") or len(schedule.split()) not in (0, 5):
        raise SetupError(
            f"--schedule '{schedule}' is not a cron schedule",
            fix="write five cron fields, in UTC, such as '30 22 * * *'",
        )


def load_previous(instructor: Path) -> tuple[ClassroomOptions, list[str]]:
    """Returns an earlier run's options and its notebooks in the template, or the defaults."""
    path, plain = instructor / KEPT, ClassroomOptions()
    if not path.exists():
        return plain, []
    try:
        data = json.loads(path.read_bytes())
        if data["schema"] != SCHEMA:
            raise ValueError("another schema")
        # Earlier versions stored the name of a package, which anyone may own on an index.
        options = {n: v for n, v in data["options"].items() if n != "install"}
        if any(not isinstance(getattr(plain, n), type(v)) for n, v in options.items()):
            raise TypeError("another type")
        options["host"] = Host(options.get("host", plain.host))
        return ClassroomOptions(**options), [str(name) for name in data["template_notebooks"]]
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise SetupError(
            "the options of an earlier run of `grader classroom init` can't be read",
            where=str(path),
            fix="restore the file, or remove it and pass all options again",
        ) from None


def merge_options(
    earlier: ClassroomOptions, given: Mapping[str, object]
) -> tuple[ClassroomOptions, tuple[str, ...]]:
    """Returns this run's options, and a note on those kept from an earlier run."""
    plain = ClassroomOptions()
    now: dict[str, Any] = {n: getattr(plain, n) if v == "" else v for n, v in given.items()}
    merged = replace(earlier, **now)
    kept = {n: v for n, v in changed_options(earlier).items() if n not in given}
    if not kept:
        return merged, ()
    note = f"kept from the previous run:{format_options(kept)}; pass an option again to change it"
    reset = ", or pass '' to reset it" if any(isinstance(v, str) for v in kept.values()) else ""
    return merged, (note + reset,)


def changed_options(options: ClassroomOptions) -> dict[str, object]:
    """Returns name and value of each option that differs from its default."""
    plain = ClassroomOptions()
    values = {field.name: getattr(options, field.name) for field in fields(ClassroomOptions)}
    return {name: value for name, value in values.items() if value != getattr(plain, name)}


def format_options(options: Mapping[str, object]) -> str:
    """Returns names and values as command-line options, each preceded by a space.

    >>> format_options({"schedule": "5 23 * * *", "sample": False})
    " --schedule '5 23 * * *' --no-sample"
    """
    written = []
    for name, value in options.items():
        flag = name.replace("_", "-")
        if isinstance(value, bool):
            written.append(f" --{flag}" if value else f" --no-{flag}")
        else:
            written.append(f" --{flag} {shlex.quote(str(value))}")
    return "".join(written)


def stored_options(options: ClassroomOptions, notebooks: Iterable[str]) -> bytes:
    """Returns the content of `classroom.json`, which a later run reads."""
    data = {
        "schema": SCHEMA,
        "about": "The options of `grader classroom init`, which reuses them when it runs again.",
        "options": changed_options(options),
        "template_notebooks": list(notebooks),
    }
    return (json.dumps(data, indent=1, ensure_ascii=False) + "\n").encode()
