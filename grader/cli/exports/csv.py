"""`grader export csv`: totals for a spreadsheet."""

from __future__ import annotations

from pathlib import Path

import click

from grader.cli.exports import finish
from grader.cli.exports.students import results_argument
from grader.cli.options import examples, json_option


@click.command(
    "csv",
    epilog=examples(
        "grader export csv results", "grader export csv results --student ada --student bo"
    ),
)
@results_argument
@click.option(
    "--student",
    "students",
    multiple=True,
    metavar="ID",
    help="Export this student only. Repeat for more students.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Folder for results.csv. Default: RESULTS/exports.",
)
@json_option
def command(results: Path, students: tuple[str, ...], out: Path | None, as_json: bool) -> None:
    """Write results.csv: names, sections, totals, and points by problem and by part.

    If points are still open, their cells and the total are empty.
    """
    from grader.integrations.csv_totals import totals
    from grader.integrations.exporting import class_results

    finish(totals(class_results(results, students)), out or results / "exports", as_json=as_json)
