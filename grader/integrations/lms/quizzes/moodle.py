"""Exports a quiz as Moodle XML: a category per number, with a question per variant."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from xml.etree.ElementTree import Element

from grader.integrations.lms.quizzes import cloze
from grader.integrations.lms.quizzes.fit import fit_quiz, loss_notes, one_question_pools
from grader.integrations.lms.quizzes.moodle_types import (
    ORDERINGS,
    QuestionHeading,
    add_html,
    add_tags,
    question_element,
    single_question,
)
from grader.integrations.lms.quizzes.texts import number_hint, part_html, prompt_html, solution_html
from grader.integrations.lms.quizzes.xml import add_element, document_bytes, element
from grader.integrations.lms.variants import VariantsExporter
from grader.model.exported import Exported
from grader.model.item import ChoiceItem, Item, NumberItem, OrderItem
from grader.model.quiz import Pool, Quiz, QuizPart, QuizQuestion

SMALLEST = 1e-10
"""Smallest answer: Moodle widens every tolerance by 1e-14, which must not matter."""
LARGEST_EXACT = 10**13
"""Moodle compares 14 digits, so it also accepts the neighbors of larger whole numbers."""

GENERAL = (
    "students enter numbers in the unit that the question names, without writing the unit",
    "add one random question from each category to the quiz, with the mark in its description",
    "formulas are LaTeX between \\( and \\), which Moodle's MathJax filter typesets",
    "the file contains the answers: keep it private",
)


@dataclass(frozen=True, kw_only=True)
class Moodle(VariantsExporter):
    """Write the set SET as Moodle XML: one category per question, with one question per variant.

    Mistakes become answers with feedback and a small share of the points. Parts that Moodle can't
    ask, such as code, are an error; with --leave-out, they are dropped and listed.
    """

    out = "quiz.xml"
    examples = (
        "grader export moodle midterm --variants 20 --out quiz.xml --private-key SECRET",
        "grader export moodle lab.yaml --leave-out --out quiz.xml",
    )

    def export(self, subject: Quiz) -> Exported:
        """Returns `quiz.xml`."""
        return moodle_quiz(subject, leave_out=self.leave_out)


def moodle_quiz(quiz: Quiz, *, leave_out: bool = False) -> Exported:
    """`quiz.xml` for Moodle's question bank.

    Raises SetupError if Moodle can't ask a part, unless *leave_out* is True.
    """
    fitted = fit_quiz(quiz, "Moodle", _unfit_reason, leave_out=leave_out)
    fitted = one_question_pools(
        fitted, lambda asked: len(_group_parts(asked)) > 1, "it needs several questions in Moodle"
    )
    root = element("quiz")
    notes = list(fitted.notes)
    for pool in fitted.pools:
        categories = list(_categories(fitted, pool))
        for made in (one for category in categories for one in category):
            root.append(made)
        if len(categories) > 1:
            notes.append(
                f"number {pool.number} becomes {len(categories)} questions in Moodle, each with "
                "the whole prompt; a student may get them with different numbers"
            )
    notes += [*loss_notes(fitted, _iter_losses), *GENERAL]
    return Exported(files={"quiz.xml": document_bytes(root)}, notes=tuple(notes))


def _unfit_reason(item: Item, points: float) -> str | None:  # noqa: ARG001 - any points will do
    if isinstance(item, NumberItem) and 0 < abs(item.ranges[0].value) < SMALLEST:
        return f"Moodle can't compare answers below {SMALLEST:g}; ask in a smaller unit"
    if isinstance(item, OrderItem) and item.rule not in ORDERINGS:
        return f"Moodle has no rule '{item.rule}' for orderings"
    heading = QuestionHeading(name="", text="", feedback="", mark=1, idnumber="")
    if not cloze.can_be_gap(item) and single_question(item, heading) is None:
        return "Moodle does not allow its shares of the points, and its texts can't be in a gap"
    return None


def _iter_losses(item: Item) -> Iterator[str]:
    if isinstance(item, NumberItem) and item.whole:
        right = item.ranges[0]
        if right.low == right.high and abs(right.value) > LARGEST_EXACT:
            yield "Moodle compares only 14 digits of whole numbers"
    if isinstance(item, OrderItem):
        yield "needs Moodle 4.4, or the plug-in qtype_ordering"
    if cloze.is_asked_by_option(item):
        yield "asked option by option, yes or no; an unanswered option counts as wrong"
    if isinstance(item, ChoiceItem) and item.several and item.rule == "all-or-nothing":
        yield (
            "all or nothing here, but Moodle gives part of the points for some of the right "
            "options, and none with a wrong one"
        )
    if isinstance(item, ChoiceItem) and item.several and item.rule != "each-option":
        yield f'has an additional option, "{cloze.NONE}"'


@dataclass(frozen=True, slots=True, kw_only=True)
class _MoodleQuestion:
    """Parts of a variant that form one question in Moodle."""

    fields: tuple[QuizPart, ...]
    gaps: bool

    @property
    def points(self) -> float:
        return round(sum(field.points for field in self.fields), 4)


def _group_parts(asked: QuizQuestion) -> list[_MoodleQuestion]:
    """The variant as few questions as possible, so that its parts stay together."""
    inside = tuple(f for f in asked.fields if all(map(cloze.can_be_gap, f.items)))
    together = [inside] if inside else []
    apart = [(field,) for field in asked.fields if field not in inside]
    return [_MoodleQuestion(fields=f, gaps=not _is_native(f)) for f in (*together, *apart)]


def _is_native(fields: tuple[QuizPart, ...]) -> bool:
    """Whether they are a single item that one of Moodle's question types can ask."""
    if len(fields) > 1 or len(fields[0].items) > 1:
        return False
    heading = QuestionHeading(name="", text="", feedback="", mark=1, idnumber="")
    return single_question(fields[0].items[0], heading) is not None


