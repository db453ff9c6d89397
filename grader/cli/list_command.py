"""`grader list`: the bank's problems."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from grader.cli.options import bank_option, examples, json_option, print_json, table, warn
from grader.words import counted, points

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grader.bank.heads import Head
    from grader.errors import SpecError


@click.command(
    "list", epilog=examples("grader list", "grader list --family numerics", "grader list --json")
)
@click.option("--family", metavar="FAMILY", help="List only the problems of this family.")
@click.option("--sets", is_flag=True, help="List the sets instead.")
@bank_option
@json_option
def command(family: str | None, sets: bool, banks: tuple[str, ...], as_json: bool) -> int:
    """List the problems of the bank, or its sets.

    Files that can't be read are reported after the list, and the command exits 1. Expressions,
    texts and solutions are not checked: use `grader verify` for that.
    """
    if sets:
        return _list_sets(banks, as_json=as_json)
    from grader.bank.heads import read_heads
    from grader.bank.index import BankIndex

    bank = BankIndex.open(banks)
    if family:
        bank.check_family(family)
    heads, errors = read_heads(bank, family)
    if as_json:
        print_json([_data(head) for head in heads])
    else:
        click.echo(_problems(heads))
    return _report(errors)


def _data(head: Head) -> dict[str, object]:
    return {
        "id": head.id,
        "title": head.title,
        "family": head.family,
        "level": head.level,
        "minutes": head.minutes,
        "points": head.points,
        "topics": list(head.topics),
        "concepts": list(head.concepts),
        "parts": [{"id": part, "kind": kind} for part, kind in head.parts],
    }


def _problems(heads: Sequence[Head]) -> str:
    if not heads:
        return "0 problems. Write one: grader new FAMILY/ID --into DIR"
    rows = [(h.id, h.family, h.level, f"{h.minutes:g}", points(h.points), h.title) for h in heads]
    header = ("id", "family", "level", "min", "points", "title")
    return (
        f"{table(header, rows, right=(3, 4))}\n\n"
        f"{counted(len(heads), 'problem')}. See one: grader show {heads[0].id}"
    )


def _list_sets(banks: tuple[str, ...], *, as_json: bool) -> int:
    from grader.bank.folders import Bank
    from grader.errors import SpecError, SpecErrors

    bank = Bank.open(banks)
    exams, errors = [], list(bank.faults())
    for name in bank.listed_sets:
        try:
            exams.append(bank.exam(name))
        except SpecErrors as wrong:
            errors += wrong.errors
        except SpecError as wrong:
            errors.append(wrong)
    if as_json:
        print_json([{"id": e.id, "title": e.title, "problems": list(e.problem_ids)} for e in exams])
    else:
        rows = [(e.id, str(sum(s.choose for s in e.slots)), e.title) for e in exams]
        click.echo(table(("set", "problems", "title"), rows, right=(1,)))
    return _report(errors)


def _report(errors: Sequence[SpecError]) -> int:
    """Prints *errors*, and returns the exit status."""
    if not errors:
        return 0
    warn(f"{counted(len(errors), 'error')}; not listed:", errors)
    return 1
