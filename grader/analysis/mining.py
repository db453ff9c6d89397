"""Finds the wrong ideas of a class: expressions that explain the wrong answers of many students.

A wrong idea is one expression for all students. Each candidate is computed with the numbers of
every student with a wrong answer, and compared with the answer. A candidate counts only if it
explains many more students than if the answers were compared with other students' numbers. See
`docs/explanation/statistics.md`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from grader import units
from grader.analysis import double_edits
from grader.analysis.answer_matches import half_unit
from grader.analysis.arrays import Numbers, Truths
from grader.analysis.edits import edited_expressions
from grader.analysis.graded_class import WIDEST, WrongNumbers
from grader.analysis.permutation import poisson_binomial_tail
from grader.analysis.products import (
    CONSTANTS,
    CONVERSIONS,
    CandidateProduct,
    NamedQuantity,
    iter_products,
)
from grader.kinds import tolerance
from grader.kinds.numeric import NumericKey, evaluate_answer
from grader.units.quantity import ONE, dimension_of

FEWEST = 3
"""The fewest students whom an idea must explain."""
MOST_CHANCE = 0.05
"""The largest expected number of false ideas for one part."""
MOST_PERMUTED = 0.01
"""The largest probability that as many answers fit if the variants are permuted."""
MOST_IDEAS = 8
"""Most ideas proposed for one part."""
FEWEST_OF_DOUBLE, COST_OF_DOUBLE = 6, 6
"""The fewest students whom an expression with two errors must explain, and how complex it is."""
CLOSE, CLOSEST = 0.006, 0.0005
"""How far an answer may be from a candidate, as a share: for intermediate results that were
rounded, and the least that counts as a difference."""
SMALL = 1000
"""Below this, so many products give the same whole number that only edits are tried."""
WIDER = 8
"""The density of other students' numbers is taken from a range that is as many times as wide."""
SPREAD = 3.0
"""Chance answers are taken to spread over a factor of e to this power, about 20."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Idea:
    """An expression that explains the wrong answers of some students."""

    expression: str
    students: tuple[str, ...]
    by_chance: float
    """The share of other students' numbers with which it explains these answers as well."""
    false_ideas: float
    """How many candidates that are as simple are expected to explain as many students by chance."""
    when: str = ""
    """The condition for variants in which it differs from the right answer; empty if all do."""


def mine(wrong: WrongNumbers, *, fewest: int = FEWEST) -> tuple[Idea, ...]:
    """Returns the ideas that explain at least *fewest* students, the most frequent first.

    Each student counts for one idea only.
    """
    if len(wrong.students) < fewest:
        return ()
    search = _Search(wrong, fewest)
    return tuple(sorted(search.ideas(), key=lambda idea: -len(idea.students)))


@dataclass(frozen=True, slots=True, eq=False)
class _Candidate:
    text: str
    cost: int
    exact: Truths
    """Which wrong answers it explains up to the digits that were given."""
    close: Truths
    """Which it explains if intermediate results were rounded as well."""
    exact_chances: Numbers
    """The probability that it explains each wrong answer exactly by chance."""
    close_chances: Numbers
    when: str = ""
    permuted_share: float = 0.0
    """The share of other students' numbers with which it explains an answer as well."""


