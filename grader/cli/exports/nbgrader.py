"""`grader export nbgrader`: a set as an assignment of nbgrader."""

from __future__ import annotations

from pathlib import Path

import click

from grader.cli.exports import finish
from grader.cli.options import bank_option, examples, json_option


@click.command(
    "nbgrader",
    epilog=examples(
        "grader export nbgrader midterm --version A --out course --private-key SECRET --leave-out",
        "cd course && nbgrader generate_assignment midterm-A",
    ),
)
@click.argument("exam", metavar="SET")
@click.option(
    "--version",
    required=True,
    metavar="NAME",
    help="Such as A or B: everybody who gets this version has the same numbers.",
)
@click.option(
    "--out",
    required=True,
    type=click.Path(path_type=Path, file_okay=False),
    metavar="COURSE",
    help="The course's folder, in which source/ lies.",
)
@click.option("--private-key", metavar="TEXT", help="Draws the same numbers every time.")
@click.option(
    "--leave-out",
    is_flag=True,
    help="Drop the parts that can't be tested there, and their points, and name each.",
)
@bank_option
@json_option
def command(
    exam: str,
    version: str,
    out: Path,
    private_key: str | None,
    leave_out: bool,
    banks: tuple[str, ...],
    as_json: bool,
) -> None:
    """Write the set SET as the assignment SET-NAME of an nbgrader course.

    Hidden tests give part credit by the same ranges, letters and rules. What nbgrader's tests
    can't judge, such as code, is refused; --leave-out drops it and says so.
    """
    from grader.bank.folders import Bank
    from grader.errors import SetupError
    from grader.integrations.nbgrader.course import require_usual_regions
    from grader.integrations.nbgrader.making import nbgrader
    from grader.integrations.nbgrader.version import make_version

    require_usual_regions(out)
    quiz = make_version(Bank.open(banks), exam, version, private_key)
    there = out / "source" / f"{quiz.id}-{version}"
    if private_key is None and there.exists():
        raise SetupError(
            f"'{there}' is there already, and would get other numbers",
            fix="give --private-key as when it was made, or choose another --version",
        )
    exported = nbgrader(quiz, f"{quiz.id}-{version}", leave_out=leave_out)
    finish(exported, out, as_json=as_json)
