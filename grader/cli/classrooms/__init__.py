"""The commands of `grader classroom`, one module each, and the functions they share."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from grader.cli.options import print_json, table
from grader.errors import SetupError
from grader.model import Student
from grader.registry import nearest

if TYPE_CHECKING:
    from grader.integrations.repositories.git import Access
    from grader.integrations.repositories.publishing import SendResult
    from grader.integrations.repositories.snapshot import Repository


F = TypeVar("F", bound=Callable[..., Any])


def choose_students(students: Iterable[Student], wanted: Sequence[str]) -> list[Student]:
    """Returns the students with the ids in *wanted*, or all if it is empty.

    Raises SetupError for an unknown id.
    """
    known = {student.id: student for student in students}
    for name in wanted:
        if name not in known:
            close = nearest(name, known)
            raise SetupError(
                f"the roster has no student '{name}'",
                fix=f"did you mean '{close}'?" if close else "see the ids in the roster",
            )
    return [known[name] for name in dict.fromkeys(wanted)] if wanted else list(known.values())


def git_access() -> Access:
    """Returns the access to repositories that the environment variables configure."""
    from grader.integrations.repositories.git import Access

    return Access(
        token=os.environ.get("GITHUB_TOKEN", ""),
        server=os.environ.get("GITHUB_SERVER_URL", "https://github.com"),
    )


def repositories_of(
    students: Iterable[Student], roster: Path | None, url: str
) -> tuple[Repository, ...]:
    """Returns the repository of each student, from the roster's column `repository` or from
    *url*."""
    from grader.integrations.repositories.collecting import student_repositories
    from grader.integrations.repositories.roster import load_repositories

    return student_repositories(students, load_repositories(roster) if roster else {}, url=url)


def print_sent(
    sent: Sequence[SendResult], *, as_json: bool, nothing: Sequence[str] | None = None
) -> int:
    """Prints the outcome for each student, and returns the exit status.

    *nothing* lists students with nothing to send; None if the command always sends something.
    """
    from grader.integrations.repositories.publishing import SendStatus

    failed = sum(one.went is SendStatus.FAILED for one in sent)
    print_outcomes(
        "went",
        [(s.student, s.went.value, s.text, s.commit) for s in sent],
        f"{len(sent) - failed} of {len(sent)} repositories are up to date.",
        ({} if nothing is None else {"nothing": list(nothing)}) if as_json else None,
    )
    return 1 if failed else 0


def print_outcomes(
    what: str,
    outcomes: Sequence[tuple[str, str, str, str]],
    summary: str,
    data: Mapping[str, object] | None,
) -> None:
    """Prints the student, the outcome, a text, and the commit of each repository.

    If *data* is given, prints JSON with these entries, in which *what* names the outcome.
    """
    from grader.text.escape import neutralize

    if data is not None:
        names = ("student", what, "text", "commit")
        rows = [dict(zip(names, one, strict=True)) for one in outcomes]
        print_json({**data, "students": rows})
        return
    shown = [(who, how, commit[:10], neutralize(text)) for who, how, text, commit in outcomes]
    click.echo(table(("student", "", "commit", ""), shown))
    click.echo(f"\n{summary}")


def repository_options(command: F) -> F:
    """Adds --url, --student, which may be repeated, and --jobs."""
    url = click.option(
        "--url", default="", metavar="PATTERN", help="URL of each repository, with {id} in it."
    )
    student = click.option(
        "--student",
        "students",
        multiple=True,
        metavar="ID",
        help="This student's repository only. Repeat for more students.",
    )
    jobs = click.option(
        "--jobs",
        type=click.IntRange(1, 64),
        default=8,
        show_default=True,
        metavar="N",
        help="Repositories to work on at once.",
    )
    return url(student(jobs(command)))
