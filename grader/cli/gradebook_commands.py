"""`grader gradebook`: backs up, restores, and moves gradebooks."""

from __future__ import annotations

from pathlib import Path

import click

from grader.cli.options import JSON, print_json
from grader.cli.parameters import example_lines, option, subcommand
from grader.files import read_bytes, write_atomic
from grader.text.words import count_of


@click.group(
    "gradebook",
    epilog=example_lines(
        "grader gradebook backup results backups/2026-11-24",
        "grader gradebook restore backups/2026-11-24 restored",
    ),
)
def command() -> None:
    """Back up or restore a gradebook, or move it to a database."""


@subcommand(
    "backup",
    "grader gradebook backup results backups/2026-11-24",
    group=command,
    short_help="Copy a gradebook and its evidence to a new folder.",
)
def backup_command(results: Path, folder: Path, as_json: bool = JSON) -> None:
    """Copy the gradebook and the evidence of RESULTS to a new FOLDER, and compare both.

    The backup is the state at one moment; others may go on grading meanwhile. It keeps the
    gradebook in a file, wherever RESULTS keeps its own.
    """
    _copy(str(results), str(folder), as_json=as_json)


@subcommand(
    "restore",
    "grader gradebook restore backups/2026-11-24 results",
    "grader gradebook restore backups/2026-11-24 results"
    " --gradebook 'postgresql://db.example.edu/grades?schema=midterm_restored'",
    group=command,
    short_help="Copy a backup to a new results folder.",
)
def restore_command(
    backup: Path,
    results: Path,
    gradebook: str = option(
        "",
        metavar="ADDRESS",
        help="PostgreSQL database for the gradebook of RESULTS. Default: a file in RESULTS.",
    ),
    as_json: bool = JSON,
) -> None:
    """Copy BACKUP to a new results folder RESULTS, and compare both.

    An existing gradebook is never replaced: rename its folder first. To write the pages, run
    `grader report RESULTS`. To go on grading, run `grader grade` with the same RESULTS.
    """
    _copy(str(backup), str(results), gradebook=gradebook, as_json=as_json)


@subcommand(
    "copy",
    "grader gradebook copy results backups/2026-11-24",
    "grader gradebook copy results 'postgresql://db.example.edu/grades?schema=midterm' --switch",
    "grader gradebook copy results results-s3 --evidence s3://my-bucket/midterm",
    group=command,
    short_help="Copy a gradebook to another folder or to a database.",
)
def copy_command(
    source: str,
    target: str,
    switch: bool = option(
        False,
        help="Let the results folder SOURCE use the copy from now on; its own file is renamed.",
    ),
    evidence: str = option(
        "",
        metavar="ADDRESS",
        help="Object store for the evidence of TARGET, such as s3://bucket/midterm. Default: a "
        "folder in TARGET.",
    ),
    as_json: bool = JSON,
) -> None:
    """Copy the gradebook of SOURCE to TARGET, and compare both.

    Each is a results folder or the address of a PostgreSQL database. The copy is the state at one
    moment; others may go on grading meanwhile. Between two folders, the evidence is copied as
    well: such a copy is a backup, and copying it back restores it.
    """
    old = _copy(source, target, evidence=evidence, switch=switch, as_json=as_json)
    if old is not None and not as_json:
        click.echo(f"{source} uses the copy from now on. The old gradebook is in {old}.")


def _copy(
    source: str,
    target: str,
    *,
    as_json: bool,
    evidence: str = "",
    gradebook: str = "",
    switch: bool = False,
) -> Path | None:
    """Copies a gradebook and reports what was copied; returns the renamed file of *switch*."""
    from grader.gradebook.address import display_address
    from grader.gradebook.copying import copy_gradebook, place_of, switch_to_copy

    from_, to = place_of(source), place_of(target, gradebook)
    copied = copy_gradebook(from_, to, evidence=evidence)
    if from_.folder and to.folder:
        _copy_files(from_.folder, to.folder)
        _keep_release(from_.folder, to.folder)
    old = switch_to_copy(from_, to) if switch else None
    where = display_address(to.url)
    if as_json:
        print_json({"gradebook": where, "rows": copied.rows, "evidence": copied.evidence})
        return old
    files = ""
    if from_.folder and to.folder:
        files = f" and {count_of(copied.evidence, 'file')} of evidence"
    click.echo(f"Copied {count_of(copied.rows, 'row')}{files} to {where}; both are equal.")
    return old


def _copy_files(former: Path, folder: Path) -> None:
    """Copies the files beside a gradebook that later commands need: corrected specs, and the cells
    of an assignment of nbgrader."""
    from grader.integrations.nbgrader.source import FILE
    from grader.release.papers import CORRECTIONS

    for file in (*(former / CORRECTIONS).glob("*"), former / FILE):
        if file.is_file():
            data = read_bytes(file, "a file of the gradebook")
            write_atomic(folder / file.relative_to(former), data, durable=True, private=True)


def _keep_release(former: Path, folder: Path) -> None:
    """Lets the results in *folder*, a copy of those in *former*, find the same release."""
    from grader.gradebook import Gradebook
    from grader.release.papers import SOURCE

    with Gradebook.open(folder) as book:
        source = str(book.setting(SOURCE) or "")
        file = (former / source).resolve()
        if file.exists() and not (folder / source).exists():
            # Not a relative path, because backups are moved.
            book.set_setting(SOURCE, str(file))
