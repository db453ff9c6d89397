r"""Parts as gaps in a text, for Moodle's question type "embedded answers (Cloze)".

A gap is `{WEIGHT:TYPE:answer~answer}`; an answer is `%SHARE%text#feedback`. Texts are HTML whose
entities the importer resolves once. A backslash escapes `}` and `#`; `~` can only be written as
an HTML entity.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from html import escape
from itertools import groupby

from grader.integrations.lms.quizzes.numbers import exact_text, split_range
from grader.integrations.lms.quizzes.texts import html_table, inline_html, number_hint, part_html
from grader.model.item import ChoiceItem, ChoiceOption, Item, NumberItem, PairsItem, TextItem
from grader.model.quiz import QuizPart
from grader.text.markdown import plain_text

NONE = "None of these"
"""Option that is added where several may be right: in Moodle, ticking nothing is no answer."""

_GAP = re.compile(r"\{(?=#|\d*:)")
_UNWRITABLE = re.compile(r"~|\\\Z")


def can_be_gap(item: Item) -> bool:
    """Whether the item can be a gap."""
    if isinstance(item, TextItem):
        texts = (text for words in item.words for text in words.texts)
        return not any(_UNWRITABLE.search(text) for text in texts)
    return isinstance(item, NumberItem | ChoiceItem | PairsItem)


def escape_gaps(html: str) -> str:
    """*html* for the text around gaps, escaped so that Moodle finds no gap in it."""
    return _GAP.sub("&#123;", html)


def gap_weights(field: QuizPart) -> list[Fraction]:
    """The points of each gap of the part."""
    points = Fraction(field.points).limit_denominator(1000)
    found: list[Fraction] = []
    for item in field.items:
        if isinstance(item, NumberItem):
            found.append(points * Fraction(item.weight).limit_denominator(1000))
        else:
            count = _gap_count(item)
            found += [points / count] * count
    return found


def _gap_count(item: Item) -> int:
    if isinstance(item, PairsItem):
        return len(item.things)
    if is_asked_by_option(item):
        assert isinstance(item, ChoiceItem)  # noqa: S101 - what `is_asked_by_option` says
        return len(item.choices)
    return 1


def is_asked_by_option(item: Item) -> bool:
    """Whether a choice is asked option by option, because every option counts separately."""
    return isinstance(item, ChoiceItem) and item.several and item.rule == "each-option"


def question_with_gaps(field: QuizPart, scale: int) -> str:
    """The part's question with its gaps. Multiplying by *scale* makes all weights whole."""
    marks = [str(int(weight * scale)) for weight in gap_weights(field)]
    first = field.items[0]
    if isinstance(first, NumberItem):
        return _number_gaps(field, marks)
    asked = escape_gaps(part_html(field, _HOW if isinstance(first, PairsItem) else ""))
    if isinstance(first, PairsItem):
        return asked + _pair_gaps(first, marks)
    if isinstance(first, TextItem):
        return f"{asked}<p>{_text_gap(first, marks[0])}</p>\n"
    assert isinstance(first, ChoiceItem)  # noqa: S101 - nothing else fits
    if is_asked_by_option(first):
        return asked + _option_gaps(first, marks)
    return asked + _choice_gap(first, marks[0])


_HOW = "Choose for each."


def _number_gaps(field: QuizPart, marks: Sequence[str]) -> str:
    items = [item for item in field.items if isinstance(item, NumberItem)]
    written_gaps = [_number_gap(item, mark) for item, mark in zip(items, marks, strict=True)]
    if len(items) == 1:
        asked = escape_gaps(part_html(field))
        return f"{asked}<p>{escape_gaps(escape(number_hint(items[0])))}: {written_gaps[0]}</p>\n"
    rows = [
        [escape_gaps(inline_html(row)), *(gap for _, gap in cells)]
        for row, cells in groupby(
            zip((item.row for item in items), written_gaps, strict=True), key=lambda cell: cell[0]
        )
    ]
    width = len(rows[0]) - 1
    heads = [
        escape_gaps(f"{inline_html(item.column)} ({escape(number_hint(item))})")
        for item in items[:width]
    ]
    return escape_gaps(part_html(field)) + html_table(["", *heads], rows)


