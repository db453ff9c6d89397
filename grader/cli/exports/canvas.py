"""`grader export canvas`: a column of an exported gradebook."""

from __future__ import annotations

from pathlib import Path

import click

from grader.cli.exports import finish
from grader.cli.exports.students import folder, gradebook_options, results_argument
from grader.cli.options import examples, json_option


@click.command(
    "canvas",
    epilog=examples(
        "grader export canvas results --gradebook Grades-MLSys.csv --column 'Midterm (4711)'",
        "grader export canvas results --gradebook Grades-MLSys.csv --column Midterm --scale",
    ),
)
@results_argument
@click.option("--column", required=True, metavar="TITLE", help="Title of the assignment's column.")
@gradebook_options("CSV file that Canvas exported.")
@json_option
def command(
    results: Path,
    column: str,
    gradebook: Path,
    scale: bool,
    missing_as_zero: bool,
    out: Path | None,
    as_json: bool,
) -> None:
    """Fill the points into the gradebook that Canvas exported, and change nothing else.

    If a student's points are still open, the cell is left as it was, and the student is listed.
    """
    from grader.integrations.exporting import class_results
    from grader.integrations.lms.gradebooks import canvas

    exported = canvas(
        class_results(results),
        gradebook.read_bytes(),
        gradebook.name,
        column=column,
        scale=scale,
        missing_as_zero=missing_as_zero,
    )
    finish(exported, folder(results, out, "canvas"), as_json=as_json)
