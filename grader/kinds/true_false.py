"""Whether a claim is true, and if asked, the reason."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from grader.expressions import evaluate
from grader.kinds import lettered, options, samples
from grader.kinds.base import CORRECT, UNDRAWN, Example, Unreadable, kinds, partial_judgment
from grader.kinds.cells import UnreadableCell, format_cell, raw_items, read_cell, require_readable
from grader.kinds.lettered import LetteredKey, LetteredKind, choice_by_letter
from grader.kinds.options import AnswerOption
from grader.kinds.scalars import quote, read_text
from grader.kinds.texts import fill, try_fill
from grader.model import Draw, Expr, Judgment, Part, Raw, Share, Text
from grader.units.quantity import Value
from grader.wire.encoding import encode_answer

Reasoned = tuple[bool | UnreadableCell | None, str | UnreadableCell | None]
"""Whether the claim is true, and the letter of the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrueFalse(Part):
    """A claim in `ask` that is true or false."""

    kind: Literal["true_false"] = "true_false"
    answer: Expr
    """True, false, or a condition on the variant's numbers."""
    feedback: Text = ""
    """Feedback on a wrong answer."""
    reasons: tuple[AnswerOption, ...] = ()
    """Reasons to choose from, of which exactly one is right in every variant."""
    reason_share: Share = 0.5
    """The share of the points that only the right reason earns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrueFalseKey(LetteredKey):
    """Whether the claim is true, the reasons as this student sees them, and the right one."""

    part: TrueFalse
    right: bool
    reason: str = ""
    """The letter of the right reason; empty if no reason is asked."""


WORDS = {
    **dict.fromkeys(("true", "t", "yes", "y"), True),
    **dict.fromkeys(("false", "f", "no", "n"), False),
}
PAIR = r"\s*(true|false|yes|no|[tfyn])(?![\w/])[\s,;:.]*(?:because\b)?\s*"
"""Pattern of how a text with a claim's truth and a reason begins; use with IGNORECASE."""
_PAIR = re.compile(PAIR, re.IGNORECASE)
_WANTED = "True or False"
_NOTHING: Raw = {"t": "none"}


class TrueFalseKind(LetteredKind[TrueFalseKey, "bool | Reasoned"]):
    """Whether a claim is true, and if asked, the letter of the reason."""

    spec = TrueFalse

    def key(self, part: TrueFalse, draw: Draw) -> TrueFalseKey:
        right = evaluate(part.answer, draw.scope, draw.facts)
        if not isinstance(right, bool):
            raise ValueError(f"'{part.answer}' is {right!r}; a true_false needs true or false")
        if not part.reasons:
            return TrueFalseKey(part=part, draw=draw, choices=(), right=right)
        if any(option.credit for option in part.reasons):
            raise ValueError("a reason can't have 'credit': 'reason_share' sets the points")
        choices = options.label_options(part.reasons, draw, part.id)
        letters = options.right_letters(part.reasons, choices, draw)
        if len(letters) != 1:
            raise ValueError(f"exactly one reason must be correct, but {len(letters)} are")
        return TrueFalseKey(part=part, draw=draw, choices=choices, right=right, reason=letters[0])

    def read(self, raw: Raw, key: TrueFalseKey) -> bool | Reasoned:
        return _read_reasoned(raw, key) if key.choices else _read_truth(raw)

    def judge(self, value: bool | Reasoned, key: TrueFalseKey) -> Judgment:
        if isinstance(value, tuple):
            return _judge_reasoned(value, key)
        if value is key.right:
            return CORRECT
        return partial_judgment(0.0, _note_on_wrong_claim(key))

    def format_value(self, value: bool | Reasoned, key: TrueFalseKey) -> str:
        if not isinstance(value, tuple):
            return str(value)
        truth, reason = value
        return f"{format_cell(truth)}, reason {format_cell(reason, key.format_letter)}"

    def examples(self, key: TrueFalseKey) -> tuple[Example, ...]:
        fill(key.part.feedback, key.draw)
        return tuple(_reasoned_examples(key) if key.choices else _plain_examples(key))

    def instructions(self, key: TrueFalseKey) -> str:
        if not key.choices:
            return _describe_form(key)
        share = f"{100 * key.part.reason_share:g}%"
        return f"{_describe_form(key)}; {share} of the points need the right reason as well"

    def answer(self, key: TrueFalseKey) -> object:
        return [key.right, key.reason] if key.choices else key.right

    def read_solution(self, answer: object, key: TrueFalseKey) -> bool | Reasoned:
        if not key.choices:
            return super().read_solution(answer, key)
        if not isinstance(answer, list | tuple) or len(answer) != 2:
            raise ValueError(f"{answer!r} is not a list of True or False and a reason's id")
        return bool(answer[0]), lettered.letter_of(key.choices, answer[1])

    def explain(self, key: TrueFalseKey) -> str:
        if not key.choices:
            return f"**{key.right}**"
        reason = choice_by_letter(key.choices, key.reason)
        return f"**{key.right}.** Reason **{reason.letter}.** {reason.text}"

    def sheet(self, key: TrueFalseKey) -> Mapping[str, object]:
        return super().sheet(key) if key.choices else {}

    def from_sheet(self, sheet: Mapping[str, object]) -> TrueFalseKey:
        choices = lettered.choices_of_sheet(sheet, self.shown) if self.shown in sheet else ()
        part = TrueFalse(id="", ask="", answer=True)
        return TrueFalseKey(part=part, draw=UNDRAWN, choices=choices, right=True)

    def carry_value(self, value: bool | Reasoned, key: TrueFalseKey) -> Value | None:
        truth = value[0] if isinstance(value, tuple) else value
        return truth if isinstance(truth, bool) else None


