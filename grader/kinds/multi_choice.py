"""The kind `multi_choice`: any number of several options, answered by letters."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from grader.kinds import lettered, samples
from grader.kinds.base import CORRECT, Example, kinds, partial_judgment
from grader.kinds.cells import as_raw
from grader.kinds.lettered import LetteredKey, LetteredKind
from grader.kinds.options import AnswerOption, label_options, option_id, right_letters
from grader.kinds.texts import fill, try_fill
from grader.model import Draw, Judgment, Part, Raw

Rule = Literal["all-or-nothing", "each-option", "net-correct"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MultiChoice(Part):
    """Any number of several options, possibly none."""

    kind: Literal["multi_choice"] = "multi_choice"
    options: tuple[AnswerOption, ...]
    """The options; any number of them may be right."""
    rule: Rule = "all-or-nothing"
    """The rule for part credit; see the table in the reference."""
    shuffle: bool = True
    """Whether to shuffle the options for each student."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MultiChoiceKey(LetteredKey):
    """The options as this student sees them, and the letters of the right ones."""

    part: MultiChoice
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
        choices = label_options(part.options, draw, part.id if part.shuffle else None)
        right = frozenset(right_letters(part.options, choices, draw))
        return MultiChoiceKey(part=part, draw=draw, choices=choices, right=right)

    def read(self, raw: Raw, key: MultiChoiceKey) -> frozenset[str]:
        if raw.get("t") == "set":
            raw = {**raw, "t": "list"}
        if _chooses_none(raw, key):
            return frozenset()
        return frozenset(lettered.read_letters(raw, key.choices, _describe_expected_form(key)))

    def judge(self, value: frozenset[str], key: MultiChoiceKey) -> Judgment:
        earned = _earned_share(value, key)
        if earned == 1:
            return CORRECT
        explained = _explained_options(value, key)
        mistake = option_id(explained[0]) if explained else None
        note = " ".join(try_fill(o.feedback, key.draw) for o in explained)
        if not note and earned:
            note = "Some of the options are wrong or missing."
        return partial_judgment(earned, note or "These are not the right options.", mistake)

    def format_value(self, value: frozenset[str], key: MultiChoiceKey) -> str:
        return ", ".join(sorted(value)) or "none of them"

    def examples(self, key: MultiChoiceKey) -> tuple[Example, ...]:
        right = sorted(key.right)
        return (
            samples.right(right, "the right options"),
            samples.right(key.right, "the right options as a set"),
            samples.right("".join(right) or "none", "as one text"),
            samples.right(" and ".join(right).lower() or "None", "in words"),
            *_one_wrong_examples(key),
            samples.unreadable([...], "a list left blank"),
            samples.unreadable([1], "a list of numbers"),
            *samples.NOT_LETTERS,
        )

    def instructions(self, key: MultiChoiceKey) -> str:
        return f"{_describe_expected_form(key)}; {_RULES[key.part.rule][1]}"

    def answer(self, key: MultiChoiceKey) -> object:
        return sorted(key.right)

    def read_solution(self, answer: object, key: MultiChoiceKey) -> frozenset[str]:
        if not isinstance(answer, (list, tuple, set, frozenset)):
            raise ValueError(f"{answer!r} is not a list or set of option ids")
        return frozenset(lettered.letter_of(key.choices, i) for i in answer)

    def explain(self, key: MultiChoiceKey) -> str:
        right = [c for c in key.choices if c.letter in key.right]
        texts = [f"**{c.letter}.** {c.text.removesuffix('.')}" for c in right]
        answer = f"{'; '.join(texts) or '**None of them**'} ({_RULES[key.part.rule][1]})"
        return "\n\n".join(filter(None, (answer, _explain_right_options(key))))


def _explain_right_options(key: MultiChoiceKey) -> str:
    """Returns why the right options are right, as far as the author says so.

    The feedback on an option that is right only for some variants is about the other variants.
    """
    always_right = (o for o in key.part.options if o.correct is True and o.feedback)
    reasons = {option_id(o): o.feedback for o in always_right}
    explained = (choice for choice in key.choices if choice.id in reasons)
    return " ".join(f"**{c.letter}.** {fill(reasons[c.id], key.draw)}" for c in explained)


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


def _describe_expected_form(key: LetteredKey) -> str:
    letters = lettered.letters_in_words(key.choices)
    return f"a list of letters in quotes, {letters}, or [] for none of them"


def _explained_options(chosen: frozenset[str], key: MultiChoiceKey) -> list[AnswerOption]:
    """Returns the wrongly chosen options that have feedback, in the author's order."""
    wrong = {choice.id for choice in key.choices if choice.letter in chosen - key.right}
    return [o for o in key.part.options if o.feedback and option_id(o) in wrong]


def _one_wrong_examples(key: MultiChoiceKey) -> Iterator[Example]:
    """Yields an example per option, in which only this option is wrongly chosen or left out."""
    for choice in key.choices:
        chosen = key.right ^ {choice.letter}
        explained = _explained_options(chosen, key)
        for option in explained:
            fill(option.feedback, key.draw)
        why = f"all right except for the option '{choice.id}'"
        mistake = option_id(explained[0]) if explained else None
        yield samples.sample(sorted(chosen), _earned_share(chosen, key), why, mistake)


kinds.add("multi_choice")(MultiChoiceKind())
