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
from grader.integrations.lms.quizzes.numbers import exact_text, interval_ends, split_range
from grader.integrations.lms.quizzes.texts import inline_html
from grader.integrations.lms.quizzes.xml import add_element, element
from grader.model.item import (
    ChoiceItem,
    ChoiceOption,
    EssayItem,
    Item,
    NumberItem,
    PairsItem,
    TextItem,
)
from grader.text.markdown import plain_text

RESPONSE = "response1"


def identifier(*names: object) -> str:
    """A unique identifier in Canvas's form; the same for the same *names*."""
    digest = hashlib.sha256("\0".join(map(str, names)).encode()).hexdigest()
    return f"g{digest[:32]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemHeading:
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


def item_element(item: Item, heading: ItemHeading) -> Element:
    """The item in QTI 1.2."""
    return _MAKES[type(item)](item, heading)


def _start_item(
    kind: str, heading: ItemHeading, answers: Sequence[int] = ()
) -> tuple[Element, Element]:
    """An item with metadata and text, and its presentation, to which responses are added."""
    item = element("item", ident=heading.ident, title=heading.title)
    fields = add_element(add_element(item, "itemmetadata"), "qtimetadata")
    for label, entry in (
        ("question_type", kind),
        ("points_possible", f"{heading.points:g}"),
        ("original_answer_ids", ",".join(map(str, answers))),
        ("assessment_question_identifierref", identifier("question", heading.ident)),
    ):
        add_field(fields, label, entry)
    presentation = add_element(item, "presentation")
    add_text(presentation, heading.text)
    return item, presentation


def add_field(parent: Element, label: str, entry: str) -> None:
    """Appends a metadata field to *parent*."""
    item_element = add_element(parent, "qtimetadatafield")
    add_element(item_element, "fieldlabel", label)
    add_element(item_element, "fieldentry", entry)


def add_text(parent: Element, html: str) -> None:
    """Appends HTML text to *parent*."""
    add_element(add_element(parent, "material"), "mattext", html, texttype="text/html")


def _add_processing(item: Element, heading: ItemHeading) -> Element:
    processing = add_element(item, "resprocessing")
    outcomes = add_element(processing, "outcomes")
    add_element(
        outcomes, "decvar", maxvalue="100", minvalue="0", varname="SCORE", vartype="Decimal"
    )
    if heading.feedback:
        shown = add_element(processing, "respcondition", **{"continue": "Yes"})
        add_element(add_element(shown, "conditionvar"), "other")
        _show_feedback(shown, "general_fb")
    return processing


def _show_feedback(condition: Element, feedback: str) -> None:
    add_element(condition, "displayfeedback", feedbacktype="Response", linkrefid=feedback)


def _add_full_credit(processing: Element) -> Element:
    """Appends a condition that gives all points; returns the element for its criteria."""
    condition = add_element(processing, "respcondition", **{"continue": "No"})
    holds = add_element(condition, "conditionvar")
    add_element(condition, "setvar", "100", action="Set", varname="SCORE")
    return holds


def _finish_item(
    item: Element, heading: ItemHeading, feedback: Sequence[tuple[str, str]] = ()
) -> Element:
    told = [("general_fb", heading.feedback)] if heading.feedback else []
    for name, html in (*told, *feedback):
        add_text(add_element(add_element(item, "itemfeedback", ident=name), "flow_mat"), html)
    return item


def _number_question(item: NumberItem, heading: ItemHeading) -> Element:
    answer = next(heading.numbers)
    item_element, presentation = _start_item("numerical_question", heading, [answer])
    response = add_element(presentation, "response_str", ident=RESPONSE, rcardinality="Single")
    add_element(
        add_element(response, "render_fib", fibtype="Decimal"), "response_label", ident="answer1"
    )
    holds = _add_full_credit(_add_processing(item_element, heading))
    key = item.ranges[0]
    around = split_range(key)
    if len(around) == 1:
        value, width = around[0]
        either = add_element(holds, "or")
        add_element(either, "varequal", exact_text(value), respident=RESPONSE)
        holds = add_element(either, "and")
        low, high = interval_ends(value, width)
    else:
        low, high = exact_text(key.low), exact_text(key.high)
    add_element(holds, "vargte", low, respident=RESPONSE)
    add_element(holds, "varlte", high, respident=RESPONSE)
    return _finish_item(item_element, heading)


