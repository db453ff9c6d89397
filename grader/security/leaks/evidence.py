"""Collects the evidence for leaks in one file and decides what to report."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from grader.release.sealed import TOKEN
from grader.security.leaks.byte_signatures import Needles
from grader.security.leaks.digests import Digests
from grader.security.leaks.named import Judge, Pair, is_weighty, pairs
from grader.security.leaks.numerals import bits, bits_of_run, numerals, runs, sequence
from grader.security.leaks.records import Finding, masked
from grader.security.leaks.secrets import LONG_DIGITS, Label, Wanted
from grader.security.leaks.views import View
from grader.security.leaks.visible import Visible
from grader.security.leaks.words import ENOUGH, shingles, squeezed

ENOUGH_BITS = 7.0
"""Threshold in bits: about one false alarm in a hundred files full of numbers."""
_FEWEST_NAMES = 3
_SMALL_CLASS = 4


_RELEASE = re.compile(r'"private_key"\s*:\s*"[A-Za-z0-9+/]{43}=')
_OF_VIEWS = 3.0
"""Allowance in bits for about eight views of a text, any of which may match by chance."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where something was seen; of several places, the most readable one is shown."""

    path: str
    line: int | None
    how: tuple[str, ...]

    def finding(self, kind: str, detail: str) -> Finding:
        """A finding at this place."""
        return Finding(path=self.path, line=self.line, kind=kind, detail=detail, how=self.how)


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """The secrets to search for, and the tools for it."""

    release: str
    """The id of the release."""
    wanted: Wanted
    visible: Visible
    judge: Judge
    digests: Digests
    needles: Needles


