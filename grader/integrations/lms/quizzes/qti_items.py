"""Parts as items of QTI 1.2, in the forms that Canvas supports.

Canvas counts every answer that has a score as fully right, so only right answers get one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from xml.etree.ElementTree import Element

from grader.integrations.lms.quizzes import cloze
from grader.integrations.lms.quizzes.numbers import ends, exact_text, with_tolerance
from grader.integrations.lms.quizzes.texts import line
from grader.integrations.lms.quizzes.xml import add, element
from grader.model.item import (
    ChoiceItem,
    Choosable,
    EssayItem,
    Item,
    NumberItem,
    PairsItem,
    TextItem,
)
from grader.text.markdown import plain_text

RESPONSE = "response1"


def ident(*names: object) -> str:
    """A unique identifier in Canvas's form; the same for the same *names*."""
    digest = hashlib.sha256("\0".join(map(str, names)).encode()).hexdigest()
    return f"g{digest[:32]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """The properties that every item has."""

    ident: str
    title: str
    text: str
    """HTML."""
    feedback: str
    """HTML that is shown to every student afterwards."""
    points: float
    numbers: Iterator[int]
    """Source of ids for answers, unique within a quiz."""


def item_element(item: Item, heading: Heading) -> Element:
    """The item in QTI 1.2."""
    return _MAKES[type(item)](item, heading)


def _start(kind: str, heading: Heading, answers: Sequence[int] = ()) -> tuple[Element, Element]:
    """An item with metadata and text, and its presentation, to which responses are added."""
    item = element("item", ident=heading.ident, title=heading.title)
    fields = add(add(item, "itemmetadata"), "qtimetadata")
    for label, entry in (
        ("question_type", kind),
        ("points_possible", f"{heading.points:g}"),
        ("original_answer_ids", ",".join(map(str, answers))),
        ("assessment_question_identifierref", ident("question", heading.ident)),
    ):
        field(fields, label, entry)
    presentation = add(item, "presentation")
    text(presentation, heading.text)
    return item, presentation


def field(parent: Element, label: str, entry: str) -> None:
    """Appends a metadata field to *parent*."""
    item_element = add(parent, "qtimetadatafield")
    add(item_element, "fieldlabel", label)
    add(item_element, "fieldentry", entry)


def text(parent: Element, html: str) -> None:
    """Appends HTML text to *parent*."""
    add(add(parent, "material"), "mattext", html, texttype="text/html")


def _processing(item: Element, heading: Heading) -> Element:
    processing = add(item, "resprocessing")
    outcomes = add(processing, "outcomes")
    add(outcomes, "decvar", maxvalue="100", minvalue="0", varname="SCORE", vartype="Decimal")
    if heading.feedback:
        shown = add(processing, "respcondition", **{"continue": "Yes"})
        add(add(shown, "conditionvar"), "other")
        _show(shown, "general_fb")
    return processing


def _show(condition: Element, feedback: str) -> None:
    add(condition, "displayfeedback", feedbacktype="Response", linkrefid=feedback)


def _right(processing: Element) -> Element:
    """Appends a condition that gives all points; returns the element for its criteria."""
    condition = add(processing, "respcondition", **{"continue": "No"})
    holds = add(condition, "conditionvar")
    add(condition, "setvar", "100", action="Set", varname="SCORE")
    return holds


def _finish(item: Element, heading: Heading, feedback: Sequence[tuple[str, str]] = ()) -> Element:
    told = [("general_fb", heading.feedback)] if heading.feedback else []
    for name, html in (*told, *feedback):
        text(add(add(item, "itemfeedback", ident=name), "flow_mat"), html)
    return item


def _number(item: NumberItem, heading: Heading) -> Element:
    answer = next(heading.numbers)
    item_element, presentation = _start("numerical_question", heading, [answer])
    response = add(presentation, "response_str", ident=RESPONSE, rcardinality="Single")
    add(add(response, "render_fib", fibtype="Decimal"), "response_label", ident="answer1")
    holds = _right(_processing(item_element, heading))
    key = item.ranges[0]
    around = with_tolerance(key)
    if len(around) == 1:
        value, width = around[0]
        either = add(holds, "or")
        add(either, "varequal", exact_text(value), respident=RESPONSE)
        holds = add(either, "and")
        low, high = ends(value, width)
    else:
        low, high = exact_text(key.low), exact_text(key.high)
    add(holds, "vargte", low, respident=RESPONSE)
    add(holds, "varlte", high, respident=RESPONSE)
    return _finish(item_element, heading)


def _choice(item: ChoiceItem, heading: Heading) -> Element:
    if cloze.one_by_one(item):
        return _one_by_one(item, heading)
    choices = [choice for choice, _ in cloze.several(item)] if item.several else item.choices
    kind = "multiple_answers_question" if item.several else "multiple_choice_question"
    if {choice.id for choice in item.choices} == {"true", "false"} and not item.shuffle:
        kind = "true_false_question"
    numbers = [next(heading.numbers) for _ in choices]
    item_element, presentation = _start(kind, heading, numbers)
    cardinality = "Multiple" if item.several else "Single"
    response = add(presentation, "response_lid", ident=RESPONSE, rcardinality=cardinality)
    listed = add(response, "render_choice")
    for number, choice in zip(numbers, choices, strict=True):
        text(add(listed, "response_label", ident=str(number)), line(choice.text))
    processing = _processing(item_element, heading)
    told = _add_choice_feedback(processing, numbers, choices)
    holds = _right(processing)
    if item.several:
        holds = add(holds, "and")
    for number, choice in zip(numbers, choices, strict=True):
        if choice.right:
            add(holds, "varequal", str(number), respident=RESPONSE)
        elif item.several:
            add(add(holds, "not"), "varequal", str(number), respident=RESPONSE)
    return _finish(item_element, heading, told)


def _add_choice_feedback(
    processing: Element, numbers: Sequence[int], choices: Sequence[Choosable]
) -> list[tuple[str, str]]:
    """Appends the conditions that show feedback on choices; returns its names and HTML."""
    found = []
    for number, choice in zip(numbers, choices, strict=True):
        if choice.feedback:
            condition = add(processing, "respcondition", **{"continue": "Yes"})
            holds = add(condition, "conditionvar")
            add(holds, "varequal", str(number), respident=RESPONSE)
            _show(condition, f"{number}_fb")
            found.append((f"{number}_fb", line(choice.feedback)))
    return found


def _one_by_one(item: ChoiceItem, heading: Heading) -> Element:
    """A matching question with yes or no for every option, so that each earns the same."""
    right = tuple(0 if choice.right else 1 for choice in item.choices)
    texts = tuple(choice.text for choice in item.choices)
    return _pairs(PairsItem(things=texts, targets=("Yes", "No"), right=right), heading)


def _pairs(item: PairsItem, heading: Heading) -> Element:
    numbers = [next(heading.numbers) for _ in item.things]
    targets = [next(heading.numbers) for _ in item.targets]
    item_element, presentation = _start("matching_question", heading, numbers)
    for number, thing in zip(numbers, item.things, strict=True):
        response = add(presentation, "response_lid", ident=f"response_{number}")
        text(response, line(thing))
        listed = add(response, "render_choice")
        for target, written_ in zip(targets, item.targets, strict=True):
            label = add(listed, "response_label", ident=str(target))
            add(add(label, "material"), "mattext", plain_text(written_))
    processing = _processing(item_element, heading)
    for number, index in zip(numbers, item.right, strict=True):
        condition = add(processing, "respcondition")
        holds = add(condition, "conditionvar")
        add(holds, "varequal", str(targets[index]), respident=f"response_{number}")
        add(condition, "setvar", f"{100 / len(numbers):.2f}", varname="SCORE", action="Add")
    return _finish(item_element, heading)


def _text(item: TextItem, heading: Heading) -> Element:
    texts = item.words[0].texts
    item_element, presentation = _start(
        "short_answer_question", heading, [next(heading.numbers) for _ in texts]
    )
    _add_text_response(presentation)
    holds = _right(_processing(item_element, heading))
    for accepted in texts:
        add(holds, "varequal", accepted, respident=RESPONSE)
    return _finish(item_element, heading)


def _add_text_response(presentation: Element) -> None:
    response = add(presentation, "response_str", ident=RESPONSE, rcardinality="Single")
    add(add(response, "render_fib"), "response_label", ident="answer1", rshuffle="No")


def _essay(item: EssayItem, heading: Heading) -> Element:  # noqa: ARG001 - the rubric has no place
    item_element, presentation = _start("essay_question", heading)
    _add_text_response(presentation)
    condition = add(_processing(item_element, heading), "respcondition", **{"continue": "No"})
    add(add(condition, "conditionvar"), "other")
    return _finish(item_element, heading)


_MAKES: dict[type[Item], Callable[[Any, Heading], Element]] = {
    NumberItem: _number,
    ChoiceItem: _choice,
    PairsItem: _pairs,
    TextItem: _text,
    EssayItem: _essay,
}
