"""Scores stored evidence again, and judges only the questions for which something has changed.

The marks of a question depend on the evidence, the question, and the code that judges. They are
kept in the gradebook under a digest of these three.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import cache
from typing import Any

from grader import __version__
from grader.errors import SetupError
from grader.files import PACKAGE
from grader.gradebook import Gradebook
from grader.grading.batch import refused
from grader.grading.score import score
from grader.model import Evidence, Grade, Mark, Paper, Verdict
from grader.release.papers import Papers

_JUDGING = ("draw", "expressions", "kinds", "model", "units", "wire", "grading/score.py")


def regrade(book: Gradebook, papers: Papers, student: str, submission_sha256: str) -> Grade | None:
    """Returns the grade that the stored evidence of a file earns.

    Returns None if the evidence is missing or damaged. Raises SetupError as `Papers.of` and
    `settle` do.
    """
    digest = book.evidence_digest(submission_sha256)
    if digest is None:
        return None
    names = _names(papers, student, digest)
    kept = book.derived.find([*names.values(), _name(digest)])
    known = {n: _read(kept[name]) for n, name in names.items() if name in kept}
    environment = kept.get(_name(digest))
    missing = names.keys() - known.keys()
    if environment is None or missing:
        evidence = book.find_evidence(submission_sha256)
        if evidence is None:
            return None
        grade = settle(papers.some(student, missing), evidence)
        for mark in grade.marks:
            known.setdefault(_number(mark), []).append(mark)
        keep_marks(book, papers, grade, digest)
        environment = json.dumps(dict(grade.environment)).encode()
    return Grade(
        student=student,
        exam=papers.counts.exam.id,
        submission_sha256=submission_sha256,
        marks=tuple(mark for number in names for mark in known.get(number, ())),
        engine=__version__,
        release=papers.counts.id,
        environment=json.loads(environment),
    )


def keep_marks(book: Gradebook, papers: Papers, grade: Grade, evidence: str) -> None:
    """Keeps the marks of the questions of *grade* that are settled.

    *evidence* is the digest of the evidence that *grade* was made from.
    """
    marks: dict[int, list[Mark]] = {}
    for mark in grade.marks:
        marks.setdefault(_number(mark), []).append(mark)
    names = _names(papers, grade.student, evidence)
    entries = {
        names[number]: json.dumps([asdict(mark) for mark in found]).encode()
        for number, found in marks.items()
        if all(mark.points is not None for mark in found)
    }
    if entries:
        entries[_name(evidence)] = json.dumps(dict(grade.environment)).encode()
        book.derived.keep(entries)


def settle(mine: Paper, evidence: Evidence) -> Grade:
    """Returns the grade, with all marks open if scoring fails because of an internal error.

    Raises SetupError for an error that affects every grade, such as a missing package.
    """
    try:
        return score(mine, evidence)
    except SetupError:
        raise
    except Exception as error:  # noqa: BLE001 - one odd answer must not stop a batch
        return score(mine, not_scored(evidence, error))


def not_scored(evidence: Evidence, error: Exception) -> Evidence:
    """Returns evidence that leaves all marks open, because scoring *evidence* failed."""
    # Only the error's name: its text may contain the key, and students read this.
    what = f"we could not score this notebook ({type(error).__name__})"
    return refused(evidence.submission_sha256, what)


def _names(papers: Papers, student: str, evidence: str) -> dict[int, str]:
    """Returns the names under which the marks of each question are kept, by its number."""
    return {number: _name(evidence, one) for number, one in papers.questions(student)}


def _name(*what: str) -> str:
    return hashlib.sha256("/".join((_engine(), *what)).encode()).hexdigest()


@cache
def _engine() -> str:
    """Returns a digest of the code that judges, so that no mark outlives a change of it."""
    found = hashlib.sha256(__version__.encode())
    for room in _JUDGING:
        path = PACKAGE / room
        for file in [path] if path.is_file() else sorted(path.rglob("*.py")):
            found.update(file.read_bytes())
    return found.hexdigest()


def _number(mark: Mark) -> int:
    """Returns the number of the question, from a name such as `q3_per_gpu`."""
    return int(mark.name.partition("_")[0].removeprefix("q"))


def _read(data: bytes) -> list[Mark]:
    marks: Sequence[Mapping[str, Any]] = json.loads(data)
    return [Mark(**{**mark, "verdict": Verdict(mark["verdict"])}) for mark in marks]
