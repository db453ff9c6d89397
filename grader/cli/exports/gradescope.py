"""`grader export gradescope`: results.json."""

from __future__ import annotations

from pathlib import Path

import click

from grader.cli.exports import finish
from grader.cli.exports.students import folder, of_everybody, only, out_option, results_argument
from grader.cli.options import examples, json_option

_TIERS = ("visible", "after_due_date", "after_published", "hidden")


@click.command(
    "gradescope",
    epilog=examples(
        "grader export gradescope results",
        "grader export gradescope results --student ada --out /autograder/results",
    ),
)
@results_argument
@click.option(
    "--student", metavar="ID", help="Write only this student's file, without a folder per student."
)
@click.option(
    "--marks",
    type=click.Choice(_TIERS),
    default="visible",
    show_default=True,
    help="When students see points and reasons.",
)
@click.option(
    "--solutions",
    type=click.Choice(_TIERS),
    default="after_published",
    show_default=True,
    help="When students see accepted answers, once the exam's feedback is published.",
)
@click.option(
    "--text",
    "text_format",
    type=click.Choice(("text", "md")),
    default="text",
    show_default=True,
    help="Format of the reasons: plain text or Markdown.",
)
@out_option
@json_option
def command(
    results: Path,
    student: str | None,
    marks: str,
    solutions: str,
    text_format: str,
    out: Path | None,
    as_json: bool,
) -> None:
    """Write Gradescope's results.json for every student, or for one."""
    from grader.integrations.exporting import class_results
    from grader.integrations.gradescope.results import (
        FILE,
        TextFormat,
        Tiers,
        Visible,
        notes,
        results_json,
    )
    from grader.model.exported import Exported, Result

    tiers = Tiers(marks=Visible(marks), solutions=Visible(solutions))

    def made(one: Result) -> Exported:
        data = results_json(one, tiers=tiers, text_format=TextFormat(text_format))
        return Exported(files={FILE: data}, notes=notes(one, tiers))

    found = class_results(results, [student] if student is not None else [])
    exported = of_everybody(found.results, made) if student is None else made(only(found, student))
    finish(exported, folder(results, out, "gradescope"), as_json=as_json)
