"""Prints versions of a set: a release with one pseudo-student per version, exams, keys, sheet."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from grader.bank.folders import Bank
from grader.bank.parts import mentioned_parts
from grader.draw import paper
from grader.errors import SetupError
from grader.figures import prompt_figures, solution_blocks
from grader.files import write_atomic
from grader.integrations.paper.pages import SHEET, answer_sheet, page_html
from grader.integrations.quiz_items import quiz_items
from grader.kinds import kinds
from grader.kinds.answers import explain_part, needs_computer
from grader.kinds.explanation import ExplanationKey
from grader.kinds.plan import PlanKey, format_offers
from grader.kinds.table import TableKey
from grader.kinds.texts import fill
from grader.kinds.true_false import TrueFalseKey
from grader.model import ExamSet, Key, Paper, Question, Slot, Student, Tolerance
from grader.model.item import (
    AcceptedTexts,
    ChoiceItem,
    ChoiceOption,
    NumberItem,
    NumberRange,
    TextItem,
)
from grader.model.printed import (
    AnswerForm,
    AnswerPlace,
    PrintedColumn,
    PrintedExam,
    PrintedMistake,
    PrintedPart,
    PrintedProblem,
)
from grader.notebook.render import given_values, worked_solution
from grader.notebook.render.answer_cells import choices_text
from grader.notebook.render.closeness import common_tolerance, tolerance_note, tolerance_sentence
from grader.release.file import load_release
from grader.release.rendering import MadeRelease, make_release
from grader.release.versions import LETTERS
from grader.text.words import part_letter
from grader.units import format_with_unit, printed_unit

PRINTED = 6
CHECK = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class PrintResult(MadeRelease):
    """A release for printing, with the files that were written."""

    files: tuple[Path, ...]


def print_exam(
    bank: Bank,
    wanted: str,
    versions: int,
    out: Path,
    *,
    students: Sequence[Student] = (),
    private_key: str | None = None,
    leave_out: bool = False,
) -> PrintResult:
    """Writes *versions* versions of the set *wanted* to *out*, with keys, sheet, and release."""
    exam, notes = answerable_on_paper(bank.exam(wanted), bank, leave_out=leave_out)
    _check_existing_release(out)
    letters = tuple(
        Student(id=letter, name=f"Version {letter}", version=letter)
        for letter in LETTERS[:versions]
    )
    rendered = make_release(bank, exam, letters, out, private_key)
    release = rendered.release
    printed = [printed_exam(paper(release, release.students[student.id])) for student in letters]
    files = []
    for copy in printed:
        exam_file, key_file = out / f"exam-{copy.version}.html", out / f"key-{copy.version}.html"
        write_atomic(exam_file, page_html("exam", copy, bank.templates))
        write_atomic(key_file, page_html("key", copy, bank.templates), private=True)
        files += [exam_file, key_file]
    sheet = out / SHEET
    sheet_notes = []
    if sheet.exists():  # a person may have typed into it
        sheet_notes.append(f"{SHEET} already exists and was not changed")
    else:
        write_atomic(sheet, answer_sheet(printed, students))
    extra = sorted({s.version for s in students if s.version} - {copy.version for copy in printed})
    if extra:
        sheet_notes.append(f"the roster names versions that are not printed: {', '.join(extra)}")
    essays = dict.fromkeys(
        p.name for copy in printed for p in copy.places if p.form is AnswerForm.TEXT
    )
    essay_notes = [f"grade manually and type the points in: {', '.join(essays)}"] if essays else []
    notes = (*notes, *rendered.notes, *essay_notes, *sheet_notes)
    return PrintResult(release=release, files=(*files, sheet), notes=notes)


def _check_existing_release(out: Path) -> None:
    """Raises SetupError if the release in *out*, which would be kept, needs a computer."""
    file = out / "release.json"
    if not file.exists():
        return
    old = load_release(file)
    for slot in old.exam.slots:
        problems = (old.problems[name] for name in slot.problem_ids)
        asked = (p for problem in problems for p in problem.parts if slot.asks(problem.id, p.id))
        if any(needs_computer(part.kind) for part in asked):
            raise SetupError(
                "the existing release has parts that need a computer",
                where=str(file),
                fix="choose another folder for --out",
            )


def answerable_on_paper(
    exam: ExamSet, bank: Bank, *, leave_out: bool
) -> tuple[ExamSet, tuple[str, ...]]:
    """Returns *exam* without parts that need a computer; raises SetupError unless *leave_out*."""
    slots: list[Slot] = []
    dropped: list[str] = []
    for slot in exam.slots:
        kept, lost = _filter_pool(slot, bank) if slot.pool else _filter_problem(slot, bank)
        dropped += lost
        if kept is not None:
            slots.append(kept)
    if dropped and not leave_out:
        raise SetupError(
            f"these parts of the set '{exam.id}' need a computer: {', '.join(dropped)}",
            fix="leave out these parts and their points with --leave-out, or change the set",
        )
    if not slots:
        raise SetupError(
            f"no part of the set '{exam.id}' can be answered on paper", fix="choose another set"
        )
    if not dropped:
        return exam, ()
    notes = (f"left out with their points because they need a computer: {', '.join(dropped)}",)
    return replace(exam, problems=tuple(slots)), notes


def _filter_problem(slot: Slot, bank: Bank) -> tuple[Slot | None, list[str]]:
    """Returns the slot with the parts for paper, or None, and the names of the other parts."""
    problem = bank.problem(str(slot.problem))
    asked = [p for p in problem.parts if slot.asks(problem.id, p.id)]
    why = {p.id: p.kind for p in asked if needs_computer(p.kind)}
    if not why:
        return slot, []
    for name, _, mentioned in mentioned_parts(problem):
        if mentioned in why:
            why.setdefault(name, f"mentions '{mentioned}'")
    kept = [p for p in asked if p.id not in why]
    lost = [f"{problem.id}/{p.id} ({why[p.id]})" for p in asked if p.id in why]
    if not kept:
        return None, lost
    points = slot.points
    if points is not None:
        points = points * sum(p.points for p in kept) / sum(p.points for p in asked)
    return replace(slot, parts=tuple(p.id for p in kept), points=points), lost


def _filter_pool(slot: Slot, bank: Bank) -> tuple[Slot | None, list[str]]:
    """Returns the slot with the problems that need no computer at all, if any, and the others."""
    kept = tuple(
        name
        for name in slot.pool
        if not any(
            needs_computer(part.kind)
            for part in bank.problem(name).parts
            if slot.asks(name, part.id)
        )
    )
    lost = [f"{name} (of a pool)" for name in slot.pool if name not in kept]
    if len(kept) < slot.choose:
        lost.append(f"{slot.choose - len(kept)} of the {slot.choose} problems drawn from it")
    if not kept:
        return None, lost
    return replace(slot, pool=kept, choose=min(slot.choose, len(kept))), lost


def check_code(release: str, version: str) -> str:
    """Returns the check code of a version: `CHECK` characters that depend on the release's id."""
    digest = hashlib.sha256(f"{release}/{version}".encode()).digest()
    return base64.b32encode(digest).decode()[:CHECK]


