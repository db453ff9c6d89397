"""`grader classroom handout`: what students start from, into their repositories."""

from __future__ import annotations

from pathlib import Path

import click

from grader.cli.classrooms import access, chosen, place, say_sent
from grader.cli.options import examples, json_option, progress
from grader.errors import SetupError


@click.command(
    "handout",
    epilog=examples(
        "grader classroom handout roster.csv --from course/students \\",
        "    --url https://github.com/ORG/midterm-{id}.git",
    ),
)
@click.argument("roster", type=click.Path(path_type=Path))
@click.option(
    "--from",
    "source",
    required=True,
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    metavar="STUDENTS",
    help="The folder students/ that `grader classroom init` wrote.",
)
@click.option("--url", default="", metavar="PATTERN", help="Each one's address, with {id} in it.")
@click.option("--branch", default="main", show_default=True, metavar="NAME")
@click.option(
    "--student", "students", multiple=True, metavar="ID", help="Only this one; again for more."
)
@click.option("--jobs", type=click.IntRange(1, 64), default=8, show_default=True, metavar="N")
@json_option
def command(
    roster: Path,
    source: Path,
    url: str,
    branch: str,
    students: tuple[str, ...],
    jobs: int,
    as_json: bool,
) -> int:
    """Add to every student's repository what it lacks: the notebook, or all of it when empty.

    Nothing that is there is changed, so it can run again for those who join late. A token in
    GITHUB_TOKEN lets it write. Exits 1 when a repository could not be written.
    """
    from grader.load import load_roster
    from grader.pipeline.publishing import Sending, folder_files, send_all

    listed = chosen(load_roster(roster), students)
    if listed and not any((source / student.id).is_dir() for student in listed):
        raise SetupError(
            "nobody on the roster has a folder here",
            where=str(source),
            fix="name the folder students/ that `grader classroom init` wrote",
        )
    how = Sending(
        branch=branch, message="Hand out the exam\n", whole=False, access=access(), jobs=jobs
    )
    to = place(listed, roster, url)
    with progress("handing out", len(to)) as done:
        sent = send_all(to, lambda student: folder_files(source / student), how, done)
    return say_sent(sent, as_json=as_json)
