"""An explanation in the student's own words, graded by a person."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from grader.kinds import samples
from grader.kinds.answers import AN_EXPLANATION
from grader.kinds.base import Example, KindOf, Unreadable, kinds, partial_judgment
from grader.kinds.lettered import one_line
from grader.kinds.scalars import quote, refusal
from grader.kinds.texts import fill
from grader.model import Draw, Judgment, Key, Part, Raw, Text

FEWEST_WORDS = 3
LONGEST = 2000
"""Maximum number of characters to repeat to the student; the notebook has the full text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation(Part):
    """An explanation in the student's own words."""

    kind: Literal["explanation"] = "explanation"
    rubric: Text = ""
    """How to grade it, for the person who grades it; shown after release."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplanationKey(Key):
    """The rubric with the variant's numbers."""

    part: Explanation
    rubric: str


class ExplanationKind(KindOf[ExplanationKey, str]):
    """An explanation in the student's own words, graded by a person."""

    spec = Explanation

    def key(self, part: Explanation, draw: Draw) -> ExplanationKey:
        return ExplanationKey(part=part, draw=draw, rubric=fill(part.rubric, draw))

    def read(self, raw: Raw, key: ExplanationKey) -> str:
        written = raw.get("v")
        if raw.get("t") != "str" or not isinstance(written, str):
            raise refusal(raw, _WANTED)
        lines = [line for line in written.splitlines() if line.strip() != "..."]
        text = "\n".join(lines).strip()
        if not text:
            raise Unreadable("The answer is empty.", blank=True)
        # An upper bound on the words: some scripts don't separate them.
        foreign = sum(c.isalpha() and not c.isascii() for c in text)
        if max(len(text.split()), foreign) < FEWEST_WORDS:
            raise Unreadable(f"{quote(text)} is not an explanation; give {_WANTED}.")
        # The person who grades it can read the rest in the notebook.
        return f"{text} […]" if raw.get("cut") else text

    def judge(self, value: str, key: ExplanationKey) -> Judgment:
        return partial_judgment(None, "This is waiting for manual grading.")

    def format_value(self, value: str, key: ExplanationKey) -> str:
        return one_line(value, LONGEST)

    def examples(self, key: ExplanationKey) -> tuple[Example, ...]:
        return (
            samples.sample(AN_EXPLANATION, None, "an explanation"),
            samples.unreadable("", "an empty text"),
            samples.unreadable("\n...\n", "the untouched placeholder"),
            samples.unreadable("because", "one word"),
            samples.unreadable(1, "a number"),
            samples.unreadable(True, "a truth value"),
            *samples.NOTHING,
        )

    def instructions(self, key: ExplanationKey) -> str:
        return _WANTED

    def answer(self, key: ExplanationKey) -> object:
        return None

    def explain(self, key: ExplanationKey) -> str:
        return key.rubric.strip() or super().explain(key)


_WANTED = f"a text of at least {FEWEST_WORDS} words in quotes"


kinds.add("explanation")(ExplanationKind())
