"""The wrong numbers of a class that no declared mistake explains."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from grader.analysis.answer_matches import half_unit
from grader.kinds.numeric import NumericKey, judge
from grader.model import Verdict

WIDEST = 0.05
"""How far an answer of few digits may be from a value that it stands for, as a share."""


@dataclass(slots=True)
class WrongNumbers:
    """The wrong answers of a class to one number, and the keys of all who were asked."""

    keys: list[NumericKey] = field(default_factory=list)
    students: list[str] = field(default_factory=list)
    answers: list[float] = field(default_factory=list)
    at: list[int] = field(default_factory=list)
    """The index of each wrong answer's key."""

    def add(self, student: str, key: NumericKey, answer: float | None) -> None:
        """Adds a student; an answer counts only if it is wrong and nothing known explains it."""
        self.keys.append(key)
        if answer is None or not math.isfinite(answer) or answer == 0:
            return
        if judge(answer, key).verdict is Verdict.INCORRECT and not _is_rounded(answer, key):
            self.students.append(student)
            self.answers.append(float(answer))
            self.at.append(len(self.keys) - 1)


def _is_rounded(answer: float, key: NumericKey) -> bool:
    """Returns whether *answer* is the key or a declared mistake, rounded to too few digits."""
    if isinstance(key.value, int):
        return False
    known = [float(key.value), *(float(center) for _, center, _, _ in key.mistake_ranges)]
    width = min(half_unit(answer), WIDEST * abs(answer))
    return any(abs(answer - value) <= width for value in known)
