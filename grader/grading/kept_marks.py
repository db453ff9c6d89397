"""Scores stored evidence again, and judges only the questions for which something has changed.

The marks of a question depend on the evidence, the question, and the code that judges. They are
kept in the gradebook under a digest of these three.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import cache
from itertools import islice
from typing import Any

from grader import __version__
from grader.errors import SetupError
from grader.files import PACKAGE
from grader.gradebook import Gradebook
from grader.grading.batch import refused_evidence
from grader.grading.score import score, score_refused
from grader.model import Answer, Evidence, Grade, Mark, Paper, Verdict
from grader.model.grouping import group_by_key
from grader.model.paper import question_number
from grader.release.papers import Papers

_JUDGING = ("draw", "expressions", "kinds", "model", "units", "wire", "grading/score.py")
_CHUNK = 64
"""Number of submissions to look up at a time."""


def rescore_evidence(
    book: Gradebook, papers: Papers, work: Iterable[tuple[str, str]]
) -> Iterator[tuple[str, Grade | None]]:
    """Yields each student of *work* with the grade that the stored evidence of a file earns.

    *work* are students, each with the SHA-256 of a file. The grade is None if the evidence is
    missing or damaged. Raises SetupError as `Papers.of` and `score_safely` do.
    """
    remaining, shared = iter(work), book.shared_files()
    while chunk := list(islice(remaining, _CHUNK)):
        digests = book.evidence_digests(sha256 for _, sha256 in chunk)
        todo = []
        for student, sha256 in chunk:
            digest, own = digests.get(sha256), None
            if digest is not None and sha256 in shared:
                digest, own = _find_own_execution(book, papers, student, sha256)
            names = _mark_digests(papers, student, digest) if digest else {}
            todo.append((student, sha256, digest, own, names))
        mark_names = (name for *_, names in todo for name in names.values())
        environment_names = (_digest_of(digest) for _, _, digest, *_ in todo if digest)
        entries = book.derived.find([*mark_names, *environment_names])
        for student, sha256, digest, own, names in todo:
            known = {n: _parse_marks(entries[name]) for n, name in names.items() if name in entries}
            environment = entries.get(_digest_of(digest)) if digest else None
            if digest is None:
                yield student, None
            elif environment is not None and len(known) == len(names):
                marks = tuple(mark for of_question in known.values() for mark in of_question)
                yield student, _make_grade(papers, student, sha256, marks, json.loads(environment))
            else:
                evidence = own or book.find_evidence(sha256)
                if evidence is None:
                    yield student, None
                    continue
                yield (
                    student,
                    _judge_missing(book, papers, student, evidence, digest, names, known),
                )
        book.derived.flush()


def rescore_grades(book: Gradebook, papers: Papers, grades: Iterable[Grade]) -> list[Grade]:
    """Returns the new grade of the file of each of *grades*, without those whose evidence is
    missing or damaged."""
    refused = {(s.student, s.sha256): s for s in book.submissions() if s.refusal is not None}
    work = [(g.student, g.submission_sha256 or "") for g in grades]
    open_grades = [score_refused(papers.of(key[0]), refused[key]) for key in work if key in refused]
    scored = rescore_evidence(book, papers, (key for key in work if key not in refused))
    return [*open_grades, *(grade for _, grade in scored if grade is not None)]


def _judge_missing(
    book: Gradebook,
    papers: Papers,
    student: str,
    evidence: Evidence,
    digest: str,
    names: Mapping[int, str],
    known: Mapping[int, list[Mark]],
) -> Grade:
    """Returns the grade of *evidence*, which has this digest.

    Judges only the questions whose marks are not *known*, by number, and keeps the new marks.
    *names* are those under which the marks of each question are kept, by number.
    """
    grade = score_safely(
        papers.partial_paper(student, [n for n in names if n not in known]), evidence
    )
    _keep_by_name(book, grade, digest, names)
    by_number = {**known, **_marks_by_number(grade)}
    marks = tuple(mark for number in names for mark in by_number[number])
    return _make_grade(papers, student, evidence.submission_sha256, marks, grade.environment)


def _find_own_execution(
    book: Gradebook, papers: Papers, student: str, sha256: str
) -> tuple[str, Evidence]:
    """Returns the SHA-256 of the evidence of a file that other students have handed in, too, and
    the evidence: that of the execution which made the most of the calls that *student* needs.

    Each student has other hidden cases, so equal files are executed once for each of them.
    """
    calls = {(plan.name, call) for plan in papers.call_plans(student) for call in plan.digests}

    def count_calls(execution: tuple[str, Evidence]) -> int:
        answers = execution[1].answers.items()
        return len(
            calls & {(name, call) for name, answer in answers for call in _made_calls(answer)}
        )

    return max(book.executions(sha256), key=count_calls)  # of equal counts, the latest


def _made_calls(answer: Answer) -> list[str]:
    """Returns the digests of the calls that were made of an answer; none if it is not code."""
    calls = (answer.raw or {}).get("calls")
    return [
        str(call.get("call"))
        for call in (calls if isinstance(calls, list) else ())
        if isinstance(call, dict)
    ]


def _make_grade(
    papers: Papers,
    student: str,
    sha256: str,
    marks: tuple[Mark, ...],
    environment: Mapping[str, object],
) -> Grade:
    """Returns a grade of *marks* under the specs that count, made by this version of the grader."""
    return Grade(
        student=student,
        exam=papers.counts.exam.id,
        submission_sha256=sha256,
        marks=marks,
        engine=__version__,
        release=papers.counts.id,
        environment=environment,
    )


def keep_marks(book: Gradebook, papers: Papers, grade: Grade, evidence: str) -> None:
    """Keeps the marks of the questions of *grade* that are settled.

    *evidence* is the digest of the evidence that *grade* was made from.
    """
    _keep_by_name(book, grade, evidence, _mark_digests(papers, grade.student, evidence))


def _keep_by_name(book: Gradebook, grade: Grade, evidence: str, names: Mapping[int, str]) -> None:
    """Keeps the settled marks of *grade* under the names of their questions, by number."""
    entries = {
        names[number]: json.dumps([asdict(mark) for mark in marks]).encode()
        for number, marks in _marks_by_number(grade).items()
        if all(mark.points is not None for mark in marks)
    }
    if entries:
        entries[_digest_of(evidence)] = json.dumps(dict(grade.environment)).encode()
        book.derived.keep(entries)


def score_safely(mine: Paper, evidence: Evidence) -> Grade:
    """Returns the grade, with all marks open if scoring fails because of an internal error.

    Raises SetupError for an error that affects every grade, such as a missing package.
    """
    try:
        return score(mine, evidence)
    except SetupError:
        raise
    except Exception as error:  # noqa: BLE001 - one odd answer must not stop a batch
        return score(mine, unscored_evidence(evidence, error))


def unscored_evidence(evidence: Evidence, error: Exception) -> Evidence:
    """Returns evidence that leaves all marks open, because scoring *evidence* failed."""
    # Only the error's name: its text may contain the key, and students read this.
    what = f"we could not score this notebook ({type(error).__name__})"
    return refused_evidence(evidence.submission_sha256, what)


def _mark_digests(papers: Papers, student: str, evidence: str) -> dict[int, str]:
    """Returns the names under which the marks of each question are kept, by its number."""
    return {
        number: _digest_of(evidence, question) for number, question in papers.questions(student)
    }


def _digest_of(*what: str) -> str:
    return hashlib.sha256("/".join((_engine_digest(), *what)).encode()).hexdigest()


@cache
def _engine_digest() -> str:
    """Returns a digest of the code that judges, so that no mark outlives a change of it."""
    digest = hashlib.sha256(__version__.encode())
    for room in _JUDGING:
        path = PACKAGE / room
        for file in [path] if path.is_file() else sorted(path.rglob("*.py")):
            digest.update(file.read_bytes())
    return digest.hexdigest()


def _marks_by_number(grade: Grade) -> dict[int, list[Mark]]:
    """Returns the marks of each question by its number, from names such as `q3_per_gpu`."""
    return group_by_key((question_number(mark.name), mark) for mark in grade.marks)


def _parse_marks(data: bytes) -> list[Mark]:
    marks: Sequence[Mapping[str, Any]] = json.loads(data)
    return [Mark(**{**mark, "verdict": Verdict(mark["verdict"])}) for mark in marks]
