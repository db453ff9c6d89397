"""Judges what each attack has earned and reached."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from grader.errors import GraderError
from grader.gradebook import Gradebook
from grader.gradebook.evidence import evidence_to_json
from grader.model import Evidence, Grade, Outcome
from grader.security.redteam.course import ExamTaker, RedTeamCourse

BROKE = re.compile(r"^BROKE: ?(.{0,200})", re.MULTILINE)
"""What an attack prints if it has succeeded."""
LARGEST_EVIDENCE = 4_000_000
# If a cell of an attack ends like this, it has tried nothing and the attack needs repair.
_FAULTY = re.compile(
    r"(NameError|SyntaxError|IndentationError|ImportError|ModuleNotFoundError|AttributeError)\b"
)
_REPAIR = "the attack itself is broken"


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackResult:
    """The result of one attack, or of one check on the whole batch."""

    name: str
    group: str
    tries: str
    has_held: bool | None
    """None if it was not tried for lack of a package."""
    observation: str
    missing: tuple[str, ...] = ()
    """Missing sandbox layers that would have stopped it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmissionResult:
    """The results of one student's submission."""

    grade: Grade | None = None
    evidence: Evidence | None = None
    refusal: str | None = None
    feedback: str = ""
    """The student's page."""
    data: str = ""
    """The student's mark file."""
    report: str = ""
    """The class report."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Traces:
    """What was observed outside of the results, by token."""

    leftovers: Mapping[str, list[str]] = field(default_factory=dict)
    heard_tokens: frozenset[str] = frozenset()


def read_results(out: Path, course: RedTeamCourse) -> dict[str, SubmissionResult]:
    """Reads the results folder for every student of the course."""
    results = {}
    report = _read_text(out / "report" / "index.html")
    with Gradebook.open(out) as book:
        grades = {g.student: g for g in book.grades()}
        for sitter in course.takers:
            submissions = book.submissions(sitter.id)
            latest = submissions[-1] if submissions else None
            evidence = book.find_evidence(latest.sha256) if latest else None
            results[sitter.id] = SubmissionResult(
                grade=grades.get(sitter.id),
                evidence=evidence,
                refusal=latest.refusal if latest else None,
                feedback=_read_text(out / "feedback" / f"{sitter.id}.html"),
                data=_read_text(out / "grades" / f"{sitter.id}.json"),
                report=report,
            )
    return results


def _read_text(path: Path) -> str:
    return path.read_text("utf-8", "replace") if path.exists() else ""


def judge_attack(
    sitter: ExamTaker,
    result: SubmissionResult,
    traces: Traces,
    course: RedTeamCourse,
    layers: frozenset[str],
) -> AttackResult:
    """Returns whether the attack failed, and what was observed."""
    attack = sitter.attack
    faults = list(_find_faults(sitter, result, traces, course))
    missing = tuple(layer for layer in attack.stopped_by if layer not in layers)
    if not faults or any(fault.startswith(_REPAIR) for fault in faults):
        missing = ()
    observation = "; ".join(faults[:3]) if faults else _describe_outcome(result)
    if missing:
        observation = f"without the layer {', '.join(missing)}: {observation}"
    return AttackResult(
        name=f"honest/{sitter.id}" if sitter.honest else attack.name,
        group="honest" if sitter.honest else attack.group,
        tries=attack.tries,
        has_held=not faults,
        observation=observation,
        missing=missing,
    )


def _find_faults(
    sitter: ExamTaker, found: SubmissionResult, traces: Traces, course: RedTeamCourse
) -> Iterator[str]:
    """Yields everything that the attack achieved."""
    yield from _find_mark_faults(sitter, found)
    yield from _find_evidence_faults(found.evidence, broken=sitter.attack.group == "broken")
    feedback = _student_text(found)
    if not sitter.honest:
        for name, text in course.canaries.items():
            if text in feedback:
                yield f"read a secret: {name}"
    if f"<{sitter.token}" in found.feedback + found.report:
        yield "injected an element into a page"
    if any(sitter.token in text for text in traces.heard_tokens):
        yield "reached a socket outside"
    yield from traces.leftovers.get(sitter.token, ())


def _find_mark_faults(sitter: ExamTaker, found: SubmissionResult) -> Iterator[str]:
    """Yields what is wrong: no grade, open marks, other points than declared, or no message."""
    grade, attack = found.grade, sitter.attack
    if grade is None:
        yield "has no grade"
        return
    # A mark that a person decides, because of a limit of the grader, has earned nothing.
    waiting = [mark for mark in grade.marks if mark.points is None]
    reasons = ("person will review", "builds on an answer")
    unplanned = [m for m in waiting if not any(words in m.feedback for words in reasons)]
    if unplanned and found.refusal is None:
        yield f"caused open marks: {unplanned[0].feedback[:120]}"
        return
    is_expected = {
        "nothing": grade.score == 0,
        "less": grade.score < grade.max_score,
        "honest": grade.score == grade.max_score,
        "refused": grade.score == 0 and found.refusal is not None,
    }
    if not is_expected[attack.earns]:
        expected = {"honest": "all", "refused": "a refusal"}.get(attack.earns, attack.earns)
        yield f"earned {grade.score:g} of {grade.max_score:g} points instead of {expected}"
    if attack.says and attack.says not in _student_text(found):
        yield f"nothing says '{attack.says}'"


def _find_evidence_faults(evidence: Evidence | None, *, broken: bool) -> Iterator[str]:
    """Yields reported successes, errors of the attack unless *broken*, and evidence too large."""
    if evidence is None:
        return
    # Names that a cell defines are lost if a later cell ends the kernel or the cell is too slow.
    whole = not broken
    for cell in evidence.cells:
        for done in BROKE.findall(cell.output):
            yield done.strip() or "succeeded"
        whole = whole and cell.outcome is Outcome.FINISHED
        if whole and cell.error and _FAULTY.match(cell.error):
            yield f"{_REPAIR}: {cell.error[:120]}"
    size = len(evidence_to_json(evidence))
    if size > LARGEST_EVIDENCE:
        yield f"its evidence has {size} bytes"


def _student_text(found: SubmissionResult) -> str:
    """Returns all text in the results that the student could have written."""
    parts = [found.refusal or "", found.data, found.feedback]
    if found.evidence is not None:
        parts.append(evidence_to_json(found.evidence).decode())
    return "\n".join(parts)


def _describe_outcome(found: SubmissionResult) -> str:
    """Returns the refusal or the points in words; empty without a grade."""
    if found.refusal:
        return f"refused: {found.refusal}"
    if found.grade is None:
        return ""
    note = f"; {found.evidence.note}" if found.evidence and found.evidence.note else ""
    return f"{found.grade.score:g} of {found.grade.max_score:g} points{note}"


# -- the whole batch


def changed_grades(
    before: Mapping[str, SubmissionResult], after: Mapping[str, SubmissionResult]
) -> Iterator[str]:
    """Yields a sentence for each honest student whose grade the attacks have changed."""
    for student, was in before.items():
        old, new = was.grade, after.get(student, SubmissionResult()).grade
        if old is None or new is None or old.marks != new.marks:
            earned = f"{new.score:g}" if new else "nothing"
            yield f"{student} has {earned} points instead of {old.score if old else 0:g}"
        elif not old.complete or old.score != old.max_score:
            yield f"{student} does not get full marks even without attacks"


def gradebook_defects(out: Path) -> Iterator[str]:
    """Yields defects of the gradebook."""
    try:
        with sqlite3.connect(f"file:{out / 'gradebook.sqlite'}?mode=ro", uri=True) as file:
            reply = file.execute("PRAGMA integrity_check").fetchone()[0]
        if reply != "ok":
            yield f"SQLite reports: {reply}"
        with Gradebook.open(out) as book:
            for sha256 in book.evidence_summaries():
                book.evidence(sha256)
    except (sqlite3.Error, GraderError) as error:
        yield f"the gradebook is damaged: {error}"