def _number_gap(item: NumberItem, mark: str) -> str:
    answers = [
        _format_answer(found.share, f"{exact_text(value)}:{exact_text(width)}", found.feedback)
        for found in item.ranges
        for value, width in split_range(found)
    ]
    return _format_gap(mark, "NM", answers)


def _choice_gap(item: ChoiceItem, mark: str) -> str:
    shuffled = "S" if item.shuffle else ""
    if not item.several:
        answers = [
            _format_answer(c.share, _escape_html(inline_html(c.text)), c.feedback)
            for c in item.choices
        ]
        return _format_gap(mark, f"MCV{shuffled}", answers)
    answers = [
        _format_answer(share, _escape_html(inline_html(choice.text)), choice.feedback)
        for choice, share in option_shares(item)
    ]
    return _format_gap(mark, f"MR{shuffled}", answers)


def option_shares(item: ChoiceItem) -> list[tuple[ChoiceOption, float]]:
    """Each option, including "None of these", with the share that ticking it adds or deducts.

    Moodle's own rule is net-correct. The closest to all-or-nothing is that one wrong tick deducts
    everything, and a missing right one costs its share.
    """
    count = sum(choice.right for choice in item.choices)
    none = ChoiceOption(id="none", text=NONE, right=not count)
    right = 1 / (count or 1)
    wrong = -right if item.rule == "net-correct" else -1.0
    return [(choice, right if choice.right else wrong) for choice in (*item.choices, none)]


def _option_gaps(item: ChoiceItem, marks: Sequence[str]) -> str:
    lines = []
    for choice, mark in zip(item.choices, marks, strict=True):
        yes, no = float(choice.right), float(not choice.right)
        gap = _format_gap(
            mark, "MC", [_format_answer(yes, "Yes", choice.feedback), _format_answer(no, "No", "")]
        )
        lines.append(f"<li>{gap} {escape_gaps(inline_html(choice.text))}</li>\n")
    return f"<ul>\n{''.join(lines)}</ul>\n"


def _pair_gaps(item: PairsItem, marks: Sequence[str]) -> str:
    lines = []
    for thing, right, mark in zip(item.things, item.right, marks, strict=True):
        answers = [
            _format_answer(
                float(index == right), _escape_html(escape(plain_text(target), quote=False)), ""
            )
            for index, target in enumerate(item.targets)
        ]
        lines.append(
            f"<li>{escape_gaps(inline_html(thing))}: {_format_gap(mark, 'MC', answers)}</li>\n"
        )
    return f"<ol>\n{''.join(lines)}</ol>\n"


def _text_gap(item: TextItem, mark: str) -> str:
    answers = [
        _format_answer(words.share, _escape(escape_wildcards(text)), words.feedback)
        for words in item.words
        for text in words.texts
    ]
    return _format_gap(mark, "SAC" if item.exact else "SA", answers)


def escape_wildcards(text: str) -> str:
    r"""*text* with `*` escaped, which is otherwise a wildcard."""
    return text.replace("*", r"\*")


def _format_gap(mark: str, kind: str, answers: Sequence[str]) -> str:
    return f"{{{mark}:{kind}:{'~'.join(answers)}}}"


def _format_answer(share: float, text: str, feedback: str) -> str:
    told = f"#{_escape_html(inline_html(feedback))}" if feedback else ""
    return f"{share_prefix(share)}{text}{told}"


def share_prefix(share: float) -> str:
    """The share as a prefix of an answer."""
    return "=" if share == 1 else f"%{percent(share)}%"


def percent(share: float) -> str:
    """A share in percent, as Moodle writes it: 33.33333 for 1/3."""
    return f"{100 * share:.5f}".rstrip("0").rstrip(".")


def _escape_html(html: str) -> str:
    """*html* escaped for an answer or its feedback; the importer restores it."""
    # A trailing backslash would escape the next character.
    html = html.replace("~", "&#126;")
    return _escape(f"{html} " if html.endswith("\\") else html)


def _escape(text: str) -> str:
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return text.replace('"', "&quot;").replace("#", r"\#").replace("}", r"\}")
