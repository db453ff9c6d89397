"""`grader mark`: points by hand."""

from __future__ import annotations

from pathlib import Path

import click

from grader.cli.options import bank_option, examples, json_option, print_json, table
from grader.words import points as worth


@click.command(
    "mark",
    epilog=examples(
        "grader mark results                       # what waits for a person",
        "grader mark results --student ada --answer q4_why --points 1.5 --why 'names the cause'",
        "grader mark results --student ada --answer q4_why --withdraw --why 'wrong student'",
    ),
)
@click.argument("results", type=click.Path(path_type=Path))
@click.option("--student", metavar="ID", help="Show this student's answers, or mark one of them.")
@click.option("--answer", metavar="NAME", help="The answer's variable, such as q4_why.")
@click.option("--points", type=click.FloatRange(min=0), metavar="P", help="Points for the answer.")
@click.option("--why", default="", metavar="TEXT", help="The reason; the student reads it.")
@click.option("--by", default="staff", show_default=True, metavar="NAME", help="Who decides.")
@click.option("--withdraw", is_flag=True, help="Take points by hand back.")
@bank_option
@json_option
def command(
    results: Path,
    student: str | None,
    answer: str | None,
    points: float | None,
    why: str,
    by: str,
    withdraw: bool,
    banks: tuple[str, ...],
    as_json: bool,
) -> None:
    """Give points by hand; without --student, list the answers that wait for a person.

    Points by hand are kept apart from the engine's and survive every regrade.
    """
    from grader.errors import SetupError
    from grader.load import Bank
    from grader.pipeline import give_points, waiting, withdraw_points, write_results

    if student is None:
        _list(waiting(results), as_json)
        return
    if answer is None or (points is None) == (not withdraw):
        raise SetupError(
            "a mark by hand needs a student, an answer, and either points or --withdraw",
            fix="for example: --student ada --answer q4_why --points 1.5 --why 'names the cause'",
        )
    if withdraw:
        withdraw_points(results, student, answer, by=by, why=why)
    else:
        give_points(results, student, answer, points or 0.0, by=by, why=why)
    written = write_results(results, Bank.open(banks))
    line = next(t for t in written.totals if t["student"] == student)
    if as_json:
        print_json(line)
        return
    state = "" if line["complete"] else ", still open"
    click.echo(f"{student}: {worth(line['score'])} of {worth(line['max_score'])} points{state}")


def _list(lines: list[dict[str, str]], as_json: bool) -> None:
    if as_json:
        print_json(lines)
        return
    if not lines:
        click.echo("Nothing waits for a person.")
        return
    rows = [
        (student, _named([x["answer"] for x in mine]), mine[0]["points"], text)
        for (student, text), mine in _grouped(lines).items()
    ]
    click.echo(table(("student", "answer", "of", "what they wrote"), rows, right=(2,)))


def _grouped(lines: list[dict[str, str]]) -> dict[tuple[str, str], list[dict[str, str]]]:
    """The lines by student and text: those of a file that can't be read are all the same."""
    found: dict[tuple[str, str], list[dict[str, str]]] = {}
    for line in lines:
        found.setdefault((line["student"], line["text"]), []).append(line)
    return found


def _named(answers: list[str]) -> str:
    return answers[0] if len(answers) == 1 else f"{answers[0]} and {len(answers) - 1} more"
