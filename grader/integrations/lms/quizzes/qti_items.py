"""Parts as items of QTI 1.2, in the forms that Canvas supports.

Canvas counts every answer that has a score as fully right, so only right answers get one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import Element

from grader.integrations.lms.quizzes.cloze import is_asked_by_option, option_shares
from grader.integrations.lms.quizzes.texts import (
    exact_text,
    inline_html,
    interval_ends,
    split_range,
)
from grader.integrations.lms.quizzes.xml import element
from grader.model.item import ChoiceItem, Item, NumberItem, PairsItem, TextItem
from grader.text.markdown import plain_text

RESPONSE = "response1"


def identifier(*names: object) -> str:
    """Returns a unique identifier in Canvas's form; the same for the same *names*."""
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
    """HTML that is shown to every student afterward."""
    points: float
    numbers: Iterator[int]
    """Source of ids for answers, unique within a quiz."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Form:
    """What the type of a question adds to an item."""

    kind: str
    answers: Sequence[int] = ()
    responses: Sequence[Element] = ()
    conditions: Sequence[Element] = ()
    feedback: Sequence[tuple[str, str]] = ()
    """Names and HTML of texts that conditions show."""


def item_element(item: Item, heading: ItemHeading) -> Element:
    """Returns the item in QTI 1.2."""
    form = _form_of(item, heading.numbers)
    feedback, conditions = list(form.feedback), list(form.conditions)
    if heading.feedback:
        feedback.insert(0, ("general_fb", heading.feedback))
        conditions.insert(0, _feedback_condition(element("other"), "general_fb"))
    score = element("decvar", maxvalue="100", minvalue="0", varname="SCORE", vartype="Decimal")
    about = {
        "question_type": form.kind,
        "points_possible": f"{heading.points:g}",
        "original_answer_ids": ",".join(map(str, form.answers)),
        "assessment_question_identifierref": identifier("question", heading.ident),
    }
    metadata = element("qtimetadata", *(field_element(*field) for field in about.items()))
    return element(
        "item",
        element("itemmetadata", metadata),
        element("presentation", _html_material(heading.text), *form.responses),
        element("resprocessing", element("outcomes", score), *conditions),
        *(
            element("itemfeedback", element("flow_mat", _html_material(html)), ident=name)
            for name, html in feedback
        ),
        ident=heading.ident,
        title=heading.title,
    )


def field_element(label: str, entry: str) -> Element:
    """Returns the element of a metadata field, with its label and its entry."""
    return element("qtimetadatafield", element("fieldlabel", label), element("fieldentry", entry))


def _html_material(html: str) -> Element:
    return element("material", element("mattext", html, texttype="text/html"))


def _condition(*holds: Element) -> Element:
    return element("conditionvar", *holds)


def _equal(answer: object, response: str = RESPONSE) -> Element:
    return element("varequal", str(answer), respident=response)


def _feedback_condition(holds: Element, name: str) -> Element:
    shown = element("displayfeedback", feedbacktype="Response", linkrefid=name)
    return element("respcondition", _condition(holds), shown, continue_="Yes")


def _full_credit(*holds: Element) -> Element:
    """Returns a condition that gives all points."""
    score = element("setvar", "100", action="Set", varname="SCORE")
    return element("respcondition", _condition(*holds), score, continue_="No")


def _form_of(item: Item, numbers: Iterator[int]) -> _Form:
    match item:
        case NumberItem():
            return _number_form(item, next(numbers))
        case ChoiceItem() if is_asked_by_option(item):
            # A matching question with yes or no for every option, so that each earns the same.
            right = tuple(0 if choice.right else 1 for choice in item.choices)
            texts = tuple(choice.text for choice in item.choices)
            return _pairs_form(PairsItem(things=texts, targets=("Yes", "No"), right=right), numbers)
        case ChoiceItem():
            return _choice_form(item, numbers)
        case PairsItem():
            return _pairs_form(item, numbers)
        case TextItem():
            texts = item.words[0].texts
            return _Form(
                kind="short_answer_question",
                answers=[next(numbers) for _ in texts],
                responses=[_text_response()],
                conditions=[_full_credit(*map(_equal, texts))],
            )
    other = element("respcondition", _condition(element("other")), continue_="No")
    return _Form(kind="essay_question", responses=[_text_response()], conditions=[other])


def _text_response() -> Element:
    label = element("response_label", ident="answer1", rshuffle="No")
    return element(
        "response_str", element("render_fib", label), ident=RESPONSE, rcardinality="Single"
    )


def _number_form(item: NumberItem, answer: int) -> _Form:
    label = element("response_label", ident="answer1")
    response = element(
        "response_str",
        element("render_fib", label, fibtype="Decimal"),
        ident=RESPONSE,
        rcardinality="Single",
    )
    key = item.ranges[0]
    around = split_range(key)
    is_symmetric = len(around) == 1
    low, high = interval_ends(*around[0]) if is_symmetric else map(exact_text, (key.low, key.high))
    ends = element("vargte", low, respident=RESPONSE), element("varlte", high, respident=RESPONSE)
    holds = (
        [element("or", _equal(exact_text(around[0][0])), element("and", *ends))]
        if is_symmetric
        else ends
    )
    return _Form(
        kind="numerical_question",
        answers=[answer],
        responses=[response],
        conditions=[_full_credit(*holds)],
    )


def _choice_form(item: ChoiceItem, numbers: Iterator[int]) -> _Form:
    choices = [(next(numbers), choice) for choice, _ in option_shares(item)]
    kind = "multiple_answers_question" if item.several else "multiple_choice_question"
    if {choice.id for choice in item.choices} == {"true", "false"} and not item.shuffle:
        kind = "true_false_question"
    labels = (
        element("response_label", _html_material(inline_html(choice.text)), ident=str(number))
        for number, choice in choices
    )
    response = element(
        "response_lid",
        element("render_choice", *labels),
        ident=RESPONSE,
        rcardinality="Multiple" if item.several else "Single",
    )
    right = [
        _equal(number) if choice.right else element("not", _equal(number))
        for number, choice in choices
        if choice.right or item.several
    ]
    feedback = [(number, choice.feedback) for number, choice in choices if choice.feedback]
    return _Form(
        kind=kind,
        answers=[number for number, _ in choices],
        responses=[response],
        conditions=[
            *(_feedback_condition(_equal(number), f"{number}_fb") for number, _ in feedback),
            _full_credit(*([element("and", *right)] if item.several else right)),
        ],
        feedback=[(f"{number}_fb", inline_html(text)) for number, text in feedback],
    )


def _pairs_form(item: PairsItem, numbers: Iterator[int]) -> _Form:
    things = [(next(numbers), thing) for thing in item.things]
    targets = [(str(next(numbers)), plain_text(target)) for target in item.targets]
    labels = [
        element("response_label", element("material", element("mattext", text)), ident=target)
        for target, text in targets
    ]
    responses, conditions = [], []
    for (number, thing), index in zip(things, item.right, strict=True):
        name, text = f"response_{number}", _html_material(inline_html(thing))
        listed = element("render_choice", *labels)
        responses.append(element("response_lid", text, listed, ident=name))
        score = element("setvar", f"{100 / len(things):.2f}", varname="SCORE", action="Add")
        holds = _condition(_equal(targets[index][0], name))
        conditions.append(element("respcondition", holds, score))
    return _Form(
        kind="matching_question",
        answers=[number for number, _ in things],
        responses=responses,
        conditions=conditions,
    )
