"""Decides what students may see of their results: the only way from keys to pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from grader.errors import GraderError
from grader.figures import prompt_figures, solution_blocks
from grader.kinds.answers import explain_part
from grader.kinds.base import Kind, kinds
from grader.kinds.lettered import find_choices
from grader.kinds.matching import MatchingKey
from grader.kinds.multi_choice import MultiChoiceKey
from grader.kinds.ordering import OrderingKey
from grader.kinds.texts import fill
from grader.model import CellRun, Evidence, Key, Mark, Outcome, Paper, Question, Verdict
from grader.model.records import field_values
from grader.model.result import (
    CellTrouble,
    Feedback,
    Row,
    RunSummary,
    ShownPart,
    ShownProblem,
    StudentResult,
)
from grader.notebook.render import given_values, worked_solution

_ERROR_LENGTH = 500


def reveal(
    row: Row, paper: Paper, *, published: bool, evidence: Evidence | None = None
) -> Feedback:
    """Returns what the student of *row* may see, which includes the key only if *published*.

    Raises GraderError if the grade has marks that are not on the paper, because then they belong to
    another release.
    """
    execution = None if evidence is None or evidence.is_on_paper else evidence
    answers = execution.answers if execution else {}
    undefined_names = frozenset(
        name for name, answer in answers.items() if answer.raw is None or answer.is_unexecuted
    )
    view = _View(row=row, published=published, undefined_names=undefined_names)
    run = run_summary(execution) if execution else None
    return Feedback(
        **field_values(row, StudentResult),
        exam=paper.exam.id,
        title=paper.exam.title,
        release=paper.release,
        is_published=published,
        problems=tuple(_shown_problems(paper, view)),
        run=run,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _View:
    """What decides what a student may see."""

    row: Row
    published: bool
    """Whether the key is no longer secret."""
    undefined_names: frozenset[str]
    """The names that no cell had set after the notebook ran."""


def _shown_problems(paper: Paper, view: _View) -> Sequence[ShownProblem]:
    """Returns the problems of *paper* that have marks, as the student may see them."""
    marks = {mark.name: mark for mark in view.row.marks}
    shown = []
    for question in paper.questions:
        parts = tuple(
            _shown_part(question, part_id, marks.pop(question.name(part_id)), view)
            for part_id in question.variant.keys
            if question.name(part_id) in marks
        )
        if parts:
            shown.append(_shown_problem(question, parts, published=view.published))
    if marks:
        raise GraderError(
            f"the grade of '{view.row.student.id}' has marks that are not on the paper:"
            f" {', '.join(marks)}",
            fix="grade again with the release of these notebooks",
        )
    return shown


def _shown_problem(
    question: Question, parts: tuple[ShownPart, ...], *, published: bool
) -> ShownProblem:
    """Returns the problem of *question*, with its text and solution only if *published*."""
    variant = question.variant
    problem = variant.problem
    shown = ShownProblem(number=question.number, id=problem.id, title=problem.title, parts=parts)
    if not published:
        return shown
    solution = worked_solution(variant, question.points)
    return replace(
        shown,
        figures=prompt_figures(variant),
        prompt=fill(problem.prompt, variant.draw),
        given_values=tuple(given_values(variant)),
        assumptions=tuple(fill(text, variant.draw) for text in problem.assumptions),
        solution=solution or None,
        solution_blocks=solution_blocks(variant, question.points, solution),
    )


def _shown_part(question: Question, part_id: str, mark: Mark, view: _View) -> ShownPart:
    """Returns one part as the student may see it, with the accepted answer only if published."""
    variant = question.variant
    key = variant.keys[part_id]
    kind = kinds.find(key.part.kind)
    # Said once for the whole submission, not for every part.
    refused = view.row.refusal is not None and mark.feedback == view.row.refusal
    return ShownPart(
        id=part_id,
        name=mark.name,
        kind=mark.kind,
        ask=fill(key.part.ask, variant.draw),
        answer=_shown_answer(kind, mark, published=view.published),
        verdict=mark.verdict,
        why="" if refused else mark.feedback,
        look_at="" if refused else _advice(question, mark, key, mark.name in view.undefined_names),
        points=mark.points,
        max_points=mark.max_points,
        accepted_answer=explain_part(kind, key) if view.published else None,
        chosen_options=_chosen_options(mark.answer, key),
    )


def _chosen_options(answer: str | None, key: Key) -> tuple[str, ...]:
    if not answer or not isinstance(key, (MultiChoiceKey, MatchingKey, OrderingKey)):
        return ()
    return find_choices(answer, key.choices)


def _shown_answer(kind: Kind, mark: Mark, *, published: bool) -> str | None:
    if mark.answer is None or published:
        return mark.answer
    return kind.before_release(mark.answer)


def _advice(question: Question, mark: Mark, key: Key, undefined: bool) -> str:
    """Returns what the student should do or read next, without revealing anything of the key."""
    if mark.verdict is Verdict.ABSENT and undefined:
        return "Restart the kernel and run all cells from the top to see where it stops."
    if mark.verdict in {Verdict.ABSENT, Verdict.UNREADABLE}:
        return f"Expected form: {kinds.find(key.part.kind).instructions(key)}."
    if mark.verdict not in {Verdict.INCORRECT, Verdict.MISTAKE, Verdict.PARTIAL}:
        return ""
    problem = question.variant.problem
    advice = []
    if mark.verdict is Verdict.INCORRECT and problem.assumptions:
        advice.append("Review the conventions of the question in your notebook one by one.")
    if problem.topics:
        topics = ", ".join(topic.replace("-", " ") for topic in problem.topics)
        advice.append(f"Review: {topics}.")
    return " ".join(advice)


def run_summary(evidence: Evidence) -> RunSummary:
    """Returns how a notebook ran, for its student."""
    troubles = tuple(
        _cell_trouble(n, cell) for n, cell in enumerate(evidence.cells, 1) if cell.has_failed
    )
    return RunSummary(
        sentence=_run_sentence(evidence, len(troubles)),
        # Only cells: the time of hidden calls could reveal their inputs.
        seconds=round(sum(cell.seconds for cell in evidence.cells), 3),
        troubles=troubles,
    )


_OUTCOMES: Mapping[Outcome, str] = {
    Outcome.TIMEOUT: "A time limit was reached.",
    Outcome.OUT_OF_MEMORY: "The notebook exceeded its memory limit.",
    Outcome.CRASHED: "The kernel stopped.",
    Outcome.REFUSED: (
        "We could not run the notebook. This is not your fault, and no points are deducted."
    ),
}


def _run_sentence(evidence: Evidence, unfinished_count: int) -> str:
    """Returns a sentence on how the notebook ran; *unfinished_count* cells did not finish."""
    if evidence.outcome is Outcome.FINISHED:
        cells = len(evidence.cells)
        if not cells:
            return "The notebook has no code cells."
        if not unfinished_count:
            return f"All {cells} code cells ran." if cells != 1 else "The code cell ran."
        return f"{unfinished_count} of {cells} code cells did not finish."
    sentence = _OUTCOMES[evidence.outcome]
    if not evidence.note:
        return sentence
    return f"{sentence.removesuffix('.')}: {evidence.note.removesuffix('.')}."


def _cell_trouble(number: int, cell: CellRun) -> CellTrouble:
    error = cell.trouble
    if len(error) > _ERROR_LENGTH:
        error = error[:_ERROR_LENGTH] + " …"
    return CellTrouble(number=number, outcome=cell.outcome, error=error, line=cell.line)
