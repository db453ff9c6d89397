"""What `grader grade` prints when it has finished, and its exit status."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from grader.cli.options import print_json
from grader.text.words import count_of

if TYPE_CHECKING:
    from grader.grading.results import WrittenResults
    from grader.grading.run import GradingRun
    from grader.integrations.nbgrader.grading import AssignmentRun


def print_outcome(
    done: GradingRun | AssignmentRun,
    written: WrittenResults,
    head: dict[str, object],
    *,
    as_json: bool,
) -> int:
    """Prints the outcome, and returns the exit status."""
    status = 1 if done.unsettled_count else 0
    if as_json:
        print_json(
            {
                **head,
                "executed": done.executed_count,
                "kept": done.kept_count,
                "unsettled": done.unsettled_count,
                "notices": [
                    {"level": str(n.level), "path": n.path, "text": n.text} for n in done.notices
                ],
                "class": written.figures,
                "grades": written.totals,
            }
        )
        return status
    for notice in done.notices:
        click.echo(f"{notice.level}: {notice.path}: {notice.text}", err=True)
    click.echo(written.summary)
    if done.unsettled_count:
        notebooks = count_of(done.unsettled_count, "notebook")
        click.echo(
            f"{notebooks} could not be graded completely because of a problem on this machine. No "
            "points are deducted. Run the same command again.",
            err=True,
        )
    return status
