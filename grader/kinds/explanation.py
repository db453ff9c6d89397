"""An explanation in the student's own words, graded by a person."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from grader.kinds import samples
from grader.kinds.base import UNDRAWN, Example, Unreadable, Usual, kinds
from grader.kinds.lettered import one_line
from grader.kinds.scalars import quoted, refusal
from grader.model import Draw, Judgement, Key, Part, Raw, Text, Verdict
from grader.model.item import EssayItem, Item
from grader.model.spec import STRICT

FEWEST_WORDS = 3
LONGEST = 2000
"""Maximum number of characters to repeat to the student; the notebook has the full text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation(Part):
    """An explanation in the student's own words."""

    __pydantic_config__: ClassVar[dict[str, object]] = STRICT

    kind: Literal["explanation"] = "explanation"
    rubric: Text = ""
    """How to grade it, for the person who grades it; shown after release."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplanationKey(Key):
    """The rubric with the variant's numbers."""

    part: Explanation
    rubric: str


class ExplanationKind(Usual[ExplanationKey, str]):
    """An explanation in the student's own words, graded by a person."""

    spec = Explanation

    def key(self, part: Explanation, draw: Draw) -> ExplanationKey:
        """Returns the rubric with the variant's numbers."""
        return ExplanationKey(part=part, draw=draw, rubric=draw.fill(part.rubric, draw.scope))

    def read(self, raw: Raw, key: ExplanationKey) -> str:  # noqa: ARG002
        """Returns the text without the placeholder dots."""
        written = raw.get("v")
        if raw.get("t") != "str" or not isinstance(written, str):
            raise refusal(raw, _WANTED)
        lines = [line for line in written.splitlines() if line.strip() != "..."]
        text = "\n".join(lines).strip()
        if not text:
            raise Unreadable("The answer is empty.", blank=True)
        if _words(text) < FEWEST_WORDS:
            raise Unreadable(f"{quoted(text)} is not an explanation; give {_WANTED}.")
        # The person who grades it can read the rest in the notebook.
        return f"{text} […]" if raw.get("cut") else text

    def judge(self, value: str, key: ExplanationKey) -> Judgement:  # noqa: ARG002
        """Returns an unsettled judgment: a person must read it."""
        return Judgement(
            share=None, verdict=Verdict.UNSETTLED, note="This is waiting for manual grading."
        )

    def say(self, value: str, key: ExplanationKey) -> str:  # noqa: ARG002
        """Returns the student's text on one line, shortened if necessary."""
        return one_line(value, LONGEST)

    def examples(self, key: ExplanationKey) -> tuple[Example, ...]:  # noqa: ARG002
        """Returns a text that waits for manual grading, and values that are not explanations."""
        waits = Example(raw=samples.text(_SOMETHING), share=None, why="an explanation")
        return (
            waits,
            samples.unreadable(samples.text(""), "an empty text"),
            samples.unreadable(samples.text("\n...\n"), "the untouched placeholder"),
            samples.unreadable(samples.text("because"), "one word"),
            samples.unreadable(samples.number(1), "a number"),
            samples.unreadable({"t": "bool", "v": True}, "a truth value"),
            *samples.NOTHING,
        )

    def placeholder(self, key: ExplanationKey) -> str:  # noqa: ARG002
        """Returns a string of several lines."""
        return '"""\n...\n"""'

    def how(self, key: ExplanationKey) -> str:  # noqa: ARG002
        """Returns that a text is expected."""
        return _WANTED

    def answer(self, key: ExplanationKey) -> object:  # noqa: ARG002
        """Returns None: a person grades it."""
        return None

    def true(self, key: ExplanationKey) -> str | None:  # noqa: ARG002
        """Returns None: only a person can judge it."""
        return None

    def solved(self, answer: object, key: ExplanationKey) -> str:  # noqa: ARG002
        """Returns the text that the solution returned."""
        if not isinstance(answer, str):
            raise ValueError(f"{answer!r} is not a text")
        return answer

    def from_sheet(self, sheet: Mapping[str, object]) -> ExplanationKey:  # noqa: ARG002
        """Returns a key without a rubric."""
        part = Explanation(id="", ask="")
        return ExplanationKey(part=part, draw=UNDRAWN, rubric="")

    def brief(self, key: ExplanationKey) -> str:  # noqa: ARG002
        """Returns "text"."""
        return "text"

    def literal(self, key: ExplanationKey) -> str:  # noqa: ARG002
        """Returns a text that waits for manual grading."""
        return f'"{_SOMETHING}"'

    def items(self, key: ExplanationKey) -> tuple[Item, ...]:
        """Returns an essay question with its rubric."""
        return (EssayItem(rubric=key.rubric.strip()),)

    def explain(self, key: ExplanationKey) -> str:
        """Returns the rubric."""
        return key.rubric.strip() or "This part is graded manually."


def _words(text: str) -> int:
    """Returns an upper bound on the words in *text*: some scripts don't separate words."""
    return max(len(text.split()), sum(c.isalpha() and not c.isascii() for c in text))


_WANTED = f"a text of at least {FEWEST_WORDS} words in quotes"
_SOMETHING = "A person reads this and grades it by the rubric."


kinds.add("explanation")(ExplanationKind())
