"""Computes a submission's grade from its paper and evidence: a pure function, no kernel or
files."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from grader import __version__
from grader.errors import SetupError
from grader.expressions import ExpressionError, holds
from grader.kinds import BeyondLimit, Kind, Unreadable, kinds
from grader.kinds.answers import carried_answer, right_value
from grader.model import (
    Answer,
    Evidence,
    Grade,
    Judgment,
    Key,
    Mark,
    Outcome,
    Paper,
    Question,
    Raw,
    Submission,
    Verdict,
)
from grader.model.packages import waiting_note
from grader.units.quantity import Quantity, Value

FAULT = "Because of an internal error, an answer could not be judged"
"""The start of the feedback on a mark that is open because judging it failed."""
_FAULTS = (FAULT, "By a fault of ours we could not judge an answer")
"""The second one is in gradebooks of earlier versions."""
_OPEN = "This mark is open, and no points are deducted"
BUILDS = "This builds on an answer that could not be judged yet"
"""The start of the feedback on a mark that is open because of an earlier one."""


def has_fault(grade: Grade) -> bool:
    """Returns whether any mark is open because judging it failed, which judging again may
    settle."""
    return any(mark.points is None and mark.feedback.startswith(_FAULTS) for mark in grade.marks)


def is_disturbed(grade: Grade, evidence: Evidence) -> bool:
    """Returns whether any mark is open because of other work on the machine during the run."""
    return any(mark.points is None and mark.name in evidence.disturbances for mark in grade.marks)


def hold_open(mark: Mark, evidence: Evidence, name: str = "") -> Mark:
    """Returns *mark*, opened if other work or a limit of the grader may have cost it points.

    *name* is the answer's name in the evidence, if it differs from the mark's name.
    """
    if mark.points is None or mark.points >= mark.max_points:
        return mark
    name = name or mark.name
    why = evidence.disturbances.get(name)
    if why is not None:
        again = " The same happened when the notebook ran alone." if evidence.rerun else ""
        return _as_open(mark, f"{_OPEN}: {why}.{again} Grade it again.")
    why = evidence.cut_short.get(name)
    if why is not None:
        return _as_open(mark, f"{_OPEN}: {why}. A person will review it.")
    if evidence.rerun:
        note = f"This mark is from a second run, alone, because in the first run {evidence.rerun}."
        return replace(mark, feedback=f"{mark.feedback} {note}".strip())
    return mark


def _as_open(mark: Mark, why: str) -> Mark:
    return replace(mark, points=None, verdict=Verdict.UNSETTLED, mistake=None, feedback=why)


def score(paper: Paper, evidence: Evidence) -> Grade:
    """Returns the grade that *evidence* earns on *paper*. The same arguments give the same
    grade."""
    if evidence.outcome is Outcome.REFUSED:
        note = evidence.note or "we could not run this notebook"
        return _open_grade(paper, evidence.submission_sha256, Verdict.UNSETTLED, note)
    marks: list[Mark] = []
    for question in paper.questions:
        marks += _question_marks(question, evidence)
    return _make_grade(paper, evidence.submission_sha256, tuple(marks), evidence.environment)


def score_refused(paper: Paper, submission: Submission) -> Grade:
    """Returns the grade of a file that can't be read: every mark is open and says why.

    A person decides what it is worth: a damaged file, or one that exceeds our limits, is never
    zero.
    """
    reason = submission.refusal or "the notebook can't be read"
    return _open_grade(paper, submission.sha256, Verdict.UNREADABLE, reason)


def _open_grade(paper: Paper, sha256: str, verdict: Verdict, feedback: str) -> Grade:
    """Returns a grade whose marks are all open, with the same verdict and feedback."""
    marks = tuple(
        _make_mark(question, key, points=None, verdict=verdict, feedback=feedback)
        for question in paper.questions
        for key in question.keys.values()
    )
    return _make_grade(paper, sha256, marks, {})


def _make_grade(
    paper: Paper, sha256: str | None, marks: tuple[Mark, ...], environment: Mapping[str, object]
) -> Grade:
    """Returns a grade of the file *sha256*, made by this version of the grader."""
    return Grade(
        student=paper.student.id,
        exam=paper.exam.id,
        submission_sha256=sha256,
        marks=marks,
        engine=__version__,
        release=paper.release,
        environment=environment,
    )


@dataclass(frozen=True, slots=True)
class _OwnAnswer:
    """A student's own answer to an earlier part, as later parts may use it."""

    value: Value
    text: str
    right: bool


