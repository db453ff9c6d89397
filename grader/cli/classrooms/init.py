"""`grader classroom init`: write the repositories of a class."""

from __future__ import annotations

from pathlib import Path

import click

from grader.cli.options import bank_option, examples, json_option, print_json
from grader.cli.progress import progress
from grader.words import counted


@click.command(
    "init",
    epilog=examples(
        "grader classroom init course --release release --owner my-org",
        "grader classroom init course --release release --owner my-org \\",
        "    --deadline 2026-12-01T23:59:00+01:00 --schedule '5 23 * * *'",
        "grader classroom init course --release release --host classroom50",
    ),
)
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--release",
    required=True,
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Folder of the release that `grader render` wrote.",
)
@click.option(
    "--host",
    type=click.Choice(["github", "classroom50"]),
    help="Where the repositories are. Default: github.",
)
@click.option(
    "--owner",
    metavar="ORG",
    help="GitHub organization or user that owns the students' repositories.",
)
@click.option("--url", metavar="PATTERN", help="URL of each repository, with {id} in it.")
@click.option("--notebook", metavar="NAME", help="Name of the notebook file. Default: SET.ipynb.")
@click.option("--deadline", metavar="INSTANT", help="Deadline, such as 2026-12-01T23:59:00+01:00.")
@click.option("--schedule", metavar="CRON", help="Grading schedule, as a cron expression in UTC.")
@click.option("--branch", metavar="NAME", help="Branch to collect. Default: main.")
@click.option(
    "--grader-source",
    metavar="URL@COMMIT|WHEEL",
    help="Where pip gets the grader: a repository's URL at a commit, or a wheel's URL with "
    "#sha256=. Default: GRADER_SOURCE, or where this grader was installed from.",
)
@click.option("--python", metavar="VERSION", help="Python version of the workflows. Default: 3.12.")
@click.option("--gpu-label", metavar="LABEL", help="Label of the runners with a GPU. Default: gpu.")
@click.option("--classroom", metavar="NAME", help="Name of the classroom in Classroom 50.")
@click.option("--assignment", metavar="NAME", help="Name of the assignment in Classroom 50.")
@click.option(
    "--scale",
    type=click.IntRange(1, 10_000),
    metavar="N",
    help="Classroom 50 points per exam point. Default: 100.",
)
@click.option(
    "--sample/--no-sample",
    default=None,
    help="If students have individual numbers, put a practice notebook into the template. "
    "Default: --sample.",
)
@click.option(
    "--pack",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE",
    help="Sealed pack for Classroom 50's bundle.",
)
@bank_option
@json_option
def command(
    folder: Path,
    release: Path,
    pack: Path | None,
    banks: tuple[str, ...],
    as_json: bool,
    **said: str | int | bool | None,
) -> None:
    """Write the repositories of a class into DIR.

    student-template/ is the starting point of the assignment. It has the exam notebook if all
    students share a version, else a practice notebook. students/ID/ has that student's notebook
    instead. instructor/ collects and grades; only it contains the release. If you run the command
    again, omitted options keep their previous values, which are reported.
    """
    from grader.bank.folders import Bank
    from grader.integrations.github.classrooms import INSTRUCTOR, init_classroom
    from grader.integrations.github.options import load_previous, merge_options
    from grader.integrations.repositories.roster import parse_instant
    from grader.release.file import load_release

    given = {name: value for name, value in said.items() if value is not None}
    wishes, kept = merge_options(load_previous(folder / INSTRUCTOR), given)
    if wishes.deadline:
        parse_instant(wishes.deadline)
    total = len(load_release(release).students)
    with progress("writing", total) as done:
        made = init_classroom(
            release,
            folder,
            wishes,
            Bank.open(banks),
            pack=pack,
            done=done,
        )
    notes = (*kept, *made.notes)
    if as_json:
        print_json({"folder": str(folder), "students": made.students, "notes": list(notes)})
        return
    for note in notes:
        click.echo(f"note: {note}", err=True)
    click.echo(f"{folder / 'student-template'}: starting point of the assignment; nothing secret")
    who = counted(made.students, "student")
    click.echo(f"{folder / 'students'}: the same with each student's notebook, for {who}")
    if wishes.host == "classroom50":
        click.echo(f"{folder / 'classroom50'}: the bundle with autograder.py; nothing secret")
    click.echo(
        f"{folder / 'instructor'}: contains the answers; push it to a private repository only"
    )
