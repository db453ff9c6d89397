"""Collects the secrets of a release, in the forms in which a search looks for them."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from grader.draw import paper
from grader.kinds import kinds
from grader.kinds.answers import answer_as_python as literal_of
from grader.kinds.attempts import CodeKey
from grader.model import Key, Paper, Question, Release
from grader.security.leaks.numbers import RoundedNumbers, digits_of, iter_numbers
from grader.security.leaks.pairs import NamedKey, iter_pairs
from grader.security.leaks.words import is_telling, shingles, squeeze
from grader.wire.values import decode_result

SecretLabel = tuple[str, str]
"""The kind of a secret, and what it belongs to."""
EXPECTED_STUDENTS = 8
"""For more students, expected results of hidden cases are not computed; inputs always are."""
_LONG = 9
"""Digits of a number of a hidden case that is recognized outside of a run."""
_TOKEN = 24
"""Characters by which a secret in hex or base64 is recognized."""
_FEWEST_CHARACTERS = 8
_FIRST = 400
"""Numbers searched per value: a leak of a value includes its beginning."""
_WORDS = {"explanation", "feedback", "rubric", "accept", "because", "driver"}
_EXPRESSIONS = {"answer", "value", "values", "correct", "cells", "order"}


@dataclass(kw_only=True)
class Secrets:
    """All secrets of a release."""

    students: tuple[str, ...]
    keys: dict[str, list[NamedKey]] = field(default_factory=dict)
    """The different keys of each answer."""
    numbers: RoundedNumbers = field(default_factory=lambda: RoundedNumbers([]))
    """The numbers in keys."""
    digits: dict[str, SecretLabel] = field(default_factory=dict)
    """Digits of hidden cases' seeds, and the first nine of hidden cases' long numbers."""
    raw: dict[bytes, SecretLabel] = field(default_factory=dict)
    """The private key and seeds."""
    tokens: dict[str, SecretLabel] = field(default_factory=dict)
    """The first characters of secrets in hex or base64."""
    words: dict[int, SecretLabel] = field(default_factory=dict)
    """Hashes of seven consecutive words."""
    texts: dict[str, SecretLabel] = field(default_factory=dict)
    """Expressions of keys and long texts of hidden cases, without white space."""
    failures: dict[str, str] = field(default_factory=dict)
    """Answers whose hidden cases can't be generated, and why."""

    def add_bytes(self, data: bytes, what: SecretLabel) -> None:
        """Adds *data*, which is then found as bytes, in hex, and in base64."""
        self.raw.setdefault(data, what)
        self.add_token(data.hex(), what)
        self.add_token(base64.b64encode(data).decode(), what)

    def add_token(self, token: str, what: SecretLabel) -> None:
        """Adds a secret in hex or base64, unless it is too short or regular to be recognized."""
        start = token[:_TOKEN]
        if len(start) == _TOKEN and len(set(start)) >= _FEWEST_CHARACTERS:
            self.tokens.setdefault(start, what)

    def find_token(self, token: str) -> SecretLabel | None:
        """Returns the secret that begins like *token*, a run of hex or base64 characters."""
        start = token[:_TOKEN]
        return self.tokens.get(start) or self.tokens.get(start.lower())


@dataclass(kw_only=True)
class PublicContent:
    """What clean notebooks contain. It excludes only matches without a name."""

    numbers: set[str] = field(default_factory=set)
    pairs: set[tuple[str, str]] = field(default_factory=set)
    """Names with a value beside them, such as the examples of how to write an answer."""
    _words: set[int] = field(default_factory=set)
    _texts: set[str] = field(default_factory=set)

    def add(self, text: str, names: set[str]) -> None:
        """Adds a text of a clean notebook with answers of these *names*."""
        short = squeeze(text)
        if short in self._texts:
            return  # most cells are the same for all students
        self._texts.add(short)
        self.numbers |= {digits for digits, _ in iter_numbers(text)}
        self.pairs |= {(pair.name, pair.value) for pair in iter_pairs(text, names)}
        self._words |= {words for words, _ in shingles(text)}

    def remove_from(self, secrets: Secrets) -> None:
        """Removes what is visible from *secrets*."""
        for words in self._words & secrets.words.keys():
            del secrets.words[words]
        for secret in [s for s in secrets.texts if any(s in text for text in self._texts)]:
            del secrets.texts[secret]


def collect_secrets(
    release: Release, students: Iterable[str], on_paper: Callable[[Paper], None]
) -> Secrets:
    """Returns the secrets for *students*; calls *on_paper* with each student's paper."""
    collector = _Collector(release, tuple(students))
    for student in collector.secrets.students:
        drawn = paper(release, release.students[student])
        for question in drawn.questions:
            collector.add_question(student, question)
        on_paper(drawn)
    return collector.finish()


