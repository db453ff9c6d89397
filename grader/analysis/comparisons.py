"""Collects what students' numbers and questions differ in, with their scores."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from itertools import islice
from typing import NamedTuple

from grader import units
from grader.analysis.graded_class import GradedPaper
from grader.kinds.choice import ChoiceKey
from grader.kinds.lettered import choice_by_letter, one_line
from grader.kinds.true_false import TrueFalseKey
from grader.model import Key, Mark, Parameter, Part, Problem, Question, Slot
from grader.model.desk import PartId
from grader.units.quantity import Quantity, Value

RIGHT_ANSWER = "the right answer"
_NAME = re.compile(r"[A-Za-z_]\w*")
_PLACEHOLDER = re.compile(r"\{[{%](.*?)[%}]\}", re.DOTALL)


class FactorLevel(NamedTuple):
    """A value that some students were given."""

    label: str
    order: float | None = None
    """Its place among numbers; None for words."""


class Score(NamedTuple):
    """Points that a student earned, and could earn."""

    points: float
    maximum: float


@dataclass(slots=True)
class Comparison:
    """Something in which the papers differ, with the scores that may depend on it."""

    question: str
    """The part, or the questions that were drawn, for people."""
    problem: str
    """Empty for a pool of problems."""
    part: str
    """Empty for a pool."""
    names: tuple[str, ...]
    """What differs: a parameter, or several that always differ together."""
    excluded_problems: frozenset[str]
    """The problems whose points say nothing about a student's ability here."""
    scores: dict[str, Score] = field(default_factory=dict)
    """By student, without open marks."""
    levels: dict[str, tuple[FactorLevel, ...]] = field(default_factory=dict)
    """By student; several if a student gets several of a pool."""


class ClassComparisons:
    """The comparisons of a class, and the points of each student by problem."""

    def __init__(self) -> None:
        self.comparisons: dict[tuple[str, str], Comparison] = {}
        self.totals: dict[str, dict[str, Score]] = {}
        self.seats: dict[str, str] = {}
        self._names: dict[PartId, tuple[str, ...]] = {}

    def add(self, graded: GradedPaper) -> None:
        """Adds the scores of a student's paper to the comparisons."""
        id_ = graded.row.student.id
        self.seats[id_] = graded.seat
        marks = {mark.name: mark for mark in graded.row.marks}
        self.totals[id_] = dict(_points_by_problem(marks.values()))
        for question in graded.paper.questions:
            self._add_question(id_, question, marks)
        for slot, questions in _questions_by_slot(graded):
            self._add_slot(id_, slot, questions, marks)

    def _add_question(self, id_: str, question: Question, marks: Mapping[str, Mark]) -> None:
        """Adds the student's score for each part to what may have made that part harder."""
        problem, levels = question.variant.problem, dict(parameter_levels(question))
        for part_id, key in question.keys.items():
            mark = marks.get(question.name(part_id))
            if mark is None or mark.points is None or not mark.max_points:
                continue
            place = PartId(problem.id, part_id)
            if place not in self._names:
                self._names[place] = names_that_matter(problem, key.part)
            relevant = {name: levels[name] for name in self._names[place] if name in levels}
            for name, level in (*relevant.items(), *_right_answer_levels(key)):
                comparison = self._find_or_add(str(place), name, problem.id, part_id)
                comparison.scores[id_] = Score(mark.points, mark.max_points)
                comparison.levels[id_] = (level,)

    def _add_slot(
        self, id_: str, slot: Slot, questions: list[Question], marks: Mapping[str, Mark]
    ) -> None:
        """Adds the scores of what was drawn for *slot*: problems, or parts of a pool."""
        if slot.count < len(slot.problem_ids):
            comparison = self._find_or_add(_question_numbers(questions), "the problem")
            comparison.excluded_problems = frozenset(slot.problem_ids)
            names = [q.name(part) for q in questions for part in q.points]
            problems = (q.variant.problem.id for q in questions)
            _add_points(comparison, id_, [marks.get(name) for name in names], problems)
        for question in questions:
            problem = question.variant.problem
            for pool in slot.draw:
                parts = [p.id for p in problem.parts if p.pool == pool and p.id in question.points]
                comparison = self._find_or_add(f"{problem.id}, {pool}", "the part", problem.id)
                _add_points(
                    comparison, id_, [marks.get(question.name(part)) for part in parts], parts
                )

    def _find_or_add(self, asked: str, name: str, problem: str = "", part: str = "") -> Comparison:
        """Returns the comparison of *name* for what is *asked*; adds it if it is new."""
        comparison = self.comparisons.get((asked, name))
        if comparison is None:
            comparison = Comparison(asked, problem, part, (name,), frozenset({problem}))
            self.comparisons[asked, name] = comparison
        return comparison

    def merge(self) -> list[Comparison]:
        """Returns the comparisons; those that divide a part's students alike are merged."""
        merged: dict[tuple[object, ...], Comparison] = {}
        for comparison in self.comparisons.values():
            codes: dict[tuple[FactorLevel, ...], int] = {}
            division = tuple(
                (id_, codes.setdefault(levels, len(codes)))
                for id_, levels in comparison.levels.items()
            )
            if len(codes) < 2:
                continue
            first = merged.setdefault((comparison.question, division), comparison)
            if first is not comparison:
                first.names += comparison.names
                first.levels = {
                    id_: (FactorLevel(f"{levels[0].label}, {comparison.levels[id_][0].label}"),)
                    for id_, levels in first.levels.items()
                }
        return list(merged.values())


