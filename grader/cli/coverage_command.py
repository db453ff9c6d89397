"""`grader coverage`: which concepts of the inventory the bank examines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from grader.cli.options import bank_option, examples, json_option, print_json, table, warn
from grader.words import counted

if TYPE_CHECKING:
    from grader.bank.coverage import Coverage


@click.command("coverage", epilog=examples("grader coverage", "grader coverage --missing --json"))
@click.option("--missing", is_flag=True, help="Also list the concepts that no problem examines.")
@bank_option
@json_option
def command(missing: bool, banks: tuple[str, ...], as_json: bool) -> int:
    """Show which concepts of the inventory are examined, and by which problems.

    If a problem cites an unknown concept or can't be read, it is listed at the end, and the
    command exits 1.
    """
    from grader.bank.coverage import coverage
    from grader.bank.index import BankIndex

    found = coverage(BankIndex.open(banks))
    if as_json:
        print_json(found.as_data())
    else:
        _show(found, missing=missing)
    if found.errors:
        warn(f"{counted(len(found.errors), 'error')}; not counted:", found.errors)
    return 1 if found.unknown or found.errors else 0


def _show(found: Coverage, *, missing: bool) -> None:
    by_family = [
        (family, str(have), str(total), f"{have / total:.0%}")
        for family, (have, total) in sorted(found.by_family().items())
    ]
    have, total = len(found.examined), len(found.concepts)
    by_family.append(("all", str(have), str(total), f"{have / total:.0%}" if total else "-"))
    click.echo(table(("family", "examined", "of", "share"), by_family, right=(1, 2, 3)))
    if missing:
        click.echo("\nNot examined by any problem:")
        for name in sorted(set(found.concepts) - set(found.examined)):
            click.echo(f"  {name}  {found.concepts[name].get('topic', '')}")
    for name, problems in sorted(found.unknown.items()):
        click.echo(f"unknown concept '{name}' in {', '.join(problems)}", err=True)
