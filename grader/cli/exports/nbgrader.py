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
    help="Version, such as A or B. Everyone who gets the same version has the same numbers.",
)
@click.option(
    "--out",
    required=True,
    type=click.Path(path_type=Path, file_okay=False),
    metavar="COURSE",
    help="Folder of the course, which contains source/.",
)
@click.option(
    "--private-key",
    metavar="TEXT",
    help="Secret from which the numbers are drawn; random by default.",
)
@click.option(
    "--leave-out",
    is_flag=True,
    help="Drop parts that nbgrader can't test, with their points, and list them.",
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

    Hidden tests give partial credit by the same ranges, letters and rules. Parts that nbgrader
    can't test, such as code, are an error; with --leave-out, they are dropped and listed.
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
            f"'{there}' exists already, and would get different numbers",
            fix="use the --private-key that it was made with, or choose another --version",
        )
    exported = nbgrader(quiz, f"{quiz.id}-{version}", leave_out=leave_out)
    finish(exported, out, as_json=as_json)
