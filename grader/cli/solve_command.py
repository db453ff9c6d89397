"""`grader solve`: write a notebook with every answer filled in."""

from __future__ import annotations

from pathlib import Path

import click

from grader.cli.options import bank_option, examples, release_argument


@click.command("solve", epilog=examples("grader solve release --student ada --out ada.ipynb"))
@release_argument
@click.option("--student", required=True, metavar="ID", help="Whose notebook to fill in.")
@click.option(
    "--out",
    required=True,
    type=click.Path(path_type=Path),
    metavar="NB",
    help="Notebook file to write.",
)
@bank_option
def command(release: Path, student: str, out: Path, banks: tuple[str, ...]) -> None:
    """Write one student's notebook with every answer correct. Keep it secret."""
    from grader.bank.folders import Bank
    from grader.release.file import load_release
    from grader.release.rendering import solve

    solve(load_release(release), student, out, Bank.open(banks))
    click.echo(f"Wrote {out} with every answer filled in. Keep it private.")
