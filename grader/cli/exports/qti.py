"""`grader export qti`: a set as a quiz for Canvas."""

from __future__ import annotations

from pathlib import Path

import click

from grader.cli.exports.quiz_options import finish_file, quiz_options
from grader.cli.options import examples


@click.command(
    "qti",
    epilog=examples(
        "grader export qti midterm --variants 20 --out exam.zip --private-key SECRET",
        "grader export qti lab.yaml --leave-out --out exam.zip",
    ),
)
@quiz_options("exam.zip")
def command(
    exam: str,
    variants: int,
    out: Path,
    private_key: str | None,
    leave_out: bool,
    even_points: bool,
    banks: tuple[str, ...],
    as_json: bool,
) -> None:
    """Write the set SET as a QTI 1.2 package for Canvas, with a pool of variants for each part.

    Parts that Canvas can't ask, such as code, are an error; with --leave-out, they are dropped and
    listed.
    """
    from grader.bank.folders import Bank
    from grader.integrations.lms.quizzes import qti
    from grader.integrations.lms.variants import make_quiz

    quiz = make_quiz(Bank.open(banks), exam, variants, private_key, even_points=even_points)
    finish_file(qti(quiz, leave_out=leave_out), out, as_json=as_json)
