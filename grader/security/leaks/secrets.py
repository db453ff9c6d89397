"""Collects the secrets of a release, in the forms in which a search looks for them."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from grader.draw import paper
from grader.kinds import kinds
from grader.model import Key, Paper, Release
from grader.notebook.render import letter_of
from grader.security.leaks.numerals import Mantissas, digits_of, runs
from grader.security.leaks.words import is_telling, shingles, squeezed

EXPECTED_STUDENTS = 8
"""For more students, expected results of hidden cases are not computed; inputs always are."""
LONG_DIGITS = 9
"""Digits of numbers in hidden cases that are recognized without a name."""
_FIRST = 400
"""Numbers searched per value: a leak of a value includes its beginning."""
_FACTORS = (*(1.024**power for power in (1, 2, 3, 4, -1, -2, -3, -4)), 8.0, 0.125)
"""Factors between GB and GiB, and between bytes and bits; powers of ten change no digit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """One key that some students share, with the name of its answer."""

    name: str
    key: Key
    literal: str
    students: frozenset[str]
    points: float


class Label(NamedTuple):
    """What a secret number represents."""

    name: str
    """The name of the answer."""
    students: frozenset[str]
    is_other: bool
    """Whether it is the key in another unit, of which there are many."""


@dataclass(kw_only=True)
class Wanted:
    """All secrets of a release."""

    students: tuple[str, ...]
    named: dict[str, list[Named]] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    """Other names of an answer, such as `3b`, `q3b`, `per_gpu`."""
    numbers: Mantissas = field(default_factory=lambda: Mantissas([]))
    labels: list[Label] = field(default_factory=list)
    """Labels of the secret numbers."""
    hidden: Mantissas = field(default_factory=lambda: Mantissas([]))
    """Long numbers of hidden cases."""
    hidden_parts: tuple[str, ...] = ()
    """Labels of these."""
    exact: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Digits of seeds and private keys: kind and detail."""
    bytes: dict[bytes, tuple[str, str]] = field(default_factory=dict)
    """Sequences of eight bytes: kind and detail."""
    runs: dict[int, str] = field(default_factory=dict)
    """Six consecutive numbers, and the part whose hidden case they are from."""
    words: dict[int, tuple[str, str]] = field(default_factory=dict)
    """Seven consecutive words: kind and problem."""
    expressions: dict[str, str] = field(default_factory=dict)
    """Expressions without white space, and their problem."""
    unmade: dict[str, str] = field(default_factory=dict)
    """Answers whose hidden cases can't be generated, and why."""
    strings: dict[str, str] = field(default_factory=dict)
    """Longer texts of hidden cases, and their part."""


def wanted(
    release: Release,
    students: Iterable[str],
    done: Callable[[Paper], None] = lambda _: None,
) -> Wanted:
    """Collects the secrets for *students*; calls *done* with each paper."""
    found = Wanted(students=tuple(students))
    made = _Maker(release, found)
    for student in found.students:
        mine = paper(release, release.students[student])
        made.student(mine)
        done(mine)
    made.finish()
    return found


