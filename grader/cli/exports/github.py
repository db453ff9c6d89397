"""`grader export github`: results for GitHub Classroom's autograding reporter."""

from __future__ import annotations

from pathlib import Path

import click

from grader.cli.exports import finish
from grader.cli.exports.students import (
    folder,
    of_everybody,
    only,
    out_option,
    partial_option,
    results_argument,
)
from grader.cli.options import examples, json_option
from grader.cli.runner_files import append_outputs, output_option


@click.command(
    "github",
    epilog=examples(
        "grader export github results",
        'grader export github results --student ada --github-output "$GITHUB_OUTPUT"',
    ),
)
@results_argument
@click.option(
    "--student", metavar="ID", help="Write only this student's files, without a folder per student."
)
@partial_option
@output_option
@out_option
@json_option
def command(
    results: Path,
    student: str | None,
    partial: bool,
    output: Path | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Write the results that GitHub Classroom's autograding reporter reads, one file per problem.

    With --github-output, a student's results become outputs of the workflow step: q1, q2, ... for
    the problems, and `runners` with all their names.
    """
    from grader.integrations.exporting import class_results
    from grader.integrations.github import results as github

    if output is not None and student is None:
        raise click.UsageError("--github-output needs --student")
    found = class_results(results, [student] if student is not None else [])
    if student is None:
        made = of_everybody(found.results, lambda one: github.github(one, partial=partial))
    else:
        made = github.github(only(found, student), partial=partial)
        if output is not None:
            append_outputs(
                output, github.outputs(github.runners(only(found, student), partial=partial))
            )
    finish(made, folder(results, out, "github"), as_json=as_json)
