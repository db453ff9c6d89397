"""A single part as a question of one of Moodle's types, in Moodle XML."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from xml.etree.ElementTree import Element

from grader.integrations.lms.quizzes import cloze
from grader.integrations.lms.quizzes.cloze import escape_wildcards, percent
from grader.integrations.lms.quizzes.numbers import exact_text, split_range
from grader.integrations.lms.quizzes.texts import inline_html
from grader.integrations.lms.quizzes.xml import add_element, element
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
class QuestionHeading:
    """The properties that every question has."""

    name: str
    text: str
    """HTML."""
    feedback: str
    """HTML that is shown to every student afterwards."""
    mark: float
    idnumber: str
    tags: tuple[str, ...] = ()


def question_element(kind: str, heading: QuestionHeading) -> Element:
    """A question of Moodle's type *kind*, without answers."""
    made = element("question", type=kind)
    add_element(add_element(made, "name"), "text", heading.name)
    add_html(made, "questiontext", heading.text)
    add_html(made, "generalfeedback", heading.feedback)
    if kind != "cloze":  # there, the gaps have the marks
        add_element(made, "defaultgrade", f"{heading.mark:g}")
    add_element(made, "penalty", PENALTY)
    add_element(made, "hidden", "0")
    add_element(made, "idnumber", heading.idnumber)
    return made


def add_tags(made: Element, heading: QuestionHeading) -> Element:
    """Appends the elements that come last in a question, and returns it."""
    if heading.tags:
        tags = add_element(made, "tags")
        for tag in heading.tags:
            add_element(add_element(tags, "tag"), "text", tag)
    return made


def add_html(parent: Element, tag: str, text: str) -> Element:
    """Appends an element with HTML text, and returns it."""
    made = add_element(parent, tag, format="html")
    add_element(made, "text", text)
    return made


def is_allowed_share(share: float) -> bool:
    """Whether Moodle allows this share of the points."""
    return any(abs(abs(share) - known) < 1e-5 for known in _SHARES)


def single_question(item: Item, heading: QuestionHeading) -> Element | None:
    """The item as a separate question; None if Moodle can ask it only as a gap in a text."""
    makes = _MAKES.get(type(item))
    return (
        makes(item, heading) if makes and all(map(is_allowed_share, _item_shares(item))) else None
    )


def _item_shares(item: Item) -> Sequence[float]:
    if isinstance(item, NumberItem):
        return [found.share for found in item.ranges]
    if isinstance(item, TextItem):
        return [words.share for words in item.words]
    if isinstance(item, ChoiceItem):
        if item.several:
            return [share for _, share in cloze.option_shares(item)]
        return [choice.share for choice in item.choices]
    return ()


def _add_answer(parent: Element, share: float, text: str, feedback: str, kind: str) -> Element:
    made = add_element(parent, "answer", fraction=percent(share), format=kind)
    add_element(made, "text", text)
    add_html(made, "feedback", inline_html(feedback) if feedback else "")
    return made


def _number_question(item: NumberItem, heading: QuestionHeading) -> Element:
    made = question_element("numerical", heading)
    for found in item.ranges:
        for value, width in split_range(found):
            answer = _add_answer(
                made, found.share, exact_text(value), found.feedback, "moodle_auto_format"
            )
            add_element(answer, "tolerance", exact_text(width))
    for tag, text in _NO_UNITS:
        add_element(made, tag, text)
    return made


_NO_UNITS = (
    ("unitgradingtype", "0"),
    ("unitpenalty", "0.1"),
    ("showunits", "3"),
    ("unitsleft", "0"),
)


def _choice_question(item: ChoiceItem, heading: QuestionHeading) -> Element | None:
    if cloze.is_asked_by_option(item):
        return None
    if {choice.id for choice in item.choices} == {"true", "false"} and not item.shuffle:
        return _truth_question(item, heading)
    made = question_element("multichoice", heading)
    add_element(made, "single", str(not item.several).lower())
    add_element(made, "shuffleanswers", str(item.shuffle).lower())
    add_element(made, "answernumbering", "none")
    _add_combined_feedback(made)
    pairs = cloze.option_shares(item) if item.several else [(c, c.share) for c in item.choices]
    for choice, share in pairs:
        _add_answer(made, share, inline_html(choice.text), choice.feedback, "html")
    return made


def _truth_question(item: ChoiceItem, heading: QuestionHeading) -> Element:
    made = question_element("truefalse", heading)
    for choice in item.choices:
        _add_answer(made, float(choice.right), choice.id, choice.feedback, "moodle_auto_format")
    return made


def _add_combined_feedback(made: Element) -> None:
    for name in ("correctfeedback", "partiallycorrectfeedback", "incorrectfeedback"):
        add_html(made, name, "")


def _pairs_question(item: PairsItem, heading: QuestionHeading) -> Element:
    made = question_element("matching", heading)
    add_element(made, "shuffleanswers", "true")
    _add_combined_feedback(made)
    targets = [plain_text(target) for target in item.targets]
    for thing, right in zip(item.things, item.right, strict=True):
        _add_pair(made, inline_html(thing), targets[right])
    for index, target in enumerate(targets):
        if index not in item.right:
            _add_pair(made, "", target)  # a distractor, which matches nothing
    return made


def _add_pair(made: Element, thing: str, target: str) -> None:
    one = add_html(made, "subquestion", thing)
    add_element(add_element(one, "answer"), "text", target)


def _order_question(item: OrderItem, heading: QuestionHeading) -> Element:
    made = question_element("ordering", heading)
    add_element(made, "layouttype", "VERTICAL")
    add_element(made, "selecttype", "ALL")
    add_element(made, "selectcount", str(len(item.things)))
    add_element(made, "gradingtype", ORDERINGS[item.rule])
    add_element(made, "showgrading", "HIDE")
    add_element(made, "numberingstyle", "none")
    _add_combined_feedback(made)
    for place, thing in enumerate(item.things, start=1):
        answer = add_element(made, "answer", fraction=str(place), format="html")
        add_element(answer, "text", inline_html(thing))
        add_html(answer, "feedback", "")
    return made


def _text_question(item: TextItem, heading: QuestionHeading) -> Element:
    made = question_element("shortanswer", heading)
    add_element(made, "usecase", str(int(item.exact)))
    for words in item.words:
        for text in words.texts:
            _add_answer(
                made, words.share, escape_wildcards(text), words.feedback, "moodle_auto_format"
            )
    return made


def _essay_question(item: EssayItem, heading: QuestionHeading) -> Element:
    from grader.text.markdown import typeset_text

    made = question_element("essay", heading)
    add_element(made, "responseformat", "editor")
    add_element(made, "responserequired", "1")
    add_element(made, "responsefieldlines", "10")
    add_element(made, "attachments", "0")
    add_element(made, "attachmentsrequired", "0")
    add_html(made, "graderinfo", typeset_text(item.rubric) if item.rubric else "")
    add_html(made, "responsetemplate", "")
    return made


_MAKES: dict[type[Item], Callable[[Any, QuestionHeading], Element | None]] = {
    NumberItem: _number_question,
    ChoiceItem: _choice_question,
    PairsItem: _pairs_question,
    OrderItem: _order_question,
    TextItem: _text_question,
    EssayItem: _essay_question,
}
