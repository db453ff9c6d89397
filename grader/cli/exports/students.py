"""Options and functions shared by formats that export results."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

import click

from grader.errors import SetupError
from grader.model.exported import ClassResults, Exported, Result

F = TypeVar("F", bound=Callable[..., Any])


def results_argument(command: F) -> F:
    """Adds the argument RESULTS: the folder that `grader grade` wrote."""
    return click.argument("results", type=click.Path(path_type=Path, exists=True, file_okay=False))(
        command
    )


def out_option(command: F) -> F:
    """Adds --out DIR."""
    return click.option(
        "--out",
        type=click.Path(path_type=Path, file_okay=False),
        metavar="DIR",
        help="Folder to write to. Default: RESULTS/exports/FORMAT.",
    )(command)


def partial_option(command: F) -> F:
    """Adds --partial."""
    return click.option(
        "--partial",
        is_flag=True,
        help="If points are still open, leave those parts out of the result and of its maximum.",
    )(command)


def gradebook_options(what: str) -> Callable[[F], F]:
    """Adds the options of gradebook formats; *what* is the help of --gradebook."""

    def add(command: F) -> F:
        command = out_option(command)
        command = click.option(
            "--missing-as-zero",
            is_flag=True,
            help="Write 0 for students without a readable submission.",
        )(command)
        command = click.option(
            "--scale", is_flag=True, help="Scale points to the column's maximum."
        )(command)
        return click.option(
            "--gradebook",
            type=click.Path(path_type=Path, exists=True, dir_okay=False),
            required=True,
            metavar="FILE",
            help=what,
        )(command)

    return add


def folder(results: Path, out: Path | None, name: str) -> Path:
    """The output folder: *out* if given, else the format's folder in *results*."""
    return out if out is not None else results / "exports" / name


def only(results: ClassResults, student: str) -> Result:
    """The result of *student*, who must be in *results*."""
    return next(r for r in results.results if r.feedback.student.id == student)


def of_everybody(results: Iterable[Result], make: Callable[[Result], Exported]) -> Exported:
    """The files of all students, one folder per student, with a note for each student left out.

    Raises SetupError if no student has any.
    """
    from grader.report import file_name

    files: dict[str, bytes] = {}
    # Most notes are the same for all students.
    notes: dict[str, list[str]] = {}
    for result in results:
        student = result.feedback.student.id
        try:
            made = make(result)
        except SetupError as error:
            notes.setdefault(f"left out: {error.what}", [])
            continue
        files |= {f"{file_name(student)}/{name}": data for name, data in made.files.items()}
        for note in made.notes:
            notes.setdefault(note, []).append(student)
    if not files:
        raise SetupError(
            "no student has a result that this format can represent",
            fix=_why(list(notes)),
        )
    everybody = len({name.split("/")[0] for name in files})
    return Exported(files=files, notes=tuple(_note(n, who, everybody) for n, who in notes.items()))


def _why(notes: list[str], most: int = 3) -> str:
    """The fix if no student has a file, with the first few reasons."""
    more = f"; and {len(notes) - most} more" if len(notes) > most else ""
    return "; ".join(["grade submissions first", *notes[:most]]) + more


def _note(note: str, who: list[str], everybody: int) -> str:
    if not who or len(who) == everybody:
        return note
    more = f" and {len(who) - 5} more" if len(who) > 5 else ""
    return f"{', '.join(who[:5])}{more}: {note}"
