"""`grader classroom handout`: push the files that students start from."""

from __future__ import annotations

from pathlib import Path

import click

from grader.cli.classrooms import choose_students, git_access, repository_options, send_files
from grader.cli.options import examples, json_option
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
    help="Folder students/ that `grader classroom init` wrote.",
)
@click.option(
    "--branch", default="main", show_default=True, metavar="NAME", help="Branch to write to."
)
@repository_options
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
    """Add missing files to every student's repository: the notebook, or everything if it is empty.

    Existing files are never changed, so run it again if students join late. Set GITHUB_TOKEN to a
    token with write access. Exits 1 if a repository can't be written.
    """
    from grader.integrations.repositories.publishing import SendOptions, folder_files
    from grader.release.roster import load_roster

    listed = choose_students(load_roster(roster), students)
    if listed and not any((source / student.id).is_dir() for student in listed):
        raise SetupError(
            "no student on the roster has a folder here",
            where=str(source),
            fix="give the folder students/ that `grader classroom init` wrote",
        )
    how = SendOptions(
        branch=branch, message="Hand out the exam\n", whole=False, access=git_access(), jobs=jobs
    )
    data: dict[str, object] | None = {} if as_json else None
    return send_files(
        "handing out", listed, lambda name: folder_files(source / name), how, roster, url, data
    )
