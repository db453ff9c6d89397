"""Options that several commands share, and functions that print."""

from __future__ import annotations

import getpass
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from grader.cli.parameters import argument, option
from grader.errors import Location, SetupError, one_line
from grader.text.words import points

if TYPE_CHECKING:
    from grader.bank.folders import Bank

_LONGEST = 20_000
"""Maximum characters of a table cell."""
MOST_ERRORS = 12
"""Maximum number of errors printed at once."""
BANKS = option(
    (),
    "--bank",
    metavar="DIR",
    help="Bank: a folder with problems/ and solutions/. Repeat for several banks. Default: "
    "GRADER_BANK, or the bank that comes with the package.",
)
JSON = option(False, "--json", help="Print JSON to stdout.")
PORT = option(
    0,
    least=0,
    most=65535,
    metavar="PORT",
    help="Port to listen on. Default: any free one.",
    show_default=False,
)
JOBS = option(
    None, least=1, metavar="N", help="Number of parallel workers. Default: the number of CPUs."
)
BY = option(
    getpass.getuser, metavar="NAME", help="Who does this, for the audit log. Default: your login."
)
COURSE = option(
    None,
    "--course",
    metavar="FILE",
    help="Course file with dates and policies, or the folder that contains it.",
)
GRADEBOOK = option(
    "",
    metavar="ADDRESS",
    help="PostgreSQL database for the gradebook, such as postgresql://host/grades. Default: the "
    "course's, or a file in the results folder. Later commands find it by themselves.",
)
EVIDENCE = option(
    "",
    metavar="ADDRESS",
    help="Object store for the evidence, such as s3://bucket/midterm. Default: the course's, or "
    "the results folder. Later commands find it by themselves.",
)
CELL_SECONDS = option(60, least=0.1, metavar="SECONDS", help="Time limit per cell, in seconds.")
NOTEBOOK_SECONDS = option(
    600, least=1, metavar="SECONDS", help="Time limit per notebook, in seconds."
)
SANDBOX = option(
    "auto",
    metavar="auto|required[:LAYERS]|off|NAME",
    help="auto: use every layer available on this machine; required: refuse to run without the "
    "layers files, network, processes and system-calls, or without those listed; off: no "
    "isolation; NAME: the sandbox of a plug-in.",
)
RELEASE = argument(metavar="DIR")
"""The folder that `grader render` wrote."""


def open_bank(banks: tuple[str, ...]) -> Bank:
    """Returns the banks that --bank names, or the default."""
    from grader.bank.folders import Bank

    return Bank.open(banks)


def print_errors(heading: str, errors: Sequence[Exception]) -> None:
    """Writes *errors* to stderr below *heading*, shortened to fit on one screen."""
    click.echo(f"grader: {heading}\n{error_lines(errors)}", err=True)


def error_lines(errors: Sequence[Exception]) -> str:
    """Returns the errors, one below the other; at most MOST_ERRORS of them."""
    omitted_count = len(errors) - MOST_ERRORS
    more = [f"… and {omitted_count} more"] if omitted_count > 0 else []
    return "\n".join([*map(str, errors[:MOST_ERRORS]), *more])


def print_notes(notes: Iterable[str]) -> None:
    """Writes *notes* to stderr."""
    for note in notes:
        click.echo(f"note: {note}", err=True)


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


def format_total(total: float | None, max_score: float) -> str:
    """Returns a total with its maximum, such as "21.5/30"; "-" for None."""
    return "-" if total is None else f"{points(total)}/{points(max_score)}"


def release_or_pack(release: Path | None, pack: Path | None, key_file: Path | None) -> Path:
    """Returns *release* or *pack*, whichever is given, and keeps the key from *key_file* in this
    process. Raises SetupError."""
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
