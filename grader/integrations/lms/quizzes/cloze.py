r"""Parts as gaps in a text, for Moodle's question type "embedded answers (Cloze)".

A gap is `{WEIGHT:TYPE:answer~answer}`; an answer is `%SHARE%text#feedback`. Texts are HTML whose
entities the importer resolves once. A backslash escapes `}` and `#`; `~` can only be written as
an HTML entity.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from fractions import Fraction
from html import escape
from itertools import groupby

from grader.integrations.lms.quizzes.texts import (
    exact_text,
    html_table,
    inline_html,
    number_hint,
    part_html,
    split_range,
)
from grader.model.item import ChoiceItem, ChoiceOption, Item, NumberItem, PairsItem, TextItem
from grader.model.quiz import QuizPart
from grader.text.markdown import plain_text

NONE = "None of these"
"""Option that is added where several may be right: in Moodle, ticking nothing is no answer."""

_GAP = re.compile(r"\{(?=#|\d*:)")
_UNWRITABLE = re.compile(r"~|\\\Z")


def can_be_gap(item: Item) -> bool:
    """Returns whether the item can be a gap."""
    if isinstance(item, TextItem):
        texts = (text for words in item.words for text in words.texts)
        return not any(_UNWRITABLE.search(text) for text in texts)
    return isinstance(item, NumberItem | ChoiceItem | PairsItem)


def escape_gaps(html: str) -> str:
    """Returns *html* for the text around gaps, escaped so that Moodle finds no gap in it."""
    return _GAP.sub("&#123;", html)


def gap_points(part: QuizPart) -> list[Fraction]:
    """Returns the points of each gap of *part*."""
    points = Fraction(part.points).limit_denominator(1000)
    shares: list[Fraction] = []
    for item in part.items:
        match item:
            case NumberItem():
                shares.append(Fraction(item.weight).limit_denominator(1000))
            case PairsItem(things=several):
                shares += [Fraction(1, len(several))] * len(several)
            case ChoiceItem(choices=choices) if is_asked_by_option(item):
                shares += [Fraction(1, len(choices))] * len(choices)
            case _:
                shares.append(Fraction(1))
    return [points * share for share in shares]


def is_asked_by_option(item: Item) -> bool:
    """Returns whether a choice is asked option by option, because each counts separately."""
    return isinstance(item, ChoiceItem) and item.several and item.rule == "each-option"


def is_true_false(item: ChoiceItem) -> bool:
    """Returns whether a choice is between True and False."""
    return {choice.id for choice in item.choices} == {"true", "false"} and not item.shuffle


def option_shares(item: ChoiceItem) -> list[tuple[ChoiceOption, float]]:
    """Returns each option with the share that choosing it adds or deducts.

    Moodle's own rule for several is net-correct. The closest to all-or-nothing is that a wrong
    option deducts everything.
    """
    if not item.several:
        return [(choice, choice.share) for choice in item.choices]
    count = sum(choice.right for choice in item.choices)
    none = ChoiceOption(id="none", text=NONE, right=not count)
    right = 1 / (count or 1)
    wrong = -right if item.rule == "net-correct" else -1.0
    return [(choice, right if choice.right else wrong) for choice in (*item.choices, none)]


def question_with_gaps(field: QuizPart, scale: int) -> str:
    """Returns the part's question with its gaps; *scale* makes all weights whole numbers."""
    marks = (str(int(points * scale)) for points in gap_points(field))
    first = field.items[0]
    if isinstance(first, NumberItem) and len(field.items) > 1:
        return escape_gaps(part_html(field)) + _table_with_gaps(field, marks)
    more = "Choose for each." if isinstance(first, PairsItem) else ""
    return escape_gaps(part_html(field, more)) + _item_with_gaps(first, marks)


