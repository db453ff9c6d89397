"""Questions of Moodle's types; `templates/moodle/quiz.xml.j2` has their form."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from grader.integrations.lms.quizzes.cloze import (
    escape_wildcards,
    is_asked_by_option,
    is_true_false,
    option_shares,
    percent,
)
from grader.integrations.lms.quizzes.texts import exact_text, inline_html, split_range
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

# Moodle's importer drops questions with other shares of the points.
_SHARES = (
    *(1, 0.9, 5 / 6, 0.8, 0.75, 0.7, 2 / 3, 0.6, 0.5, 0.4, 1 / 3, 0.3, 0.25, 0.2, 1 / 6, 1 / 7),
    *(0.125, 1 / 9, 0.1, 0.05, 0),
)
ORDERINGS = {"all-or-nothing": "ALL_OR_NOTHING", "pairs": "RELATIVE_ALL_PREVIOUS_AND_NEXT"}
"""The rules of the kind `ordering` that Moodle's type "ordering" supports."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MoodleAnswer:
    """An answer, and what it earns."""

    fraction: str
    """Percent of the points; in an ordering, its place."""
    text: str
    feedback: str = ""
    """HTML."""
    tolerance: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MoodleQuestion:
    """A question: a single item, or a text with gaps."""

    name: str
    text: str
    """HTML."""
    feedback: str
    """HTML that is shown to every student afterward."""
    mark: str
    idnumber: str
    tag: str
    item: Item | None = None
    """None if it has gaps."""

    @property
    def kind(self) -> str:
        """Moodle's type."""
        if isinstance(self.item, ChoiceItem) and is_true_false(self.item):
            return "truefalse"
        kinds = {
            NumberItem: "numerical",
            ChoiceItem: "multichoice",
            PairsItem: "matching",
            OrderItem: "ordering",
            TextItem: "shortanswer",
            EssayItem: "essay",
        }
        return "cloze" if self.item is None else kinds[type(self.item)]

    @property
    def answers(self) -> list[MoodleAnswer]:
        """The answers, right and wrong."""
        return [] if self.item is None else list(_answers(self.item))

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The things of a matching question as HTML, each with the text that matches it."""
        assert isinstance(self.item, PairsItem)  # noqa: S101 - the template has looked at the kind
        targets = [plain_text(target) for target in self.item.targets]
        rights = self.item.right
        pairs = [
            (inline_html(thing), targets[index])
            for thing, index in zip(self.item.things, rights, strict=True)
        ]
        # Distractors match nothing.
        return [*pairs, *(("", text) for n, text in enumerate(targets) if n not in rights)]

    @property
    def rubric(self) -> str:
        """The rubric of an essay as HTML."""
        rubric = getattr(self.item, "rubric", "")
        return typeset_text(rubric) if rubric else ""


def has_question_type(item: Item) -> bool:
    """Returns whether a question type can ask the item; otherwise it can only be a gap."""
    shares: list[float] = []
    if isinstance(item, NumberItem):
        shares = [span.share for span in item.ranges]
    elif isinstance(item, TextItem):
        shares = [words.share for words in item.words]
    elif isinstance(item, ChoiceItem):
        shares = [share for _, share in option_shares(item)]
    allowed = (any(abs(abs(share) - usual) < 1e-5 for usual in _SHARES) for share in shares)
    return all(allowed) and not is_asked_by_option(item)


def _answers(item: Item) -> Iterator[MoodleAnswer]:
    """Yields the answers to *item* with what they earn; none for pairs and essays."""
    match item:
        case NumberItem():
            for span in item.ranges:
                for value, width in split_range(span):
                    yield _answer(span.share, exact_text(value), span.feedback, exact_text(width))
        case ChoiceItem():
            yield from _option_answers(item)
        case OrderItem():
            for place, thing in enumerate(item.things, start=1):
                yield MoodleAnswer(fraction=str(place), text=inline_html(thing))
        case TextItem():
            for words in item.words:
                for text in words.texts:
                    yield _answer(words.share, escape_wildcards(text), words.feedback)


def _option_answers(item: ChoiceItem) -> Iterator[MoodleAnswer]:
    if is_true_false(item):
        for choice in item.choices:
            yield _answer(float(choice.right), choice.id, choice.feedback)
        return
    for choice, share in option_shares(item):
        yield _answer(share, inline_html(choice.text), choice.feedback)


def _answer(share: float, text: str, feedback: str, tolerance: str | None = None) -> MoodleAnswer:
    html = inline_html(feedback) if feedback else ""
    return MoodleAnswer(fraction=percent(share), text=text, feedback=html, tolerance=tolerance)
