"""`grader export worksheet`: the grades of Moodle's worksheet."""

from __future__ import annotations

from pathlib import Path

import click

from grader.cli.exports import finish
from grader.cli.exports.students import folder, gradebook_options, results_argument
from grader.cli.options import examples, json_option


@click.command(
    "worksheet",
    epilog=examples("grader export worksheet results --gradebook Grades-Midterm-1234.csv"),
)
@results_argument
@gradebook_options("Grading worksheet downloaded from Moodle.")
@json_option
def command(
    results: Path,
    gradebook: Path,
    scale: bool,
    missing_as_zero: bool,
    out: Path | None,
    as_json: bool,
) -> None:
    """Fill the points into Moodle's offline grading worksheet, and change nothing else.

    If a student's points are still open, the cell is left as it was, and the student is listed.
    """
    from grader.integrations.exporting import class_results
    from grader.integrations.lms.gradebooks import worksheet

    exported = worksheet(
        class_results(results),
        gradebook.read_bytes(),
        gradebook.name,
        scale=scale,
        missing_as_zero=missing_as_zero,
    )
    finish(exported, folder(results, out, "worksheet"), as_json=as_json)
