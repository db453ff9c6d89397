"""A single choice, answered by its letter, and a multiple choice, answered by any letters."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from grader import units
from grader.expressions import evaluate, holds
from grader.kinds import lettered, samples
from grader.kinds.base import CORRECT, Example, kinds
from grader.kinds.cells import as_raw
from grader.kinds.lettered import LabeledChoice, LetteredKey, LetteredKind, choice_by_letter
from grader.kinds.texts import fill, try_fill
from grader.model import Draw, Expr, Judgment, Part, Raw, Share, Text, Verdict
from grader.model.spec import Strict
from grader.units.quantity import Value

Rule = Literal["all-or-nothing", "each-option", "net-correct"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Option(Strict):
    """An option: a text, or a computed value that is printed with its unit."""

    id: str | None = None
    """Derived from the text if not given. Computed options and texts with placeholders need one."""
    text: Text | None = None
    """The text of the option; give this or `value`."""
    value: Expr | None = None
    """The value of the option, computed from the variant's numbers."""
    unit: str = ""
    """With `value`: the unit to print it in."""
    digits: int = 4
    """With `value`: the number of significant digits to print."""
    correct: Expr = False
    """Whether it is right: true, false, or a condition on the variant's numbers."""
    credit: Share = 0.0
    """The share of the points for choosing this wrong option."""
    feedback: Text = ""
    """Feedback for students who choose it by mistake; makes it a named mistake. For an option of
    multi_choice that is always right, why it is right, which is shown with the right answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice(Part):
    """A single choice from several options."""

    kind: Literal["choice"] = "choice"
    options: tuple[Option, ...]
    """The options; exactly one is right in every variant."""
    shuffle: bool = True
    """Whether to shuffle the options for each student."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MultiChoice(Part):
    """Any number of several options, possibly none."""

    kind: Literal["multi_choice"] = "multi_choice"
    options: tuple[Option, ...]
    """The options; any number of them may be right."""
    rule: Rule = "all-or-nothing"
    """The rule for part credit; see the table in the reference."""
    shuffle: bool = True
    """Whether to shuffle the options for each student."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceKey(LetteredKey):
    """The options as this student sees them, and the letter of the right one."""

    part: Choice
    right: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MultiChoiceKey(LetteredKey):
    """The options as this student sees them, and the letters of the right ones."""

    part: MultiChoice
    right: frozenset[str]


def option_id(option: Option) -> str:
    """Returns the option's ID, or one derived from its text. Raises ValueError if neither is
    possible."""
    if option.id:
        return option.id
    if option.text is None or "{" in option.text:
        raise ValueError("a computed option needs an 'id'")
    return _slug(option.text)


@lru_cache(maxsize=1024)
def _slug(text: str) -> str:
    slug = re.sub(r"[^a-z0-9]+", "-", text.casefold()).strip("-")
    if not slug:
        raise ValueError(f"the option '{text}' needs an 'id'")
    return slug


def label_options(
    options: Sequence[Option], draw: Draw, label: str | None
) -> tuple[LabeledChoice, ...]:
    """Returns *options* under letters, in an order that depends on the student and *label*; as
    given if it is None."""
    count = len(options)
    order = tuple(range(count)) if label is None else draw.order(label, count)
    things = tuple([(option_id(o), _option_text(o, draw)) for o in options])
    return lettered.label_choices(things, order)


def _label_of(part: Choice | MultiChoice) -> str | None:
    return part.id if part.shuffle else None


def _option_text(option: Option, draw: Draw) -> str:
    if option.text is not None and option.value is None:
        return fill(option.text, draw)
    if option.value is None or option.text is not None:
        raise ValueError("an option needs either 'text' or 'value'")
    value = evaluate(option.value, draw.scope, draw.facts)
    return units.format_quantity(value, option.unit or None, option.digits)


def right_letters(
    options: Sequence[Option], choices: Sequence[LabeledChoice], draw: Draw
) -> list[str]:
    """Returns the letters of those of *options* that are right."""
    right = (o for o in options if holds(o.correct, draw.scope, draw.facts))
    return [lettered.letter_of(choices, option_id(o)) for o in right]


class ChoiceKind(LetteredKind[ChoiceKey, str]):
    """A single choice, answered by its letter."""

    spec = Choice

    def key(self, part: Choice, draw: Draw) -> ChoiceKey:
        choices = label_options(part.options, draw, _label_of(part))
        right = right_letters(part.options, choices, draw)
        if len(right) != 1:
            saw = " and ".join(f"'{choice_by_letter(choices, r).id}'" for r in right) or "none"
            raise ValueError(f"exactly one option must be correct, but {saw} is")
        return ChoiceKey(part=part, draw=draw, choices=choices, right=right[0])

    def read(self, raw: Raw, key: ChoiceKey) -> str:
        return lettered.read_letter(raw, key.choices, _one_letter(key))

    def judge(self, value: str, key: ChoiceKey) -> Judgment:
        if value == key.right:
            return CORRECT
        option = _option_by_letter(key, value)
        if not (option.feedback or option.credit):
            return Judgment(share=0.0, verdict=Verdict.INCORRECT, note="Another option is right.")
        return Judgment(
            share=option.credit,
            verdict=Verdict.MISTAKE,
            note=try_fill(option.feedback, key.draw),
            mistake=option_id(option),
        )

    def format_value(self, value: str, key: ChoiceKey) -> str:
        choice = choice_by_letter(key.choices, value)
        return f"{choice.letter} ({lettered.one_line(choice.text)})"

    def examples(self, key: ChoiceKey) -> tuple[Example, ...]:
        right = choice_by_letter(key.choices, key.right)
        forms = (key.right, key.right.lower(), f" {key.right}) ", f"({key.right})", right.text)
        return (
            *(Example(raw=samples.text(form), share=1.0, why="the right option") for form in forms),
            *_wrong_letters(key),
            samples.unreadable(samples.text("AB"), "two letters"),
            *samples.NOT_LETTERS,
        )

    def instructions(self, key: ChoiceKey) -> str:
        return f"{_one_letter(key)}, in quotes"

    def answer(self, key: ChoiceKey) -> object:
        return key.right

    def read_solution(self, answer: object, key: ChoiceKey) -> str:
        return lettered.letter_of(key.choices, answer)

    def explain(self, key: ChoiceKey) -> str:
        return f"**{key.right}.** {choice_by_letter(key.choices, key.right).text}"

    def carry_value(self, value: str, key: ChoiceKey) -> Value | None:
        return choice_by_letter(key.choices, value).id


def _one_letter(key: LetteredKey) -> str:
    return f"one letter, {lettered.letters_in_words(key.choices)}"


def _option_by_letter(key: ChoiceKey | MultiChoiceKey, letter: str) -> Option:
    chosen = choice_by_letter(key.choices, letter).id
    return next(o for o in key.part.options if option_id(o) == chosen)


def _wrong_letters(key: ChoiceKey) -> Iterator[Example]:
    for choice in key.choices:
        if choice.letter == key.right:
            continue
        option = _option_by_letter(key, choice.letter)
        fill(option.feedback, key.draw)
        yield Example(
            raw=samples.text(choice.letter),
            share=option.credit,
            why=f"the option '{choice.id}'",
            mistake=choice.id if option.feedback or option.credit else None,
        )


def all_or_nothing(chosen: frozenset[str], right: frozenset[str], count: int) -> float:  # noqa: ARG001
    """Returns 1 for exactly the right options, otherwise 0."""
    return float(chosen == right)


def each_option(chosen: frozenset[str], right: frozenset[str], count: int) -> float:
    """Returns the share of options that are correctly chosen or correctly left out."""
    return 1 - len(chosen ^ right) / count


def net_correct(chosen: frozenset[str], right: frozenset[str], count: int) -> float:  # noqa: ARG001
    """Returns (right chosen - wrong chosen) / right, at least 0."""
    if not right:
        return float(not chosen)
    return max(0.0, (len(chosen & right) - len(chosen - right)) / len(right))


_RULES: Mapping[Rule, tuple[Callable[[frozenset[str], frozenset[str], int], float], str]] = {
    "all-or-nothing": (all_or_nothing, "all or nothing"),
    "each-option": (each_option, "each option counts"),
    "net-correct": (net_correct, "each wrong letter cancels a right one"),
}
"""What each rule for part credit earns, and how it is explained to students."""
NONE = r"none(\s+of\s+(them|these|the\s+(above|options)))?\.?"
"""Pattern of texts that choose none of the options; use with IGNORECASE."""


class MultiChoiceKind(LetteredKind[MultiChoiceKey, frozenset[str]]):
    """Multiple choice, answered by letters, with a named rule for part credit."""

    spec = MultiChoice

    def key(self, part: MultiChoice, draw: Draw) -> MultiChoiceKey:
        if any(o.credit for o in part.options):
            raise ValueError("a multi_choice option can't have 'credit': 'rule' sets the points")
        choices = label_options(part.options, draw, _label_of(part))
        right = frozenset(right_letters(part.options, choices, draw))
        return MultiChoiceKey(part=part, draw=draw, choices=choices, right=right)

    def read(self, raw: Raw, key: MultiChoiceKey) -> frozenset[str]:
        if raw.get("t") == "set":
            raw = {**raw, "t": "list"}
        if _chooses_none(raw, key):
            return frozenset()
        return frozenset(lettered.read_letters(raw, key.choices, _several_letters(key)))

    def judge(self, value: frozenset[str], key: MultiChoiceKey) -> Judgment:
        earned = _earned_share(value, key)
        if earned == 1:
            return CORRECT
        explained = _explained_options(value, key)
        mistake = option_id(explained[0]) if explained else None
        note = " ".join(try_fill(o.feedback, key.draw) for o in explained)
        wrong = Verdict.MISTAKE if mistake else Verdict.INCORRECT
        some, none = "Some of the options are wrong or missing.", "These are not the right options."
        return Judgment(
            share=earned,
            verdict=Verdict.PARTIAL if earned else wrong,
            note=note or (some if earned else none),
            mistake=mistake,
        )

    def format_value(self, value: frozenset[str], key: MultiChoiceKey) -> str:
        return ", ".join(sorted(value)) or "none of them"

    def examples(self, key: MultiChoiceKey) -> tuple[Example, ...]:
        right = sorted(key.right)
        listed = samples.texts(right)
        joined, in_words = "".join(right) or "none", " and ".join(right).lower() or "None"
        return (
            Example(raw=listed, share=1.0, why="the right options"),
            Example(raw={**listed, "t": "set"}, share=1.0, why="the right options as a set"),
            Example(raw=samples.text(joined), share=1.0, why="as one text"),
            Example(raw=samples.text(in_words), share=1.0, why="in words"),
            *_one_wrong_examples(key),
            samples.unreadable(samples.a_list([samples.BLANK]), "a list left blank"),
            samples.unreadable(samples.a_list([samples.number(1)]), "a list of numbers"),
            *samples.NOT_LETTERS,
        )

    def instructions(self, key: MultiChoiceKey) -> str:
        return f"{_several_letters(key)}; {_RULES[key.part.rule][1]}"

    def answer(self, key: MultiChoiceKey) -> object:
        return sorted(key.right)

    def read_solution(self, answer: object, key: MultiChoiceKey) -> frozenset[str]:
        if not isinstance(answer, (list, tuple, set, frozenset)):
            raise ValueError(f"{answer!r} is not a list or set of option ids")
        return frozenset(lettered.letter_of(key.choices, i) for i in answer)

    def explain(self, key: MultiChoiceKey) -> str:
        texts = [f"**{c.letter}.** {c.text}" for c in key.choices if c.letter in key.right]
        answer = f"{'; '.join(texts) or '**None of them**'} ({_RULES[key.part.rule][1]})"
        return "\n\n".join(filter(None, (answer, _reasons(key))))


def _reasons(key: MultiChoiceKey) -> str:
    """Returns why the right options are right, as far as the author says so.

    Of an option that is right for some variants only, the feedback is about the others.
    """
    reasons = {option_id(o): o.feedback for o in key.part.options if o.correct is True}
    return " ".join(
        f"**{choice.letter}.** {fill(reason, key.draw)}"
        for choice in key.choices
        if (reason := reasons.get(choice.id))
    )


def _earned_share(chosen: frozenset[str], key: MultiChoiceKey) -> float:
    return _RULES[key.part.rule][0](chosen, key.right, len(key.choices))


def _chooses_none(raw: Raw, key: MultiChoiceKey) -> bool:
    """Returns whether *raw* chooses nothing in words, unless an option has that text."""
    items = raw.get("v")
    if raw.get("t") in ("list", "array") and isinstance(items, list) and len(items) == 1:
        raw = as_raw(items[0])
    written = raw.get("v")
    if raw.get("t") != "str" or not isinstance(written, str):
        return False
    says_none = re.fullmatch(NONE, written.strip(), re.IGNORECASE) is not None
    return says_none and lettered.find_letter(written, key.choices) is None


def _several_letters(key: LetteredKey) -> str:
    letters = lettered.letters_in_words(key.choices)
    return f"a list of letters in quotes, {letters}, or [] for none of them"


def _explained_options(chosen: frozenset[str], key: MultiChoiceKey) -> list[Option]:
    """Returns the wrongly chosen options that have feedback, in the author's order."""
    wrong = {choice.id for choice in key.choices if choice.letter in chosen - key.right}
    return [o for o in key.part.options if o.feedback and option_id(o) in wrong]


def _one_wrong_examples(key: MultiChoiceKey) -> Iterator[Example]:
    for choice in key.choices:
        chosen = key.right ^ {choice.letter}
        explained = _explained_options(chosen, key)
        for option in explained:
            fill(option.feedback, key.draw)
        yield Example(
            raw=samples.texts(sorted(chosen)),
            share=_earned_share(chosen, key),
            why=f"all right except for the option '{choice.id}'",
            mistake=option_id(explained[0]) if explained else None,
        )


kinds.add("choice")(ChoiceKind())
kinds.add("multi_choice")(MultiChoiceKind())
