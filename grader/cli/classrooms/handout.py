"""`grader classroom handout`: push the files that students start from."""

from __future__ import annotations

from pathlib import Path

from grader.cli.classrooms import JOBS, STUDENTS, URL, choose_students, git_access, send_files
from grader.cli.options import JSON
from grader.cli.parameters import EXISTING_FOLDER, REQUIRED, option, subcommand
from grader.errors import SetupError


@subcommand(
    "handout",
    "grader classroom handout roster.csv --from course/students \\",
    "    --url https://github.com/ORG/midterm-{id}.git",
)
def command(
    roster: Path,
    source: Path = option(
        REQUIRED,
        "--from",
        type=EXISTING_FOLDER,
        metavar="STUDENTS",
        help="Folder students/ that `grader classroom init` wrote.",
    ),
    branch: str = option("main", metavar="NAME", help="Branch to write to."),
    url: str = URL,
    students: tuple[str, ...] = STUDENTS,
    jobs: int = JOBS,
    as_json: bool = JSON,
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
