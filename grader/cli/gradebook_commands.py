"""`grader gradebook`: copies a gradebook, as a backup or to another database."""

from __future__ import annotations

import click

from grader.cli.options import examples, json_option, print_json
from grader.text.words import count_of


@click.group(
    "gradebook",
    epilog=examples(
        "grader gradebook copy results backups/2026-11-24",
        "grader gradebook copy backups/2026-11-24 restored     # restore a backup",
    ),
)
def command() -> None:
    """Back up a gradebook, or move it to a database."""


@command.command(
    "copy",
    epilog=examples(
        "grader gradebook copy results backups/2026-11-24",
        "grader gradebook copy backups/2026-11-24 restored     # restore a backup",
        "grader gradebook copy results 'postgresql://db.example.edu/grades?schema=midterm'"
        " --switch",
        "grader gradebook copy results results-s3 --evidence s3://my-bucket/midterm",
    ),
)
@click.argument("source")
@click.argument("target")
@click.option(
    "--switch",
    is_flag=True,
    help="Let the results folder SOURCE use the copy from now on; its own file is renamed.",
)
@click.option(
    "--evidence",
    default="",
    metavar="ADDRESS",
    help="Object store for the evidence of TARGET, such as s3://bucket/midterm. Default: a folder "
    "in TARGET.",
)
@json_option
def copy_command(source: str, target: str, switch: bool, evidence: str, as_json: bool) -> None:
    """Copy the gradebook of SOURCE to TARGET, and compare both.

    Each is a results folder or the address of a PostgreSQL database. The copy is the state at one
    moment; others may go on grading meanwhile. Between two folders, the evidence is copied as
    well: such a copy is a backup, and copying it back restores it.
    """
    from grader.gradebook.address import display_address
    from grader.gradebook.copying import copy_gradebook, place_of, switch_to_copy

    from_, to = place_of(source), place_of(target)
    done = copy_gradebook(from_, to, evidence=evidence)
    old = switch_to_copy(from_, to) if switch else None
    where = display_address(to.url)
    if as_json:
        print_json({"gradebook": where, "rows": done.rows, "evidence": done.evidence})
        return
    files = ""
    if from_.folder and to.folder:
        files = f" and {count_of(done.evidence, 'file')} of evidence"
    click.echo(f"Copied {count_of(done.rows, 'row')}{files} to {where}; both are equal.")
    if old is not None:
        click.echo(f"{source} uses the copy from now on. The old gradebook is in {old}.")
