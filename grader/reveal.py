"""What an audience may see of one student's result: the only way from keys to pages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from grader.errors import GraderError
from grader.kinds.base import kinds
from grader.model import (
    Audience,
    CellRun,
    Evidence,
    Mark,
    Outcome,
    Paper,
    Question,
    Variant,
    Verdict,
)
from grader.model.result import (
    CellTrouble,
    Feedback,
    GivenValue,
    Row,
    RunStory,
    ShownPart,
    ShownProblem,
)

Given = Callable[[Variant], Sequence[tuple[str, str]]]

_ERROR_LENGTH = 500


def reveal(
    row: Row,
    paper: Paper,
    *,
    audience: Audience,
    published: bool,
    given: Given,
    evidence: Evidence | None = None,
) -> Feedback:
    """What *audience* may see of *row*; a student sees the key only once it is *published*.

    *given* makes the table of given values of a variant. Raises GraderError when the grade has
    marks that are not on the paper, as then they belong to another release.
    """
    open_book = published or audience is Audience.STAFF
    return Feedback(
        student=row.student,
        exam=paper.exam.id,
        title=paper.exam.title,
        release=paper.release,
        standing=row.standing,
        audience=audience,
        published=published,
        score=row.score,
        max_score=row.max_score,
        complete=row.complete,
        problems=tuple(_problems(row, paper, audience, given if open_book else None)),
        run=None if evidence is None else _story(evidence),
        refusal=row.refusal,
    )


def _problems(
    row: Row, paper: Paper, audience: Audience, given: Given | None
) -> Sequence[ShownProblem]:
    marks = {mark.name: mark for mark in row.marks}
    shown = []
    for question in paper.questions:
        parts = tuple(
            _part(question, part_id, marks.pop(question.name(part_id)), row, audience, given)
            for part_id in question.keys
            if question.name(part_id) in marks
        )
        if parts:
            shown.append(_problem(question, parts, given))
    if marks:
        raise GraderError(
            f"the grade of '{row.student.id}' has marks that are not on the paper:"
            f" {', '.join(marks)}",
            fix="grade again with the release that the notebooks came from",
        )
    return shown


def _problem(question: Question, parts: tuple[ShownPart, ...], given: Given | None) -> ShownProblem:
    variant, problem = question.variant, question.variant.problem
    if given is None:
        return ShownProblem(number=question.number, id=problem.id, title=problem.title, parts=parts)
    return ShownProblem(
        number=question.number,
        id=problem.id,
        title=problem.title,
        parts=parts,
        prompt=_fill(variant, problem.prompt),
        given=tuple(GivenValue(label=label, value=value) for label, value in given(variant)),
        assumptions=tuple(_fill(variant, text) for text in problem.assumptions),
        solution=_fill(variant, problem.explanation) or None,
    )


def _part(
    question: Question,
    part_id: str,
    mark: Mark,
    row: Row,
    audience: Audience,
    given: Given | None,
) -> ShownPart:
    variant = question.variant
    key = variant.keys[part_id]
    kind = kinds.find(key.part.kind)
    by_hand = row.overrides.get(mark.name)
    return ShownPart(
        id=part_id,
        name=mark.name,
        kind=mark.kind,
        ask=_fill(variant, key.part.ask),
        answer=mark.answer,
        verdict=mark.verdict,
        # Its name may say what is right, so students read the feedback instead.
        mistake=mark.mistake if given is not None else None,
        why=mark.feedback,
        look_at=_look_at(mark, kind.how(key), variant.problem.topics, variant.problem.assumptions),
        points=mark.points,
        max_points=mark.max_points,
        set_by=by_hand.by if by_hand and audience is Audience.STAFF else None,
        accepted=None if given is None else kind.explain(key),
    )


def _fill(variant: Variant, text: str) -> str:
    return variant.draw.fill(text, variant.scope).strip()


def _look_at(mark: Mark, how: str, topics: Sequence[str], assumptions: Sequence[str]) -> str:
    """What to do or read next; nothing of the key."""
    if mark.verdict in {Verdict.ABSENT, Verdict.UNREADABLE}:
        return f"How to write it: {how}" if how else ""
    if mark.verdict is Verdict.INCORRECT:
        again = "the units, and the assumptions under the question" if assumptions else "the units"
        read = f"; the topic is {_list(topics)}" if topics else ""
        return f"Check {again}{read}."
    if mark.verdict in {Verdict.MISTAKE, Verdict.PARTIAL} and topics:
        return f"The topic is {_list(topics)}."
    return ""


def _list(topics: Sequence[str]) -> str:
    return ", ".join(topic.replace("-", " ") for topic in topics)


def _story(evidence: Evidence) -> RunStory:
    troubles = tuple(_trouble(cell) for cell in evidence.cells if _failed(cell))
    return RunStory(
        sentence=_sentence(evidence, len(troubles)),
        seconds=evidence.seconds,
        troubles=troubles,
    )


_OUTCOMES: Mapping[Outcome, str] = {
    Outcome.TIMEOUT: "It ran out of time.",
    Outcome.OUT_OF_MEMORY: "It used more memory than it may.",
    Outcome.CRASHED: "Its kernel stopped.",
    Outcome.REFUSED: "We could not run it; that is not your fault, and nothing is deducted for it.",
}


def _sentence(evidence: Evidence, troubles: int) -> str:
    if evidence.outcome is Outcome.FINISHED:
        cells = len(evidence.cells)
        if not troubles:
            return f"All {cells} code cells ran." if cells != 1 else "The code cell ran."
        return f"{troubles} of {cells} code cells did not run to their end."
    said = _OUTCOMES[evidence.outcome]
    return f"{said} {evidence.note}" if evidence.note else said


def _failed(cell: CellRun) -> bool:
    return cell.outcome is not Outcome.FINISHED or cell.error is not None


def _trouble(cell: CellRun) -> CellTrouble:
    error = cell.error or cell.outcome.value.replace("_", " ")
    if len(error) > _ERROR_LENGTH:
        error = error[:_ERROR_LENGTH] + " …"
    return CellTrouble(index=cell.index, outcome=cell.outcome, error=error, line=cell.line)
