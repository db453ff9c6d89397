"""`grader export moodle`: a set as questions for Moodle's question bank."""

from __future__ import annotations

from pathlib import Path

import click

from grader.cli.exports.quiz_options import finish_file, quiz_options
from grader.cli.options import examples


@click.command(
    "moodle",
    epilog=examples(
        "grader export moodle midterm --variants 20 --out quiz.xml --private-key SECRET",
        "grader export moodle lab.yaml --leave-out --out quiz.xml",
    ),
)
@quiz_options("quiz.xml")
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
    """Write the set SET as Moodle XML: one category per question, with one question per variant.

    Mistakes become answers with feedback and a small share of the points. Parts that Moodle can't
    ask, such as code, are an error; with --leave-out, they are dropped and listed.
    """
    from grader.bank.folders import Bank
    from grader.integrations.lms.quizzes import moodle
    from grader.integrations.lms.variants import make_quiz

    quiz = make_quiz(Bank.open(banks), exam, variants, private_key, even_points=even_points)
    finish_file(moodle(quiz, leave_out=leave_out), out, as_json=as_json)
