"""An explanation in the student's own words, which a person grades."""

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
"""Characters of the text that are said back; all of it stands in the notebook."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation(Part):
    """An explanation in the student's own words."""

    __pydantic_config__: ClassVar[dict[str, object]] = STRICT

    kind: Literal["explanation"] = "explanation"
    rubric: Text = ""
    """What earns how much, for the person who grades it; shown after release."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplanationKey(Key):
    """The rubric with the variant's numbers."""

    part: Explanation
    rubric: str


class ExplanationKind(Usual[ExplanationKey, str]):
    """An explanation in the student's own words, which a person grades."""

    spec = Explanation

    def key(self, part: Explanation, draw: Draw) -> ExplanationKey:
        """The rubric."""
        return ExplanationKey(part=part, draw=draw, rubric=draw.fill(part.rubric, draw.scope))

    def read(self, raw: Raw, key: ExplanationKey) -> str:  # noqa: ARG002
        """The text, without the dots that it started with."""
        written = raw.get("v")
        if raw.get("t") != "str" or not isinstance(written, str):
            raise refusal(raw, _WANTED)
        lines = [line for line in written.splitlines() if line.strip() != "..."]
        text = "\n".join(lines).strip()
        if not text:
            raise Unreadable("Nothing was written.", blank=True)
        if _words(text) < FEWEST_WORDS:
            raise Unreadable(f"{quoted(text)} is not an explanation; give {_WANTED}.")
        # What is cut off can be read in the notebook, by the person who grades it.
        return f"{text} […]" if raw.get("cut") else text

    def judge(self, value: str, key: ExplanationKey) -> Judgement:  # noqa: ARG002
        """Unsettled until a person has read it."""
        return Judgement(
            share=None, verdict=Verdict.UNSETTLED, note="This waits for a person to read it."
        )

    def say(self, value: str, key: ExplanationKey) -> str:  # noqa: ARG002
        """The student's own text in one line, as far as it fits."""
        return one_line(value, LONGEST)

    def examples(self, key: ExplanationKey) -> tuple[Example, ...]:  # noqa: ARG002
        """A text that waits for a person, and what is no explanation."""
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
        """A text of several lines."""
        return '"""\n...\n"""'

    def how(self, key: ExplanationKey) -> str:  # noqa: ARG002
        """A text."""
        return _WANTED

    def answer(self, key: ExplanationKey) -> object:  # noqa: ARG002
        """None: a person grades it."""
        return None

    def true(self, key: ExplanationKey) -> str | None:  # noqa: ARG002
        """None: only a person can tell."""
        return None

    def solved(self, answer: object, key: ExplanationKey) -> str:  # noqa: ARG002
        """The text that the solution returned."""
        if not isinstance(answer, str):
            raise ValueError(f"{answer!r} is not a text")
        return answer

    def from_sheet(self, sheet: Mapping[str, object]) -> ExplanationKey:  # noqa: ARG002
        """A key without a rubric."""
        part = Explanation(id="", ask="")
        return ExplanationKey(part=part, draw=UNDRAWN, rubric="")

    def brief(self, key: ExplanationKey) -> str:  # noqa: ARG002
        """That it is a text."""
        return "text"

    def literal(self, key: ExplanationKey) -> str:  # noqa: ARG002
        """A text that waits for a person."""
        return f'"{_SOMETHING}"'

    def items(self, key: ExplanationKey) -> tuple[Item, ...]:
        """A text that a person grades."""
        return (EssayItem(rubric=key.rubric.strip()),)

    def explain(self, key: ExplanationKey) -> str:
        """The rubric."""
        return key.rubric.strip() or "A person grades this."


def _words(text: str) -> int:
    """How many words *text* has at most: some scripts put no space between them."""
    return max(len(text.split()), sum(c.isalpha() and not c.isascii() for c in text))


_WANTED = f"a text of at least {FEWEST_WORDS} words in quotes"
_SOMETHING = "A person reads this and grades it by the rubric."


kinds.add("explanation")(ExplanationKind())