def _choice_question(item: ChoiceItem, heading: ItemHeading) -> Element:
    if cloze.is_asked_by_option(item):
        return _option_questions(item, heading)
    choices = [choice for choice, _ in cloze.option_shares(item)] if item.several else item.choices
    kind = "multiple_answers_question" if item.several else "multiple_choice_question"
    if {choice.id for choice in item.choices} == {"true", "false"} and not item.shuffle:
        kind = "true_false_question"
    numbers = [next(heading.numbers) for _ in choices]
    item_element, presentation = _start_item(kind, heading, numbers)
    cardinality = "Multiple" if item.several else "Single"
    response = add_element(presentation, "response_lid", ident=RESPONSE, rcardinality=cardinality)
    listed = add_element(response, "render_choice")
    for number, choice in zip(numbers, choices, strict=True):
        add_text(add_element(listed, "response_label", ident=str(number)), inline_html(choice.text))
    processing = _add_processing(item_element, heading)
    told = _add_choice_feedback(processing, numbers, choices)
    holds = _add_full_credit(processing)
    if item.several:
        holds = add_element(holds, "and")
    for number, choice in zip(numbers, choices, strict=True):
        if choice.right:
            add_element(holds, "varequal", str(number), respident=RESPONSE)
        elif item.several:
            add_element(add_element(holds, "not"), "varequal", str(number), respident=RESPONSE)
    return _finish_item(item_element, heading, told)


def _add_choice_feedback(
    processing: Element, numbers: Sequence[int], choices: Sequence[ChoiceOption]
) -> list[tuple[str, str]]:
    """Appends the conditions that show feedback on choices; returns its names and HTML."""
    found = []
    for number, choice in zip(numbers, choices, strict=True):
        if choice.feedback:
            condition = add_element(processing, "respcondition", **{"continue": "Yes"})
            holds = add_element(condition, "conditionvar")
            add_element(holds, "varequal", str(number), respident=RESPONSE)
            _show_feedback(condition, f"{number}_fb")
            found.append((f"{number}_fb", inline_html(choice.feedback)))
    return found


def _option_questions(item: ChoiceItem, heading: ItemHeading) -> Element:
    """A matching question with yes or no for every option, so that each earns the same."""
    right = tuple(0 if choice.right else 1 for choice in item.choices)
    texts = tuple(choice.text for choice in item.choices)
    return _pairs_question(PairsItem(things=texts, targets=("Yes", "No"), right=right), heading)


def _pairs_question(item: PairsItem, heading: ItemHeading) -> Element:
    numbers = [next(heading.numbers) for _ in item.things]
    targets = [next(heading.numbers) for _ in item.targets]
    item_element, presentation = _start_item("matching_question", heading, numbers)
    for number, thing in zip(numbers, item.things, strict=True):
        response = add_element(presentation, "response_lid", ident=f"response_{number}")
        add_text(response, inline_html(thing))
        listed = add_element(response, "render_choice")
        for target, written_ in zip(targets, item.targets, strict=True):
            label = add_element(listed, "response_label", ident=str(target))
            add_element(add_element(label, "material"), "mattext", plain_text(written_))
    processing = _add_processing(item_element, heading)
    for number, index in zip(numbers, item.right, strict=True):
        condition = add_element(processing, "respcondition")
        holds = add_element(condition, "conditionvar")
        add_element(holds, "varequal", str(targets[index]), respident=f"response_{number}")
        add_element(condition, "setvar", f"{100 / len(numbers):.2f}", varname="SCORE", action="Add")
    return _finish_item(item_element, heading)


def _text_question(item: TextItem, heading: ItemHeading) -> Element:
    texts = item.words[0].texts
    item_element, presentation = _start_item(
        "short_answer_question", heading, [next(heading.numbers) for _ in texts]
    )
    _add_text_response(presentation)
    holds = _add_full_credit(_add_processing(item_element, heading))
    for accepted in texts:
        add_element(holds, "varequal", accepted, respident=RESPONSE)
    return _finish_item(item_element, heading)


def _add_text_response(presentation: Element) -> None:
    response = add_element(presentation, "response_str", ident=RESPONSE, rcardinality="Single")
    add_element(
        add_element(response, "render_fib"), "response_label", ident="answer1", rshuffle="No"
    )


def _essay_question(item: EssayItem, heading: ItemHeading) -> Element:  # noqa: ARG001 - the rubric has no place
    item_element, presentation = _start_item("essay_question", heading)
    _add_text_response(presentation)
    condition = add_element(
        _add_processing(item_element, heading), "respcondition", **{"continue": "No"}
    )
    add_element(add_element(condition, "conditionvar"), "other")
    return _finish_item(item_element, heading)


_MAKES: dict[type[Item], Callable[[Any, ItemHeading], Element]] = {
    NumberItem: _number_question,
    ChoiceItem: _choice_question,
    PairsItem: _pairs_question,
    TextItem: _text_question,
    EssayItem: _essay_question,
}
