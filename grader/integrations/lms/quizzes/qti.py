"""Exports a quiz as a QTI 1.2 package for Canvas: a group per part, with an item per variant."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from xml.etree.ElementTree import Element

from grader.integrations.archive import make_zip
from grader.integrations.lms.quizzes import cloze
from grader.integrations.lms.quizzes.fit import fit_quiz, loss_notes, one_question_pools
from grader.integrations.lms.quizzes.qti_items import ItemHeading, identifier, item_element
from grader.integrations.lms.quizzes.qti_items import add_field as metadata
from grader.integrations.lms.quizzes.texts import number_hint, part_html, prompt_html, solution_html
from grader.integrations.lms.quizzes.xml import add_element, document_bytes, element
from grader.integrations.lms.variants import VariantsExporter
from grader.model.exported import Exported
from grader.model.item import (
    ChoiceItem,
    EssayItem,
    Item,
    NumberItem,
    OrderItem,
    TextItem,
)
from grader.model.quiz import Pool, Quiz, QuizPart, QuizQuestion
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
        """Returns `exam.zip`."""
        return qti_package(subject, leave_out=self.leave_out)


def qti_package(quiz: Quiz, *, leave_out: bool = False) -> Exported:
    """`exam.zip` for Canvas's import of QTI packages.

    Raises SetupError if Canvas can't ask a part, unless *leave_out* is True.
    """
    fitted = fit_quiz(quiz, "Canvas", _unfit_reason, leave_out=leave_out)
    fitted = one_question_pools(
        fitted,
        lambda asked: len(list(_canvas_questions(asked))) > 1,
        "Canvas has no questions with parts",
    )
    notes = [*fitted.notes]
    split = [
        f"{pool.number}"
        for pool in fitted.pools
        if len(pool.questions) > 1 and len(list(_canvas_questions(pool.questions[0]))) > 1
    ]
    if split:
        notes.append(
            "every part becomes a separate question with the whole prompt, and a student may get "
            f"the parts of one problem with different numbers: {', '.join(split)}"
        )
    files = _package_files(fitted)
    notes += [*loss_notes(fitted, _iter_losses), *GENERAL]
    return Exported(
        files={"exam.zip": make_zip({**files, "non_cc_assessments/": b""})}, notes=tuple(notes)
    )


def _unfit_reason(item: Item, points: float) -> str | None:
    if isinstance(item, OrderItem):
        return "Canvas has no question type for orderings"
    # Points here have six decimals, and so does a cell's share of them.
    if round(points, DECIMALS) <= 0 or abs(points - round(points, DECIMALS)) > 2e-6:
        what = "each of its cells" if isinstance(item, NumberItem) and item.row else "it"
        return f"Canvas shows points with two decimals, and {what} is worth {points:.6g}"
    return _precision_loss(item) if isinstance(item, NumberItem) else None


def _precision_loss(item: NumberItem) -> str | None:
    key = item.ranges[0]
    if 0 < abs(key.value) < SMALLEST:
        return f"Canvas loses answers below {SMALLEST:g}; ask in a smaller unit"
    if key.low == key.high and int(float(key.value)) != key.value and item.whole:
        return "Canvas loses digits of such a long number; ask in a larger unit, with a tolerance"
    return None


def _iter_losses(item: Item) -> Iterator[str]:
    if isinstance(item, NumberItem) and any(r.share for r in item.ranges[1:]):
        yield "mistakes with partial credit get none"
    if isinstance(item, TextItem):
        if any(words.share for words in item.words[1:]):
            yield "mistakes with partial credit get none"
        if item.exact:
            yield "Canvas ignores upper and lower case"
    if isinstance(item, EssayItem) and item.rubric:
        yield "the rubric is not in the file; attach it in Canvas"
    if isinstance(item, ChoiceItem):
        yield from _choice_losses(item)


def _choice_losses(item: ChoiceItem) -> Iterator[str]:
    if not item.several:
        if any(choice.share for choice in item.choices if not choice.right):
            yield "wrong options with partial credit get none"
    elif cloze.is_asked_by_option(item):
        yield "asked option by option, yes or no, without the options' feedback"
    else:
        yield f'has an additional option, "{cloze.NONE}"'
        if item.rule == "all-or-nothing":
            yield (
                "all or nothing here, but Canvas gives the share of right options minus that of "
                "wrong ones"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class _CanvasQuestion:
    """One question in Canvas: a part, or a cell of a table."""

    part: QuizPart
    item: Item
    points: float
    index: int

    def text(self, asked: QuizQuestion) -> str:
        """The whole prompt, and the question."""
        more = []
        if isinstance(self.item, NumberItem):
            if self.item.row:
                more.append(f"Here: {self.item.row}, {plain_text(self.item.column)}.")
            more.append(f"Give {number_hint(self.item)}.")
        return prompt_html(asked) + part_html(self.part, " ".join(more))


def _canvas_questions(asked: QuizQuestion) -> Iterator[_CanvasQuestion]:
    for part in asked.fields:
        for index, item in enumerate(part.items):
            points = round(part.points * getattr(item, "weight", 1.0), DECIMALS)
            yield _CanvasQuestion(part=part, item=item, points=points, index=index)


@dataclass(slots=True)
class _Identifiers:
    """Generates the identifiers of one package."""

    quiz: str
    numbers: Iterator[int] = field(default_factory=lambda: count(1001))

    def of(self, *names: object) -> str:
        return identifier(self.quiz, *names)


def _package_files(quiz: Quiz) -> dict[str, bytes]:
    names = _Identifiers(quiz.id)
    root = names.of("assessment")
    meta = names.of("meta")
    return {
        "imsmanifest.xml": document_bytes(_manifest_document(quiz, names, root, meta)),
        f"{root}/{root}.xml": document_bytes(_assessment_document(quiz, names, root)),
        f"{root}/assessment_meta.xml": document_bytes(_meta_document(quiz, names, root)),
    }


_QTI = "http://www.imsglobal.org/xsd/ims_qtiasiv1p2"
_XSI = "http://www.w3.org/2001/XMLSchema-instance"
_CANVAS = "http://canvas.instructure.com/xsd/cccv1p0"


def _assessment_document(quiz: Quiz, names: _Identifiers, name: str) -> Element:
    root = element(
        "questestinterop",
        **{
            "xmlns": _QTI,
            "xmlns:xsi": _XSI,
            "xsi:schemaLocation": f"{_QTI} http://www.imsglobal.org/xsd/ims_qtiasiv1p2p1.xsd",
        },
    )
    assessment = add_element(root, "assessment", ident=name, title=quiz.title)
    about = add_element(assessment, "qtimetadata")
    if quiz.minutes:
        metadata(about, "qmd_timelimit", f"{quiz.minutes:g}")
    metadata(about, "cc_maxattempts", "1")
    section = add_element(assessment, "section", ident="root_section")
    for pool in quiz.pools:
        _add_sections(section, pool, names)
    return root


def _add_sections(parent: Element, pool: Pool, names: _Identifiers) -> None:
    """A group of variants for each part of the pool's problem."""
    every = [list(_canvas_questions(asked)) for asked in pool.questions]
    for at, first in enumerate(every[0]):
        home = parent
        if len(pool.questions) > 1:
            home = _add_group(parent, pool, first, names, at)
        for asked, pieces in zip(pool.questions, every, strict=True):
            home.append(_question_element(pool, asked, pieces[at], names))


