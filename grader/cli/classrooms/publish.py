"""`grader classroom publish`: push feedback to students' repositories."""

from __future__ import annotations

from pathlib import Path

import click

from grader.cli.classrooms import JOBS, STUDENTS, URL, git_access, send_files
from grader.cli.options import JSON
from grader.cli.parameters import EXISTING, option, subcommand


@subcommand(
    "publish",
    "grader classroom publish results --url https://github.com/ORG/midterm-{id}.git",
    "grader classroom publish results --roster roster.csv --student ada",
)
def command(
    results: Path,
    roster: Path | None = option(
        None,
        type=EXISTING,
        metavar="CSV",
        help="CSV file with a column `repository`, for students whose URL is different.",
    ),
    branch: str = option("feedback", metavar="NAME", help="Branch to write to."),
    url: str = URL,
    students: tuple[str, ...] = STUDENTS,
    jobs: int = JOBS,
    as_json: bool = JSON,
) -> int:
    """Push each student's feedback to a branch of the student's repository.

    README.md and feedback.html have the state of the last `grader report`: accepted answers are
    included only after `grader report --publish`. Set GITHUB_TOKEN to a token with write access.
    Branches that other programs wrote are not overwritten. Exits 1 if a repository can't be
    written, or if there is nothing to send to a student named with --student.
    """
    from grader.integrations.exporting import class_results
    from grader.integrations.github.actions import feedback_files
    from grader.integrations.repositories.publishing import SendOptions
    from grader.model.result import Standing
    from grader.text.words import join_names

    graded_class = class_results(results, students)
    everyone = {result.feedback.student.id: result for result in graded_class.results}
    nothing = [s for s, result in everyone.items() if result.feedback.standing is Standing.MISSING]
    graded = {student: result for student, result in everyone.items() if student not in nothing}
    if nothing and not as_json:
        click.echo(f"note: {join_names(nothing)}: no submission, so there is no feedback", err=True)
    if not graded and not as_json:
        whom = f" to {join_names(nothing)}" if students else ": there are no submissions"
        click.echo(f"There is nothing to send{whom}.")
        return 1 if students else 0
    files = {student: feedback_files(result, results) for student, result in graded.items()}
    how = SendOptions(
        branch=branch,
        message=f"Feedback on {graded_class.title}\n",
        whole=True,
        access=git_access(),
        jobs=jobs,
    )
    to = [result.feedback.student for result in graded.values()]
    data = {"nothing": nothing} if as_json else None
    code = send_files("publishing", to, files.__getitem__, how, roster, url, data)
    return 1 if students and nothing else code
