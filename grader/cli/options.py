"""Options that several commands share, and functions that print."""

from __future__ import annotations

import getpass
import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from grader.errors import one_line

_LONGEST = 20_000
"""Maximum characters of a table cell."""
MOST_ERRORS = 12
"""Maximum number of errors printed at once."""

F = TypeVar("F", bound=Callable[..., Any])


def bank_option(command: F) -> F:
    """Adds --bank DIR, which may be repeated."""
    return click.option(
        "--bank",
        "banks",
        multiple=True,
        metavar="DIR",
        help="Bank: a folder with problems/ and solutions/. Repeat for several banks. Default: "
        "GRADER_BANK, or the bank that comes with the package.",
    )(command)


def json_option(command: F) -> F:
    """Adds --json."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON to stdout.")(command)


def jobs_option(command: F) -> F:
    """Adds --jobs N."""
    return click.option(
        "--jobs",
        type=click.IntRange(min=1),
        metavar="N",
        help="Number of parallel workers. Default: the number of CPUs.",
    )(command)


def by_option(command: F) -> F:
    """Adds --by NAME."""
    return click.option(
        "--by",
        default=getpass.getuser,
        metavar="NAME",
        help="Who does this, for the audit log. Default: your login.",
    )(command)


def course_option(command: F) -> F:
    """Adds --course FILE."""
    return click.option(
        "--course",
        "course_file",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Course file with dates and policies, or the folder that contains it.",
    )(command)


def gradebook_option(command: F) -> F:
    """Adds --gradebook ADDRESS."""
    return click.option(
        "--gradebook",
        default="",
        metavar="ADDRESS",
        help="PostgreSQL database for the gradebook, such as postgresql://host/grades. Default: "
        "the course's, or a file in the results folder. Later commands find it by themselves.",
    )(command)


def evidence_option(command: F) -> F:
    """Adds --evidence ADDRESS."""
    return click.option(
        "--evidence",
        default="",
        metavar="ADDRESS",
        help="Object store for the evidence, such as s3://bucket/midterm. Default: the course's, "
        "or the results folder. Later commands find it by themselves.",
    )(command)


def cell_seconds_option(command: F) -> F:
    """Adds --cell-seconds SECONDS."""
    return click.option(
        "--cell-seconds",
        type=click.FloatRange(min=0.1),
        default=60,
        show_default=True,
        metavar="SECONDS",
        help="Time limit per cell, in seconds.",
    )(command)


def notebook_seconds_option(command: F) -> F:
    """Adds --notebook-seconds SECONDS."""
    return click.option(
        "--notebook-seconds",
        type=click.FloatRange(min=1),
        default=600,
        show_default=True,
        metavar="SECONDS",
        help="Time limit per notebook, in seconds.",
    )(command)


def sandbox_option(command: F) -> F:
    """Adds --sandbox: auto, required, required:LAYER,LAYER or off."""
    return click.option(
        "--sandbox",
        default="auto",
        show_default=True,
        metavar="auto|required[:LAYERS]|off",
        help="auto: use every layer available on this machine; required: refuse to run without "
        "the layers files, network, processes and system-calls, or without those listed; off: no "
        "isolation.",
    )(command)


def examples(*lines: str) -> str:
    """Returns the epilog of a command's help, with examples."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


def print_errors(heading: str, errors: Sequence[Exception]) -> None:
    """Writes *errors* to stderr below *heading*, shortened to fit on one screen."""
    click.echo(f"grader: {heading}\n{error_lines(errors)}", err=True)


def error_lines(errors: Sequence[Exception]) -> str:
    """Returns the errors, one below the other; at most MOST_ERRORS of them."""
    left = len(errors) - MOST_ERRORS
    more = [f"… and {left} more"] if left > 0 else []
    return "\n".join([*map(str, errors[:MOST_ERRORS]), *more])


def print_json(data: object) -> None:
    """Writes *data* to stdout as JSON."""
    click.echo(json.dumps(data, indent=2, ensure_ascii=False))


def table(
    header: Sequence[str], rows: Iterable[Sequence[str]], *, right: Iterable[int] = ()
) -> str:
    """Returns a plain-text table; the columns with indexes in *right* are right-aligned."""
    # A student's text may contain terminal escape sequences.
    listed = [tuple(one_line(cell, _LONGEST) for cell in row) for row in (header, *rows)]
    widths = [max(len(row[i]) for row in listed) for i in range(len(header))]
    right = set(right)
    lines = [
        "  ".join(
            cell.rjust(w) if i in right else cell.ljust(w)
            for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in listed
    ]
    lines.insert(1, "  ".join("-" * w for w in widths))
    return "\n".join(lines)


def release_argument(command: F) -> F:
    """Adds the argument DIR: the folder that `grader render` wrote."""
    return click.argument("release", metavar="DIR", type=click.Path(path_type=Path))(command)


def release_or_pack(release: Path | None, pack: Path | None, key_file: Path | None) -> Path:
    """Returns *release* or *pack*, whichever is given, and keeps the key from *key_file* in this
    process. Raises SetupError."""
    from grader.errors import Location, SetupError
    from grader.release import sealed

    if release is not None and pack is not None:
        raise SetupError("--release and --pack can't be used together", fix="use one of them")
    if release is None and pack is None:
        raise SetupError(
            "grading needs either --release or --pack",
            fix="give the release.json that `grader render` wrote, or a sealed pack of it",
        )
    if key_file is not None:
        sealed.hold_key(sealed.read_key_file(key_file))
    if pack is not None and not (pack.exists() and sealed.is_pack_file(pack)):
        raise SetupError(
            "this is not a sealed pack" if pack.exists() else "this file does not exist",
            where=Location(str(pack)),
            fix="give the file that `grader classroom seal` wrote, or use --release",
        )
    return pack or release or Path()
