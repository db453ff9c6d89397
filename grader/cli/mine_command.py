"""`grader mine`: finds the wrong ideas of a class, as expressions."""

from __future__ import annotations

from pathlib import Path

import click

from grader.cli.options import JSON, print_json, table
from grader.cli.parameters import option, subcommand
from grader.text.words import count_of


@subcommand("mine", "grader mine results", "grader mine results --yaml")
def command(
    results: Path,
    fewest: int = option(3, least=2, help="Minimum number of students that an idea must explain."),
    as_yaml: bool = option(
        False, "--yaml", help="Print mistakes in YAML, to complete and add to problems."
    ),
    as_json: bool = JSON,
) -> None:
    """Find expressions that explain the wrong numbers of several students.

    A wrong idea is one expression, such as the right answer without the division by the number of
    GPUs, and gives each student a different number. Wrong answers that a declared mistake already
    explains are left out.
    """
    from grader.analysis.wrong_answers import mine_results

    parts = mine_results(results, fewest=fewest)
    if as_json:
        print_json([part.as_data() for part in parts])
        return
    if as_yaml:
        click.echo("\n".join(text for part in parts for text in part.mistakes()))
        return
    rows = [
        (part.place, f"{len(idea.students)} of {part.wrong}", idea.expression)
        for part in parts
        for idea in part.ideas
    ]
    if rows:
        click.echo(table(("part", "students", "idea"), rows))
    wrong = sum(part.wrong for part in parts)
    explained = sum(len(idea.students) for part in parts for idea in part.ideas)
    click.echo(
        f"{count_of(len(rows), 'idea explains', 'ideas explain')} {explained} of "
        f"{count_of(wrong, 'wrong answer')}."
    )
