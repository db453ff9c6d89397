"""The commands of `grader classroom`, one module each, and the functions they share."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from grader.cli.options import print_json, table
from grader.cli.parameters import option
from grader.cli.progress import progress
from grader.errors import SetupError
from grader.model import Student
from grader.registry import suggest
from grader.text.escape import neutralize

if TYPE_CHECKING:
    from grader.integrations.repositories.git import Credentials
    from grader.integrations.repositories.publishing import SendOptions
    from grader.integrations.repositories.snapshot import RepositoryOutcome


def choose_students(students: Iterable[Student], wanted: Sequence[str]) -> list[Student]:
    """Returns the students with the ids in *wanted*, or all if it is empty.

    Raises SetupError for an unknown id.
    """
    by_id = {student.id: student for student in students}
    for name in wanted:
        if name not in by_id:
            fix = suggest(name, by_id, "see the ids in the roster")
            raise SetupError(f"the roster has no student '{name}'", fix=fix)
    return [by_id[name] for name in dict.fromkeys(wanted)] if wanted else list(by_id.values())


def git_access() -> Credentials:
    """Returns the access to repositories that the environment variables configure."""
    from grader.integrations.repositories.git import Credentials

    return Credentials(
        token=os.environ.get("GITHUB_TOKEN", ""),
        server=os.environ.get("GITHUB_SERVER_URL", "https://github.com"),
    )


def send_files(
    what: str,
    students: Iterable[Student],
    files_of: Callable[[str], Mapping[str, bytes]],
    how: SendOptions,
    roster: Path | None,
    url: str,
    data: Mapping[str, object] | None,
) -> int:
    """Pushes files to each student's repository; *files_of* returns a student's.

    The repositories come from the column `repository` of *roster*, or from *url*. Prints the
    outcomes as `print_outcomes` does, with *what* beside the progress bar. Returns the exit status.
    """
    from grader.integrations.repositories.collecting import student_repositories
    from grader.integrations.repositories.publishing import SendStatus, send_all
    from grader.integrations.repositories.roster import load_repositories

    to = student_repositories(students, load_repositories(roster) if roster else {}, url=url)
    with progress(what, len(to)) as done:
        sent = send_all(to, files_of, how, done)
    failed = sum(result.status is SendStatus.FAILED for result in sent)
    summary = f"{len(sent) - failed} of {len(sent)} repositories are up to date."
    print_outcomes("went", sent, summary, data)
    return 1 if failed else 0


def print_outcomes(
    what: str,
    outcomes: Sequence[RepositoryOutcome],
    summary: str,
    data: Mapping[str, object] | None,
) -> None:
    """Prints the student, the outcome, a text, and the commit of each repository.

    If *data* is given, prints JSON with these entries, in which *what* names the outcome.
    """
    if data is not None:
        rows = [asdict(outcome) for outcome in outcomes]
        print_json({**data, "students": [{what: row.pop("status"), **row} for row in rows]})
        return
    shown = [(o.student, o.status.value, o.commit[:10], neutralize(o.text)) for o in outcomes]
    click.echo(table(("student", "", "commit", ""), shown))
    click.echo(f"\n{summary}")


def students_option(text: str) -> Any:
    """Returns --student, which may be repeated."""
    return option(
        (),
        "--student",
        metavar="ID",
        help=f"{text} Repeat for more students.  [default: all students]",
    )


URL = option("", metavar="PATTERN", help="URL of each repository, with {id} in it.")
STUDENTS = students_option("This student's repository only.")
JOBS = option(8, least=1, most=64, metavar="N", help="Repositories to work on at once.")
