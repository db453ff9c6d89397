"""Matches between students' wrong numbers and other students' variants, and how likely they are.

A wrong number of an honest student has nothing to do with the numbers that others were given. So
any assignment of the variants of a problem to the other students was equally likely, and those of
different problems are independent.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum

import numpy as np

from grader.analysis.arrays import Counts, Indexes, Numbers, Truths

PERMUTATIONS = 1999
MOST_SHARED = 0.1
"""The largest share of the variants that an answer may fit; above it, a match means nothing."""
MOST_FOR_SAME_WRONG = 3.0
"""The most that an equal wrong answer counts, because two students may share an idea."""
UNMATCHED = 0.36
"""How much a problem with a wrong answer that matches nothing counts against a pair: as if three of
ten wrong answers of a copy were copied."""
FEWEST_DIGITS = 3
"""The fewest digits that two equal wrong answers must have."""
_SAME = 1e-9
"""Relative; a value computed in another order may differ that much."""
_SEED = 1995
_MOST_STRATA, _FEWEST_IN_STRATUM = 5, 20


class Meaning(StrEnum):
    """What a student's wrong answer is for the owner of another variant, who gave it as well."""

    RIGHT = "right"
    MISTAKE = "mistake"
    """A mistake that the problem declares."""
    SAME_WRONG = "same wrong number"


class MatchCloseness(IntEnum):
    """How close a wrong answer is to a number of another variant."""

    NONE = 0
    ACCEPTED = 1
    """It would be accepted."""
    ROUNDED = 2
    """It is that number, rounded to the digits that the student gave."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SheetEntry:
    """One number that a student was asked for, with the answer."""

    key: float
    low: float
    high: float
    mistakes: Mapping[str, float]
    """The values of the declared mistakes for this variant."""
    answer: float | None
    right: bool
    mistake: str | None
    """The declared mistake that the answer is."""
    wrong: bool
    """Whether it is wrong and nothing known explains it."""


@dataclass(slots=True)
class ProblemSheets:
    """What students were given in one problem, and what they answered."""

    students: list[int] = field(default_factory=list)
    """Indexes of the students who have the problem."""
    seats: list[str] = field(default_factory=list)
    parameters: list[Mapping[str, str]] = field(default_factory=list)
    """Each student's parameters, as texts."""
    entries: dict[str, list[SheetEntry | None]] = field(default_factory=dict)
    """By number that is asked, and student."""
    matters: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """The parameters that matter, by number that is asked."""
    spare_sheets: dict[str, list[SheetEntry]] = field(default_factory=dict)
    """Numbers of variants that no student was given, which show what else could have matched."""


@dataclass(frozen=True, slots=True)
class ProblemMatches:
    """The matches of one problem, by student with a wrong answer and student with the variant."""

    students: Indexes
    has_wrong: Truths
    """Whether each student has a wrong number that could match."""
    weights: Numbers
    """How much the match with an answer that the owner of the variant gave counts; 0 for none."""
    chances: Numbers
    """The share of variants that the wrong answers match as well as this one."""
    answers: Mapping[tuple[int, int], tuple[tuple[str, Meaning], ...]]
    """The numbers that match, by row and column."""


@dataclass(slots=True)
class _MatchCounts:
    """The matches of one problem while they are collected, by row and column."""

    possible: Counts
    """How closely the answers match a variant, whatever its owner answered."""
    observed: Counts
    """How closely the answers match answers that the owner of the variant gave."""
    same_wrong: Truths
    has_wrong: Truths
    answers: dict[tuple[int, int], list[tuple[str, Meaning]]] = field(default_factory=dict)


def digits_of(number: float) -> int:
    """Returns how many significant digits a number was given with.

    >>> digits_of(28.44), digits_of(0.0020), digits_of(1500.0), digits_of(1 / 3)
    (4, 1, 2, 16)
    """
    mantissa = f"{abs(float(number))!r}".lower().split("e")[0].replace(".", "").strip("0")
    return max(1, len(mantissa))


def is_round(number: float) -> bool:
    """Returns whether many people would think of this number: one digit, or a power of 2.

    >>> is_round(2000.0), is_round(0.5), is_round(1024.0), is_round(28.4)
    (True, True, True, False)
    """
    if number == 0 or digits_of(number) == 1:
        return True
    mantissa, _ = np.frexp(abs(number))
    return bool(mantissa == 0.5)


def rounding(number: float) -> float:
    """Returns how far a value may be from *number* and still round to it."""
    return max(half_unit(number) * (1 + 1e-6), _SAME * abs(number))


def half_unit(number: float) -> float:
    """Returns half a unit of the last digit of *number*, without zeros at its end."""
    return 0.5 * 10.0 ** (math.floor(math.log10(abs(number))) - digits_of(number) + 1)