class _Maker:
    """Gathers secrets, paper by paper."""

    def __init__(self, release: Release, found: Wanted):
        self._release = release
        self._found = found
        self._same: dict[tuple[str, str], list[tuple[Key, float, set[str]]]] = {}
        self._hidden: dict[float, str] = {}
        self._values: dict[tuple[str, float, bool], set[str]] = {}
        self._private_key(release.private_key)
        for name, problem in release.problems.items():
            self._problem(name, release.sources.get(name), problem.solution)

    def _private_key(self, key: bytes) -> None:
        what = ("private key", "the key from which all students' numbers are drawn")
        self._binary(key, what)
        for number in (int.from_bytes(key, "big"), int.from_bytes(key, "little")):
            self._found.exact[str(number).strip("0")] = what
        for run, _ in runs(map(float, key)):
            self._found.runs[hash(run)] = "the private key"

    def _binary(self, data: bytes, what: tuple[str, str]) -> None:
        for at in range(0, len(data) - 7, 8):
            self._found.bytes[data[at : at + 8]] = what

    def _problem(self, name: str, source: object, solution: str) -> None:
        texts = [("solution", solution)]
        for path, text in _leaves(source):
            if path & _TELLING:
                texts.append(("worked solution or feedback", text))
            if path & _COMPUTED and "mistakes" not in path and is_telling(text):
                self._found.expressions[squeezed(text)] = name
        for kind, text in texts:
            for one, _ in shingles(text, telling=True):
                self._found.words.setdefault(one, (kind, name))

    def student(self, mine: Paper) -> None:
        """Adds one student's keys, seeds and hidden cases."""
        for question in mine.questions:
            seed, problem = question.variant.seed, question.variant.problem.id
            self._binary(seed, ("seed", f"of {problem} for {mine.student.id}"))
            for index, (part, key) in enumerate(question.keys.items()):
                name = question.name(part)
                self._aliases(name, part, f"{question.number}{letter_of(index)}")
                self._key(mine.student.id, name, key, question.points[part])

    def _aliases(self, name: str, part: str, label: str) -> None:
        for alias in (label, f"q{label}"):
            self._found.aliases[alias] = name
        other = self._found.aliases.setdefault(part, name)
        if other != name and len(part) > 1:
            self._found.aliases[part] = ""  # in several problems, so that it names none

    def _key(self, student: str, name: str, key: Key, points: float) -> None:
        kind = kinds.find(key.part.kind)
        literal = kind.literal(key)
        same = self._same.setdefault((name, literal), [])
        for known, _, students in same:
            if type(known) is type(key):
                students.add(student)
                break
        else:
            same.append((key, points, {student}))
        for value in _numbers(kind.answer(key)):
            self._values.setdefault((name, value, False), set()).add(student)
            for other in _in_other_units(value, key):
                self._values.setdefault((name, other, True), set()).add(student)
        if key.draw.solution and kind.needs_solution:
            try:
                self._cases(name, key)
            except ValueError as error:
                self._found.unmade.setdefault(name, f"for {student}: {error}")

    def _cases(self, name: str, key: object) -> None:
        from grader.kinds.attempts import CodeKey

        if not isinstance(key, CodeKey):
            return
        what = f"of {name}"
        for case in key.cases:
            for raw in json.loads(case.call.inputs).values():
                self._hidden_value(raw, what)
            self._found.exact.setdefault(
                str(case.call.seed).strip("0"), ("seed", f"of a hidden case {what}")
            )
        if len(self._found.students) <= EXPECTED_STUDENTS:
            for value in key.expected:
                self._sequence(list(_plain(value)), what)

    def _hidden_value(self, raw: object, what: str) -> None:
        from grader.wire.values import read

        for array in _arrays(raw):
            for at in (0, len(array) // 16 * 8):
                window = array[at : at + 8]
                if len(array) >= 16 and len(set(window)) >= 6 and not _even(window):
                    self._found.bytes.setdefault(window, ("hidden case", what))
        try:
            value = read(raw)
        except ValueError:
            return
        self._sequence(list(_plain(value)), what)

    def _sequence(self, values: list[object], what: str) -> None:
        numbers = [float(v) for v in values if isinstance(v, int | float)][:_FIRST]
        for run, _ in runs(numbers):
            self._found.runs.setdefault(hash(run), what)
        self._hidden.update({abs(v): what for v in numbers if len(digits_of(v)) >= LONG_DIGITS})
        for value in values:
            if isinstance(value, str) and len(squeezed(value)) >= 16:
                self._found.strings.setdefault(squeezed(value)[:200], what)

    def finish(self) -> None:
        """Builds the search tables from the gathered secrets."""
        for (name, literal), same in self._same.items():
            for key, points, students in same:
                one = Named(
                    name=name,
                    key=key,
                    literal=literal,
                    students=frozenset(students),
                    points=points,
                )
                self._found.named.setdefault(name, []).append(one)
        values = []
        for (name, value, is_other), students in self._values.items():
            values.append((value, len(self._found.labels)))
            self._found.labels.append(Label(name, frozenset(students), is_other))
            if len(digits_of(value)) >= 6 and not is_other:
                self._doubles(value, name)
        self._found.numbers = Mantissas(values)
        parts = list(dict.fromkeys(self._hidden.values()))
        self._found.hidden_parts = tuple(parts)
        self._found.hidden = Mantissas((v, parts.index(part)) for v, part in self._hidden.items())

    def _doubles(self, value: float, name: str) -> None:
        import struct

        for order in "<>":
            self._found.bytes.setdefault(struct.pack(f"{order}d", value), ("key", f"of {name}"))


_TELLING = {"explanation", "feedback", "rubric", "accept", "because", "driver"}
_COMPUTED = {"answer", "value", "values", "correct", "cells", "order"}


def _leaves(
    tree: object, path: frozenset[str] = frozenset()
) -> Iterator[tuple[frozenset[str], str]]:
    if isinstance(tree, str):
        yield path, tree
    elif isinstance(tree, Mapping):
        for name, one in tree.items():
            yield from _leaves(one, path | {str(name)})
    elif isinstance(tree, list | tuple):
        for one in tree:
            yield from _leaves(one, path)


def _numbers(answer: object) -> Iterator[float]:
    """Every number in an answer."""
    if isinstance(answer, Mapping):
        answer = list(answer.values())
    if isinstance(answer, list | tuple):
        for one in answer:
            yield from _numbers(one)
    elif isinstance(answer, int | float) and not isinstance(answer, bool) and answer:
        yield abs(float(answer))


def _in_other_units(value: float, key: Key) -> Iterator[float]:
    """*value* in other units that change its digits."""
    unit = str(getattr(key.part, "unit", "") or "")
    if ("B" in unit or "bit" in unit) and len(digits_of(value)) >= 3:
        yield from (value * factor for factor in _FACTORS)


def _arrays(raw: object) -> Iterator[bytes]:
    """The bytes of every array in an encoded value."""
    if isinstance(raw, Mapping):
        if raw.get("t") in ("array", "tensor") and isinstance(raw.get("v"), str):
            yield _unbase64(str(raw["v"]))
        else:
            for one in raw.values():
                yield from _arrays(one)
    elif isinstance(raw, list):
        for one in raw:
            yield from _arrays(one)


@lru_cache(maxsize=64)
def _unbase64(text: str) -> bytes:
    return base64.b64decode(text)


def _even(window: bytes) -> bool:
    return len({(b - a) % 256 for a, b in pairwise(window)}) == 1


def _plain(value: object) -> Iterator[object]:
    """The numbers and texts in a value, in order."""
    numbers = getattr(value, "numbers", None)
    if numbers is not None:
        yield from numbers.ravel()[:_FIRST].tolist()
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from _plain(one)
    elif isinstance(value, list | tuple | set | frozenset):
        for one in value:
            yield from _plain(one)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield value
