"""Whether a claim is true."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from grader.expressions import evaluate
from grader.kinds import samples
from grader.kinds.base import CORRECT, Example, KindOf, Unreadable, kinds
from grader.kinds.scalars import quote, read_text
from grader.kinds.texts import fill, try_fill
from grader.model import Draw, Expr, Judgement, Key, Part, Raw, Text, Verdict
from grader.units.quantity import Value


@dataclass(frozen=True, slots=True, kw_only=True)
class TrueFalse(Part):
    """A claim in `ask` that is true or false."""

    kind: Literal["true_false"] = "true_false"
    answer: Expr
    """True, false, or a condition on the variant's numbers."""
    feedback: Text = ""
    """Feedback on a wrong answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrueFalseKey(Key):
    """Whether the claim is true."""

    part: TrueFalse
    right: bool


WORDS = {
    **dict.fromkeys(("true", "t", "yes", "y"), True),
    **dict.fromkeys(("false", "f", "no", "n"), False),
}
_WANTED = "True or False"


class TrueFalseKind(KindOf[TrueFalseKey, bool]):
    """Whether a claim is true."""

    spec = TrueFalse

    def key(self, part: TrueFalse, draw: Draw) -> TrueFalseKey:
        right = evaluate(part.answer, draw.scope, draw.facts)
        if not isinstance(right, bool):
            raise ValueError(f"'{part.answer}' is {right!r}; a true_false needs true or false")
        return TrueFalseKey(part=part, draw=draw, right=right)

    def read(self, raw: Raw, key: TrueFalseKey) -> bool:
        # 1 and 0 are numbers and are not accepted.
        if raw.get("t") == "bool" and isinstance(raw.get("v"), bool):
            return raw["v"] is True
        written = read_text(raw, _WANTED)
        word = WORDS.get(written.rstrip(".!").casefold())
        if word is None:
            raise Unreadable(f"{quote(written)} is neither true nor false; give {_WANTED}.")
        return word

    def judge(self, value: bool, key: TrueFalseKey) -> Judgement:
        if value is key.right:
            return CORRECT
        note = try_fill(key.part.feedback, key.draw)
        return Judgement(share=0.0, verdict=Verdict.INCORRECT, note=note or "The opposite is true.")

    def format_value(self, value: bool, key: TrueFalseKey) -> str:
        return str(value)

    def examples(self, key: TrueFalseKey) -> tuple[Example, ...]:
        fill(key.part.feedback, key.draw)
        right, wrong = ("Yes", "f") if key.right else ("no", "T")
        return (
            Example(raw={"t": "bool", "v": key.right}, share=1.0, why="the truth"),
            Example(raw=samples.text(str(key.right)), share=1.0, why="the truth as text"),
            Example(raw=samples.text(right), share=1.0, why="the truth in a word"),
            Example(raw={"t": "bool", "v": not key.right}, share=0.0, why="the opposite"),
            Example(raw=samples.text(wrong), share=0.0, why="the opposite as text"),
            samples.unreadable(samples.text("maybe"), "a word that is neither"),
            samples.unreadable(samples.text(""), "an empty text"),
            samples.unreadable(samples.number(1), "the number 1"),
            samples.unreadable(samples.number(0), "the number 0"),
            *samples.NOTHING,
        )

    def instructions(self, key: TrueFalseKey) -> str:
        return _WANTED

    def answer(self, key: TrueFalseKey) -> object:
        return key.right

    def carry_value(self, value: bool, key: TrueFalseKey) -> Value | None:
        return value


kinds.add("true_false")(TrueFalseKind())
