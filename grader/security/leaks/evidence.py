"""Collects the evidence for leaks in one file and decides what to report."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from grader.release.sealed import TOKEN
from grader.security.leaks.contents import iter_tokens
from grader.security.leaks.numbers import iter_numbers, surprise_bits
from grader.security.leaks.pairs import KeyJudge, Pair, iter_pairs
from grader.security.leaks.records import Leak, mask
from grader.security.leaks.secrets import PublicContent, SecretLabel, Secrets
from grader.security.leaks.words import ENOUGH, shingles, squeeze

ENOUGH_BITS = 7.0
"""Threshold in bits: about one false alarm in a hundred files full of numbers."""
_FEWEST_NAMES = 3
_SMALL_CLASS = 4
_RELEASE = re.compile(r'"private_key"\s*:\s*"[A-Za-z0-9+/]{43}=')


class LeakPosition(NamedTuple):
    """Where a secret was found, and how it was encoded."""

    path: str
    line: int | None
    how: tuple[str, ...]


PositionFinder = Callable[[int], LeakPosition]
"""Maps a position in a text to its place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeakSearch:
    """The secrets to search for, and the tools for it."""

    release: str
    """The id of the release."""
    secrets: Secrets
    visible: PublicContent
    judge: KeyJudge


@dataclass(kw_only=True)
class FileEvidence:
    """The evidence in one file, including archives inside it."""

    search: LeakSearch
    scope: frozenset[str]
    """The students who would get this file."""
    _matches: dict[SecretLabel, LeakPosition] = field(default_factory=dict)
    _numbers: dict[str, LeakPosition | None] = field(default_factory=dict)
    """Every distinctive number of the file, with its place if it may be a key."""
    _hidden_numbers: dict[SecretLabel, dict[str, LeakPosition]] = field(default_factory=dict)
    """Long numbers of hidden cases."""
    _words: dict[SecretLabel, dict[int, LeakPosition]] = field(default_factory=dict)
    _pairs: dict[tuple[str, str], tuple[Pair, LeakPosition]] = field(default_factory=dict)

    def add_bytes(self, data: bytes, place: PositionFinder) -> None:
        """Searches *data* for the private key and for seeds as bytes."""
        if not data.isascii():
            for secret, what in self.search.secrets.raw.items():
                if secret in data:
                    self._matches.setdefault(what, place(data.index(secret)))

    def add_text(self, text: str, place: PositionFinder, *, is_name: bool = False) -> None:
        """Searches *text* for all secrets that can be recognized in text."""
        self._add_numbers(text, place)
        self._add_words(text, place)
        for token, at in iter_tokens(text):
            secret = self.search.secrets.find_token(token)
            if secret is not None:
                self._matches.setdefault(secret, place(at))
        for pair in iter_pairs(text, self.search.secrets.keys, is_name=is_name):
            previous = self._pairs.get((pair.name, pair.value))
            if previous is None or (pair.strong and not previous[0].strong):
                self._pairs[pair.name, pair.value] = (pair, place(pair.at))
        for match in TOKEN.finditer(text.encode("latin-1", "replace")):
            what = ("pack key", "the key of a sealed pack, gpk1_…")
            self._matches.setdefault(what, place(match.start()))
        if whole := _RELEASE.search(text):
            what = ("release", "a complete release.json")
            self._matches.setdefault(what, place(whole.start()))

    def _add_numbers(self, text: str, place: PositionFinder) -> None:
        """Records numbers that are not public, and which secrets they may belong to."""
        secrets, visible = self.search.secrets, self.search.visible
        for digits, at in iter_numbers(text):
            if digits in visible.numbers:
                continue
            whole, start = secrets.digits.get(digits), secrets.digits.get(digits[:9])
            if whole is not None and whole[0] == "seed":
                self._matches.setdefault(whole, place(at))
            elif start is not None and start[0] != "seed":
                self._hidden_numbers.setdefault(start, {}).setdefault(digits, place(at))
            if not self._numbers.get(digits):
                self._numbers[digits] = place(at) if secrets.numbers.find(digits) else None

    def _add_words(self, text: str, place: PositionFinder) -> None:
        """Records word sequences of secret texts, and secret expressions and long texts."""
        secrets = self.search.secrets
        for words, at in shingles(text):
            if words in secrets.words:
                hits = self._words.setdefault(secrets.words[words], {})
                hits.setdefault(words, place(at))
        short = squeeze(text)
        for secret, (kind, of) in secrets.texts.items():
            if secret in short:
                match = re.search(r"\s*".join(map(re.escape, secret)), text)
                at = match.start() if match else 0
                self._matches.setdefault((kind, f"{of}, {mask(secret)}"), place(at))

    def findings(self) -> Iterator[Leak]:
        """Yields all findings in the file."""
        for what, place in self._matches.items():
            yield _make_leak(place, *what)
        for (kind, of), hits in self._words.items():
            if len(hits) >= ENOUGH:
                place = next(iter(hits.values()))
                yield _make_leak(place, kind, f"{of}, at least {len(hits) + 6} words")
        for what, numbers in self._hidden_numbers.items():
            if len(numbers) >= 2 and what not in self._matches:  # 1/3 or pi may be in any file
                yield _make_leak(next(iter(numbers.values())), *what)
        reported: set[str] = set()
        yield from self._report_named(reported)
        yield from self._report_unnamed(reported)

    def _report_unnamed(self, reported: set[str]) -> Iterator[Leak]:
        """Yields numbers that are one student's keys, if so many are unlikely to match by chance;
        adds their names to *reported*."""
        secrets = self.search.secrets
        lengths = Counter(map(len, self._numbers))
        # The number of one student's keys that a number could match.
        chance = math.log2(len(secrets.numbers) / len(secrets.students) + 1)
        scores: defaultdict[str, float] = defaultdict(float)
        matches: dict[str, list[tuple[str, str, LeakPosition]]] = {}
        for digits, place in self._numbers.items():
            worth = surprise_bits(digits) - math.log2(lengths[len(digits)]) - chance
            if place is None or worth <= 0:
                continue
            for student, name in {s: n for n, s in sorted(secrets.numbers.find(digits))}.items():
                if student in self.scope:
                    scores[student] += worth
                    matches.setdefault(student, []).append((name, digits, place))
        best = max(sorted(scores), key=scores.__getitem__, default=None)
        if best is None or scores[best] - math.log2(len(self.scope)) < ENOUGH_BITS:
            return
        for name, digits, place in matches[best]:
            if name not in reported:
                reported.add(name)
                what = f"a number that is the key of {name} ({best}), {mask(digits)}"
                yield _make_leak(place, "key", what)

    def _report_named(self, reported: set[str]) -> Iterator[Leak]:
        """Yields answers that are right for students who must not see them; adds their names to
        *reported*."""
        right: list[tuple[Pair, LeakPosition, frozenset[str]]] = []
        wrong: list[tuple[Pair, frozenset[str]]] = []
        for pair, place in self._pairs.values():
            students, is_readable = self.search.judge.judge(pair)
            certain = pair.strong and pair.is_weighty
            if students and (certain or students & self.scope):
                right.append((pair, place, students))
            is_example = (pair.name, pair.value) in self.search.visible.pairs and not students
            if is_readable and not self.scope <= students and not is_example:
                wrong.append((pair, students))
        together = set(self._find_several_short(right, wrong))
        for pair, place, students in right:
            if pair.name not in reported and (
                (pair.strong and pair.is_weighty)
                or pair in together
                or self._is_leak_alone(pair, students & self.scope, wrong)
            ):
                reported.add(pair.name)
                yield _make_leak(place, "key", self._describe_key(pair, students))

    def _find_several_short(
        self,
        right: list[tuple[Pair, LeakPosition, frozenset[str]]],
        wrong: list[tuple[Pair, frozenset[str]]],
    ) -> list[Pair]:
        """Returns three or more short answers that are all right for one student; else an empty
        list."""
        best: tuple[float, list[Pair]] = (0.0, [])
        for student in sorted({s for _, _, students in right for s in students & self.scope}):
            mine = {pair.name: pair for pair, _, students in right if student in students}
            missed = {p.name for p, students in wrong if student not in students} - mine.keys()
            score = sum(map(_surprise, mine.values())) - 3.0 * len(missed)
            if len(mine) >= _FEWEST_NAMES and score > best[0]:
                best = (score, list(mine.values()))
        return best[1] if best[0] - math.log2(len(self.scope)) >= ENOUGH_BITS else []

    def _is_leak_alone(
        self, pair: Pair, students: frozenset[str], wrong: list[tuple[Pair, frozenset[str]]]
    ) -> bool:
        """Returns whether one short answer, right for *students*, is a leak by itself."""
        if not pair.strong or self.search.judge.is_points(pair):
            return False
        if not pair.is_number:
            # In a large class, every letter is right for some student.
            return len(self.scope) <= _SMALL_CLASS or 2 * len(students) >= len(self.scope)
        # Points appear beside names too: `{"q1_size": 2, "q2_fits": 1}`.
        numbers = sum(p.is_number and p.strong for p, _ in self._pairs.values())
        missed = sum(p.is_number and p.strong and not s & self.scope for p, s in wrong)
        return 2 * missed <= numbers

    def _describe_key(self, pair: Pair, students: frozenset[str]) -> str:
        """Returns the text of a finding about *pair*, which is in the keys of *students*."""
        if len(self.search.secrets.students) <= 1:
            owner = ""
        elif len(students) == 1:
            owner = f" ({min(students)})"
        else:
            owner = f" (of {len(students)} students)"
        return f"the key of {pair.name}{owner}, {mask(pair.value)}"


def _make_leak(place: LeakPosition, kind: str, detail: str) -> Leak:
    return Leak(path=place.path, line=place.line, kind=kind, detail=detail, how=place.how)


def _surprise(pair: Pair) -> float:
    """Returns how unlikely the value is to be right by chance, in bits."""
    if pair.is_number:
        return 10.0 if pair.is_weighty else 4.0
    return max(2.0, min(8.0, 2.0 * sum(c.isupper() for c in pair.value)))
