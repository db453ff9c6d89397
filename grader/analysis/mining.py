"""Finds the wrong ideas of a class: expressions that explain the wrong answers of many students.

A wrong idea is one expression for all students. Each candidate, such as `key * gpus`, is computed
with the numbers of every student with a wrong answer, and compared with the answer. A candidate
counts only if it explains many more students than if the answers were assigned to other students.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]

FEWEST = 3
"""The fewest students whom an idea must explain."""
CLOSE = 0.006
"""How far an answer may be from a candidate, as a share: rounding to three digits."""
MOST_CHANCE = 0.01
"""The largest expected number of false ideas for one part."""
MAX_IDEAS = 8
"""Most ideas proposed for one part."""
POWERS = (1.0, -1.0, 0.5, -0.5, 2.0, -2.0)
# Factors that people forget or misapply, by how they are written in expressions.
CONSTANTS: Mapping[str, float] = {
    "1": 1.0, "2": 2.0, "3": 3.0, "4": 4.0, "6": 6.0, "8": 8.0, "12": 12.0, "16": 16.0, "32": 32.0,
    "100": 100.0, "60": 60.0, "3600": 3600.0, "1e3": 1e3, "1e6": 1e6, "1e9": 1e9, "1e12": 1e12,
    "1.024": 1.024, "1.024**2": 1.024**2, "1.024**3": 1.024**3, "1024": 1024.0,
    "1024**2": 1024.0**2, "1024**3": 1024.0**3, "1.5": 1.5,
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A quantity that candidates are made of, for each student."""

    text: str
    """How it is written in a problem's expressions."""
    values: Sequence[float]
    plain: bool
    """Whether it is a number without a dimension, and can be a factor."""
    same_dimension: bool
    """Whether it has the dimension of the answer, and can stand for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WrongAnswers:
    """The wrong answers of a class to one part, with every student's numbers."""

    students: Sequence[str]
    answers: Sequence[float]
    columns: Sequence[Column]
    """The first is the key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Idea:
    """An expression that explains the wrong answers of some students."""

    expression: str
    students: tuple[str, ...]
    by_chance: float
    """The share of pairs of one student's answer and another's numbers that it explains."""
    false_ideas: float
    """How many candidates that are as simple are expected to explain as many students by chance."""


@dataclass(frozen=True, slots=True)
class _Candidate:
    text: str
    values: Numbers = field(repr=False)
    cost: int
    """How complex it is; simpler candidates are preferred."""


def mine(wrong: WrongAnswers, *, fewest: int = FEWEST) -> tuple[Idea, ...]:
    """Returns the ideas that explain at least *fewest* students, the most frequent first.

    Each student counts for one idea: the one that explains most students, and of those the
    simplest.
    """
    answers = np.asarray(wrong.answers, dtype=float)
    usable = np.isfinite(answers) & (answers != 0)
    if usable.sum() < fewest:
        return ()
    scored, tried = _find_candidates(wrong, answers, fewest)
    found: list[Idea] = []
    left = usable.copy()
    while len(found) < MAX_IDEAS:
        ranked = [(int((hits & left).sum()), -c.cost, c.text, c, hits) for c, hits in scored]
        ranked = [one for one in ranked if one[0] >= fewest]
        if not ranked:
            break
        best = max(ranked, key=lambda one: one[:3])
        count, candidate, hits = best[0], best[3], best[4]
        chance = _chance(candidate.values[usable], answers[usable])
        as_simple = sum(n for cost, n in tried.items() if cost <= candidate.cost)
        expected = as_simple * _binomial_tail(count, int(left.sum()), chance)
        scored = [one for one in scored if one[0] is not candidate]
        if expected > MOST_CHANCE:
            continue
        students = tuple(wrong.students[int(i)] for i in np.flatnonzero(hits & left))
        found.append(
            Idea(
                expression=candidate.text,
                students=students,
                by_chance=chance,
                false_ideas=expected,
            )
        )
        left &= ~hits
    return tuple(found)


def _find_candidates(
    wrong: WrongAnswers, answers: Numbers, fewest: int
) -> tuple[list[tuple[_Candidate, NDArray[np.bool_]]], Counter[int]]:
    """Returns the candidates that explain at least *fewest* students, and which students those are.

    Of candidates with the same values, returns the simplest. Also returns the number of candidates
    tried, by cost.
    """
    found: dict[bytes, tuple[_Candidate, NDArray[np.bool_]]] = {}
    tried: Counter[int] = Counter()
    with np.errstate(all="ignore"):
        for candidate in _candidates(wrong, answers, tried):
            hits = np.abs(candidate.values - answers) <= CLOSE * np.abs(candidate.values)
            if hits.sum() < fewest:
                continue
            key = np.round(candidate.values / answers, 6).tobytes()
            if key not in found or candidate.cost < found[key][0].cost:
                found[key] = candidate, hits
    return list(found.values()), tried


def _candidates(wrong: WrongAnswers, answers: Numbers, tried: Counter[int]) -> Iterator[_Candidate]:
    """Yields candidates: a quantity, or the sum or difference of two, times factors.

    Adds the number of candidates that it tries to *tried*, by cost.
    """
    bases = list(_bases(wrong))
    factors = list(_factors(wrong, len(answers)))
    for base in bases:
        yield from _with_constant(base, answers, tried)
        for factor in factors:
            yield from _with_constant(_product(base, factor), answers, tried)
    # Two factors only of the key and of quantities that stand for it, which are few.
    for base in bases[: 1 + sum(c.same_dimension for c in wrong.columns[1:])]:
        for one, other in itertools.combinations(factors, 2):
            yield from _with_constant(_product(_product(base, one), other), answers, tried)


def _bases(wrong: WrongAnswers) -> Iterator[_Candidate]:
    columns = [c for i, c in enumerate(wrong.columns) if i == 0 or c.same_dimension]
    singles = [_Candidate(c.text, np.asarray(c.values, float), 1) for c in columns]
    yield from singles
    for one, other in itertools.combinations(singles, 2):
        yield _Candidate(f"({one.text} + {other.text})", one.values + other.values, 4)
        yield _Candidate(f"({one.text} - {other.text})", one.values - other.values, 4)
        yield _Candidate(f"({other.text} - {one.text})", other.values - one.values, 4)


def _factors(wrong: WrongAnswers, count: int) -> Iterator[_Candidate]:
    for column in wrong.columns[1:]:
        values = np.asarray(column.values, dtype=float)
        if not column.plain or len(values) != count:
            continue
        shifted = [(column.text, values, 1)]
        if np.all(values == np.round(values)):
            shifted += [
                (f"({column.text} - 1)", values - 1, 2),
                (f"({column.text} + 1)", values + 1, 2),
            ]
        for (text, numbers, cost), power in itertools.product(shifted, POWERS):
            yield _Candidate(_power_text(text, power), numbers**power, cost + _power_cost(power))


def _power_text(text: str, power: float) -> str:
    match power:
        case 1.0:
            return f" * {text}"
        case -1.0:
            return f" / {text}"
        case 0.5:
            return f" * sqrt({text})"
        case -0.5:
            return f" / sqrt({text})"
        case 2.0:
            return f" * {text}**2"
        case _:
            return f" / {text}**2"


def _power_cost(power: float) -> int:
    return 1 if abs(power) == 1 else 3


def _product(base: _Candidate, factor: _Candidate) -> _Candidate:
    return _Candidate(base.text + factor.text, base.values * factor.values, base.cost + factor.cost)


def _with_constant(
    candidate: _Candidate, answers: Numbers, tried: Counter[int]
) -> Iterator[_Candidate]:
    """Yields *candidate* times each constant that some of the answers agree on."""
    tried[candidate.cost] += 1
    tried[candidate.cost + 2] += len(_LOGS)
    ratios = answers / candidate.values
    logs = np.log(np.where(ratios > 0, ratios, np.nan))
    for text, log, cost in _LOGS:
        near = np.abs(logs - log) <= CLOSE
        if np.count_nonzero(near) >= FEWEST:
            scaled = candidate.values * math.exp(log)
            yield _Candidate(candidate.text + text, scaled, candidate.cost + cost)
    negative = np.count_nonzero(np.abs(np.log(np.where(ratios < 0, -ratios, np.nan))) <= CLOSE)
    if negative >= FEWEST:
        yield _Candidate(f"-({candidate.text})", -candidate.values, candidate.cost + 2)


_LOGS = [
    *((f" * {text}" if number != 1 else "", math.log(number), 0 if number == 1 else 2)
      for text, number in CONSTANTS.items()),
    *((f" / {text}" if "*" not in text else f" / ({text})", -math.log(number), 2)
      for text, number in CONSTANTS.items() if number != 1),
]  # fmt: skip


def _chance(values: Numbers, answers: Numbers) -> float:
    """Returns the share of pairs of one student's answer and another's candidate that agree."""
    count = len(answers)
    with np.errstate(all="ignore"):
        close = np.abs(values[None, :] - answers[:, None]) <= CLOSE * np.abs(values[None, :])
    np.fill_diagonal(close, val=False)
    return float(close.sum()) / max(1, count * (count - 1))


def _binomial_tail(hits: int, trials: int, chance: float) -> float:
    """Returns the probability of at least *hits* of *trials*, each with the probability *chance*.

    The chance is at least that of rounded numbers that spread over four decades.
    """
    chance = min(max(chance, _LEAST_CHANCE), 1.0)
    return sum(
        math.comb(trials, k) * chance**k * (1 - chance) ** (trials - k)
        for k in range(hits, trials + 1)
    )


_LEAST_CHANCE = 2 * CLOSE / math.log(1e4)