def printed_exam(mine: Paper) -> PrintedExam:
    """Returns the printed form of a pseudo-student's paper."""
    parts = [key.part for _, key in mine.named_keys()]
    common = common_tolerance(parts)
    return PrintedExam(
        version=mine.student.id,
        check=check_code(mine.release, mine.student.id),
        title=" ".join(mine.exam.title.split()),
        instructions=mine.exam.instructions.strip(),
        minutes=mine.exam.minutes,
        tolerance=tolerance_sentence(parts),
        problems=tuple(printed_problem(question, common) for question in mine.questions),
    )


def printed_problem(question: Question, common: Tolerance | None = None) -> PrintedProblem:
    """Returns a question with its key; parts accepted within *common* don't say so. **Secret.**"""
    variant, problem = question.variant, question.variant.problem
    drawn = variant.draw
    alone = len(question.keys) == 1
    solution = worked_solution(variant, question.points)
    return PrintedProblem(
        number=question.number,
        title=problem.title,
        prompt=fill(problem.prompt, drawn),
        given_values=tuple(given_values(variant)),
        assumptions=tuple(fill(a, drawn) for a in problem.assumptions),
        parts=tuple(
            _printed_part(question, key, "" if alone else part_letter(index), common)
            for index, key in enumerate(question.keys.values())
        ),
        solution=solution,
        figures=prompt_figures(variant),
        solution_blocks=solution_blocks(variant, question.points, solution),
    )