def _add_group(
    parent: Element, pool: Pool, piece: _CanvasQuestion, names: _Identifiers, at: int
) -> Element:
    title = f"{pool.number} {pool.title}" + (f" ({piece.part.letter})" if piece.part.letter else "")
    section = add_element(parent, "section", ident=names.of("group", pool.number, at), title=title)
    selection = add_element(add_element(section, "selection_ordering"), "selection")
    add_element(selection, "selection_number", "1")
    extension = add_element(selection, "selection_extension")
    add_element(extension, "points_per_item", f"{piece.points:g}")
    return section


def _question_element(
    pool: Pool, asked: QuizQuestion, piece: _CanvasQuestion, names: _Identifiers
) -> Element:
    part = (pool.number, asked.problem, asked.variant, piece.part.id, piece.index)
    letter = f" ({piece.part.letter})" if piece.part.letter else ""
    heading = ItemHeading(
        ident=names.of("item", *part),
        title=f"{pool.number}{letter} {asked.title}",
        text=piece.text(asked),
        feedback=solution_html(asked),
        points=piece.points,
        numbers=names.numbers,
    )
    return item_element(piece.item, heading)


def _total_points(quiz: Quiz) -> float:
    return sum(pool.points for pool in quiz.pools)


def _meta_document(quiz: Quiz, names: _Identifiers, name: str) -> Element:
    root = element(
        "quiz",
        **{
            "identifier": name,
            "xmlns": _CANVAS,
            "xmlns:xsi": _XSI,
            "xsi:schemaLocation": f"{_CANVAS} https://canvas.instructure.com/xsd/cccv1p0.xsd",
        },
    )
    limit = [("time_limit", f"{quiz.minutes:g}")] if quiz.minutes else []
    _add_texts(
        root,
        [
            ("title", quiz.title),
            ("description", typeset_text(quiz.instructions) if quiz.instructions else ""),
            # The variants are already shuffled, and some options have a fixed order.
            ("shuffle_answers", "false"),
            ("scoring_policy", "keep_highest"),
            # Otherwise the first student to finish could pass on the worked solutions.
            ("hide_results", "always"),
            ("quiz_type", "assignment"),
            ("points_possible", f"{_total_points(quiz):g}"),
            ("show_correct_answers", "false"),
            ("could_be_locked", "false"),
            *limit,
            ("allowed_attempts", "1"),
            ("one_question_at_a_time", "false"),
            ("cant_go_back", "false"),
            ("available", "false"),
        ],
    )
    assignment = add_element(root, "assignment", identifier=names.of("assignment"))
    _add_texts(
        assignment,
        [
            ("title", quiz.title),
            ("workflow_state", "unpublished"),
            ("quiz_identifierref", name),
            ("points_possible", f"{_total_points(quiz):g}"),
            ("grading_type", "points"),
            ("submission_types", "online_quiz"),
        ],
    )
    return root


