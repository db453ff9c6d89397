"""A single part as a question of one of Moodle's types, in Moodle XML."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from xml.etree.ElementTree import Element

from grader.integrations.lms.quizzes.cloze import (
    escape_wildcards,
    is_asked_by_option,
    option_shares,
    percent,
)
from grader.integrations.lms.quizzes.texts import exact_text, inline_html, split_range
from grader.integrations.lms.quizzes.xml import element, text_elements
from grader.model.item import (
    ChoiceItem,
    EssayItem,
    Item,
    NumberItem,
    OrderItem,
    PairsItem,
    TextItem,
)
from grader.text.markdown import plain_text, typeset_text

PENALTY = "0.3333333"
"""Share that Moodle deducts for each further attempt, if a quiz allows one."""

# Moodle's importer drops questions with other shares of the points.
_SHARES = (
    *(1, 0.9, 5 / 6, 0.8, 0.75, 0.7, 2 / 3, 0.6, 0.5, 0.4, 1 / 3, 0.3, 0.25, 0.2, 1 / 6, 1 / 7),
    *(0.125, 1 / 9, 0.1, 0.05, 0),
)
ORDERINGS = {"all-or-nothing": "ALL_OR_NOTHING", "pairs": "RELATIVE_ALL_PREVIOUS_AND_NEXT"}
"""The rules of the kind `ordering` that Moodle's type "ordering" supports."""
_PLAIN = "moodle_auto_format"


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionHeading:
    """The properties that every question has."""

    name: str
    text: str
    """HTML."""
    feedback: str
    """HTML that is shown to every student afterward."""
    mark: float
    idnumber: str
    tag: str


def question_element(kind: str, heading: QuestionHeading, *answers: Element) -> Element:
    """Returns a question of Moodle's type *kind*."""
    # With gaps, the gaps have the marks.
    grade = [] if kind == "cloze" else [element("defaultgrade", f"{heading.mark:g}")]
    return element(
        "question",
        element("name", element("text", heading.name)),
        html_element("questiontext", heading.text),
        html_element("generalfeedback", heading.feedback),
        *grade,
        *text_elements({"penalty": PENALTY, "hidden": "0", "idnumber": heading.idnumber}),
        *answers,
        element("tags", element("tag", element("text", heading.tag))),
        type=kind,
    )


def html_element(tag: str, text: str = "") -> Element:
    """Returns an element with HTML text."""
    return element(tag, element("text", text), format="html")


def has_question_type(item: Item) -> bool:
    """Returns whether a question type can ask the item; otherwise it can only be a gap."""
    shares: list[float] = []
    if isinstance(item, NumberItem):
        shares = [found.share for found in item.ranges]
    elif isinstance(item, TextItem):
        shares = [words.share for words in item.words]
    elif isinstance(item, ChoiceItem):
        shares = [share for _, share in option_shares(item)]
    known = (any(abs(abs(share) - one) < 1e-5 for one in _SHARES) for share in shares)
    return all(known) and not is_asked_by_option(item)


def single_question(item: Item, heading: QuestionHeading) -> Element:
    """Returns the item as a separate question; see `has_question_type`."""
    kind = {
        NumberItem: "numerical",
        ChoiceItem: "multichoice",
        PairsItem: "matching",
        OrderItem: "ordering",
        TextItem: "shortanswer",
        EssayItem: "essay",
    }[type(item)]
    if isinstance(item, ChoiceItem) and _is_true_false(item):
        kind = "truefalse"
    return question_element(kind, heading, *_answers(item))


def _is_true_false(item: ChoiceItem) -> bool:
    return {choice.id for choice in item.choices} == {"true", "false"} and not item.shuffle


def _answers(item: Item) -> Iterator[Element]:
    match item:
        case NumberItem():
            for found, (value, width) in ((r, v) for r in item.ranges for v in split_range(r)):
                tolerance = element("tolerance", exact_text(width))
                yield _answer(found.share, exact_text(value), found.feedback, tolerance)
            yield from text_elements(
                {"unitgradingtype": "0", "unitpenalty": "0.1", "showunits": "3", "unitsleft": "0"}
            )
        case ChoiceItem():
            yield from _options(item)
        case PairsItem():
            yield from _pairs(item)
        case OrderItem():
            yield from _order(item)
        case TextItem():
            yield element("usecase", str(int(item.exact)))
            for words, text in ((w, t) for w in item.words for t in w.texts):
                yield _answer(words.share, escape_wildcards(text), words.feedback)
        case EssayItem(rubric=rubric):
            texts = {"responseformat": "editor", "responserequired": "1"}
            texts |= {"responsefieldlines": "10", "attachments": "0", "attachmentsrequired": "0"}
            yield from text_elements(texts)
            yield html_element("graderinfo", typeset_text(rubric) if rubric else "")
            yield html_element("responsetemplate")


def _options(item: ChoiceItem) -> Iterator[Element]:
    if _is_true_false(item):
        for choice in item.choices:
            yield _answer(float(choice.right), choice.id, choice.feedback)
        return
    single, shuffle = (str(flag).lower() for flag in (not item.several, item.shuffle))
    texts = {"single": single, "shuffleanswers": shuffle, "answernumbering": "none"}
    yield from text_elements(texts)
    yield from _combined_feedback()
    for choice, share in option_shares(item):
        yield _answer(share, inline_html(choice.text), choice.feedback, form="html")


def _answer(share: float, text: str, feedback: str, *more: Element, form: str = _PLAIN) -> Element:
    said = html_element("feedback", inline_html(feedback) if feedback else "")
    text_element = element("text", text)
    return element("answer", text_element, said, *more, fraction=percent(share), format=form)


def _combined_feedback() -> Iterator[Element]:
    for name in ("correctfeedback", "partiallycorrectfeedback", "incorrectfeedback"):
        yield html_element(name)


def _pairs(item: PairsItem) -> Iterator[Element]:
    yield element("shuffleanswers", "true")
    yield from _combined_feedback()
    targets = [plain_text(target) for target in item.targets]
    pairs = [(inline_html(t), targets[i]) for t, i in zip(item.things, item.right, strict=True)]
    # Distractors match nothing.
    pairs += [("", target) for index, target in enumerate(targets) if index not in item.right]
    for thing, target in pairs:
        made = html_element("subquestion", thing)
        made.append(element("answer", element("text", target)))
        yield made


def _order(item: OrderItem) -> Iterator[Element]:
    yield from text_elements(
        {
            "layouttype": "VERTICAL",
            "selecttype": "ALL",
            "selectcount": str(len(item.things)),
            "gradingtype": ORDERINGS[item.rule],
            "showgrading": "HIDE",
            "numberingstyle": "none",
        }
    )
    yield from _combined_feedback()
    for place, thing in enumerate(item.things, start=1):
        text = element("text", inline_html(thing))
        said = html_element("feedback")
        yield element("answer", text, said, fraction=str(place), format="html")
