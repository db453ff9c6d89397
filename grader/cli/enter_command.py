"""`grader enter`: score answers given on paper."""

from __future__ import annotations

from pathlib import Path

import click

from grader.cli.options import bank_option, examples, json_option, print_json


@click.command(
    "enter",
    epilog=examples(
        "grader render midterm --format html --roster roster.csv --out paper",
        "grader enter paper/answers.csv --release paper/release.json --out results",
    ),
)
@click.argument("sheet", metavar="ANSWERS.csv", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--release",
    required=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The release.json that `grader render` wrote.",
)
@click.option(
    "--out",
    required=True,
    type=click.Path(path_type=Path),
    metavar="RESULTS",
    help="Folder for grades, feedback and report.",
)
@bank_option
@json_option
def command(sheet: Path, release: Path, out: Path, banks: tuple[str, ...], as_json: bool) -> None:
    """Score answers from paper, typed into the answers.csv that `grader render` wrote.

    Type what is in each box, such as 28 GB, B, A C or 1B 2A 3C; if a box is empty, leave its cell
    empty. After a correction, run the command again: only changed rows are scored again. It needs
    no kernel, and writes the same files as `grader grade`.
    """
    from grader.bank.folders import Bank
    from grader.grading.results import write_results
    from grader.integrations.paper.entry import enter

    done = enter(sheet, release, out)
    written = write_results(out, Bank.open(banks))
    if as_json:
        print_json(
            {
                "results": str(out),
                "scored": done.scored,
                "kept": done.kept,
                "absent": list(done.absent),
                "unreadable": list(done.unreadable),
                "open": done.open,
                "grades": written.totals,
            }
        )
        return
    for sentence in done.unreadable:
        click.echo(f"can't be read: {sentence}", err=True)
    if done.unreadable:
        click.echo(
            "Compare these with the paper, correct typing errors, and run the command again.",
            err=True,
        )
    click.echo(written.summary)
