"""`grader archive` and `grader forget`: one student's data, exported or removed."""

from __future__ import annotations

from pathlib import Path

import click

from grader.cli.options import bank_option, by_option, examples, json_option, print_json
from grader.text.words import count_of


@click.command("archive", epilog=examples("grader archive results ada --out ada.zip"))
@click.argument("results", type=click.Path(path_type=Path))
@click.argument("student")
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    required=True,
    metavar="FILE",
    help="Zip file to write.",
)
@click.option("--why", default="", metavar="TEXT", help="Reason, for the audit log.")
@by_option
@json_option
def archive_command(
    results: Path, student: str, out: Path, why: str, by: str, as_json: bool
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


@click.command("forget", epilog=examples("grader forget results ada --by kim --why 'GDPR request'"))
@click.argument("results", type=click.Path(path_type=Path))
@click.argument("student")
@click.option("--why", required=True, metavar="TEXT", help="Reason, for the audit log.")
@by_option
@bank_option
@json_option
def forget_command(
    results: Path, student: str, why: str, by: str, banks: tuple[str, ...], as_json: bool
) -> None:
    """Remove everything that RESULTS contains about a student. This can't be undone.

    The audit log keeps what was done, when, and by whom, with a pseudonym in place of the student.
    Files outside of RESULTS are not touched.
    """
    from grader.bank.folders import Bank
    from grader.grading.personal import forget_student

    done = forget_student(results, student, Bank.open(banks), by=by, why=why)
    if as_json:
        print_json({"pseudonym": done.pseudonym, "rows": done.rows, "files": done.files})
        return
    rows, files = count_of(done.rows, "row"), count_of(done.files, "file")
    click.echo(f"Removed {rows} and {files}. The audit log calls the student {done.pseudonym}.")
    click.echo(
        "The release, the roster, the folder of submissions, and backups may still contain data of "
        "the student."
    )
