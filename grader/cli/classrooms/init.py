"""`grader classroom init`: write the repositories of a class."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from grader.cli.export_command import field_options, pop_fields
from grader.cli.options import BANKS, JSON, open_bank, print_json, print_notes
from grader.cli.parameters import EXISTING_FILE, FOLDER, argument, option, subcommand
from grader.cli.progress import progress
from grader.integrations.github.options import ClassroomOptions, Host, load_previous, merge_options
from grader.text.words import count_of


@subcommand(
    "init",
    "grader classroom init course --release release --owner my-org",
    "grader classroom init course --release release --owner my-org \\",
    "    --deadline 2026-12-01T23:59:00+01:00 --schedule '5 23 * * *'",
    "grader classroom init course --release release --host classroom50",
)
def command(
    folder: Path = argument(type=FOLDER, metavar="DIR"),
    release: Path = option(metavar="DIR", help="Folder of the release that `grader render` wrote."),
    pack: Path | None = option(
        None, type=EXISTING_FILE, help="Sealed pack for Classroom 50's bundle."
    ),
    banks: tuple[str, ...] = BANKS,
    as_json: bool = JSON,
    **values: Any,
) -> None:
    """Write the repositories of a class into DIR.

    student-template/ is the starting point of the assignment. It has the exam notebook if all
    students share a version, else a practice notebook. students/ID/ has that student's notebook
    instead. instructor/ collects and grades; only it contains the release. If you run the command
    again, omitted options keep their previous values, which are reported.
    """
    from grader.integrations.github.class_folders import INSTRUCTOR, init_classroom
    from grader.integrations.repositories.roster import parse_instant
    from grader.release.file import load_release

    given = {n: v for n, v in pop_fields(ClassroomOptions, values).items() if v is not None}
    options, kept = merge_options(load_previous(folder / INSTRUCTOR)[0], given)
    if options.deadline:
        parse_instant(options.deadline)
    count = len(load_release(release).students)
    with progress("writing", count) as done:
        notes = init_classroom(release, folder, options, open_bank(banks), pack=pack, done=done)
    notes = [*kept, *notes]
    if as_json:
        print_json({"folder": str(folder), "students": count, "notes": notes})
        return
    print_notes(notes)
    click.echo(f"{folder / 'student-template'}: starting point of the assignment; nothing secret")
    who = count_of(count, "student")
    click.echo(f"{folder / 'students'}: the same with each student's notebook, for {who}")
    if options.host is Host.CLASSROOM50:
        click.echo(f"{folder / 'classroom50'}: the bundle with autograder.py; nothing secret")
    click.echo(
        f"{folder / 'instructor'}: contains the answers; push it to a private repository only"
    )


command.params[2:2] = field_options(ClassroomOptions, keeps=True)
