"""A single part as a question of one of Moodle's types, in Moodle XML."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from xml.etree.ElementTree import Element

from grader.integrations.lms.quizzes import cloze
from grader.integrations.lms.quizzes.cloze import literal, percent
from grader.integrations.lms.quizzes.numbers import exact_text, with_tolerance
from grader.integrations.lms.quizzes.texts import line
from grader.integrations.lms.quizzes.xml import add, element
from grader.model.item import (
    ChoiceItem,
    EssayItem,
    Item,
    NumberItem,
    OrderItem,
    PairsItem,
    TextItem,
)
from grader.text.markdown import plain_text

PENALTY = "0.3333333"
"""Share that Moodle deducts for each further attempt, if a quiz allows one."""

# Moodle's importer drops questions with other shares of the points.
_SHARES = (
    *(1, 0.9, 5 / 6, 0.8, 0.75, 0.7, 2 / 3, 0.6, 0.5, 0.4, 1 / 3, 0.3, 0.25, 0.2, 1 / 6, 1 / 7),
    *(0.125, 1 / 9, 0.1, 0.05, 0),
)
ORDERINGS = {"all-or-nothing": "ALL_OR_NOTHING", "pairs": "RELATIVE_ALL_PREVIOUS_AND_NEXT"}
"""The rules of the kind `ordering` that Moodle's type "ordering" supports."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """The properties that every question has."""

    name: str
    text: str
    """HTML."""
    feedback: str
    """HTML that is shown to every student afterwards."""
    mark: float
    idnumber: str
    tags: tuple[str, ...] = ()


def question(kind: str, heading: Heading) -> Element:
    """A question of Moodle's type *kind*, without answers."""
    made = element("question", type=kind)
    add(add(made, "name"), "text", heading.name)
    html(made, "questiontext", heading.text)
    html(made, "generalfeedback", heading.feedback)
    if kind != "cloze":  # there, the gaps have the marks
        add(made, "defaultgrade", f"{heading.mark:g}")
    add(made, "penalty", PENALTY)
    add(made, "hidden", "0")
    add(made, "idnumber", heading.idnumber)
    return made


def add_tags(made: Element, heading: Heading) -> Element:
    """Appends the elements that come last in a question, and returns it."""
    if heading.tags:
        tags = add(made, "tags")
        for tag in heading.tags:
            add(add(tags, "tag"), "text", tag)
    return made


def html(parent: Element, tag: str, text: str) -> Element:
    """Appends an element with HTML text, and returns it."""
    made = add(parent, tag, format="html")
    add(made, "text", text)
    return made


def is_allowed_share(share: float) -> bool:
    """Whether Moodle allows this share of the points."""
    return any(abs(abs(share) - known) < 1e-5 for known in _SHARES)


def single_question(item: Item, heading: Heading) -> Element | None:
    """The item as a separate question; None if Moodle can ask it only as a gap in a text."""
    makes = _MAKES.get(type(item))
    return makes(item, heading) if makes and all(map(is_allowed_share, _shares(item))) else None


def _shares(item: Item) -> Sequence[float]:
    if isinstance(item, NumberItem):
        return [found.share for found in item.ranges]
    if isinstance(item, TextItem):
        return [words.share for words in item.words]
    if isinstance(item, ChoiceItem):
        if item.several:
            return [share for _, share in cloze.several(item)]
        return [choice.share for choice in item.choices]
    return ()


def _answer(parent: Element, share: float, text: str, feedback: str, kind: str) -> Element:
    made = add(parent, "answer", fraction=percent(share), format=kind)
    add(made, "text", text)
    html(made, "feedback", line(feedback) if feedback else "")
    return made


def _numerical(item: NumberItem, heading: Heading) -> Element:
    made = question("numerical", heading)
    for found in item.ranges:
        for value, width in with_tolerance(found):
            answer = _answer(
                made, found.share, exact_text(value), found.feedback, "moodle_auto_format"
            )
            add(answer, "tolerance", exact_text(width))
    for tag, text in _NO_UNITS:
        add(made, tag, text)
    return made


_NO_UNITS = (
    ("unitgradingtype", "0"),
    ("unitpenalty", "0.1"),
    ("showunits", "3"),
    ("unitsleft", "0"),
)


def _choice(item: ChoiceItem, heading: Heading) -> Element | None:
    if cloze.one_by_one(item):
        return None
    if {choice.id for choice in item.choices} == {"true", "false"} and not item.shuffle:
        return _true_false(item, heading)
    made = question("multichoice", heading)
    add(made, "single", str(not item.several).lower())
    add(made, "shuffleanswers", str(item.shuffle).lower())
    add(made, "answernumbering", "none")
    _add_combined_feedback(made)
    pairs = cloze.several(item) if item.several else [(c, c.share) for c in item.choices]
    for choice, share in pairs:
        _answer(made, share, line(choice.text), choice.feedback, "html")
    return made


def _true_false(item: ChoiceItem, heading: Heading) -> Element:
    made = question("truefalse", heading)
    for choice in item.choices:
        _answer(made, float(choice.right), choice.id, choice.feedback, "moodle_auto_format")
    return made


def _add_combined_feedback(made: Element) -> None:
    for name in ("correctfeedback", "partiallycorrectfeedback", "incorrectfeedback"):
        html(made, name, "")


def _pairs(item: PairsItem, heading: Heading) -> Element:
    made = question("matching", heading)
    add(made, "shuffleanswers", "true")
    _add_combined_feedback(made)
    targets = [plain_text(target) for target in item.targets]
    for thing, right in zip(item.things, item.right, strict=True):
        _pair(made, line(thing), targets[right])
    for index, target in enumerate(targets):
        if index not in item.right:
            _pair(made, "", target)  # a distractor, which matches nothing
    return made


def _pair(made: Element, thing: str, target: str) -> None:
    one = html(made, "subquestion", thing)
    add(add(one, "answer"), "text", target)


def _order(item: OrderItem, heading: Heading) -> Element:
    made = question("ordering", heading)
    add(made, "layouttype", "VERTICAL")
    add(made, "selecttype", "ALL")
    add(made, "selectcount", str(len(item.things)))
    add(made, "gradingtype", ORDERINGS[item.rule])
    add(made, "showgrading", "HIDE")
    add(made, "numberingstyle", "none")
    _add_combined_feedback(made)
    for place, thing in enumerate(item.things, start=1):
        answer = add(made, "answer", fraction=str(place), format="html")
        add(answer, "text", line(thing))
        html(answer, "feedback", "")
    return made


def _text(item: TextItem, heading: Heading) -> Element:
    made = question("shortanswer", heading)
    add(made, "usecase", str(int(item.exact)))
    for words in item.words:
        for text in words.texts:
            _answer(made, words.share, literal(text), words.feedback, "moodle_auto_format")
    return made


def _essay(item: EssayItem, heading: Heading) -> Element:
    from grader.text.markdown import typeset_text

    made = question("essay", heading)
    add(made, "responseformat", "editor")
    add(made, "responserequired", "1")
    add(made, "responsefieldlines", "10")
    add(made, "attachments", "0")
    add(made, "attachmentsrequired", "0")
    html(made, "graderinfo", typeset_text(item.rubric) if item.rubric else "")
    html(made, "responsetemplate", "")
    return made


_MAKES: dict[type[Item], Callable[[Any, Heading], Element | None]] = {
    NumberItem: _numerical,
    ChoiceItem: _choice,
    PairsItem: _pairs,
    OrderItem: _order,
    TextItem: _text,
    EssayItem: _essay,
}