def _add_texts(parent: Element, pairs: Sequence[tuple[str, str]]) -> None:
    for tag, text in pairs:
        add_element(parent, tag, text)


_PACKAGE = "http://www.imsglobal.org/xsd/imsccv1p1/imscp_v1p1"
_MATTER = "http://www.imsglobal.org/xsd/imsmd_v1p2"


def _manifest_document(quiz: Quiz, names: _Identifiers, name: str, meta: str) -> Element:
    root = element(
        "manifest",
        **{
            "identifier": names.of("manifest"),
            "xmlns": _PACKAGE,
            "xmlns:imsmd": _MATTER,
            "xmlns:xsi": _XSI,
            "xsi:schemaLocation": f"{_PACKAGE} http://www.imsglobal.org/xsd/imscp_v1p1.xsd "
            f"{_MATTER} http://www.imsglobal.org/xsd/imsmd_v1p2p2.xsd",
        },
    )
    about = add_element(root, "metadata")
    add_element(about, "schema", "IMS Content")
    add_element(about, "schemaversion", "1.1.3")
    title = add_element(
        add_element(add_element(about, "imsmd:lom"), "imsmd:general"), "imsmd:title"
    )
    add_element(title, "imsmd:string", quiz.title)
    add_element(root, "organizations")
    resources = add_element(root, "resources")
    quiz_file = add_element(resources, "resource", identifier=name, type="imsqti_xmlv1p2")
    add_element(quiz_file, "file", href=f"{name}/{name}.xml")
    add_element(quiz_file, "dependency", identifierref=meta)
    about_file = add_element(
        resources,
        "resource",
        identifier=meta,
        type="associatedcontent/imscc_xmlv1p1/learning-application-resource",
        href=f"{name}/assessment_meta.xml",
    )
    add_element(about_file, "file", href=f"{name}/assessment_meta.xml")
    return root
