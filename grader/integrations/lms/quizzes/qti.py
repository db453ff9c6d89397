"""Exports a quiz as a QTI 1.2 package for Canvas: a group per part, with an item per variant."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

from grader.integrations.archive import make_zip
from grader.integrations.lms.quizzes.cloze import NONE, is_asked_by_option
from grader.integrations.lms.quizzes.qti_items import identifier, qti_form
from grader.integrations.lms.quizzes.supported_parts import fit_quiz, loss_notes, one_question_pools
from grader.integrations.lms.quizzes.texts import number_hint, part_html, prompt_html, render_xml
from grader.integrations.lms.variants import VariantsExporter
from grader.model.exported import Exported
from grader.model.item import ChoiceItem, EssayItem, Item, NumberItem, OrderItem, TextItem
from grader.model.quiz import Quiz, QuizPart, QuizQuestion
from grader.text.markdown import plain_text, typeset_text

SMALLEST = 1e-4
"""Smallest answer: Canvas shows and compares only four decimals in some places."""

DECIMALS = 2
"""Decimals of points. Canvas accepts more but does not show them."""

GENERAL = (
    "students enter numbers in the unit that the question names, without writing the unit",
    "known wrong numbers and texts have no feedback: Canvas would count them as right answers",
    "formulas are LaTeX between \\( and \\), which Canvas typesets",
    "students see no results until you allow it in the quiz's settings in Canvas",
    "check the quiz in Canvas before you publish it: Canvas does not report what it can't read",
    "the file contains the answers: keep it private",
)


@dataclass(frozen=True, kw_only=True)
class Qti(VariantsExporter):
    """Write the set SET as a QTI 1.2 package for Canvas, with a pool of variants for each part.

    Parts that Canvas can't ask, such as code, are an error; with --leave-out, they are dropped and
    listed.
    """

    out = "exam.zip"
    mark = b"imsmanifest.xml"
    examples = (
        "grader export qti midterm --variants 20 --out exam.zip --private-key SECRET",
        "grader export qti lab.yaml --leave-out --out exam.zip",
    )

    def export(self, subject: Quiz) -> Exported:
        """Returns `exam.zip` for Canvas's import of QTI packages."""
        quiz = fit_quiz(subject, "Canvas", _unfit_reason, leave_out=self.leave_out)
        why = "Canvas has no questions with parts"
        quiz = one_question_pools(quiz, lambda asked: len(_canvas_questions(asked)) > 1, why)
        notes = [*quiz.notes]
        split = [
            f"{pool.number}"
            for pool in quiz.pools
            if len(pool.questions) > 1 and len(_canvas_questions(pool.questions[0])) > 1
        ]
        if split:
            notes.append(
                "every part becomes a separate question with the whole prompt, and a student may "
                f"get the parts of one problem with different numbers: {', '.join(split)}"
            )
        notes += [*loss_notes(quiz, _iter_losses), *GENERAL]
        files = {**_package_files(quiz), "non_cc_assessments/": b""}
        return Exported(files={"exam.zip": make_zip(files)}, notes=tuple(notes))


def _unfit_reason(item: Item, points: float) -> str | None:
    """Returns why Canvas can't ask *item* for this number of *points*; None if it can."""
    if isinstance(item, OrderItem):
        return "Canvas has no question type for orderings"
    # Points here have six decimals, and so does a cell's share of them.
    if round(points, DECIMALS) <= 0 or abs(points - round(points, DECIMALS)) > 2e-6:
        what = "each of its cells" if isinstance(item, NumberItem) and item.row else "it"
        return f"Canvas shows points with two decimals, and {what} is worth {points:.6g}"
    if not isinstance(item, NumberItem):
        return None
    key = item.ranges[0]
    if 0 < abs(key.value) < SMALLEST:
        return f"Canvas loses answers below {SMALLEST:g}; ask in a smaller unit"
    if key.low == key.high and int(float(key.value)) != key.value and item.whole:
        return "Canvas loses digits of such a long number; ask in a larger unit, with a tolerance"
    return None


