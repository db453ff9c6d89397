"""`grader report`: write the report and feedback pages."""

from __future__ import annotations

from pathlib import Path

import click

from grader.cli.options import bank_option, examples, json_option, print_json


@click.command(
    "report",
    epilog=examples(
        "grader report results",
        "grader report results --publish     # feedback now shows keys and worked solutions",
        "grader report results --unpublish",
    ),
)
@click.argument("results", type=click.Path(path_type=Path))
@click.option(
    "--publish/--unpublish",
    default=None,
    help="Show or hide accepted answers and worked solutions on the feedback pages. Default: "
    "unchanged.",
)
@bank_option
@json_option
def command(results: Path, publish: bool | None, banks: tuple[str, ...], as_json: bool) -> None:
    """Write the class report, every student's feedback page, grades.csv and grades/*.json."""
    from grader.bank.folders import Bank
    from grader.grading.results import set_published, write_results

    if publish is not None:
        set_published(results, publish)
    written = write_results(results, Bank.open(banks))
    if as_json:
        print_json(
            {
                "results": str(results),
                "published": written.published,
                "class": written.figures,
                "statistics": written.statistics,
                "grades": written.totals,
            }
        )
        return
    click.echo(written.summary)