@dataclass(kw_only=True)
class Evidence:
    """The evidence in one file, including archives inside it."""

    search: Search
    scope: frozenset[str]
    """The students who would get this file."""
    _found: dict[tuple[str, str], Place] = field(default_factory=dict)
    _numbers: dict[str, Place | None] = field(default_factory=dict)
    """Every distinctive number of the file, with its place if it may be a secret."""
    _words: dict[tuple[str, str], dict[int, Place]] = field(default_factory=dict)
    _pairs: dict[tuple[str, str], tuple[Pair, Place]] = field(default_factory=dict)
    _runs: dict[tuple[str, ...], Place] = field(default_factory=dict)
    _sequences: int = 0
    _hidden: dict[int, dict[str, Place]] = field(default_factory=dict)
    """Long numbers of hidden cases, by part."""

    def bytes(self, data: bytes, place: Callable[[int], Place]) -> None:
        """Searches *data* for binary secrets."""
        for what, at in self.search.needles.find(data):
            self._found.setdefault(what, place(at))

    def text(self, view: View, place: Callable[[int], Place], *, is_name: bool = False) -> None:
        """Searches *view* for all secrets that can be recognized in text."""
        self._search_numbers(view.text, place)
        self._search_words(view.text, place)
        for pair in pairs(view.text, self.search.wanted, is_name=is_name):
            known = self._pairs.get((pair.name, pair.value))
            if known is None or (pair.strong and not known[0].strong):
                self._pairs[pair.name, pair.value] = (pair, place(pair.at))
        for at, name, start in self.search.digests.find(view.text):
            what = f"a digest of the key of {name}, {start}…"
            self._found.setdefault(("digest of a key", what), place(at))
        for token in TOKEN.finditer(view.text.encode("latin-1", "replace")):
            what = "the key of a sealed pack, gpk1_…"
            self._found.setdefault(("pack key", what), place(token.start()))
        whole = _RELEASE.search(view.text)
        if whole is not None:
            self._found.setdefault(("release", "a complete release.json"), place(whole.start()))

    def _search_numbers(self, text: str, place: Callable[[int], Place]) -> None:
        wanted, visible = self.search.wanted, self.search.visible
        for one in numerals(text):
            if one.digits in wanted.exact:
                self._found.setdefault(wanted.exact[one.digits], place(one.at))
            if self._numbers.get(one.digits) or one.digits in visible.numbers:
                continue
            if len(one.digits) >= LONG_DIGITS:
                for part in wanted.hidden.find(one.digits):
                    self._hidden.setdefault(part, {}).setdefault(one.digits, place(one.at))
            is_secret = bool(wanted.numbers.find(one.digits))
            self._numbers[one.digits] = place(one.at) if is_secret else None
        listed = list(sequence(text))
        self._sequences = max(self._sequences, len(listed))
        for run, first in runs(value for value, _ in listed):
            if hash(run) in wanted.runs:
                self._runs.setdefault(run, place(listed[first][1]))

    def _search_words(self, text: str, place: Callable[[int], Place]) -> None:
        wanted = self.search.wanted
        for one, at in shingles(text):
            what = wanted.words.get(one)
            if what is not None:
                self._words.setdefault(what, {}).setdefault(one, place(at))
        if not wanted.expressions and not wanted.strings:
            return
        short = squeezed(text)
        for expression, problem in wanted.expressions.items():
            if expression in short:
                what = ("expression of a key", f"of {problem}, {masked(expression)}")
                self._found.setdefault(what, place(_place_in(text, expression)))
        for string, part in wanted.strings.items():
            if string in short:
                what = ("hidden case", f"{part}, {masked(string)}")
                self._found.setdefault(what, place(_place_in(text, string)))

    def findings(self) -> Iterator[Finding]:
        """All findings in the file."""
        for (kind, detail), place in self._found.items():
            yield place.finding(kind, detail)
        for (kind, problem), hits in self._words.items():
            if len(hits) >= ENOUGH:
                first = next(iter(hits.values()))
                yield first.finding(kind, f"of {problem}, at least {len(hits) + 6} words")
        yield from self._from_runs()
        told: set[str] = set()
        yield from self._from_pairs(told)
        yield from self._from_numbers(told)

    def _from_runs(self) -> Iterator[Finding]:
        wanted = self.search.wanted
        chance = math.log2(len(wanted.runs) + 1) + math.log2(self._sequences + 1)
        seen = set()
        for part, numbers in self._hidden.items():
            if len(numbers) >= 2:  # 1/3 or pi may be in any file
                what = wanted.hidden_parts[part]
                seen.add(what)
                yield next(iter(numbers.values())).finding("hidden case", f"numbers {what}")
        for run, place in self._runs.items():
            what = wanted.runs[hash(run)]
            if what not in seen and bits_of_run(run) - chance >= ENOUGH_BITS:
                seen.add(what)
                kind = "hidden case" if what.startswith("of ") else "private key"
                yield place.finding(kind, f"numbers {what}")

    def _from_numbers(self, told: set[str]) -> Iterator[Finding]:
        """Findings from unnamed numbers, if so many are unlikely to match keys by chance."""
        wanted = self.search.wanted
        lengths: dict[int, int] = {}
        for digits in self._numbers:
            lengths[len(digits)] = lengths.get(len(digits), 0) + 1
        scores: dict[str, float] = {}
        whose: dict[str, list[tuple[str, str, Place]]] = {}
        for digits, place in self._numbers.items():
            if place is None:
                continue
            names = [wanted.labels[index] for index in sorted(wanted.numbers.find(digits))]
            worth = bits(digits) - math.log2(lengths[len(digits)]) - self._chance(names)
            worth -= _OF_VIEWS if place.how else 0.0
            if worth <= 0:
                continue
            for student in {s for label in names for s in label.students & self.scope}:
                name = next(label.name for label in names if student in label.students)
                scores[student] = scores.get(student, 0.0) + worth
                whose.setdefault(student, []).append((name, digits, place))
        if not scores:
            return
        best = max(sorted(scores), key=scores.__getitem__)
        if scores[best] - math.log2(len(self.scope)) < ENOUGH_BITS:
            return
        for name, digits, place in whose[best]:
            if name in told:
                continue
            told.add(name)
            what = f"a number that is the key of {name} ({best}), {masked(digits)}"
            yield place.finding("key", what)

    def _chance(self, names: list[Label]) -> float:
        """Log2 of the number of keys of one student that a number could match by chance."""
        labels = self.search.wanted.labels
        plain = [label for label in labels if not label.is_other]
        each = math.log2(len(plain) / len(self.search.wanted.students) + 1)
        return each if any(not label.is_other for label in names) else each + 3.0

    def _from_pairs(self, told: set[str]) -> Iterator[Finding]:
        weak: list[tuple[Pair, Place, frozenset[str]]] = []
        wrong: list[tuple[Pair, frozenset[str]]] = []
        for pair, place in self._pairs.values():
            right = self.search.judge.right_for(pair)
            if right and pair.strong and is_weighty(pair.value):
                if pair.name in told:
                    continue
                told.add(pair.name)
                yield place.finding("key", self._said(pair, right))
            elif right & self.scope:
                weak.append((pair, place, right & self.scope))
            example = (pair.name, pair.value) in self.search.visible.pairs and not right
            if self.search.judge.is_readable(pair) and not self.scope <= right and not example:
                wrong.append((pair, right))
        together = set(self._together(weak, wrong))
        for pair, place, right in weak:
            if pair.name in told:
                continue
            if pair in together or self._alone(pair, right, wrong):
                told.add(pair.name)
                yield place.finding("key", self._said(pair, right))

    def _together(
        self,
        weak: list[tuple[Pair, Place, frozenset[str]]],
        wrong: list[tuple[Pair, frozenset[str]]],
    ) -> Iterator[Pair]:
        """A student for whom three or more short answers are all right."""
        best: tuple[float, list[Pair]] = (0.0, [])
        for student in sorted({s for _, _, right in weak for s in right}):
            mine = {pair.name: pair for pair, _, right in weak if student in right}
            missed = {p.name for p, right in wrong if student not in right} - mine.keys()
            score = sum(_worth(pair) for pair in mine.values()) - 3.0 * len(missed)
            if len(mine) >= _FEWEST_NAMES and score > best[0]:
                best = (score, list(mine.values()))
        if best[0] - math.log2(max(1, len(self.scope))) >= ENOUGH_BITS:
            yield from best[1]

    def _alone(
        self, pair: Pair, right: frozenset[str], wrong: list[tuple[Pair, frozenset[str]]]
    ) -> bool:
        """Whether one short answer is a leak by itself."""
        if not pair.strong or pair.alias:
            return False
        if not _is_number(pair):
            # In a large class, every letter is right for some student.
            return len(self.scope) <= _SMALL_CLASS or 2 * len(right) >= len(self.scope)
        # Points appear beside names too: `{"q1_size": 2, "q2_fits": 1}`.
        told = sum(_is_number(p) and p.strong and not p.alias for p, _ in self._pairs.values())
        missed = sum(
            _is_number(p) and p.strong and not p.alias and not one & self.scope for p, one in wrong
        )
        if 2 * missed > told:
            return False
        try:
            return float(pair.value.strip("\"'`")) != self.search.judge.points_of(pair)
        except ValueError:
            return True

    def _said(self, pair: Pair, right: frozenset[str]) -> str:
        who = f" ({min(right)})" if len(right) == 1 else f" (of {len(right)} students)"
        who = who if len(self.search.wanted.students) > 1 else ""
        return f"the key of {pair.name}{who}, {masked(pair.value)}"


def _is_number(pair: Pair) -> bool:
    return pair.value.lstrip("\"'`")[:1] in set("+-.0123456789")


def _worth(pair: Pair) -> float:
    if is_weighty(pair.value):
        return 10.0
    if _is_number(pair):
        return 4.0
    letters = sum(c.isupper() for c in pair.value)
    return max(2.0, min(8.0, 2.0 * letters))


def _place_in(text: str, squeezed_part: str) -> int:
    """The position in *text* of a match in its text without white space."""
    found = re.search(r"\s*".join(map(re.escape, squeezed_part[:200])), text)
    return found.start() if found else 0