def _iter_losses(item: Item) -> Iterator[str]:
    """Yields how *item* differs in Canvas."""
    shares = [one.share for one in item.ranges] if isinstance(item, NumberItem) else []
    shares = [word.share for word in item.words] if isinstance(item, TextItem) else shares
    if any(shares[1:]):
        yield "mistakes with partial credit get none"
    if isinstance(item, TextItem) and item.exact:
        yield "Canvas ignores upper and lower case"
    if isinstance(item, EssayItem) and item.rubric:
        yield "the rubric is not in the file; attach it in Canvas"
    if isinstance(item, ChoiceItem):
        yield from _choice_losses(item)


def _choice_losses(item: ChoiceItem) -> Iterator[str]:
    """Yields how a choice differs in Canvas."""
    if not item.several:
        if any(choice.share for choice in item.choices if not choice.right):
            yield "wrong options with partial credit get none"
    elif is_asked_by_option(item):
        yield "asked option by option, yes or no, without the options' feedback"
    else:
        yield f'has an additional option, "{NONE}"'
        if item.rule == "all-or-nothing":
            yield (
                "all or nothing here, but Canvas gives the share of right options minus that of "
                "wrong ones"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class _CanvasQuestion:
    """One question in Canvas: a part, or a cell of a table."""

    question: QuizQuestion
    part: QuizPart
    item: Item
    index: int

    @property
    def points(self) -> float:
        return round(self.part.points * getattr(self.item, "weight", 1.0), DECIMALS)

    @property
    def letter(self) -> str:
        return f" ({self.part.letter})" if self.part.letter else ""

    def values(self, quiz: str, number: int, numbers: Iterator[int]) -> dict[str, object]:
        """Returns the values for the template; answers take their numbers from *numbers*."""
        asked, hints = self.question, []
        if isinstance(self.item, NumberItem):
            if self.item.row:
                hints.append(f"Here: {self.item.row}, {plain_text(self.item.column)}.")
            hints.append(f"Give {number_hint(self.item)}.")
        place = (number, asked.problem, asked.variant, self.part.id, self.index)
        ident = identifier(quiz, "item", *place)
        return {
            "ident": ident,
            "question_ident": identifier("question", ident),
            "title": f"{number}{self.letter} {asked.title}",
            "text": prompt_html(asked) + part_html(self.part, " ".join(hints)),
            "feedback": typeset_text(asked.solution) if asked.solution else "",
            "points": f"{self.points:g}",
            "form": qti_form(self.item, numbers),
        }


def _canvas_questions(asked: QuizQuestion) -> list[_CanvasQuestion]:
    """Returns a variant's questions in Canvas: one per part, or per cell of a table."""
    return [
        _CanvasQuestion(question=asked, part=part, item=item, index=index)
        for part in asked.fields
        for index, item in enumerate(part.items)
    ]


def _package_files(quiz: Quiz) -> dict[str, bytes]:
    """Returns the XML files of the package by path."""
    names = ("assessment", "meta", "assignment", "manifest")
    idents = {name: identifier(quiz.id, name) for name in names}
    root = idents["assessment"]
    templates = {
        "imsmanifest.xml": "imsmanifest",
        f"{root}/{root}.xml": "assessment",
        f"{root}/assessment_meta.xml": "assessment_meta",
    }
    values = {
        "quiz": quiz,
        "idents": idents,
        "instructions": typeset_text(quiz.instructions) if quiz.instructions else "",
        "points": f"{sum(pool.points for pool in quiz.pools):g}",
        "groups": list(_groups(quiz)),
    }
    return {file: render_xml(f"qti/{name}.xml.j2", values) for file, name in templates.items()}


def _groups(quiz: Quiz) -> Iterator[dict[str, object]]:
    """Yields the template's values for each group: a part, or a cell, of all variants in a pool."""
    numbers = count(1001)
    for pool in quiz.pools:
        variants = [_canvas_questions(asked) for asked in pool.questions]
        for at, first in enumerate(variants[0]):
            yield {
                "ident": identifier(quiz.id, "group", pool.number, at),
                "title": f"{pool.number} {pool.title}{first.letter}",
                "points": f"{first.points:g}",
                "variants": [parts[at].values(quiz.id, pool.number, numbers) for parts in variants],
            }
