"""Exports a quiz as a QTI 1.2 package for Canvas: a group per part, with an item per variant."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import count
from xml.etree.ElementTree import Element

from grader.integrations.archive import make_zip
from grader.integrations.lms.quizzes.cloze import NONE, is_asked_by_option
from grader.integrations.lms.quizzes.qti_items import (
    ItemHeading,
    field_element,
    identifier,
    item_element,
)
from grader.integrations.lms.quizzes.supported_parts import (
    fit_quiz,
    loss_notes,
    one_question_pools,
)
from grader.integrations.lms.quizzes.texts import number_hint, part_html, prompt_html
from grader.integrations.lms.quizzes.xml import document_bytes, element, text_elements
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

    def heading(self, number: int, ident: str, numbers: Iterator[int]) -> ItemHeading:
        hints = []
        if isinstance(self.item, NumberItem):
            if self.item.row:
                hints.append(f"Here: {self.item.row}, {plain_text(self.item.column)}.")
            hints.append(f"Give {number_hint(self.item)}.")
        return ItemHeading(
            ident=ident,
            title=f"{number}{self.letter} {self.question.title}",
            text=prompt_html(self.question) + part_html(self.part, " ".join(hints)),
            feedback=typeset_text(self.question.solution) if self.question.solution else "",
            points=self.points,
            numbers=numbers,
        )


def _canvas_questions(asked: QuizQuestion) -> list[_CanvasQuestion]:
    return [
        _CanvasQuestion(question=asked, part=part, item=item, index=index)
        for part in asked.fields
        for index, item in enumerate(part.items)
    ]


_QTI = "http://www.imsglobal.org/xsd/ims_qtiasiv1p2"
_XSI = "http://www.w3.org/2001/XMLSchema-instance"
_CANVAS = "http://canvas.instructure.com/xsd/cccv1p0"
_PACKAGE = "http://www.imsglobal.org/xsd/imsccv1p1/imscp_v1p1"
_MATTER = "http://www.imsglobal.org/xsd/imsmd_v1p2"


def _package_files(quiz: Quiz) -> dict[str, bytes]:
    root, meta = identifier(quiz.id, "assessment"), identifier(quiz.id, "meta")
    documents = {
        "imsmanifest.xml": _manifest_document(quiz, root, meta),
        f"{root}/{root}.xml": _assessment_document(quiz, root),
        f"{root}/assessment_meta.xml": _meta_document(quiz, root),
    }
    return {name: document_bytes(document) for name, document in documents.items()}


def _document(tag: str, schemas: str, *content: Element, **attributes: str) -> Element:
    names = {"xmlns:xsi": _XSI, "xsi:schemaLocation": schemas}
    return element(tag, *content, **attributes, **names)


def _assessment_document(quiz: Quiz, name: str) -> Element:
    limit = [field_element("qmd_timelimit", f"{quiz.minutes:g}")] if quiz.minutes else []
    assessment = element(
        "assessment",
        element("qtimetadata", *limit, field_element("cc_maxattempts", "1")),
        element("section", *_sections(quiz), ident="root_section"),
        ident=name,
        title=quiz.title,
    )
    schemas = f"{_QTI} http://www.imsglobal.org/xsd/ims_qtiasiv1p2p1.xsd"
    return _document("questestinterop", schemas, assessment, xmlns=_QTI)


def _sections(quiz: Quiz) -> Iterator[Element]:
    """Yields a group of variants for each part of each pool's problem."""
    numbers = count(1001)
    for pool in quiz.pools:
        every = [_canvas_questions(asked) for asked in pool.questions]
        for at, first in enumerate(every[0]):
            items = []
            for question in (questions[at] for questions in every):
                place = (
                    pool.number,
                    question.question.problem,
                    question.question.variant,
                    question.part.id,
                    question.index,
                )
                ident = identifier(quiz.id, "item", *place)
                items.append(
                    item_element(question.item, question.heading(pool.number, ident, numbers))
                )
            if len(items) == 1:
                yield from items
                continue
            worth = element("points_per_item", f"{first.points:g}")
            selection = element(
                "selection",
                element("selection_number", "1"),
                element("selection_extension", worth),
            )
            yield element(
                "section",
                element("selection_ordering", selection),
                *items,
                ident=identifier(quiz.id, "group", pool.number, at),
                title=f"{pool.number} {pool.title}{first.letter}",
            )


def _meta_document(quiz: Quiz, name: str) -> Element:
    points = f"{sum(pool.points for pool in quiz.pools):g}"
    about = {
        "title": quiz.title,
        "description": typeset_text(quiz.instructions) if quiz.instructions else "",
        # The variants are already shuffled, and some options have a fixed order.
        "shuffle_answers": "false",
        "scoring_policy": "keep_highest",
        # Otherwise the first student to finish could pass on the worked solutions.
        "hide_results": "always",
        "quiz_type": "assignment",
        "points_possible": points,
        "show_correct_answers": "false",
        "could_be_locked": "false",
        **({"time_limit": f"{quiz.minutes:g}"} if quiz.minutes else {}),
        "allowed_attempts": "1",
        "one_question_at_a_time": "false",
        "cant_go_back": "false",
        "available": "false",
    }
    assignment = {
        "title": quiz.title,
        "workflow_state": "unpublished",
        "quiz_identifierref": name,
        "points_possible": points,
        "grading_type": "points",
        "submission_types": "online_quiz",
    }
    return _document(
        "quiz",
        f"{_CANVAS} https://canvas.instructure.com/xsd/cccv1p0.xsd",
        *text_elements(about),
        element(
            "assignment",
            *text_elements(assignment),
            identifier=identifier(quiz.id, "assignment"),
        ),
        identifier=name,
        xmlns=_CANVAS,
    )


def _manifest_document(quiz: Quiz, name: str, meta: str) -> Element:
    file = partial(element, "file")
    title = element("imsmd:title", element("imsmd:string", quiz.title))
    about = element(
        "metadata",
        *text_elements({"schema": "IMS Content", "schemaversion": "1.1.3"}),
        element("imsmd:lom", element("imsmd:general", title)),
    )
    quiz_file = element(
        "resource",
        file(href=f"{name}/{name}.xml"),
        element("dependency", identifierref=meta),
        identifier=name,
        type="imsqti_xmlv1p2",
    )
    about_file = element(
        "resource",
        file(href=f"{name}/assessment_meta.xml"),
        identifier=meta,
        type="associatedcontent/imscc_xmlv1p1/learning-application-resource",
        href=f"{name}/assessment_meta.xml",
    )
    return _document(
        "manifest",
        f"{_PACKAGE} http://www.imsglobal.org/xsd/imscp_v1p1.xsd "
        f"{_MATTER} http://www.imsglobal.org/xsd/imsmd_v1p2p2.xsd",
        about,
        element("organizations"),
        element("resources", quiz_file, about_file),
        identifier=identifier(quiz.id, "manifest"),
        xmlns=_PACKAGE,
        **{"xmlns:imsmd": _MATTER},
    )
