"""Multiple choice, answered by letters, with a named rule for part credit."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from grader.kinds import lettered, samples
from grader.kinds.base import CORRECT, UNDRAWN, Example, KindOf, kinds
from grader.kinds.cells import as_raw
from grader.kinds.lettered import LabeledChoice
from grader.kinds.options import Option, option_id, options_for, right_ids
from grader.kinds.texts import fill, try_fill
from grader.model import Draw, Judgement, Key, Part, Raw, Verdict
from grader.model.spec import STRICT

Rule = Literal["all-or-nothing", "each-option", "net-correct"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MultiChoice(Part):
    """Any number of several options, possibly none."""

    __pydantic_config__: ClassVar[dict[str, object]] = STRICT

    kind: Literal["multi_choice"] = "multi_choice"
    options: tuple[Option, ...]
    """The options; any number of them may be right."""
    rule: Rule = "all-or-nothing"
    """The rule for part credit; see the table in the reference."""
    shuffle: bool = True
    """Whether to shuffle the options for each student."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MultiChoiceKey(Key):
    """The options as this student sees them, and the letters of the right ones."""

    part: MultiChoice
    choices: tuple[LabeledChoice, ...]
    right: frozenset[str]


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


_RULES: Mapping[Rule, Callable[[frozenset[str], frozenset[str], int], float]] = {
    "all-or-nothing": all_or_nothing,
    "each-option": each_option,
    "net-correct": net_correct,
}


class MultiChoiceKind(KindOf[MultiChoiceKey, frozenset[str]]):
    """Multiple choice, answered by letters."""

    spec = MultiChoice

    def key(self, part: MultiChoice, draw: Draw) -> MultiChoiceKey:
        if any(o.credit for o in part.options):
            raise ValueError("a multi_choice option can't have 'credit': 'rule' sets the points")
        choices = options_for(part.options, draw, label=part.id, shuffle=part.shuffle)
        right = frozenset(lettered.letter_of(choices, i) for i in right_ids(part.options, draw))
        return MultiChoiceKey(part=part, draw=draw, choices=choices, right=right)

    def read(self, raw: Raw, key: MultiChoiceKey) -> frozenset[str]:
        if raw.get("t") == "set":
            raw = {**raw, "t": "list"}
        if _chooses_none(raw, key):
            return frozenset()
        return frozenset(lettered.read_letters(raw, key.choices, _expected_form(key)))

    def judge(self, value: frozenset[str], key: MultiChoiceKey) -> Judgement:
        part = key.part
        earned = _RULES[part.rule](value, key.right, len(key.choices))
        if earned == 1:
            return CORRECT
        spoken = [o for o in _wrong_options(value, key) if o.feedback]
        mistake = option_id(spoken[0]) if spoken else None
        note = " ".join(try_fill(o.feedback, key.draw) for o in spoken)
        if earned > 0:
            return Judgement(
                share=earned,
                verdict=Verdict.PARTIAL,
                note=note or "Some of the options are wrong or missing.",
                mistake=mistake,
            )
        return Judgement(
            share=0.0,
            verdict=Verdict.MISTAKE if mistake else Verdict.INCORRECT,
            note=note or "These are not the right options.",
            mistake=mistake,
        )

    def format_value(self, value: frozenset[str], key: MultiChoiceKey) -> str:
        return ", ".join(sorted(value)) or "none of them"

    def examples(self, key: MultiChoiceKey) -> tuple[Example, ...]:
        right = sorted(key.right)
        return (
            Example(raw=samples.texts(right), share=1.0, why="the right options"),
            Example(
                raw={**samples.texts(right), "t": "set"},
                share=1.0,
                why="the right options as a set",
            ),
            Example(raw=samples.text("".join(right) or "none"), share=1.0, why="as one text"),
            Example(
                raw=samples.text(" and ".join(right).lower() or "None"), share=1.0, why="in words"
            ),
            *_one_wrong_examples(key),
            samples.unreadable(samples.a_list([samples.BLANK]), "a list left blank"),
            samples.unreadable(samples.a_list([samples.number(1)]), "a list of numbers"),
            *samples.NOT_LETTERS,
        )

    def instructions(self, key: MultiChoiceKey) -> str:
        return f"{_expected_form(key)}; {_SCORES[key.part.rule]}"

    def answer(self, key: MultiChoiceKey) -> object:
        return sorted(key.right)

    def read_solution(self, answer: object, key: MultiChoiceKey) -> frozenset[str]:
        if not isinstance(answer, (list, tuple, set, frozenset)):
            raise ValueError(f"{answer!r} is not a list or set of option ids")
        return frozenset(lettered.letter_of(key.choices, i) for i in answer)

    def sheet(self, key: MultiChoiceKey) -> Mapping[str, object]:
        return {"options": lettered.sheet(key.choices)}

    def from_sheet(self, sheet: Mapping[str, object]) -> MultiChoiceKey:
        part = MultiChoice(id="", ask="", options=())
        choices = lettered.from_sheet(sheet, "options")
        return MultiChoiceKey(part=part, draw=UNDRAWN, choices=choices, right=frozenset())

    def explain(self, key: MultiChoiceKey) -> str:
        part = key.part
        texts = [f"**{c.letter}.** {c.text}" for c in key.choices if c.letter in key.right]
        return f"{'; '.join(texts) or '**None of them**'} ({_SCORES[part.rule]})"


_SCORES: Mapping[Rule, str] = {
    "all-or-nothing": "all or nothing",
    "each-option": "each option counts",
    "net-correct": "each wrong letter cancels a right one",
}
NONE = r"none(\s+of\s+(them|these|the\s+(above|options)))?\.?"
"""Pattern of texts that choose none of the options; use with IGNORECASE."""


def _chooses_none(raw: Raw, key: MultiChoiceKey) -> bool:
    """Returns whether *raw* chooses nothing in words, unless an option has that text."""
    items = raw.get("v")
    if raw.get("t") in ("list", "array") and isinstance(items, list) and len(items) == 1:
        raw = as_raw(items[0])
    written = raw.get("v")
    if (
        raw.get("t") != "str"
        or not isinstance(written, str)
        or not re.fullmatch(NONE, written.strip(), re.IGNORECASE)
    ):
        return False
    return lettered.find_letter(written, key.choices) is None


def _expected_form(key: MultiChoiceKey) -> str:
    letters = lettered.letters_in_words(key.choices)
    return f"a list of letters in quotes, {letters}, or [] for none of them"


def _wrong_options(chosen: frozenset[str], key: MultiChoiceKey) -> Iterator[Option]:
    part = key.part
    ids = {c.id for c in key.choices if c.letter in chosen - key.right}
    return (o for o in part.options if option_id(o) in ids)


def _one_wrong_examples(key: MultiChoiceKey) -> Iterator[Example]:
    part = key.part
    for choice in key.choices:
        chosen = key.right ^ {choice.letter}
        spoken = [o for o in _wrong_options(chosen, key) if o.feedback]
        for option in spoken:
            fill(option.feedback, key.draw)
        yield Example(
            raw=samples.texts(sorted(chosen)),
            share=_RULES[part.rule](chosen, key.right, len(key.choices)),
            why=f"all right except for the option '{choice.id}'",
            mistake=option_id(spoken[0]) if spoken else None,
        )


kinds.add("multi_choice")(MultiChoiceKind())