def find_matches(sheets: ProblemSheets) -> ProblemMatches:
    """Returns which students' answers to one problem fit the numbers of which other students."""
    count = len(sheets.students)
    shape = (count, count + max(map(len, sheets.spare_sheets.values()), default=0))
    counts = _MatchCounts(
        possible=np.zeros(shape, np.int16),
        observed=np.zeros(shape, np.int16),
        same_wrong=np.zeros(shape, np.bool_),
        has_wrong=np.zeros(count, np.bool_),
    )
    for name, entries in sheets.entries.items():
        _add_entry_matches(sheets, name, [*entries, *sheets.spare_sheets.get(name, ())], counts)
    _, seats = np.unique(sheets.seats, return_inverse=True)
    apart = seats.reshape(-1)[:, None] != seats.reshape(-1)[None, :]
    observed, same_wrong = counts.observed[:, :count] * apart, counts.same_wrong[:, :count] & apart
    chances = _chances_of(counts.possible, observed)
    chances_of_wrong = _chances_of(same_wrong, same_wrong)
    # One match counts per problem, since the parts of a problem depend on one another.
    weights = np.maximum(
        _weights(chances), np.minimum(_weights(chances_of_wrong), MOST_FOR_SAME_WRONG)
    )
    return ProblemMatches(
        students=np.array(sheets.students),
        has_wrong=counts.has_wrong,
        weights=weights,
        chances=np.where(observed > 0, chances, chances_of_wrong),
        answers={at: tuple(every) for at, every in counts.answers.items()},
    )


def _chances_of(possible: Counts | Truths, found: Counts | Truths) -> Numbers:
    """Returns the share of the variants that match at least as well as each match in *found*; 1
    where there is no match."""
    chances = np.ones(found.shape)
    for level in np.unique(found[found > 0]):
        share = ((possible >= level).sum(axis=1) + 1) / (possible.shape[1] + 1)
        chances = np.where(found == level, share[:, None], chances)
    return chances


def _weights(chances: Numbers) -> Numbers:
    return np.where(chances <= MOST_SHARED, -np.log(chances), 0.0)


def _add_entry_matches(
    sheets: ProblemSheets, name: str, entries: Sequence[SheetEntry | None], found: _MatchCounts
) -> None:
    """Adds the matches of the wrong answers to one number."""
    at = np.array([index for index, one in enumerate(entries) if one is not None])
    have = [entry for entry in entries if entry is not None]
    key, low, high = (np.array([getattr(e, n) for e in have]) for n in ("key", "low", "high"))
    right = np.array([e.right for e in have])
    answers = np.array([np.nan if e.answer is None else e.answer for e in have])
    wrong = np.array([e.wrong for e in have])
    mistakes = {id_ for e in have for id_ in e.mistakes}
    values = {id_: np.array([e.mistakes.get(id_, np.nan) for e in have]) for id_ in mistakes}
    gave = {id_: np.array([e.mistake == id_ for e in have]) for id_ in mistakes}
    codes = _encode_parameters(sheets, name, at)
    for row in np.flatnonzero(wrong).tolist():
        mine = float(answers[row])
        if is_round(mine):
            continue
        width = rounding(mine)
        found.has_wrong[at[row]] = True
        accepted = (low <= mine) & (mine <= high)
        rounded = accepted & (np.abs(mine - key) <= width)
        best = np.where(
            rounded, MatchCloseness.ROUNDED, np.where(accepted, MatchCloseness.ACCEPTED, 0)
        )
        copied = np.abs(mine - answers) <= np.maximum(width, _rounding_widths(answers, accepted))
        observed = np.where(right & (rounded | copied), best, 0)
        _record_hits(found, at, row, observed > 0, (name, Meaning.RIGHT))
        near = min(width, 0.01 * abs(mine))
        for id_ in mistakes:
            hit = np.abs(mine - values[id_]) <= near
            best = np.where(hit, MatchCloseness.ROUNDED, best)
            observed = np.where(hit & gave[id_], MatchCloseness.ROUNDED, observed)
            _record_hits(found, at, row, hit & gave[id_], (name, Meaning.MISTAKE))
        found.possible[at[row], at] += best.astype(np.int16)
        found.observed[at[row], at] += observed.astype(np.int16)
        if digits_of(mine) >= FEWEST_DIGITS:
            # With a parameter in common, one idea can lead to one number.
            apart = (codes != codes[row]).all(axis=1)
            equal = wrong & (np.abs(mine - answers) <= near) & apart
            found.same_wrong[at[row], at] |= equal
            _record_hits(found, at, row, equal, (name, Meaning.SAME_WRONG))


def _record_hits(
    found: _MatchCounts, at: Indexes, row: int, hits: Truths, answer: tuple[str, Meaning]
) -> None:
    """Records that *answer* of the student in *row* matches the variants in *hits*."""
    for column in np.flatnonzero(hits).tolist():
        found.answers.setdefault((int(at[row]), int(at[column])), []).append(answer)