class _Collector:
    """Gathers secrets, question by question."""

    def __init__(self, release: Release, students: tuple[str, ...]):
        self.secrets = Secrets(students=students)
        self._owners: dict[tuple[str, str], tuple[Key, float, set[str]]] = {}
        self._numbers: list[tuple[float, str, str]] = []
        what = ("private key", "the key from which all students' numbers are drawn")
        self.secrets.add_bytes(release.private_key, what)
        for name, problem in release.problems.items():
            self._add_problem(name, release.sources.get(name), problem.solution)

    def _add_problem(self, name: str, source: object, solution: str) -> None:
        """Adds the texts of a problem's solutions, and the expressions of its keys."""
        texts = [("solution", solution)]
        for path, text in _iter_texts(source):
            if path & _WORDS:
                texts.append(("worked solution or feedback", text))
            if path & _EXPRESSIONS and "mistakes" not in path and is_telling(text):
                self.secrets.texts[squeeze(text)] = ("expression of a key", f"of {name}")
        for kind, text in texts:
            for words, _ in shingles(text, distinctive=True):
                self.secrets.words.setdefault(words, (kind, f"of {name}"))

    def add_question(self, student: str, question: Question) -> None:
        """Adds the keys, the seed and the hidden cases of one student's question."""
        variant = question.variant
        self.secrets.add_bytes(
            variant.draw.seed, ("seed", f"of {variant.problem.id} for {student}")
        )
        for part, key in question.keys.items():
            name, kind = question.name(part), kinds.find(key.part.kind)
            key_id = (name, literal_of(kind, key))
            self._owners.setdefault(key_id, (key, question.points[part], set()))[2].add(student)
            listed = (v for v in _iter_plain(kind.answer(key)) if isinstance(v, int | float))
            self._numbers += [(abs(float(number)), name, student) for number in listed if number]
            if kind.needs_solution and key.draw.solution:
                try:
                    self._add_cases(name, key)
                except ValueError as error:
                    self.secrets.failures.setdefault(name, f"for {student}: {error}")

    def _add_cases(self, name: str, key: Key) -> None:
        """Adds the seeds and inputs of hidden cases; in a small class, their results as well."""
        if not isinstance(key, CodeKey):
            return
        what = ("hidden case", f"of {name}")
        for case in key.cases:
            seed = str(case.call.seed).strip("0")
            self.secrets.digits.setdefault(seed, ("seed", f"of a hidden case of {name}"))
            for raw in json.loads(case.call.inputs).values():
                for _, text in _iter_texts(raw):
                    self.secrets.add_token(text, what)
                try:
                    self._add_value(decode_result(raw), what)
                except ValueError:
                    continue
        if len(self.secrets.students) <= EXPECTED_STUDENTS:
            for want in key.expected_results:
                if "value" in want:
                    self._add_value(decode_result(want["value"]), what)

    def _add_value(self, value: object, what: SecretLabel) -> None:
        """Adds the long numbers and texts in *value*, which belongs to the secret *what*."""
        plain = list(_iter_plain(value))
        numbers = [float(v) for v in plain if isinstance(v, int | float)][:_FIRST]
        for digits in map(digits_of, numbers):
            if len(digits) >= _LONG:
                self.secrets.digits.setdefault(digits[:_LONG], what)
        for text in plain:
            if isinstance(text, str) and len(squeeze(text)) >= 16:
                self.secrets.texts.setdefault(squeeze(text)[:200], what)

    def finish(self) -> Secrets:
        """Returns the secrets of all papers, with the keys that students share grouped."""
        for (name, _), (key, points, students) in self._owners.items():
            named_key = NamedKey(key=key, students=frozenset(students), points=points)
            self.secrets.keys.setdefault(name, []).append(named_key)
        self.secrets.numbers = RoundedNumbers(self._numbers)
        return self.secrets


def _iter_texts(
    tree: object, path: frozenset[str] = frozenset()
) -> Iterator[tuple[frozenset[str], str]]:
    """Yields every text in a spec, with the names of the fields that contain it."""
    if isinstance(tree, str):
        yield path, tree
    elif isinstance(tree, Mapping):
        for name, item in tree.items():
            yield from _iter_texts(item, path | {str(name)})
    elif isinstance(tree, list | tuple):
        for item in tree:
            yield from _iter_texts(item, path)


def _iter_plain(value: object) -> Iterator[str | int | float]:
    """Yields the numbers and texts in a value, in order."""
    numbers = getattr(value, "numbers", None)
    if numbers is not None:
        yield from numbers.ravel()[:_FIRST].tolist()
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _iter_plain(item)
    elif isinstance(value, list | tuple | set | frozenset):
        for item in value:
            yield from _iter_plain(item)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield value
