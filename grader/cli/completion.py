"""Shell completion of ids, without loading any problem."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

# click's completion module is imported only when a shell asks, to keep every other start fast.
if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from grader.bank.index import BankIndex

Names = Callable[[click.Context], Iterable[str]]


class CompletedText(click.types.StringParamType):
    """Text that the shell completes from *names*, or with files if no name matches.

    If *names* returns a mapping, zsh and fish show its values beside the names.
    """

    def __init__(self, names: Names, *, files: bool = False):
        self._names = names
        self._files = files

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Returns the names that begin with *incomplete*.

        Returns none after an error, which the command reports when it runs.
        """
        from click.shell_completion import CompletionItem

        del param
        try:
            names = self._names(ctx)
            fitting = sorted({n for n in names if n.startswith(incomplete)})
        except Exception:  # noqa: BLE001 - a traceback must not appear in the prompt
            return [CompletionItem(incomplete, type="file")] if self._files else []
        if self._files and not fitting:
            return [CompletionItem(incomplete, type="file")]
        titles = names if isinstance(names, Mapping) else {}
        return [CompletionItem(name, help=titles.get(name)) for name in fitting]


def _open_index(ctx: click.Context) -> BankIndex:
    from grader.bank.index import BankIndex

    return BankIndex.open(ctx.params.get("banks") or ())


def _family_prefixes(ctx: click.Context) -> Iterable[str]:
    """Returns the families of the bank that `grader new` writes to, each followed by a slash."""
    from grader.bank.index import BankIndex

    return (f"{family}/" for family in BankIndex((ctx.params.get("into") or Path(),)).families)


def _student_ids(ctx: click.Context) -> Iterable[str]:
    """Returns the students of the first release, results folder, or roster on the command line; if
    there is none, those of the course's results.

    Reads the line itself, since click does not see arguments while an option lacks its value.
    """
    from click.shell_completion import split_arg_string

    for word in split_arg_string(os.environ.get("COMP_WORDS", "")):
        path = Path(word).expanduser()
        file = path / "release.json" if path.is_dir() else path
        if (path / "grades").is_dir():
            return [grade.stem for grade in (path / "grades").glob("*.json")]
        if file.suffix == ".json" and file.is_file():
            return [student["id"] for student in json.loads(file.read_bytes())["students"]]
        if file.suffix == ".csv" and file.is_file():
            from grader.release.roster import load_roster

            return [student.id for student in load_roster(file)]
    return _course_students(ctx)


def _read_course_file(ctx: click.Context) -> tuple[Path, Mapping[str, Any]]:
    """Returns the course file and its content; empty if there is none."""
    from grader.bank.yaml12 import read_yaml
    from grader.course import find_course

    path = find_course(ctx.params.get("course_file"), tuple(_open_index(ctx).folders))
    return (path, read_yaml(path).data) if path else (Path(), {})


def _course_students(ctx: click.Context) -> Iterable[str]:
    """Yields the students in the results folders that the course file names."""
    path, course = _read_course_file(ctx)
    for course_set in course.get("sets", {}).values():
        if course_set and course_set.get("results"):
            folder = path.parent / str(course_set["results"]) / "grades"
            yield from (grade.stem for grade in folder.glob("*.json"))


_PROBLEM = CompletedText(lambda ctx: tuple(_open_index(ctx).paths), files=True)
_PROBLEM_OR_SET = CompletedText(
    lambda ctx: (*_open_index(ctx).paths, *_open_index(ctx).set_paths), files=True
)
_STUDENT = CompletedText(_student_ids)
_TYPES: Mapping[str, CompletedText] = {
    "by": CompletedText(lambda ctx: tuple(_read_course_file(ctx)[1].get("staff", ()))),
    "exam": CompletedText(lambda ctx: tuple(_open_index(ctx).set_paths), files=True),
    "family": CompletedText(lambda ctx: _open_index(ctx).families),
    "new_problem": CompletedText(_family_prefixes),
    "problem": _PROBLEM,
    "problems": _PROBLEM,
    "section": CompletedText(lambda ctx: tuple(_read_course_file(ctx)[1].get("sections", ()))),
    "set_id": CompletedText(lambda ctx: tuple(_read_course_file(ctx)[1].get("sets", ()))),
    "student": _STUDENT,
    "students": _STUDENT,
    "wanted": _PROBLEM_OR_SET,
}


def complete_ids(command: click.Command) -> None:
    """Enables shell completion for those parameters of *command* that are ids."""
    for param in command.params:
        if param.name in _TYPES and param.type is click.STRING:
            param.type = _TYPES[param.name]