def _describe_form(key: TrueFalseKey) -> str:
    if not key.choices:
        return _WANTED
    letters = lettered.letters_in_words(key.choices)
    return f"a list of {_WANTED} and the letter of a reason in quotes, {letters}"


def _read_truth(raw: Raw) -> bool:
    """Returns whether *raw* says that the claim is true. Raises Unreadable."""
    # 1 and 0 are numbers and are not accepted.
    if raw.get("t") == "bool" and isinstance(raw.get("v"), bool):
        return raw["v"] is True
    written = read_text(raw, _WANTED)
    word = WORDS.get(written.rstrip(".!").casefold())
    if word is None:
        raise Unreadable(f"{quote(written)} is neither true nor false; give {_WANTED}.")
    return word


def _read_reasoned(raw: Raw, key: TrueFalseKey) -> Reasoned:
    """Returns the truth of the claim and the reason. Raises Unreadable unless one can be read."""
    truth, reason = _split_answer(raw, key)
    cells = (
        read_cell(lambda: _read_truth(truth)),
        read_cell(lambda: lettered.read_letter_cell(reason, key.choices)),
    )
    require_readable(cells)
    return cells


def _split_answer(raw: Raw, key: TrueFalseKey) -> tuple[Raw, Raw]:
    """Returns the truth of the claim and the reason, None if it is missing. Raises Unreadable."""
    if raw.get("t") in ("list", "array"):
        items = raw_items(raw)
        if not 1 <= len(items) <= 2:
            raise Unreadable(f"The list has {len(items)} items; give {_describe_form(key)}.")
        return items[0], items[1] if len(items) == 2 else _NOTHING
    if raw.get("t") != "str":
        return raw, _NOTHING
    written = " ".join(read_text(raw, _describe_form(key)).split())
    start = _PAIR.match(written)
    if start is None or start.end() == len(written):
        return raw, _NOTHING
    return encode_answer(start[1]), encode_answer(written[start.end() :])


def _note_on_wrong_claim(key: TrueFalseKey) -> str:
    return try_fill(key.part.feedback, key.draw) or "The opposite is true."


def _judge_reasoned(value: Reasoned, key: TrueFalseKey) -> Judgment:
    """Returns the judgment of an answer with a reason, which counts only if the truth is right."""
    truth, letter = value
    if truth is key.right and letter == key.reason:
        return CORRECT
    share = 1 - key.part.reason_share if truth is key.right else 0.0
    wrong = None
    if isinstance(letter, str) and letter != key.reason:
        wrong = options.option_by_letter(key.part.reasons, key.choices, letter)
    mistake = options.option_id(wrong) if wrong is not None and wrong.feedback else None
    notes = filter(None, (_note_on_truth(value, key), _note_on_reason(value, key)))
    return partial_judgment(share, " ".join(notes), mistake)


def _note_on_truth(value: Reasoned, key: TrueFalseKey) -> str:
    """Returns the feedback on the truth of the claim; empty if the whole answer is right."""
    truth, letter = value
    if truth is key.right:
        return f"{truth} is right." if letter != key.reason else ""
    if isinstance(truth, UnreadableCell):
        return truth.sentence
    if truth is None:
        return f"Neither {_WANTED} was given."
    return _note_on_wrong_claim(key)


def _note_on_reason(value: Reasoned, key: TrueFalseKey) -> str:
    _, letter = value
    if letter is None:
        return "The reason is missing."
    if isinstance(letter, UnreadableCell):
        return letter.sentence
    if letter == key.reason:
        return "The reason is right, but it does not count without the right answer."
    option = options.option_by_letter(key.part.reasons, key.choices, letter)
    return try_fill(option.feedback, key.draw) or "Another reason is right."


def _plain_examples(key: TrueFalseKey) -> Iterator[Example]:
    right, wrong = ("Yes", "f") if key.right else ("no", "T")
    yield samples.right(key.right, "the truth")
    yield samples.right(str(key.right), "the truth as text")
    yield samples.right(right, "the truth in a word")
    yield samples.sample(not key.right, 0.0, "the opposite")
    yield samples.sample(wrong, 0.0, "the opposite as text")
    yield from _NO_TRUTHS


def _reasoned_examples(key: TrueFalseKey) -> Iterator[Example]:
    truth, reason = key.right, key.reason
    alone = 1 - key.part.reason_share
    yield samples.right([truth, reason], "the truth and its reason")
    yield samples.right(f"{truth}, {reason}", "the truth and its reason as text")
    yield samples.right(f"{str(truth)[0]} {reason.lower()}", "the truth and its reason as letters")
    yield samples.sample(truth, alone, "the truth without a reason")
    yield samples.sample([truth, ...], alone, "the truth with a blank reason")
    for choice in key.choices:
        option = options.option_by_letter(key.part.reasons, key.choices, choice.letter)
        fill(option.feedback, key.draw)
        is_right = choice.letter == reason
        mistake = None if is_right or not option.feedback else choice.id
        if not is_right:
            why = f"the truth for '{choice.id}'"
            yield samples.sample([truth, choice.letter], alone, why, mistake)
        why = f"the opposite, '{choice.id}'"
        yield samples.sample([not truth, choice.letter], 0.0, why, mistake)
    yield samples.unreadable([..., ...], "the untouched placeholder")
    yield samples.unreadable([truth, reason, reason], "three items")
    yield from _NO_TRUTHS


_NO_TRUTHS = (
    samples.unreadable("maybe", "a word that is neither"),
    samples.unreadable("", "an empty text"),
    samples.unreadable(1, "the number 1"),
    samples.unreadable(0, "the number 0"),
    *samples.NOTHING,
)


kinds.add("true_false")(TrueFalseKind())