def _item_with_gaps(item: Item, marks: Iterator[str]) -> str:
    """Returns the HTML of *item* with one or more gaps, whose weights are the next of *marks*."""
    match item:
        case NumberItem():
            hint = escape_gaps(escape(number_hint(item)))
            return f"<p>{hint}: {_number_gap(item, next(marks))}</p>\n"
        case TextItem():
            answers = (
                (words.share, _escape(escape_wildcards(text)), words.feedback)
                for words in item.words
                for text in words.texts
            )
            return f"<p>{_format_gap(next(marks), 'SAC' if item.exact else 'SA', answers)}</p>\n"
        case PairsItem():
            return _pair_gaps(item, marks)
        case ChoiceItem() if is_asked_by_option(item):
            return _option_gaps(item, marks)
        case ChoiceItem():
            kind = ("MR" if item.several else "MCV") + ("S" if item.shuffle else "")
            options = (
                (share, _escape_html(inline_html(option.text)), option.feedback)
                for option, share in option_shares(item)
            )
            return _format_gap(next(marks), kind, options)
    raise TypeError(item)


def _number_gap(item: NumberItem, mark: str) -> str:
    answers = (
        (found.share, f"{exact_text(value)}:{exact_text(width)}", found.feedback)
        for found in item.ranges
        for value, width in split_range(found)
    )
    return _format_gap(mark, "NM", answers)


def _table_with_gaps(field: QuizPart, marks: Iterator[str]) -> str:
    """Returns the table of *field* in HTML, with a gap for a number in each cell."""
    items = [item for item in field.items if isinstance(item, NumberItem)]
    by_row = [(row, list(cells)) for row, cells in groupby(items, key=lambda item: item.row)]
    heads = [
        escape_gaps(f"{inline_html(item.column)} ({escape(number_hint(item))})")
        for item in by_row[0][1]
    ]
    rows = [
        [escape_gaps(inline_html(row)), *(_number_gap(item, next(marks)) for item in cells)]
        for row, cells in by_row
    ]
    return html_table(["", *heads], rows)


def _option_gaps(item: ChoiceItem, marks: Iterator[str]) -> str:
    """Returns a list in HTML, with a gap for yes or no before each option."""
    lines = []
    for choice, mark in zip(item.choices, marks, strict=True):
        yes, no = float(choice.right), float(not choice.right)
        gap = _format_gap(mark, "MC", [(yes, "Yes", choice.feedback), (no, "No", "")])
        lines.append(f"<li>{gap} {escape_gaps(inline_html(choice.text))}</li>\n")
    return f"<ul>\n{''.join(lines)}</ul>\n"


def _pair_gaps(item: PairsItem, marks: Iterator[str]) -> str:
    """Returns a list in HTML, with a gap after each thing that offers all targets."""
    targets = [_escape_html(escape(plain_text(target), quote=False)) for target in item.targets]
    lines = []
    for thing, right, mark in zip(item.things, item.right, marks, strict=True):
        answers = [(float(index == right), target, "") for index, target in enumerate(targets)]
        gap = _format_gap(mark, "MC", answers)
        lines.append(f"<li>{escape_gaps(inline_html(thing))}: {gap}</li>\n")
    return f"<ol>\n{''.join(lines)}</ol>\n"


def escape_wildcards(text: str) -> str:
    r"""Returns *text* with `*` escaped, which is otherwise a wildcard."""
    return text.replace("*", r"\*")


def _format_gap(mark: str, kind: str, answers: Iterable[tuple[float, str, str]]) -> str:
    """Returns a gap; an answer has its share, its escaped text, and feedback in Markdown."""
    written = (
        ("=" if share == 1 else f"%{percent(share)}%")
        + text
        + (f"#{_escape_html(inline_html(feedback))}" if feedback else "")
        for share, text, feedback in answers
    )
    return f"{{{mark}:{kind}:{'~'.join(written)}}}"


def percent(share: float) -> str:
    """Returns a share in percent, as Moodle writes it: 33.33333 for 1/3."""
    return f"{100 * share:.5f}".rstrip("0").rstrip(".")


def _escape_html(html: str) -> str:
    """Returns *html* escaped for an answer or its feedback; the importer restores it."""
    # A trailing backslash would escape the next character.
    html = html.replace("~", "&#126;")
    return _escape(f"{html} " if html.endswith("\\") else html)


def _escape(text: str) -> str:
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return text.replace('"', "&quot;").replace("#", r"\#").replace("}", r"\}")
