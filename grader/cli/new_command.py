"""`grader new`: write a skeleton of a problem that already passes `grader verify`."""

from __future__ import annotations

from pathlib import Path

import click

from grader.cli.options import examples


@click.command(
    "new",
    epilog=examples(
        "grader new memory-math/optimizer-offload", "grader new numerics/ulp --into ~/course"
    ),
)
@click.argument("new_problem", metavar="FAMILY/ID")
@click.option(
    "--into",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path(),
    metavar="DIR",
    help="Bank to write into; the files go to its problems/ and solutions/. Default: the "
    "current folder.",
)
def command(new_problem: str, into: Path) -> None:
    """Write a commented skeleton of a problem and its solution, which already passes verification.

    FAMILY is a built-in family, or one that the bank declares in problems/families.yaml.
    """
    from grader.bank.skeleton import write_skeleton

    problem, solution = write_skeleton(new_problem, into)
    click.echo(f"{problem}: the spec, with a comment for every key")
    click.echo(f"{solution}: its independent solution")
    click.echo(f"\nNext: grader verify {problem.stem} --bank {into}")
