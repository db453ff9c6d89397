"""`grader export classroom50`: result.json and release-body.md."""

from __future__ import annotations

import os
from pathlib import Path

import click

from grader.cli.exports import finish
from grader.cli.exports.students import only, partial_option, results_argument
from grader.cli.options import examples, json_option
from grader.cli.runner_files import append_outputs, output_option


@click.command(
    "classroom50",
    epilog=examples(
        "grader export classroom50 results --student ada",
        'grader export classroom50 results --student ada --github-output "$GITHUB_OUTPUT"',
    ),
)
@results_argument
@click.option("--student", required=True, metavar="ID", help="Whose result to write.")
@click.option(
    "--scale",
    type=click.IntRange(min=1, max=1_000_000),
    default=100,
    show_default=True,
    metavar="N",
    help="Classroom 50 points per exam point, as it stores integers; use one value per class.",
)
@partial_option
@click.option(
    "--submitted-at",
    metavar="TIME",
    help="Time of submission in ISO 8601, such as the commit's. Default: when it was received.",
)
@click.option(
    "--graded-at", metavar="TIME", help="Time of grading in ISO 8601. Omitted by default."
)
@output_option
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=".",
    metavar="DIR",
    help="Folder to write to. Default: the current one, where Classroom 50's runner looks.",
)
@json_option
def command(
    results: Path,
    student: str,
    scale: int,
    partial: bool,
    submitted_at: str | None,
    graded_at: str | None,
    output: Path | None,
    out: Path,
    as_json: bool,
) -> None:
    """Write result.json and release-body.md for Classroom 50's runner.

    The environment variables that the runner sets identify the submission: CLASSROOM, ASSIGNMENT,
    OWNER, SUBMISSION_TAG, COMMIT_URL, RELEASE_URL, REVIEW_URL and others. Exits 0 whatever the
    score; any other exit code means that there is no result, and nothing is published.
    """
    from grader.integrations.exporting import class_results
    from grader.integrations.github import classroom50

    whose = classroom50.identity(os.environ)
    mine = only(class_results(results, [student]), student)
    made = classroom50.classroom50(
        mine,
        whose,
        scale=scale,
        partial=partial,
        submitted_at=submitted_at,
        graded_at=graded_at,
    )
    if output is not None:
        append_outputs(output, classroom50.outputs(mine, scale=scale, partial=partial))
    finish(made, out, as_json=as_json)
