"""Computes the statistics of each part over the whole class."""

from __future__ import annotations

import math
import re
import statistics
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from grader.model import Mark, Verdict
from grader.model.paper import question_number
from grader.model.result import Row
from grader.report.statistics.intervals import (
    ConfidenceInterval,
    correlation_interval,
    mean_interval,
)
from grader.report.statistics.items import Thirds, correlation, thirds
from grader.text.words import count_of, percent

_MISTAKES = 12
_FEW = 5
"""With fewer students, nothing is concluded from their answers."""
_ENOUGH = 10
_MANY_BLANK = 0.25
_CHOSEN = re.compile(r"\S+ \((.+)\)\Z", re.DOTALL)
"""The answer to a choice: its letter, which differs between students, and its text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MistakeLine:
    """A wrong answer: how many students gave it, and the feedback that one of them read."""

    id: str
    """The mistake's id, or the text of a wrong option."""
    students: int
    share: float
    feedback: str
    varies: bool
    """Whether the feedback may contain one student's numbers, because it varies between
    students."""
    is_declared: bool = True
    """Whether the problem declares it; False for wrong options without feedback or credit."""
    rest: float | None = None
    """The mean share of these students on the rest of the paper."""
    is_better: bool = False
    """Whether they did clearly better on it than the students with the right answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartLine:
    """One part over the whole class."""

    problem: str
    part: str
    names: tuple[str, ...]
    """The variables of the part; several if it comes from a pool."""
    kind: str
    max_points: float
    students: int
    settled_count: int
    share_correct: float | None
    mean_share: float | None
    """Share of the points, over settled marks; the part's difficulty."""
    mean_interval: ConfidenceInterval | None
    mix: Mapping[Verdict, int]
    discrimination: float | None
    """Correlation with the rest of the paper; None if undefined."""
    discrimination_interval: ConfidenceInterval | None
    thirds: Thirds | None
    """The share of correct answers in the lowest and in the highest third by the rest of the
    paper; None for a small class."""
    rest: float | None
    """The mean share of those who answered correctly on the rest of the paper."""
    blank: float
    """The share of students without an answer: it is blank, or the code for it failed."""
    mistakes: tuple[MistakeLine, ...]

    @property
    def questions(self) -> tuple[str, ...]:
        """What to look at in this part; a few sentences, which end in a question."""
        return tuple(_questions_to_ask(self))

    def as_data(self) -> dict[str, object]:
        """Returns the statistics as plain data for `--json`."""
        return {
            "problem": self.problem,
            "part": self.part,
            "names": list(self.names),
            "students": self.students,
            "settled": self.settled_count,
            "mean": self.mean_share,
            "mean_interval": _interval_data(self.mean_interval),
            "correct": self.share_correct,
            "lowest_third": self.thirds.lowest if self.thirds else None,
            "highest_third": self.thirds.highest if self.thirds else None,
            "discrimination": self.discrimination,
            "discrimination_interval": _interval_data(self.discrimination_interval),
            "blank": self.blank,
            "wrong_answers": [
                {
                    "id": mistake.id,
                    "declared": mistake.is_declared,
                    "students": mistake.students,
                    "share": mistake.share,
                    "rest": mistake.rest,
                }
                for mistake in self.mistakes
            ],
            "questions": list(self.questions),
        }


def _interval_data(interval: ConfidenceInterval | None) -> list[float] | None:
    return list(interval) if interval else None


def _questions_to_ask(part: PartLine) -> Iterator[str]:
    """Yields questions for the instructor about *part*, such as whether its key is right."""
    if part.settled_count < _ENOUGH:
        return
    if part.mean_share == 1:
        yield "Everyone solved this part. Is it meant to be that easy?"
    if part.mean_share == 0:
        yield "Nobody earned a point. Is the key right, and is the question clear?"
    if part.discrimination is not None and part.discrimination < 0:
        yield (
            "Students with fewer points on the rest of the paper did better on this part. Is the "
            "key right, and can the question be misread?"
        )
    if part.blank >= _MANY_BLANK:
        yield (
            f"{percent(part.blank)} of the students gave no answer: it is blank, or the code for "
            "it failed. Was there enough time?"
        )
    for mistake in part.mistakes:
        if mistake.is_better:
            yield (
                f"The {count_of(mistake.students, 'student')} with the wrong answer '{mistake.id}' "
                "did better on the rest of the paper than those with the right answer. Is that "
                "answer right as well?"
            )


