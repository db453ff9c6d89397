"""`grader gradebook`: copies a gradebook, and exports or removes what it knows of a student."""

from __future__ import annotations

import getpass
from pathlib import Path

import click

from grader.cli.options import bank_option, examples, json_option, print_json
from grader.text.words import count_of


@click.group("gradebook")
def command() -> None:
    """Back up or move a gradebook; export or remove one student's data."""


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
        evidence = f" and {count_of(done.evidence, 'file')} of evidence"
    click.echo(f"Copied {count_of(done.rows, 'row')}{evidence} to {where}; both are equal.")
    if old is not None:
        click.echo(f"{source} uses the copy from now on. The old gradebook is in {old}.")


@command.command("archive", epilog=examples("grader gradebook archive results ada --out ada.zip"))
@click.argument("results", type=click.Path(path_type=Path))
@click.argument("student")
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    required=True,
    metavar="FILE",
    help="Zip file to write.",
)
@json_option
def archive_command(results: Path, student: str, out: Path, as_json: bool) -> None:
    """Write everything that RESULTS holds of a student to a zip file.

    It contains the rows of the gradebook as JSON, the entries of the audit log that mention the
    student, what the student's notebooks produced, and the feedback page.
    """
    from grader.grading.personal import archive_student

    count = archive_student(results, student, out)
    if as_json:
        print_json({"student": student, "file": str(out), "files": count})
        return
    click.echo(f"Wrote {count_of(count, 'file')} to {out}. The file contains personal data.")


@command.command(
    "forget", epilog=examples("grader gradebook forget results ada --by kim --why 'GDPR request'")
)
@click.argument("results", type=click.Path(path_type=Path))
@click.argument("student")
@click.option("--why", required=True, metavar="TEXT", help="Reason, for the audit log.")
@click.option("--by", default="", metavar="NAME", help="Who removes the data. Default: your login.")
@bank_option
@json_option
def forget_command(
    results: Path, student: str, why: str, by: str, banks: tuple[str, ...], as_json: bool
) -> None:
    """Remove everything that RESULTS holds of a student. This can't be undone.

    The audit log keeps what was done, when, and by whom, with a pseudonym in place of the student.
    Files outside of RESULTS are not touched.
    """
    from grader.bank.folders import Bank
    from grader.grading.personal import forget_student

    done = forget_student(results, student, Bank.open(banks), by=by or getpass.getuser(), why=why)
    if as_json:
        print_json({"pseudonym": done.pseudonym, "rows": done.rows, "files": done.files})
        return
    rows, files = count_of(done.rows, "row"), count_of(done.files, "file")
    click.echo(f"Removed {rows} and {files}. The audit log calls the student {done.pseudonym}.")
    click.echo(
        "The release, the roster, the folder of submissions, and backups may still contain data of "
        "the student."
    )