def _rounding_widths(answers: Numbers, wanted: Truths) -> Numbers:
    """Returns `rounding` of each answer that is *wanted* and not 0; 0 for the others."""
    roundings = np.zeros(len(answers))
    for index in np.flatnonzero(wanted & np.isfinite(answers) & (answers != 0)):
        roundings[index] = rounding(answers[index])
    return roundings


def _encode_parameters(sheets: ProblemSheets, name: str, at: Indexes) -> Indexes:
    """Returns the values of the parameters that matter as codes, of shape (students, parameters).

    Two students have the same code if they have the same value. Without such parameters, there is
    one column, of zeros.
    """
    columns, count = [], len(sheets.students)
    for parameter in sheets.matters.get(name, ()):
        given = [sheets.parameters[index].get(parameter, "") for index in at if index < count]
        if len(set(given)) > 1:
            texts = given + [""] * (len(at) - len(given))
            columns.append(np.unique(texts, return_inverse=True)[1].reshape(-1))
    return np.stack(columns, axis=1) if columns else np.zeros((len(at), 1), np.int64)


def pair_scores(matches: Sequence[ProblemMatches], count: int) -> dict[tuple[int, int], float]:
    """Returns how much the matches of two students count together, in both directions."""
    pair_sums = np.zeros(count * count)
    for match in matches:
        rows, columns = np.nonzero(match.weights)
        codes = match.students[rows] * count + match.students[columns]
        pair_sums += np.bincount(
            codes, match.weights[rows, columns] + UNMATCHED, minlength=len(pair_sums)
        )
    scores = _joint_scores(pair_sums, _wrong_problems(matches, count))
    return {
        (one, other): float(scores[one, other])
        for one, other in zip(*(i.tolist() for i in np.nonzero(np.triu(scores))), strict=True)
    }


def _wrong_problems(matches: Sequence[ProblemMatches], count: int) -> Numbers:
    """Returns in how many problems each student has a wrong number to compare."""
    counts = np.zeros(count)
    for match in matches:
        counts[match.students] += match.has_wrong
    return counts


def _joint_scores(sums: Numbers, wrong_counts: Numbers) -> Numbers:
    """Returns the scores of pairs, as a symmetric matrix, from the *sums* of the weights in each
    direction and the number of wrong problems of each student."""
    directed = sums.reshape(len(wrong_counts), len(wrong_counts))
    directed = np.maximum(directed - UNMATCHED * wrong_counts[:, None], 0.0)
    joint: Numbers = directed + directed.T
    return joint


def largest_by_chance(
    matches: Sequence[ProblemMatches],
    seats: Sequence[str],
    right: Sequence[float],
    *,
    times: int = PERMUTATIONS,
) -> Numbers:
    """Returns the largest score of any pair in each of *times* random assignments, shape (times,).

    Each assigns the variants of every problem, with the answers to them, to other students. *right*
    is the share of right answers of each student: variants move only between students who are about
    equally successful, since right answers are found more often with those who have many.
    """
    random, count = np.random.default_rng(_SEED), len(seats)
    _, seat_of = np.unique(list(seats), return_inverse=True)
    seat_of = seat_of.reshape(-1)
    strata, wrong = _strata(np.array(right)), _wrong_problems(matches, count)
    sparse = []
    for match in matches:
        rows, columns = np.nonzero(match.weights)
        weights = match.weights[rows, columns] + UNMATCHED
        sparse.append((match.students, match.students[rows], columns, weights))
    largest = np.zeros(times)
    for time in range(times if sparse else 0):
        codes, counted = [], []
        for students, holders, columns, weights in sparse:
            owners = _shuffle_in_strata(students, strata[students], random)[columns]
            apart = seat_of[holders] != seat_of[owners]
            codes.append(holders[apart] * count + owners[apart])
            counted.append(weights[apart])
        sums = np.bincount(np.concatenate(codes), np.concatenate(counted), minlength=count * count)
        largest[time] = _joint_scores(np.asarray(sums, dtype=float), wrong).max(initial=0.0)
    return largest


def _strata(right: Numbers) -> Indexes:
    """Returns the stratum of each student, from 0: groups of about equal size by the share of right
    answers *right*."""
    ranks = np.argsort(np.argsort(right, kind="stable"), kind="stable")
    count = max(1, min(_MOST_STRATA, len(right) // _FEWEST_IN_STRATUM))
    return ranks * count // max(1, len(right))


def _shuffle_in_strata(students: Indexes, strata: Indexes, random: np.random.Generator) -> Indexes:
    """Returns *students* with those of each stratum in a random order."""
    result = students.copy()
    shuffled = np.lexsort((random.random(len(students)), strata))
    result[np.argsort(strata, kind="stable")] = students[shuffled]
    return result