class _Search:
    """The search for one number."""

    def __init__(self, wrong: WrongNumbers, fewest: int):
        self._wrong, self._fewest = wrong, fewest
        self._answers = np.array(wrong.answers)
        self._keys = [wrong.keys[index] for index in wrong.at]
        self._exact = all(key.low == key.high for key in self._keys)
        halves = np.array([half_unit(answer) for answer in wrong.answers]) / np.abs(self._answers)
        self._resolution = np.clip(halves, CLOSEST, 1.0)
        self._width = np.clip(halves, CLOSE, WIDEST)
        if self._exact:
            self._resolution = np.minimum(0.5 / np.abs(self._answers), 1.0)
            self._width = np.full(len(self._answers), 1e-9)
        self._tried: Counter[int] = Counter()

    def ideas(self) -> Iterator[Idea]:
        """Yields ideas, the clearest first."""
        candidates = list(self._candidates())
        chosen: list[tuple[_Candidate, float]] = []
        # A student who is only close to one idea may still be exactly at another.
        unexplained = np.ones(len(self._answers), dtype=bool)
        left = unexplained.copy()
        while candidates and len(chosen) < MOST_IDEAS:
            scored = [
                (self._log_expected_count(idea, left, unexplained), idea.cost, len(idea.text), idea)
                for idea in candidates
            ]
            expected, _, _, best = min(scored, key=lambda entry: entry[:3])
            if expected > math.log(MOST_CHANCE):
                break
            chosen.append((best, expected))
            candidates.remove(best)
            left &= ~best.close
            unexplained &= ~best.exact
        yield from self._assign_students(chosen)

    def _assign_students(self, chosen: list[tuple[_Candidate, float]]) -> Iterator[Idea]:
        """Yields the ideas, each student with the first that is exact, or else the first close."""
        taken = np.zeros(len(self._answers), dtype=bool)
        students: list[list[str]] = [[] for _ in chosen]
        for exactly in (True, False):
            for (candidate, _), explained in zip(chosen, students, strict=True):
                hits = (candidate.exact & candidate.close if exactly else candidate.close) & ~taken
                explained += [self._wrong.students[int(i)] for i in np.flatnonzero(hits)]
                taken |= hits
        for (candidate, expected), explained in zip(chosen, students, strict=True):
            if len(explained) >= self._fewest:
                yield Idea(
                    expression=candidate.text,
                    students=tuple(sorted(explained)),
                    by_chance=candidate.permuted_share,
                    false_ideas=math.exp(expected),
                    when=candidate.when,
                )

    def _candidates(self) -> Iterator[_Candidate]:
        """Yields the candidates that explain enough students."""
        key, limit = self._keys[0], math.log(MOST_CHANCE)
        texts: list[tuple[str, int, Numbers]] = []
        seen: set[bytes] = set()
        everyone = np.ones(len(self._answers), dtype=bool)
        for text, cost in edited_expressions(key.part.answer, key.draw):
            values = self._evaluate(text)
            self._tried[cost] += 1
            if values is not None:
                texts.append((text, cost, values))
        edits = [CandidateProduct(f"({text})", values, cost + 1) for text, cost, values in texts]
        key_values = np.array([float(one.value) for one in self._keys])
        texts += self._scale_products([CandidateProduct(f"({key.part.answer})", key_values, 1)])
        texts += self._scale_products(edits, CONVERSIONS)
        if not self._exact or np.median(np.abs(self._answers)) >= SMALL:
            texts += self._scale_products(self._list_products(), plain=True)
            texts += self._edit_twice()
        for text, cost, values in texts:
            errors = self._measure_errors(values)
            hits = np.isfinite(errors)
            if hits.sum() < self._fewest:
                continue
            code = np.round(np.where(hits, values / self._answers, 0), 7).tobytes()
            rough = self._make_candidate(text, cost, errors)
            if code in seen or self._log_expected_count(rough, everyone, everyone) > limit:
                continue
            seen.add(code)
            candidate = self._recompute(rough)
            if candidate is not None:
                yield candidate

    def _edit_twice(self) -> Iterator[tuple[str, int, Numbers]]:
        """Yields expressions with two errors that explain enough students."""
        part, draws = self._keys[0].part, [key.draw for key in self._keys]

        def is_wanted(values: Numbers) -> bool:
            near = np.abs(values / self._answers - 1) <= self._width
            return int(near.sum()) >= max(self._fewest, FEWEST_OF_DOUBLE)

        if len(draws) >= FEWEST_OF_DOUBLE:
            self._tried[COST_OF_DOUBLE] += double_edits.MOST
            found = double_edits.iter_double_edits(part.answer, part.unit, draws, is_wanted)
            yield from ((text, COST_OF_DOUBLE, values) for text, values in found)

    def _evaluate(self, text: str) -> Numbers | None:
        """Returns the values of *text* for the wrong answers; None if it never has one."""
        values = np.full(len(self._keys), np.nan)
        for index, key in enumerate(self._keys):
            value = _evaluate_for(text, key)
            if value is None and index == 4 and np.isnan(values[:4]).all():
                return None
            values[index] = np.nan if value is None else value
        return values

    def _list_products(self) -> list[CandidateProduct]:
        """Returns the products of the numbers in the problem, in the unit of the answer."""
        key = self._keys[0]
        scale = units.parse_unit(key.unit).scale if key.unit else 1.0
        others = []
        for name, value in key.draw.scope.items():
            if isinstance(value, (bool, str)):
                continue
            every = [double_edits.plain_value(one.draw.scope.get(name)) for one in self._keys]
            if all(isinstance(one, float) and one > 0 for one in every):
                others.append(
                    NamedQuantity(text=name, values=np.array(every), dimension=dimension_of(value))
                )
        dimension = units.parse_unit(key.unit).dimension if key.unit else ONE
        right = np.array([float(one.value) for one in self._keys]) * float(scale)
        named = NamedQuantity(text=f"({key.part.answer})", values=right, dimension=dimension)
        with np.errstate(all="ignore"):
            return [
                CandidateProduct(p.text, p.values / float(scale), p.cost + 1)
                for p in iter_products(named, others)
            ]

    def _scale_products(
        self,
        products: list[CandidateProduct],
        constants: Mapping[str, float] = CONSTANTS,
        *,
        plain: bool = False,
    ) -> list[tuple[str, int, Numbers]]:
        """Returns the multiples of *products* by *constants* that explain enough students; with
        *plain*, also the products themselves. Counts every candidate in `_tried`."""
        if not products:
            return []
        found = []
        values = np.array([product.values for product in products])
        with np.errstate(all="ignore"):
            ratios = values / self._answers
            scaled = [(f" * {t}", n) for t, n in constants.items()]
            scaled += [(f" / {t}", 1 / n) for t, n in constants.items()]
            for text, number in [("", 1.0), *scaled] if plain else scaled:
                counts = (np.abs(ratios * number - 1) <= self._width).sum(axis=1)
                for index in np.flatnonzero(counts >= self._fewest):
                    product = products[int(index)]
                    cost = product.cost + (2 if text else 0)
                    found.append((product.text + text, cost, product.values * number))
        for product in products:
            if plain:
                self._tried[product.cost] += 1
            self._tried[product.cost + 2] += len(scaled)
        return found

    def _measure_errors(self, values: Numbers) -> Numbers:
        """Returns how far *values* are off, as shares; infinite if too far or accepted."""
        with np.errstate(all="ignore"):
            errors = np.abs(values / self._answers - 1)
            measured = np.where(errors <= self._width, errors, np.inf)
        for index in np.flatnonzero(np.isfinite(measured)):
            key = self._keys[int(index)]
            if tolerance.is_within(float(values[index]), key.low, key.high):
                measured[index] = np.inf  # it would have been right
        return measured

    def _chance_within(self, width: Numbers) -> Numbers:
        """Returns the probability that a chance answer is within *width* of a value."""
        if self._exact:
            width = self._resolution  # a whole number is as wide as the step to the next
        return np.minimum(2 * width / SPREAD, 1.0)

    def _make_candidate(self, text: str, cost: int, near: Numbers) -> _Candidate:
        chances = self._chance_within(self._resolution), self._chance_within(self._width)
        return _Candidate(text, cost, near <= self._resolution, np.isfinite(near), *chances)

    def _recompute(self, rough: _Candidate) -> _Candidate | None:
        """Returns the candidate as the grader itself computes it, with its chances for all other
        students' numbers; None if it can't be written in a spec."""
        values = [_evaluate_for(rough.text, key) for key in self._wrong.keys]
        if any(values[index] is None for index in self._wrong.at):
            return None
        numbers = np.array([np.nan if value is None else float(value) for value in values])
        near, own = self._measure_errors(numbers[self._wrong.at]), numbers[self._wrong.at]
        with np.errstate(all="ignore"):
            apart = np.abs(numbers[None, :] / self._answers[:, None] - 1)
            others = np.abs(numbers[None, :] - own[:, None]) > 1e-6 * np.abs(own[:, None])
        apart[np.arange(len(own)), self._wrong.at] = np.inf
        chances, permuted = [], np.zeros(len(own))
        for width in (self._resolution, self._width):
            permuted = (apart <= width[:, None]).mean(axis=1)
            # Students with the same numbers don't show what a chance match is. With few variants,
            # neither does a single one that is close by accident, so a wider range is counted.
            wider = 1 if self._exact else WIDER
            near_others = ((apart <= wider * width[:, None]) & others).mean(axis=1) / wider
            chances.append(np.maximum(near_others, self._chance_within(width)))
        hits = np.isfinite(near)
        candidate = _Candidate(
            rough.text, rough.cost, near <= self._resolution, hits, chances[0], chances[1],
            self._find_condition(rough.text, values), float(permuted[hits].mean()),
        )  # fmt: skip
        if poisson_binomial_tail(int(hits.sum()), permuted) > MOST_PERMUTED:
            # With few variants, permuting them proves nothing. Then each value counts only once.
            once = np.zeros(len(own), dtype=bool)
            firsts = np.unique(np.round(own[hits] / np.median(own[hits]), 6), return_index=True)[1]
            once[np.flatnonzero(hits)[firsts]] = True
            if self._log_expected_count(candidate, once, once, among=len(own)) > math.log(
                MOST_CHANCE
            ):
                return None
        return candidate

    def _find_condition(self, text: str, values: list[float | None]) -> str:
        """Returns the condition under which *text* is a mistake; empty if it always is."""
        pairs = zip(values, self._wrong.keys, strict=True)
        if not any(v is None or tolerance.is_within(v, *_wide_range(key)) for v, key in pairs):
            return ""
        answer = f"({self._keys[0].part.answer})"
        if self._exact:
            return f"({text}) != {answer}"
        return f"abs(({text}) - {answer}) > 0.03 * abs({answer})"

    def _log_expected_count(
        self, candidate: _Candidate, left: Truths, unexplained: Truths, *, among: int = 0
    ) -> float:
        """Returns the logarithm of how many candidates as simple as *candidate* explain as many
        answers by chance.

        Exact matches count among the answers that are *unexplained*, and close ones among those
        that are *left*; the smaller of the two expected numbers is returned. If *among* is larger
        than the number of these answers, the matches count among that many.
        """
        as_simple = sum(number for cost, number in self._tried.items() if cost <= candidate.cost)
        bound = math.inf
        of_exact = (candidate.exact, candidate.exact_chances, unexplained)
        of_close = (candidate.close, candidate.close_chances, left)
        for hits, chances, which in (of_exact, of_close):
            here = hits & which
            count, total = int(here.sum()), max(among, int(which.sum()))
            if count >= self._fewest:
                product = float(np.log(chances[here]).sum())
                subsets = math.lgamma(total + 1) - math.lgamma(count + 1)
                subsets -= math.lgamma(total - count + 1)
                bound = min(bound, subsets + product)
        # For exact whole numbers, the two are the same.
        return math.log((1 if self._exact else 2) * max(1, as_simple)) + bound


def _wide_range(key: NumericKey) -> tuple[float, float]:
    width = float(key.high - key.low)
    return float(key.low) - width, float(key.high) + width


def _evaluate_for(text: str, key: NumericKey) -> float | None:
    """Returns the value of *text* with the numbers of *key*; None if it has none."""
    try:
        value = evaluate_answer(text, key.unit, key.draw, key.draw.scope)
    except (ValueError, OverflowError, ZeroDivisionError, TypeError):
        return None
    return value if isinstance(value, (int, float)) else None