def _add_points(
    comparison: Comparison, id_: str, marks: list[Mark | None], labels: Iterable[str]
) -> None:
    """Adds a student with the points of several parts, unless one of them is open."""
    settled = [m for m in marks if m is not None and m.points is not None]
    maximum = sum(mark.max_points for mark in settled)
    if len(settled) == len(marks) and maximum:
        comparison.scores[id_] = Score(sum(mark.points or 0.0 for mark in settled), maximum)
        comparison.levels[id_] = tuple(FactorLevel(label) for label in labels)


def _question_numbers(questions: list[Question]) -> str:
    first, last = questions[0].number, questions[-1].number
    return f"question {first}" if first == last else f"questions {first} to {last}"


def _questions_by_slot(graded: GradedPaper) -> Iterator[tuple[Slot, list[Question]]]:
    """Yields each slot with its questions."""
    questions = iter(graded.paper.questions)
    for slot in graded.paper.exam.slots:
        yield slot, list(islice(questions, slot.count))


def _points_by_problem(marks: Iterable[Mark]) -> Iterator[tuple[str, Score]]:
    """Yields each problem with its settled points, earned and possible."""
    scores: dict[str, Score] = {}
    for mark in marks:
        if mark.points is not None:
            earned, maximum = scores.get(mark.problem, Score(0.0, 0.0))
            scores[mark.problem] = Score(earned + mark.points, maximum + mark.max_points)
    yield from scores.items()


def parameter_levels(question: Question) -> Iterator[tuple[str, FactorLevel]]:
    """Yields each parameter that the student was given, with its value."""
    given = question.variant.draw.parameters
    for name, parameter in question.variant.problem.parameters.items():
        columns = _columns(name, parameter)
        if all(column in given for column in columns):
            if len(columns) == 1:
                yield name, _make_level(given[columns[0]])
            else:
                texts = (f"{column} {_make_level(given[column]).label}" for column in columns)
                yield name, FactorLevel(", ".join(texts))


def _columns(name: str, parameter: Parameter) -> tuple[str, ...]:
    return tuple(parameter.rows[0]) if parameter.rows else (name,)


def _make_level(value: Value) -> FactorLevel:
    """Returns *value* as a level, which has a place among numbers if it is one."""
    label = one_line(units.format_quantity(value))
    if isinstance(value, (bool, str)):
        return FactorLevel(label)
    return FactorLevel(label, float(value.magnitude if isinstance(value, Quantity) else value))


def _right_answer_levels(key: Key) -> Iterator[tuple[str, FactorLevel]]:
    """Yields the right answer of a choice or a true-false part; nothing for other parts."""
    if isinstance(key, ChoiceKey):
        yield RIGHT_ANSWER, FactorLevel(choice_by_letter(key.choices, key.right).id)
    elif isinstance(key, TrueFalseKey):
        yield RIGHT_ANSWER, FactorLevel(str(key.right))


def _iter_strings(written: object) -> Iterator[str]:
    """Yields every string in *written*, such as a part or a list of expressions."""
    if isinstance(written, str):
        yield written
    elif isinstance(written, Mapping):
        for item in written.values():
            yield from _iter_strings(item)
    elif isinstance(written, (tuple, list)):
        for item in written:
            yield from _iter_strings(item)
    elif is_dataclass(written):
        for item in fields(written):
            yield from _iter_strings(getattr(written, item.name))


def names_that_matter(problem: Problem, part: Part) -> tuple[str, ...]:
    """Returns the parameters that *part* names, directly or through values and earlier parts.

    If the part names none, returns those that the prompt shows.
    """
    columns = {name: _columns(name, parameter) for name, parameter in problem.parameters.items()}
    prompt = " ".join(_PLACEHOLDER.findall(problem.prompt))
    for start in (part, prompt):
        reached = _names_reached(problem, part, start)
        if found := tuple(name for name, ones in columns.items() if reached.intersection(ones)):
            return found
    return ()


def _names_reached(problem: Problem, part: Part, start: object) -> set[str]:
    """Returns all names in *start*, and in the values and earlier parts that it names."""
    earlier = {one.id: one for one in problem.parts if one.id in part.uses}
    reached: set[str] = set()
    new = _names_in(_iter_strings(start))
    while new:
        reached |= new
        named: list[object] = [problem.values[name] for name in new if name in problem.values]
        named += [earlier[name] for name in new if name in earlier]
        new = _names_in(_iter_strings(named)) - reached
    return reached


def _names_in(texts: Iterable[str]) -> set[str]:
    return {name for text in texts for name in _NAME.findall(text)}
