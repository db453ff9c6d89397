"""A student's exam: variants drawn from problems, placed on a paper, pinned by a release."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace

from grader.model import dice
from grader.model.spec import ExamSet, Expr, Part, Problem
from grader.units.quantity import Value

_QUESTION = re.compile(r"q(\d+)_")

SAMPLE = "sample"
"""The version that anyone may see and that is never graded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Student:
    """One line of a roster."""

    id: str
    name: str = ""
    email: str = ""
    section: str = ""
    version: str = ""
    """Students with the same version share their numbers; if empty, the student's are unique."""

    @property
    def seat(self) -> str:
        """The seed text for the numbers: the version if set, otherwise the student's id.

        The sample's begins with a character that ids and versions can't contain, so that no student
        has its numbers.
        """
        return f"/{SAMPLE}" if self.version == SAMPLE else self.version or self.id

    def merged_with(self, latest: Student) -> Student:
        """Returns this student with the fields that *latest* fills in; empty fields change nothing.

        >>> ada = Student(id="ada", name="Ada", email="a@x.edu")
        >>> ada.merged_with(Student(id="ada", name="Ada L."))
        Student(id='ada', name='Ada L.', email='a@x.edu', section='', version='')
        """
        filled = {f.name: value for f in fields(latest) if (value := getattr(latest, f.name))}
        return replace(self, **filled)


# Item, such as "h100-sxm", to field, such as "memory_bandwidth", to value.
Facts = Mapping[str, Mapping[str, Value]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Draw:
    """What a kind can use to create a key: the names in scope, and the seed of random draws."""

    seed: bytes
    scope: Mapping[str, Value]
    """Parameters, values, and the true answer of each earlier part under the part's id."""
    facts: Facts
    parameters: Mapping[str, Value] = field(default_factory=dict)
    """The drawn parameters; one with a unit is a quantity."""
    values: Mapping[str, Expr] = field(default_factory=dict)
    """The problem's values, in order, for computing them again from other parameters."""
    solution: str = ""
    """The text of the problem's solution file, which defines hidden cases. **Secret.**"""

    def permutation(self, label: str, count: int) -> tuple[int, ...]:
        """Returns a permutation of range(count) that depends only on the seed and *label*."""
        return dice.draw_permutation(self.seed, label, count)

    def number(self, label: str) -> int:
        """Returns a number below 2^64 that depends only on the seed and *label*."""
        return dice.hash_to_int(b"%s|number|%s" % (self.seed, label.encode()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """The key of one part of a variant; secret. Every kind adds the fields it needs to judge."""

    part: Part
    draw: Draw


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """A problem with its parameters drawn for one seed, and its keys. **Secret.**"""

    problem: Problem
    draw: Draw
    """The draw with the answers of all parts in scope."""
    keys: Mapping[str, Key]
    """Keys by part id."""
    draws: int = 1
    """How often parameters were drawn until every `where` held."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A variant at its position on one student's paper."""

    number: int
    variant: Variant
    points: Mapping[str, float]
    """Points by id of the parts that this set asks."""
    is_pooled: bool = False
    """Whether other students may have a different problem, or other parts, at this number."""

    @property
    def keys(self) -> Mapping[str, Key]:
        """The keys of the parts that are asked, by part id, in the problem's order."""
        return {part_id: self.variant.keys[part_id] for part_id in self.points}

    def name(self, part_id: str) -> str:
        """Returns the variable that holds the answer, such as `q3_per_gpu`."""
        return f"q{self.number}_{part_id}"


def question_number(mark: str) -> int:
    """Returns the number of the problem in the name of a mark; 0 if there is none.

    >>> question_number("q12_per_gpu"), question_number("bonus")
    (12, 0)
    """
    match = _QUESTION.match(mark)
    return int(match[1]) if match else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Paper:
    """One student's exam. **Secret**, because its questions contain keys."""

    student: Student
    exam: ExamSet
    release: str
    """The release's id."""
    questions: tuple[Question, ...]

    def named_keys(self) -> Iterator[tuple[str, Key]]:
        """Yields every answer's variable and key, in the paper's order."""
        for question in self.questions:
            for part_id, key in question.keys.items():
                yield question.name(part_id), key

    @property
    def max_points(self) -> float:
        """The total points on this paper."""
        return sum(sum(q.points.values()) for q in self.questions)


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """A set rendered for a roster, with everything that grading needs, pinned. **Secret.**"""

    id: str
    """The first 16 hex digits of `sha256`; printed in notebooks."""
    exam: ExamSet
    problems: Mapping[str, Problem]
    """Problems by id, as they were when the release was created."""
    digests: Mapping[str, str]
    """SHA-256 of each problem's spec."""
    facts: Facts
    """The facts table at that time."""
    students: Mapping[str, Student]
    private_key: bytes
    engine: str
    """The version of this package that created it."""
    sources: Mapping[str, object] = field(default_factory=dict)
    """Each problem's spec as plain data, for writing it to a file."""
