"""`grader report`: write the report and feedback pages."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from grader.cli.options import BANKS, JSON, open_bank, print_json
from grader.cli.parameters import option, subcommand
from grader.text.words import count_of


@subcommand(
    "report",
    "grader report results",
    "grader report results --publish     # feedback now shows keys and worked solutions",
    "grader report results --unpublish",
    "grader report results --collect --term 'fall 2026' --bank mybank",
)
def command(
    results: Path,
    publish: bool | None = option(
        None,
        "--publish/--unpublish",
        help="Show or hide accepted answers and worked solutions on the feedback pages. Default: "
        "unchanged.",
    ),
    collect: bool = option(
        False,
        help="Also add the statistics of each part to a file beside the spec of its problem, "
        "without data of single students.",
    ),
    term: str = option(
        "",
        metavar="TEXT",
        help="With --collect, the name of the term in these files. Default: the title of the set.",
    ),
    banks: tuple[str, ...] = BANKS,
    as_json: bool = JSON,
) -> None:
    """Write the class report, every student's feedback page, grades.csv and grades/*.json.

    With --collect, writes problems/FAMILY/ID.stats.yaml. `grader show` and `grader catalogue` show
    these statistics, and blueprints balance papers by them. If the same results are collected
    again, they replace their earlier statistics.
    """
    from grader.grading.results import set_published, write_results

    if term and not collect:
        raise click.UsageError("--term needs --collect.")
    if publish is not None:
        set_published(results, publish)
    bank = open_bank(banks)
    written = write_results(results, bank)
    gathered = None
    if collect:
        from grader.grading.term_statistics import gather_statistics

        gathered = gather_statistics(results, bank, term=term)
    if as_json:
        from grader.analysis.agreement import agreement_of
        from grader.gradebook import Gradebook

        with Gradebook.open(results) as book:
            agreement = [asdict(one) | {"part": str(one.part)} for one in agreement_of(book)]
        print_json(
            {
                "results": str(results),
                "published": written.is_published,
                "class": written.figures.to_json(),
                "statistics": written.figures.statistics,
                "grades": written.figures.totals,
                "agreement": agreement,
                **({"collected": [str(path) for path in gathered.files]} if gathered else {}),
            }
        )
        return
    click.echo(written.summary)
    if gathered:
        if gathered.files:
            click.echo(f"statistics, in {count_of(len(gathered.files), 'file')}:")
        for path in gathered.files:
            click.echo(f"  {path}")
        if gathered.too_few:
            click.echo(
                "no statistics, because fewer than 5 marks count: " + ", ".join(gathered.too_few)
            )
