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

from grader.integrations.lms.quizzes.numbers import exact_text, with_tolerance
from grader.integrations.lms.quizzes.texts import ask, line, table, unit_of
from grader.model.item import ChoiceItem, Choosable, Item, NumberItem, PairsItem, TextItem
from grader.model.quiz import Field
from grader.text.markdown import plain_text

NONE = "None of these"
"""Option that is added where several may be right: in Moodle, ticking nothing is no answer."""

_GAP = re.compile(r"\{(?=#|\d*:)")
_UNWRITABLE = re.compile(r"~|\\\Z")


def fits(item: Item) -> bool:
    """Whether the item can be a gap."""
    if isinstance(item, TextItem):
        texts = (text for words in item.words for text in words.texts)
        return not any(_UNWRITABLE.search(text) for text in texts)
    return isinstance(item, NumberItem | ChoiceItem | PairsItem)


def outside(html: str) -> str:
    """*html* for the text around gaps, escaped so that Moodle finds no gap in it."""
    return _GAP.sub("&#123;", html)


def weights(field: Field) -> list[Fraction]:
    """The points of each gap of the part."""
    points = Fraction(field.points).limit_denominator(1000)
    found: list[Fraction] = []
    for item in field.items:
        if isinstance(item, NumberItem):
            found.append(points * Fraction(item.weight).limit_denominator(1000))
        else:
            count = _count(item)
            found += [points / count] * count
    return found


def _count(item: Item) -> int:
    if isinstance(item, PairsItem):
        return len(item.things)
    if one_by_one(item):
        assert isinstance(item, ChoiceItem)  # noqa: S101 - what `one_by_one` says
        return len(item.choices)
    return 1


def one_by_one(item: Item) -> bool:
    """Whether a choice is asked option by option, because every option counts separately."""
    return isinstance(item, ChoiceItem) and item.several and item.rule == "each-option"


def gaps(field: Field, scale: int) -> str:
    """The part's question with its gaps. Multiplying by *scale* makes all weights whole."""
    marks = [str(int(weight * scale)) for weight in weights(field)]
    first = field.items[0]
    if isinstance(first, NumberItem):
        return _numbers(field, marks)
    asked = outside(ask(field, _HOW if isinstance(first, PairsItem) else ""))
    if isinstance(first, PairsItem):
        return asked + _pairs(first, marks)
    if isinstance(first, TextItem):
        return f"{asked}<p>{_text(first, marks[0])}</p>\n"
    assert isinstance(first, ChoiceItem)  # noqa: S101 - nothing else fits
    if one_by_one(first):
        return asked + _each(first, marks)
    return asked + _choice(first, marks[0])


_HOW = "Choose for each."


def _numbers(field: Field, marks: Sequence[str]) -> str:
    items = [item for item in field.items if isinstance(item, NumberItem)]
    written_gaps = [_number(item, mark) for item, mark in zip(items, marks, strict=True)]
    if len(items) == 1:
        asked = outside(ask(field))
        return f"{asked}<p>{outside(escape(unit_of(items[0])))}: {written_gaps[0]}</p>\n"
    rows = [
        [outside(line(row)), *(gap for _, gap in cells)]
        for row, cells in groupby(
            zip((item.row for item in items), written_gaps, strict=True), key=lambda cell: cell[0]
        )
    ]
    width = len(rows[0]) - 1
    heads = [outside(f"{line(item.column)} ({escape(unit_of(item))})") for item in items[:width]]
    return outside(ask(field)) + table(["", *heads], rows)


def _number(item: NumberItem, mark: str) -> str:
    answers = [
        _answer(found.share, f"{exact_text(value)}:{exact_text(width)}", found.feedback)
        for found in item.ranges
        for value, width in with_tolerance(found)
    ]
    return _gap(mark, "NM", answers)


def _choice(item: ChoiceItem, mark: str) -> str:
    shuffled = "S" if item.shuffle else ""
    if not item.several:
        answers = [_answer(c.share, _escape_html(line(c.text)), c.feedback) for c in item.choices]
        return _gap(mark, f"MCV{shuffled}", answers)
    answers = [
        _answer(share, _escape_html(line(choice.text)), choice.feedback)
        for choice, share in several(item)
    ]
    return _gap(mark, f"MR{shuffled}", answers)


def several(item: ChoiceItem) -> list[tuple[Choosable, float]]:
    """Each option, including "None of these", with the share that ticking it adds or deducts.

    Moodle's own rule is net-correct. The closest to all-or-nothing is that one wrong tick deducts
    everything, and a missing right one costs its share.
    """
    count = sum(choice.right for choice in item.choices)
    none = Choosable(id="none", text=NONE, right=not count)
    right = 1 / (count or 1)
    wrong = -right if item.rule == "net-correct" else -1.0
    return [(choice, right if choice.right else wrong) for choice in (*item.choices, none)]


def _each(item: ChoiceItem, marks: Sequence[str]) -> str:
    lines = []
    for choice, mark in zip(item.choices, marks, strict=True):
        yes, no = float(choice.right), float(not choice.right)
        gap = _gap(mark, "MC", [_answer(yes, "Yes", choice.feedback), _answer(no, "No", "")])
        lines.append(f"<li>{gap} {outside(line(choice.text))}</li>\n")
    return f"<ul>\n{''.join(lines)}</ul>\n"


def _pairs(item: PairsItem, marks: Sequence[str]) -> str:
    lines = []
    for thing, right, mark in zip(item.things, item.right, marks, strict=True):
        answers = [
            _answer(
                float(index == right), _escape_html(escape(plain_text(target), quote=False)), ""
            )
            for index, target in enumerate(item.targets)
        ]
        lines.append(f"<li>{outside(line(thing))}: {_gap(mark, 'MC', answers)}</li>\n")
    return f"<ol>\n{''.join(lines)}</ol>\n"


def _text(item: TextItem, mark: str) -> str:
    answers = [
        _answer(words.share, _escape(literal(text)), words.feedback)
        for words in item.words
        for text in words.texts
    ]
    return _gap(mark, "SAC" if item.exact else "SA", answers)


def literal(text: str) -> str:
    r"""*text* with `*` escaped, which is otherwise a wildcard."""
    return text.replace("*", r"\*")


def _gap(mark: str, kind: str, answers: Sequence[str]) -> str:
    return f"{{{mark}:{kind}:{'~'.join(answers)}}}"


def _answer(share: float, text: str, feedback: str) -> str:
    told = f"#{_escape_html(line(feedback))}" if feedback else ""
    return f"{fraction(share)}{text}{told}"


def fraction(share: float) -> str:
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
