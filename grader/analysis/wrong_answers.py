"""Collects the wrong numbers of a class, with the numbers that each student was given."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from grader import units
from grader.analysis.mining import Column, Idea, WrongAnswers, mine
from grader.gradebook import Gradebook
from grader.grading.sources import require_release
from grader.kinds import kinds
from grader.kinds.base import Unreadable
from grader.kinds.numeric import NumericKey
from grader.model import Evidence, Grade, Verdict
from grader.model.desk import PartId
from grader.release.papers import Papers, papers_of
from grader.units import DimensionError
from grader.units.quantity import Value


@dataclass(frozen=True, slots=True, kw_only=True)
class MinedPart:
    """The wrong ideas about one part."""

    part: PartId
    asked: int
    """How many students were asked it."""
    wrong: int
    """How many gave a wrong number that no known mistake explains."""
    ideas: tuple[Idea, ...]


@dataclass(slots=True)
class _Collected:
    asked: int = 0
    students: list[str] = field(default_factory=list)
    answers: list[float] = field(default_factory=list)
    numbers: list[Mapping[str, tuple[float, bool]]] = field(default_factory=list)
    """For each student: the value of each quantity, and whether it is a number without a
    dimension."""
    key_text: str = ""
    plain_answer: bool = False


def mine_results(out: Path, *, fewest: int) -> tuple[MinedPart, ...]:
    """Returns the wrong ideas about each part with a number, for results in *out*.

    Raises SetupError if the results don't come from a release.
    """
    found: dict[PartId, _Collected] = {}
    with Gradebook.open(out) as book:
        require_release(book)
        papers = papers_of(book)
        for grade in book.grades():
            if grade.submission_sha256 is None:
                continue
            evidence = book.find_evidence(grade.submission_sha256)
            if evidence is not None:
                _collect(found, grade, papers, evidence)
    return tuple(
        MinedPart(
            part=part,
            asked=one.asked,
            wrong=len(one.students),
            ideas=mine(_wrong_answers(one), fewest=fewest),
        )
        for part, one in found.items()
    )


def _collect(
    found: dict[PartId, _Collected], grade: Grade, papers: Papers, evidence: Evidence
) -> None:
    marks = {mark.name: mark for mark in grade.marks}
    for name, key in papers.of(grade.student).named_keys():
        mark = marks.get(name)
        if mark is None or not isinstance(key, NumericKey):
            continue
        one = found.setdefault(PartId(mark.problem, mark.part), _Collected())
        one.asked += 1
        answer = evidence.answers.get(name)
        if mark.verdict is not Verdict.INCORRECT or answer is None or answer.raw is None:
            continue
        try:
            value = float(kinds.find(mark.kind).read(answer.raw, key))
        except (Unreadable, OverflowError, TypeError):
            continue
        if math.isfinite(value):
            one.students.append(grade.student)
            one.answers.append(value)
            one.numbers.append(dict(_numbers(key)))
            one.key_text = f"({key.part.answer})"
            one.plain_answer = not key.unit or key.unit == "%"


def _numbers(key: NumericKey) -> Iterator[tuple[str, tuple[float, bool]]]:
    """Yields the key, and the quantities that a candidate may use, in the part's unit."""
    yield "", (float(key.value), False)
    for name, value in key.draw.scope.items():
        number = _number_of(value, key.unit)
        if number is not None and math.isfinite(number[0]) and number[0] > 0:
            yield name, number


def _number_of(value: Value, unit: str) -> tuple[float, bool] | None:
    if isinstance(value, (bool, str)):
        return None
    if isinstance(value, (int, float)):
        return (float(value), True) if abs(value) < 1e300 else None
    try:
        return float(units.magnitude(value, unit)), False
    except (DimensionError, OverflowError):
        return None


def _wrong_answers(one: _Collected) -> WrongAnswers:
    """Returns the wrong answers with the quantities that all of these students have."""
    first = one.numbers[0] if one.numbers else {}
    names = [name for name in first if all(name in mine for mine in one.numbers)]
    columns = [
        Column(
            text=name or one.key_text,
            values=[mine[name][0] for mine in one.numbers],
            plain=bool(name) and one.numbers[0][name][1],
            same_dimension=not one.numbers[0][name][1] or one.plain_answer,
        )
        for name in names
    ]
    return WrongAnswers(students=one.students, answers=one.answers, columns=columns)