@dataclass(slots=True)
class PartFigures:
    """Data of one part, collected while reading the class."""

    mark: Mark
    order: int
    names: set[str] = field(default_factory=set)
    mix: Counter[Verdict] = field(default_factory=Counter)
    shares: array[float] = field(default_factory=lambda: array("d"))
    """The share of the points that each student earned on this part."""
    rests: array[float] = field(default_factory=lambda: array("d"))
    """The share that the same student earned on the rest of the paper; NaN without a rest."""
    right: array[float] = field(default_factory=lambda: array("d"))
    """1 for each of these students whose answer is correct, else 0."""
    feedback: dict[str, str] = field(default_factory=dict)
    varies: set[str] = field(default_factory=set)
    counts: Counter[str] = field(default_factory=Counter)
    undeclared_ids: set[str] = field(default_factory=set)
    wrong_rests: dict[str, array[float]] = field(default_factory=dict)
    """By wrong answer: the shares of its students on the rest of the paper."""

    def add(self, mark: Mark, row: Row, points: float, max_points: float) -> None:
        """Adds one student's mark; the two numbers cover all of the student's settled marks."""
        self.names.add(mark.name)
        earned, mark_points = mark.points, mark.max_points
        self.mix[mark.verdict] += 1
        wrong = mark.mistake or _find_wrong_option(mark)
        if wrong:
            self.counts[wrong] += 1
        if mark.mistake is not None:
            # A person's comment on an override is only for that student.
            text = "" if mark.name in row.overrides else mark.feedback
            first_text = self.feedback.setdefault(mark.mistake, text)
            if not first_text:
                self.feedback[mark.mistake] = text
            elif text and text != first_text:
                self.varies.add(mark.mistake)
        elif wrong:
            self.undeclared_ids.add(wrong)
        if earned is None or not mark_points:  # open, or a part that doesn't count
            return
        rest_points = max_points - mark_points
        rest = (points - earned) / rest_points if rest_points > 0 else math.nan
        self.shares.append(earned / mark_points)
        self.rests.append(rest)
        self.right.append(mark.verdict is Verdict.CORRECT)
        if wrong:
            self.wrong_rests.setdefault(wrong, array("d")).append(rest)

    def sort_key(self) -> tuple[int, str, int]:
        """Returns the first question's number, the problem, and the order in a grade."""
        return min(map(question_number, self.names)), self.mark.problem, self.order

    def line(self) -> PartLine:
        """Returns the part's statistics as a line of the report."""
        students, settled = self.mix.total(), len(self.shares)
        # The points of the part itself do not count.
        with_rest = [i for i, rest in enumerate(self.rests) if not math.isnan(rest)]
        rests = [self.rests[i] for i in with_rest]
        right = [self.right[i] for i in with_rest]
        discrimination = correlation([self.shares[i] for i in with_rest], rests)
        interval = None
        if discrimination is not None:
            interval = correlation_interval(discrimination, len(with_rest))
        mean = statistics.fmean(self.shares) if settled else None
        return PartLine(
            problem=self.mark.problem,
            part=self.mark.part,
            names=tuple(sorted(self.names, key=lambda name: (question_number(name), name))),
            kind=self.mark.kind,
            max_points=self.mark.max_points,
            students=students,
            settled_count=settled,
            share_correct=self.mix[Verdict.CORRECT] / settled if settled else None,
            mean_share=mean,
            mean_interval=None if mean is None else mean_interval(mean, settled),
            mix={verdict: self.mix[verdict] for verdict in Verdict if verdict in self.mix},
            discrimination=discrimination,
            discrimination_interval=interval,
            thirds=thirds(right, rests),
            rest=_mean([rest for rest, one in zip(rests, right, strict=True) if one]),
            blank=self.mix[Verdict.ABSENT] / students,
            mistakes=tuple(self._iter_mistakes(students, rests, right)),
        )

    def _iter_mistakes(
        self, students: int, rests: Sequence[float], right: Sequence[float]
    ) -> Iterator[MistakeLine]:
        """Yields the most common mistakes, with how those who made them did on the other parts."""
        solved = [rest for rest, one in zip(rests, right, strict=True) if one]
        common = sorted(self.counts, key=lambda id_: (-self.counts[id_], id_))[:_MISTAKES]
        for id_ in common:
            is_declared = id_ not in self.undeclared_ids
            wrong_rests = [rest for rest in self.wrong_rests.get(id_, ()) if not math.isnan(rest)]
            feedback = self.feedback.get(id_, "")
            # One student's feedback shows how it varies only if it has numbers.
            has_numbers = self.counts[id_] == 1 and re.search(r"\d", feedback) is not None
            yield MistakeLine(
                id=id_,
                students=self.counts[id_],
                share=self.counts[id_] / students,
                feedback=feedback,
                varies=is_declared and (id_ in self.varies or has_numbers),
                is_declared=is_declared,
                rest=_mean(wrong_rests),
                is_better=_is_clearly_more(wrong_rests, solved),
            )


def _mean(rests: Sequence[float]) -> float | None:
    return statistics.fmean(rests) if rests else None


def _is_clearly_more(ones: Sequence[float], others: Sequence[float]) -> bool:
    """Returns whether the mean of *ones* exceeds that of *others* by two standard errors."""
    if min(len(ones), len(others)) < _FEW:
        return False
    error = math.hypot(
        *(statistics.stdev(group) / math.sqrt(len(group)) for group in (ones, others))
    )
    return statistics.fmean(ones) - statistics.fmean(others) > 2 * error


def _find_wrong_option(mark: Mark) -> str | None:
    """Returns the text of a wrong option that the problem says nothing about."""
    if mark.kind != "choice" or mark.verdict is not Verdict.INCORRECT or mark.answer is None:
        return None
    match = _CHOSEN.match(mark.answer)
    return match[1] if match else None
