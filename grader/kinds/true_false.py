"""Whether a claim is true."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from grader.expressions import evaluate
from grader.kinds import samples
from grader.kinds.base import CORRECT, UNDRAWN, Example, Unreadable, Usual, kinds
from grader.kinds.feedback import feedback, said
from grader.kinds.scalars import quoted, refusal, text
from grader.model import Draw, Expr, Judgement, Key, Part, Raw, Text, Verdict
from grader.model.item import ChoiceItem, Choosable, Item
from grader.model.spec import STRICT
from grader.units.quantity import Value


@dataclass(frozen=True, slots=True, kw_only=True)
class TrueFalse(Part):
    """A claim in `ask` that is true or false."""

    __pydantic_config__: ClassVar[dict[str, object]] = STRICT

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
    "true": True,
    "t": True,
    "yes": True,
    "y": True,
    "false": False,
    "f": False,
    "no": False,
    "n": False,
}
_WANTED = "True or False"


class TrueFalseKind(Usual[TrueFalseKey, bool]):
    """Whether a claim is true."""

    spec = TrueFalse

    def key(self, part: TrueFalse, draw: Draw) -> TrueFalseKey:
        """Returns whether the claim holds. Raises ValueError if the answer is not a truth value."""
        right = evaluate(part.answer, draw.scope, draw.facts)
        if not isinstance(right, bool):
            raise ValueError(f"'{part.answer}' is {right!r}; a true_false needs true or false")
        return TrueFalseKey(part=part, draw=draw, right=right)

    def read(self, raw: Raw, key: TrueFalseKey) -> bool:  # noqa: ARG002
        """Returns the truth value. 1 and 0 are numbers and are not accepted."""
        if raw.get("t") == "bool" and isinstance(raw.get("v"), bool):
            return raw["v"] is True
        if raw.get("t") != "str":
            raise refusal(raw, _WANTED)
        written = text(raw, _WANTED)
        word = WORDS.get(written.rstrip(".!").casefold())
        if word is None:
            raise Unreadable(f"{quoted(written)} is neither true nor false; give {_WANTED}.")
        return word

    def judge(self, value: bool, key: TrueFalseKey) -> Judgement:
        """Returns correct, or incorrect with the author's feedback."""
        if value is key.right:
            return CORRECT
        note = said(key.part.feedback, key.draw)
        return Judgement(share=0.0, verdict=Verdict.INCORRECT, note=note or "The opposite is true.")

    def say(self, value: bool, key: TrueFalseKey) -> str:  # noqa: ARG002
        """Returns True or False as text."""
        return str(value)

    def examples(self, key: TrueFalseKey) -> tuple[Example, ...]:
        """Returns both answers in several forms, and values that are neither."""
        feedback(key.part.feedback, key.draw)
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

    def how(self, key: TrueFalseKey) -> str:  # noqa: ARG002
        """Returns the two words."""
        return _WANTED

    def answer(self, key: TrueFalseKey) -> object:
        """Returns the truth value."""
        return key.right

    def true(self, key: TrueFalseKey) -> bool | None:
        """Returns the truth value."""
        return key.right

    def solved(self, answer: object, key: TrueFalseKey) -> bool:  # noqa: ARG002
        """Returns the solution's truth value; accepts numpy's."""
        if type(answer).__name__ not in ("bool", "bool_"):
            raise ValueError(f"{answer!r} is not True or False")
        return bool(answer)

    def from_sheet(self, sheet: Mapping[str, object]) -> TrueFalseKey:  # noqa: ARG002
        """Returns a key that is never used to judge."""
        part = TrueFalse(id="", ask="", answer=False)
        return TrueFalseKey(part=part, draw=UNDRAWN, right=False)

    def literal(self, key: TrueFalseKey) -> str:
        """Returns True or False as text."""
        return str(key.right)

    def items(self, key: TrueFalseKey) -> tuple[Item, ...]:
        """Returns a question with the choices true and false."""
        note = said(key.part.feedback, key.draw)
        choices = tuple(
            Choosable(
                id=str(value).lower(),
                text=str(value),
                right=value is key.right,
                share=float(value is key.right),
                feedback="" if value is key.right else note,
            )
            for value in (True, False)
        )
        return (ChoiceItem(choices=choices, shuffle=False),)

    def explain(self, key: TrueFalseKey) -> str:
        """Returns True or False as Markdown."""
        return f"**{key.right}**"

    def carried(self, value: bool | None, key: TrueFalseKey) -> Value | None:  # noqa: ARG002
        """Returns the truth value."""
        return value


kinds.add("true_false")(TrueFalseKind())
