"""The commands of `grader classroom`, one module each, and the functions they share."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from grader.errors import SetupError
from grader.model import Student
from grader.registry import nearest

if TYPE_CHECKING:
    from grader.integrations.repositories.collecting import Repository
    from grader.integrations.repositories.git import Access
    from grader.integrations.repositories.publishing import Sent


def chosen(students: Iterable[Student], wanted: Sequence[str]) -> list[Student]:
    """The students with the ids in *wanted*, or all if it is empty.

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


def access() -> Access:
    """The access to repositories that the environment variables configure."""
    from grader.integrations.repositories.git import Access

    return Access(
        token=os.environ.get("GITHUB_TOKEN", ""),
        server=os.environ.get("GITHUB_SERVER_URL", "https://github.com"),
    )


def place(students: Iterable[Student], roster: Path | None, url: str) -> tuple[Repository, ...]:
    """The repository of each student, from the roster's column `repository` or from *url*."""
    from grader.integrations.repositories.collecting import repositories
    from grader.integrations.repositories.roster import load_repositories

    return repositories(students, load_repositories(roster) if roster else {}, url=url)


def say_sent(sent: Sequence[Sent], *, as_json: bool, nothing: Sequence[str] | None = None) -> int:
    """Prints the outcome for each student, and returns the exit status.

    *nothing* lists students with nothing to send; None if the command always sends something.
    """
    import click

    from grader.cli.options import print_json, table
    from grader.integrations.repositories.publishing import Went
    from grader.text.escape import inert

    failed = sum(one.went is Went.FAILED for one in sent)
    if as_json:
        rows = [
            {"student": s.student, "went": s.went.value, "text": s.text, "commit": s.commit}
            for s in sent
        ]
        more = {} if nothing is None else {"nothing": list(nothing)}
        print_json({"students": rows, **more})
    else:
        shown = [(s.student, s.went.value, s.commit[:10], inert(s.text)) for s in sent]
        click.echo(table(("student", "", "commit", ""), shown))
        click.echo(f"\n{len(sent) - failed} of {len(sent)} repositories are up to date.")
    return 1 if failed else 0