def _question_marks(question: Question, evidence: Evidence) -> Iterator[Mark]:
    """Yields the mark of each part of *question*, in order. A part that builds on an answer that
    could not be judged stays open if that answer might earn it more points."""
    own: dict[str, _OwnAnswer] = {}
    unknown: set[str] = set()
    for part_id, key in question.keys.items():
        answer = evidence.answers.get(question.name(part_id))
        mark = hold_open(_first_mark(question, key, answer, own), evidence)
        if unknown.intersection(key.part.uses) and _can_earn_more(mark):
            # The carried value is unknown, and this part may be worth more with it.
            mark = _as_open(mark, f"{BUILDS}. The mark is open, and no points are deducted.")
        if (
            mark.points is None
            and part_id not in own
            and carried_answer(kinds.find(key.part.kind), key) is not None
        ):
            unknown.add(part_id)
        yield mark


def _first_mark(
    question: Question, key: Key, answer: Answer | None, own: dict[str, _OwnAnswer]
) -> Mark:
    """Returns the mark of one answer, and stores the answer in *own* for later parts."""
    if answer is not None and answer.is_unexecuted:
        return _open_mark(question, key, waiting_note(answer.missing_requirement))
    if answer is None or answer.raw is None:
        why = (answer and answer.absent) or f"no cell sets {question.name(key.part.id)}"
        return _make_mark(question, key, verdict=Verdict.ABSENT, feedback=f"No answer: {why}.")
    try:
        return _read_and_judge(question, key, answer.raw, own)
    except SetupError:
        raise  # affects every answer, such as a missing package
    except Exception as error:  # noqa: BLE001 - one odd answer must cost no other
        # Only the error's name: its text may contain the key, and students read this.
        why = f"{FAULT} ({type(error).__name__}). The mark is open, and no points are deducted."
        return _open_mark(question, key, why)


def _can_earn_more(mark: Mark) -> bool:
    """Returns whether there is an answer with less than full points so far."""
    unread = (Verdict.ABSENT, Verdict.UNREADABLE)
    return mark.points != mark.max_points and mark.verdict not in unread


def _read_and_judge(question: Question, key: Key, raw: Raw, own: dict[str, _OwnAnswer]) -> Mark:
    """Returns the mark of one answer, and stores the answer in *own* for later parts."""
    kind = kinds.find(key.part.kind)
    try:
        value = kind.read(raw, key)
    except BeyondLimit as reason:
        return _open_mark(question, key, f"{reason.sentence} {_OPEN}: a person will review it.")
    except Unreadable as reason:
        verdict = Verdict.ABSENT if reason.blank else Verdict.UNREADABLE
        return _make_mark(question, key, verdict=verdict, feedback=reason.sentence)
    judgment = kind.judge(value, key)
    shown = kind.format_value(value, key)
    mark = _judged_mark(
        question, key, shown, _best_judgment(question, kind, value, key, judgment, own)
    )
    carried = kind.carry_value(value, key)
    if carried is not None:
        own[key.part.id] = _OwnAnswer(carried, shown, judgment.share == 1)
    return mark


def _open_mark(question: Question, key: Key, why: str) -> Mark:
    return _make_mark(question, key, points=None, verdict=Verdict.UNSETTLED, feedback=why)


def _judged_mark(question: Question, key: Key, shown: str, judgment: Judgment) -> Mark:
    """Returns the mark that *judgment* gives to an answer, which is *shown* to the student."""
    points = None
    if judgment.share is not None:
        points = round(judgment.share * question.points[key.part.id], 6)
    return _make_mark(
        question,
        key,
        points=points,
        verdict=judgment.verdict,
        mistake=judgment.mistake,
        answer=shown,
        feedback=f"{judgment.note} {_cells_sentence(judgment.cells)}".strip()
        if judgment.cells
        else judgment.note,
    )