def _printed_part(
    question: Question, key: Key, letter: str, common: Tolerance | None
) -> PrintedPart:
    """Returns the printed form of a part, with its key. **Secret.**"""
    kind = kinds.find(key.part.kind)
    closeness = tolerance_note(key.part, common, getattr(key, "titles", ()))
    # Unless the part is all or nothing, the rule for points follows a semicolon.
    rule = kind.instructions(key).partition("; ")[2]
    return PrintedPart(
        letter=letter,
        ask=fill(key.part.ask, key.draw),
        options=choices_text(key),
        rule="; ".join(filter(None, (closeness, rule))),
        place=replace(
            place_of(question.name(key.part.id), key), points=question.points[key.part.id]
        ),
        accepted_answer=explain_part(kind, key),
        mistakes=tuple(_printed_mistakes(key)),
    )


_FORMS = {
    "choice": AnswerForm.LETTER,
    "multi_choice": AnswerForm.LETTERS,
    "true_false": AnswerForm.TRUTH,
    "ordering": AnswerForm.ORDER,
    "matching": AnswerForm.PAIRS,
    "table": AnswerForm.GRID,
}


def place_of(name: str, key: Key) -> AnswerPlace:
    """Returns the place for the answer of *key*; a line for kinds without a specific form."""
    form = _FORMS.get(key.part.kind, AnswerForm.LINE)
    if isinstance(key, ExplanationKey):
        form = AnswerForm.TEXT
    if isinstance(key, TableKey):
        return AnswerPlace(
            name=name,
            form=form,
            corner=key.part.row,
            rows=tuple(map(str, key.rows)),
            columns=tuple(
                PrintedColumn(title=title, unit=printed_unit(unit))
                for title, unit in zip(key.titles, key.units, strict=True)
            ),
        )
    if isinstance(key, PlanKey):
        return AnswerPlace(
            name=name,
            form=AnswerForm.PLAN,
            corner="choice",
            rows=tuple(f"{n}: {format_offers(offered)}" for n, offered in key.part.choose.items()),
            choices=tuple(key.part.choose),
            columns=(PrintedColumn(title="your value"),),
        )
    count = 2 if key.part.kind == "short_text" else 1
    if isinstance(key, TrueFalseKey) and key.choices:
        count = 2  # and the letter of a reason
    if form in (AnswerForm.ORDER, AnswerForm.PAIRS):
        count = len(getattr(key, "choices" if form is AnswerForm.ORDER else "items", ()))
    unit = printed_unit(getattr(key.part, "unit", ""))
    return AnswerPlace(name=name, form=form, unit=unit, count=count)


def _wrong_reasons(key: TrueFalseKey) -> Iterator[PrintedMistake]:
    kind = kinds.find(key.part.kind)
    for choice in key.choices:
        judged = kind.judge((key.right, choice.letter), key)
        if choice.letter != key.reason:
            answer = f"{key.right}, {choice.letter}"
            yield PrintedMistake(answer=answer, share=judged.share or 0.0, feedback=judged.note)


def _printed_mistakes(key: Key) -> Iterator[PrintedMistake]:
    """Yields known wrong answers with their partial credit."""
    if isinstance(key, TrueFalseKey) and key.choices:
        yield from _wrong_reasons(key)
        return
    mistakes: Iterable[tuple[str, NumberRange | ChoiceOption | AcceptedTexts]]
    for item in quiz_items(key):
        if isinstance(item, NumberItem):
            where = f"{item.row}, {item.column}: " if item.row else ""
            unit = item.unit
            mistakes = ((where + format_with_unit(x.value, unit, 4), x) for x in item.ranges[1:])
        elif isinstance(item, ChoiceItem):
            letters = {c.id: c.letter for c in getattr(key, "choices", ())}
            wrong = (x for x in item.choices if not x.right and (x.feedback or x.share))
            mistakes = ((letters.get(x.id, x.text), x) for x in wrong)
        elif isinstance(item, TextItem):
            mistakes = ((", ".join(words.texts), words) for words in item.words[1:])
        else:
            mistakes = ()
        for answer, mistake in mistakes:
            yield PrintedMistake(answer=answer, share=mistake.share, feedback=mistake.feedback)