def _categories(quiz: Quiz, pool: Pool) -> Iterator[list[Element]]:
    """Yields a category and its questions, for each question that a student gets here."""
    every = [(asked, _group_parts(asked)) for asked in pool.questions]
    scale = math.lcm(*(w.denominator for _, sheets in every for w in _gap_weights(sheets)))
    count = len(every[0][1])
    for index in range(count):
        mark = every[0][1][index].points
        letters = ", ".join(f.letter for f in every[0][1][index].fields if f.letter)
        name = f"{pool.number:02d} {pool.title}" + (f" ({letters})" if count > 1 else "")
        yield [
            _category_element(quiz, name, mark),
            *(_question_element(asked, sheets[index], scale, count) for asked, sheets in every),
        ]


def _gap_weights(sheets: Sequence[_MoodleQuestion]) -> Iterator[Fraction]:
    for sheet in sheets:
        if sheet.gaps:
            for field in sheet.fields:
                yield from cloze.gap_weights(field)


def _category_element(quiz: Quiz, name: str, mark: float) -> Element:
    made = element("question", type="category")
    # A slash separates names; a double slash is a literal one.
    path = "/".join(text.replace("/", "//") for text in (quiz.title, name))
    add_element(add_element(made, "category"), "text", f"$course$/top/{path}")
    told = f"Add one random question from this category to the quiz. Its maximum mark is {mark:g}."
    add_html(made, "info", f"<p>{told}</p>")
    return made


def _question_element(
    asked: QuizQuestion, sheet: _MoodleQuestion, scale: int, count: int
) -> Element:
    parts = "-".join(field.id for field in sheet.fields)
    name = f"{asked.problem} {asked.variant:03d}" + (f" {parts}" if count > 1 else "")
    heading = QuestionHeading(
        name=name,
        text="",
        feedback=solution_html(asked),
        mark=sheet.points,
        idnumber=name.replace(" ", "-")[-100:],
        tags=(asked.problem,),
    )
    if sheet.gaps:
        gaps = "".join(cloze.question_with_gaps(field, scale) for field in sheet.fields)
        text = cloze.escape_gaps(prompt_html(asked)) + gaps
        return add_tags(question_element("cloze", replace(heading, text=text)), heading)
    field = sheet.fields[0]
    item = field.items[0]
    more = f"Give {number_hint(item)}." if isinstance(item, NumberItem) else ""
    heading = replace(heading, text=prompt_html(asked) + part_html(field, more))
    made = single_question(item, heading)
    assert made is not None  # noqa: S101 - `_unfit` refused such items
    return add_tags(made, heading)
