"""`grader archive` and `grader forget`: one student's data, exported or removed."""

from __future__ import annotations

from pathlib import Path

import click

from grader.cli.options import BANKS, BY, JSON, open_bank, print_json
from grader.cli.parameters import FILE, option, subcommand
from grader.text.words import count_of


@subcommand("archive", "grader archive results ada --out ada.zip")
def archive_command(
    results: Path,
    student: str,
    out: Path = option(type=FILE, help="Zip file to write."),
    why: str = option("", metavar="TEXT", help="Reason, for the audit log."),
    by: str = BY,
    as_json: bool = JSON,
) -> None:
    """Write everything that RESULTS contains about a student to a zip file.

    It contains the rows of the gradebook as JSON, the entries of the audit log that mention the
    student, what the student's notebooks produced, and the feedback page. The export is recorded
    in the audit log.
    """
    from grader.grading.personal import archive_student

    count = archive_student(results, student, out, by=by, why=why)
    if as_json:
        print_json({"student": student, "file": str(out), "files": count})
        return
    click.echo(f"Wrote {count_of(count, 'file')} to {out}. The file contains personal data.")


@subcommand("forget", "grader forget results ada --by kim --why 'GDPR request'")
def forget_command(
    results: Path,
    student: str,
    why: str = option(metavar="TEXT", help="Reason, for the audit log."),
    by: str = BY,
    banks: tuple[str, ...] = BANKS,
    as_json: bool = JSON,
) -> None:
    """Remove everything that RESULTS contains about a student. This can't be undone.

    The audit log keeps what was done, when, and by whom, with a pseudonym in place of the student.
    Files outside of RESULTS are not touched.
    """
    from grader.grading.personal import forget_student

    done, count = forget_student(results, student, open_bank(banks), by=by, why=why)
    if as_json:
        print_json({"pseudonym": done.pseudonym, "rows": done.rows, "files": count})
        return
    rows, files = count_of(done.rows, "row"), count_of(count, "file")
    click.echo(f"Removed {rows} and {files}. The audit log calls the student {done.pseudonym}.")
    click.echo(
        "The release, the roster, the folder of submissions, and backups may still contain data of "
        "the student."
    )
