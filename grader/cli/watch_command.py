"""`grader watch`: grades submissions as they arrive."""

from __future__ import annotations

import copy
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import repeat
from pathlib import Path
from typing import Any

import click

from grader.cli.course_commands import require_course
from grader.cli.grade_command import command as grade
from grader.cli.parameters import option, subcommand
from grader.errors import GraderError, SetupError
from grader.model.course import Course
from grader.release.file import load_release

_SETTLE_SECONDS = 1.0
"""Files that don't change for this long are complete."""
_RETRY_SECONDS = 60.0
_Files = dict[str, tuple[int, int]]
"""Size and time of change of each file, by path."""


@subcommand(
    "watch",
    "grader watch submissions --release release --out results",
    "grader watch submissions --release release --out results --executor dask:tcp://host:8786",
    "grader watch --course course.yaml --executor dask:tcp://host:8786",
)
def command(
    submissions: Path | None,
    every: float = option(10, least=0.1, metavar="SECONDS", help="How often to look for changes."),
    stop_after: float | None = option(
        None,
        least=0,
        metavar="MINUTES",
        help="Stop when nothing has changed for this long. Default: watch until Ctrl-C.",
    ),
    **options: Any,
) -> None:
    """Grade submissions as they arrive in a folder, and again whenever a file changes.

    Takes the options of `grader grade`, and grades whenever something has changed. If a problem on
    this machine, such as a lost connection, leaves marks open, tries again every minute.

    Without SUBMISSIONS, watches the folders of all sets of the course: those for which the course
    file names `submissions`, `release`, and `results`.
    """
    if submissions is None:
        watched: Iterator[list[_Folder]] = _course_folders(options)
    else:
        if options["out"] is None:
            raise click.UsageError("Missing option '--out'.")
        if options["release"] is not None:  # an error now, not when the first submission arrives
            load_release(options["release"])
        if not submissions.exists():
            click.echo(
                f"warning: {submissions} does not exist yet; if this is not the folder that you "
                "meant, press Ctrl-C, and run the command again",
                err=True,
            )
        watched = repeat([_Folder(submissions, options)])
    click.echo(f"Watching {submissions or 'the course'}. Press Ctrl-C to stop.", err=True)
    quiet_since = time.monotonic()
    while stop_after is None or time.monotonic() - quiet_since <= 60 * stop_after:
        for folder in next(watched):
            if folder.grade_changes(is_only=submissions is not None):
                quiet_since = time.monotonic()
        time.sleep(every)


for _param in grade.params[1:]:
    _mine = copy.copy(_param)
    _mine.required = False  # the course file may name the rest
    command.params.append(_mine)


@dataclass
class _Folder:
    """A folder of submissions, and how it is graded."""

    submissions: Path
    options: Mapping[str, Any]
    last_files: _Files | None = None
    """The files that were graded last."""
    retry_at: float = field(default=float("inf"))
    has_graded: bool = False

    def grade_changes(self, *, is_only: bool) -> bool:
        """Grades the files if any has changed, or if it is time to try again.

        Returns whether it graded.

        Raises the first error of the only folder, such as a release that does not exist.
        """
        files = dict(_iter_files(self.submissions))
        changed = files != self.last_files and _wait_and_compare(self.submissions, files)
        if not files or not (changed or time.monotonic() >= self.retry_at):
            return False
        try:
            click.echo(f"{time.strftime('%H:%M:%S')}  grading {self.submissions}", err=True)
            context = click.get_current_context()
            # Status 1: a problem on this machine left marks open.
            complete = context.invoke(grade, submissions=self.submissions, **self.options) == 0
        except GraderError as error:
            if is_only and not self.has_graded:
                raise
            click.echo(str(error), err=True)
            complete = False
        self.has_graded, self.last_files = True, files
        self.retry_at = float("inf") if complete else time.monotonic() + _RETRY_SECONDS
        return True


def _course_folders(options: Mapping[str, Any]) -> Iterator[list[_Folder]]:
    """Yields the folders of the course's sets again and again, and rereads the course file whenever
    it changes."""
    from grader.course import load_course

    conflicting = [name for name in ("release", "pack", "out", "source", "names") if options[name]]
    if conflicting:
        raise click.UsageError(
            f"--{conflicting[0]} needs a folder: name SUBMISSIONS, or omit --{conflicting[0]}."
        )
    path = require_course(options["course_file"], options["banks"])
    folders: dict[Path, _Folder] = {}
    read_at: float | None = None
    while True:
        if (changed_at := _read_modification_time(path)) != read_at:
            try:
                watched = dict(_iter_watched_folders(load_course(path), path, options))
            except GraderError as error:
                if read_at is None:
                    raise
                click.echo(str(error), err=True)  # somebody is editing it
            else:
                folders = {where: folders.get(where, folder) for where, folder in watched.items()}
            read_at = changed_at
        yield list(folders.values())


def _iter_watched_folders(
    course: Course, path: Path, options: Mapping[str, Any]
) -> Iterator[tuple[Path, _Folder]]:
    """Yields the path of each folder of submissions in the course file *path*, and how to watch it.

    Raises SetupError if no set names all of its submissions, release, and results.
    """
    has_files = False
    for course_set in course.sets.values():
        if course_set.submissions and course_set.release and course_set.results:
            has_files = True
            submissions = path.parent / course_set.submissions
            set_options = {
                "release": path.parent / course_set.release,
                "out": path.parent / course_set.results,
                "course_file": path,
            }
            yield submissions, _Folder(submissions, {**options, **set_options})
    if not has_files:
        raise SetupError(
            "no set of the course can be watched",
            where=str(path),
            fix="name `submissions:`, `release:`, and `results:` for each set to watch",
        )


def _read_modification_time(path: Path) -> float:
    """Returns when *path* was changed; 0 if it can't be read."""
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _iter_files(folder: Path) -> Iterator[tuple[str, tuple[int, int]]]:
    """Yields the path of each file in *folder*, with its size and its time of change."""
    paths = [folder] if folder.is_file() else sorted(folder.rglob("*"))
    for path in paths:
        try:
            status = path.stat()
        except OSError:  # deleted meanwhile
            continue
        if path.is_file():
            yield str(path), (status.st_size, status.st_mtime_ns)


def _wait_and_compare(folder: Path, before: _Files) -> bool:
    """Waits a second, and returns whether the files in *folder* are still as in *before*."""
    time.sleep(_SETTLE_SECONDS)
    return dict(_iter_files(folder)) == before
