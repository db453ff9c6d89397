"""Draws one version of a set for nbgrader, which gives all students the same notebook."""

from __future__ import annotations

import re
import secrets

from grader.bank.folders import Bank
from grader.draw import paper
from grader.errors import SetupError
from grader.integrations.lms.variants import quiz_question
from grader.model import Paper, Student
from grader.model.quiz import Pool, Quiz
from grader.release.file import new_release
from grader.release.rendering import private_key_of, sample

_ALIKE = (
    "nbgrader can't give students individual numbers: everyone who gets this assignment has the "
    "numbers of version {version}; to use more versions, export them with --version"
)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,30}")


def make_version(bank: Bank, wanted: str, version: str, private_key: str | None = None) -> Quiz:
    """Returns the set *wanted* as a quiz, with numbers that depend on the version and the key.

    Raises SpecError if a problem can't be drawn, and SetupError for an invalid name.
    """
    notes = [_ALIKE.format(version=version)]
    if private_key is None:
        notes.append("drawn with a random key; to get the same numbers again, use --private-key")
    drawn = version_paper(bank, wanted, version, private_key)
    return version_quiz(drawn, version, tuple(notes))


def version_paper(bank: Bank, wanted: str, version: str, private_key: str | None = None) -> Paper:
    """Returns the paper of a pseudo-student who stands for the version."""
    if not _NAME.fullmatch(version):
        raise SetupError(
            f"'{version}' is not a valid name of a version",
            fix="use letters, digits, - and _, such as --version A",
        )
    exam = bank.exam(wanted)
    for name in exam.problem_ids:
        sample(bank, name)  # reports problems that can't be drawn with their line in the YAML
    student = Student(id=f"version-{version}")
    key = private_key_of(private_key) or secrets.token_bytes(32)
    return paper(new_release(bank, exam, (student,), key), student)


def version_quiz(paper: Paper, version: str, notes: tuple[str, ...] = ()) -> Quiz:
    """Returns the paper as a quiz with one question per number."""
    exam = paper.exam
    return Quiz(
        id=exam.id,
        title=f"{exam.title}, version {version}",
        instructions=exam.instructions.strip(),
        minutes=exam.minutes,
        pools=tuple(
            Pool(number=asked.number, questions=(quiz_question(asked.variant, asked.points, 1),))
            for asked in paper.questions
        ),
        notes=notes,
    )
