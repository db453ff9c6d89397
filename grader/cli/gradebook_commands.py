"""`grader gradebook`: backs up a gradebook, or moves it to a database."""

from __future__ import annotations

import click

from grader.cli.options import examples, json_option, print_json
from grader.words import counted


@click.group("gradebook")
def command() -> None:
    """Back up a gradebook, or move it to a database."""


@command.command(
    "copy",
    epilog=examples(
        "grader gradebook copy results backups/2026-11-24",
        "grader gradebook copy results 'postgresql://db.example.edu/grades?schema=midterm'"
        " --switch",
    ),
)
@click.argument("source")
@click.argument("target")
@click.option(
    "--switch",
    is_flag=True,
    help="Let the results folder SOURCE use the copy from now on; its own file is renamed.",
)
@json_option
def copy_command(source: str, target: str, switch: bool, as_json: bool) -> None:
    """Copy the gradebook of SOURCE to TARGET, and compare both.

    Each is a results folder or the address of a PostgreSQL database. The copy is the state at one
    moment; others may go on grading meanwhile. Between two folders, the evidence is copied as
    well: such a copy is a backup, and copying it back restores it.
    """
    from grader.gradebook.address import display_address
    from grader.gradebook.copying import copy_gradebook, place_of, switch_to_copy

    from_, to = place_of(source), place_of(target)
    done = copy_gradebook(from_, to)
    old = switch_to_copy(from_, to) if switch else None
    where = display_address(to.url)
    if as_json:
        print_json({"gradebook": where, "rows": done.rows, "evidence": done.evidence})
        return
    evidence = ""
    if from_.folder and to.folder:
        evidence = f" and {counted(done.evidence, 'file')} of evidence"
    click.echo(f"Copied {counted(done.rows, 'row')}{evidence} to {where}; both are equal.")
    if old is not None:
        click.echo(f"{source} uses the copy from now on. The old gradebook is in {old}.")
