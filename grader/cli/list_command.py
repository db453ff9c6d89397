"""`grader list`: the bank's problems."""

from __future__ import annotations

from typing import get_args

import click

from grader.cli.options import bank_option, examples, json_option, print_json, table
from grader.words import counted, points


@click.command(
    "list", epilog=examples("grader list", "grader list --family numerics", "grader list --json")
)
@click.option("--family", metavar="F", help="Only problems of this family.")
@click.option("--sets", is_flag=True, help="List the sets instead.")
@bank_option
@json_option
def command(family: str | None, sets: bool, banks: tuple[str, ...], as_json: bool) -> None:
    """List the problems of the bank, or its sets."""
    from grader.errors import SetupError
    from grader.load import Bank
    from grader.model import Family
    from grader.registry import nearest

    bank = Bank.open(banks)
    if sets:
        _list_sets(bank, as_json)
        return
    problems = list(bank.problems())
    families = get_args(Family)
    if family and family not in families:
        close = nearest(family, families)
        raise SetupError(
            f"there is no family '{family}'",
            fix=f"did you mean '{close}'?" if close else "known: " + ", ".join(families),
        )
    chosen = [p for p in problems if not family or p.family == family]
    if as_json:
        print_json(
            [
                {
                    "id": p.id,
                    "title": p.title,
                    "family": p.family,
                    "level": p.level,
                    "minutes": p.minutes,
                    "points": sum(part.points for part in p.parts),
                    "topics": list(p.topics),
                    "concepts": list(p.concepts),
                    "parts": [{"id": part.id, "kind": part.kind} for part in p.parts],
                }
                for p in chosen
            ]
        )
        return
    rows = [
        (
            p.id,
            p.family,
            p.level,
            f"{p.minutes:g}",
            points(sum(part.points for part in p.parts)),
            p.title,
        )
        for p in chosen
    ]
    header = ("id", "family", "level", "min", "points", "title")
    click.echo(table(header, rows, right=(3, 4)))
    first = chosen[0].id if chosen else "ID"
    click.echo(f"\n{counted(len(chosen), 'problem')}. See one: grader show {first}")


def _list_sets(bank, as_json: bool) -> None:  # type: ignore[no-untyped-def]
    exams = [bank.exam(name) for name in bank.listed_sets]
    if as_json:
        print_json([{"id": e.id, "title": e.title, "problems": list(e.wanted)} for e in exams])
        return
    rows = [(e.id, str(sum(s.choose for s in e.slots)), e.title) for e in exams]
    click.echo(table(("set", "problems", "title"), rows, right=(1,)))
