"""`grader watch`: grades submissions as they arrive."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import click

from grader.cli.grade_command import command as grade
from grader.cli.options import examples
from grader.errors import GraderError

_SETTLE_SECONDS = 1.0
"""Files that don't change for this long are complete."""
_RETRY_SECONDS = 60.0
_Files = dict[str, tuple[int, int]]
"""Size and time of change of each file, by path."""


@click.command(
    "watch",
    params=[
        click.Option(
            ["--every"],
            type=click.FloatRange(min=0.1),
            default=10,
            show_default=True,
            metavar="SECONDS",
            help="Time between two looks at the folder.",
        ),
        click.Option(
            ["--stop-after"],
            type=click.FloatRange(min=0),
            metavar="MINUTES",
            help="Stop when nothing has changed for this long. Default: watch until Ctrl-C.",
        ),
        *grade.params,
    ],
    epilog=examples(
        "grader watch submissions --release release --out results",
        "grader watch submissions --release release --out results --executor dask:tcp://host:8786",
    ),
)
@click.pass_context
def command(
    context: click.Context,
    /,
    *,
    submissions: Path,
    every: float,
    stop_after: float | None,
    **options: object,
) -> None:
    """Grade submissions as they arrive in a folder, and again whenever a file changes.

    Takes the options of `grader grade`, and does what it does each time something has changed. If
    a problem on this machine, such as a lost connection, leaves marks open, tries again every
    minute.
    """
    graded: _Files | None = None
    retry_at, worked = float("inf"), False
    quiet_since = time.monotonic()
    while stop_after is None or time.monotonic() - quiet_since <= 60 * stop_after:
        found = dict(_files_in(submissions))
        changed = found != graded and _is_settled(submissions, found)
        if found and (changed or time.monotonic() >= retry_at):
            try:
                complete = _grade(context, submissions, options)
            except GraderError as error:
                if not worked:  # such as a release that is not there
                    raise
                click.echo(str(error), err=True)
                complete = False
            worked = True
            graded = found
            retry_at = float("inf") if complete else time.monotonic() + _RETRY_SECONDS
            quiet_since = time.monotonic()
        time.sleep(every)


def _grade(context: click.Context, submissions: Path, options: dict[str, object]) -> bool:
    """Grades what is there; returns whether this machine did all that it should."""
    click.echo(f"{time.strftime('%H:%M:%S')}  grading {submissions}", err=True)
    status: int = context.invoke(grade, submissions=submissions, **options)
    return status == 0


def _files_in(folder: Path) -> Iterator[tuple[str, tuple[int, int]]]:
    paths = [folder] if folder.is_file() else sorted(folder.rglob("*"))
    for path in paths:
        try:
            found = path.stat()
        except OSError:  # deleted meanwhile
            continue
        if path.is_file():
            yield str(path), (found.st_size, found.st_mtime_ns)


def _is_settled(folder: Path, found: _Files) -> bool:
    """Returns whether no file is just being written."""
    time.sleep(_SETTLE_SECONDS)
    return dict(_files_in(folder)) == found