def _cells_sentence(cells: Mapping[str, str]) -> str:
    """Returns which cells or items were wrong or empty, without the right values."""
    wrong = [label for label, verdict in cells.items() if verdict == Verdict.INCORRECT]
    empty = [label for label, verdict in cells.items() if verdict == Verdict.ABSENT]
    labels_by_head = (("Wrong", wrong), ("Empty", empty))
    return " ".join(f"{head}: {', '.join(labels)}." for head, labels in labels_by_head if labels)


def _make_mark(
    question: Question,
    key: Key,
    *,
    verdict: Verdict,
    feedback: str,
    points: float | None = 0.0,
    mistake: str | None = None,
    answer: str | None = None,
) -> Mark:
    """Returns a mark of the part of *key*, with zero points by default. It is open if *points* is
    None."""
    part = key.part
    return Mark(
        problem=question.variant.problem.id,
        part=part.id,
        name=question.name(part.id),
        kind=part.kind,
        points=points,
        max_points=question.points[part.id],
        verdict=verdict,
        mistake=mistake,
        answer=answer,
        feedback=feedback,
    )


def _best_judgment(
    question: Question,
    kind: Kind,
    value: object,
    key: Key,
    judgment: Judgment,
    own: Mapping[str, _OwnAnswer],
) -> Judgment:
    """Returns the judgment by the true key, or by the student's own earlier answers if better."""
    if judgment.share is None or judgment.share >= 1 or not key.part.uses:
        return judgment
    # Also for right ones: a student may have continued with a rounded value.
    earlier = {p: own[p] for p in key.part.uses if p in own}
    if not earlier or not all(_is_plausible(a.value, key, p) for p, a in earlier.items()):
        return judgment
    carried = carried_key(kind, key, {p: a.value for p, a in earlier.items()})
    if carried is None:
        return judgment
    again = kind.judge(value, carried)
    rounded = all(a.right for a in earlier.values())
    discount = 0.0 if rounded else key.part.carry.discount
    share = (again.share or 0.0) * (1 - discount)
    if again.share is None or share <= judgment.share:
        return judgment
    names = " and ".join(f"{question.name(p)} = {a.text}" for p, a in earlier.items())
    return replace(
        again,
        share=share,
        verdict=Verdict.CORRECT if share == 1 else Verdict.PARTIAL,
        note=_carried_note(
            names, kind.format_value(right_value(kind, carried), carried), again, share
        ),
    )


def _carried_note(names: str, followed: str, again: Judgment, share: float) -> str:
    """Returns the feedback on an answer that was judged by the student's own earlier answers."""
    note = f"Carried forward: judged by your own {names}, from which {followed} follows."
    if again.share == 1 and share < 1:
        note += f" A carried answer earns {share:.0%} of the points here."
    return f"{note} {again.note}".strip()


def carried_key(kind: Kind, key: Key, changes: Mapping[str, Value]) -> Key | None:
    """Returns the key recomputed with *changes*, the student's own earlier answers, or None if a
    guard forbids it, if no key follows from them, or if only that key would be zero."""
    scope = {**key.draw.scope, **changes}
    try:
        if not all(holds(c, scope, key.draw.facts) for c in key.part.carry.where):
            return None
        carried = kind.key(key.part, replace(key.draw, scope=scope))
        trivial = _as_float(kind.answer(carried)) == 0 and _as_float(kind.answer(key)) != 0
    except (ExpressionError, ValueError, OverflowError):
        return None  # no answer follows from theirs, such as a division by zero
    return None if trivial else carried


def _is_plausible(value: Value, key: Key, part_id: str) -> bool:
    """Returns whether an earlier answer is close enough to the true one to be carried forward.

    Zero, another sign, or a difference of many orders of magnitude would make the later part
    trivial.
    """
    own = _as_float(value)
    true = _as_float(key.draw.scope.get(part_id))
    if own is None or true is None:
        return True  # words and options have no distance
    if true == 0:
        return own != 0
    ratio = own / true
    within = key.part.carry.within
    return math.isfinite(ratio) and 1 / within <= ratio <= within


def _as_float(value: object) -> float | None:
    """Returns a number as a float, and None for anything else."""
    if isinstance(value, Quantity):
        value = value.magnitude
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return None
    return float(value)
