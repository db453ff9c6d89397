"""Marks an nbgrader notebook from its evidence, by nbgrader's own rule. A pure function."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from grader import __version__
from grader.grading.score import hold_open
from grader.integrations.nbgrader.assignment import Assignment, SourceCell, SourceNotebook
from grader.integrations.nbgrader.rule import STDERR, UndecidedError, earned_points, outputs_in
from grader.integrations.nbgrader.source import release_of
from grader.model import Answer, CellRun, Evidence, Grade, Mark, Outcome, Submission, Verdict
from grader.model.evidence import Raw
from grader.words import points as shown

TESTS, MANUAL, TASK = "tests", "manual", "task"
"""Kinds of marks."""

_SHOWN = 4_000
"""Characters of a written answer that a mark contains."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StudentWork:
    """One student's submissions and evidence, by notebook."""

    student: str
    handed_in: Mapping[str, Submission]
    evidence: Mapping[str, Evidence]
    sha256: str
    """Digest of all submitted notebooks."""


def score_assignment(assignment: Assignment, work: StudentWork) -> Grade:
    """The grade for a student's evidence. The same arguments give the same grade."""
    marks = tuple(
        mark
        for notebook in assignment.notebooks
        for mark in _score_notebook(assignment, notebook, work)
    )
    first = next(iter(work.evidence.values()), None)
    environment = dict(first.environment) if first else {}
    environment["notebooks"] = {name: s.sha256 for name, s in work.handed_in.items()}
    return Grade(
        student=work.student,
        exam=assignment.name,
        submission_sha256=work.sha256,
        marks=marks,
        engine=__version__,
        release=release_of(assignment),
        environment=environment,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Judgment:
    """The judgment of one cell, before it becomes a mark."""

    points: float | None
    verdict: Verdict
    feedback: str
    answer: str | None = None


def _score_notebook(
    assignment: Assignment, notebook: SourceNotebook, work: StudentWork
) -> Iterator[Mark]:
    whole = _judge_notebook(notebook.name, work)
    evidence = work.evidence.get(notebook.name)
    for cell in notebook.cells:
        if not cell.is_marked:
            continue
        found = whole or _judge_cell(cell, evidence)
        mark = Mark(
            problem=notebook.name,
            part=cell.grade_id,
            name=assignment.mark_name(notebook.name, cell.grade_id),
            kind=TASK if cell.task else TESTS if cell.is_tests else MANUAL,
            points=found.points,
            max_points=cell.points,
            verdict=found.verdict,
            mistake=None,
            answer=found.answer,
            feedback=found.feedback,
        )
        yield mark if evidence is None else hold_open(mark, evidence, cell.grade_id)


def _judge_notebook(name: str, work: StudentWork) -> _Judgment | None:
    """The judgment of every cell of a notebook that did not run; None if it ran."""
    submission, evidence = work.handed_in.get(name), work.evidence.get(name)
    if submission is None:
        what = f"Your submission does not contain the notebook '{name}'."
        return _Judgment(points=0.0, verdict=Verdict.ABSENT, feedback=what)
    if submission.refusal is not None:
        return _Judgment(points=None, verdict=Verdict.UNREADABLE, feedback=submission.refusal)
    if evidence is None or evidence.outcome is Outcome.REFUSED:
        why = (evidence and evidence.note) or (
            "the notebook could not be run because of an internal error; no points are deducted"
        )
        return _Judgment(points=None, verdict=Verdict.UNSETTLED, feedback=why)
    return None


def _judge_cell(cell: SourceCell, evidence: Evidence | None) -> _Judgment:
    answer = evidence.answers.get(cell.grade_id) if evidence else None
    if evidence is None or answer is None or answer.raw is None:
        return _judge_missing(answer)
    if cell.is_tests:
        return _judge_tests(cell, answer.raw, evidence)
    return _judge_written(cell, answer.raw)


def _judge_missing(answer: Answer | None) -> _Judgment:
    why = (answer and answer.absent) or "the evidence does not contain it"
    return _Judgment(
        points=None,
        verdict=Verdict.UNSETTLED,
        feedback=f"This needs manual grading: {why}.",
    )


def _judge_written(cell: SourceCell, raw: Raw) -> _Judgment:
    if raw.get("untouched") is True:
        return _Judgment(points=0.0, verdict=Verdict.ABSENT, feedback="No response.")
    return _Judgment(
        points=None,
        verdict=Verdict.UNSETTLED,
        feedback="This is graded manually.",
        answer=None if cell.task else _truncate(str(raw.get("v", ""))),
    )


def _truncate(written: str) -> str:
    """*written*, truncated with a visible note if it is too long for a mark."""
    more = f" […] (the first {_SHOWN:,} characters; see the notebook for the rest)"
    return written if len(written) <= _SHOWN else written[:_SHOWN] + more


def _judge_tests(cell: SourceCell, raw: Raw, evidence: Evidence) -> _Judgment:
    outputs = outputs_in(raw)
    try:
        points = earned_points(outputs, cell.points)
    except UndecidedError as reason:
        return _Judgment(
            points=None,
            verdict=Verdict.UNSETTLED,
            feedback=f"The tests' output can't be read: {reason}. nbgrader would stop with an "
            "error; this needs manual grading.",
        )
    if points >= cell.points and not _has_failed(outputs):
        return _Judgment(points=points, verdict=Verdict.CORRECT, feedback="The tests passed.")
    if points > 0:
        said = f"The tests gave {shown(points)} of {shown(cell.points)} points."
        return _Judgment(points=points, verdict=Verdict.PARTIAL, feedback=said)
    run = next((one for one in evidence.cells if one.index == raw.get("index")), None)
    return _Judgment(
        points=points, verdict=Verdict.INCORRECT, feedback=_failure_reason(outputs, run)
    )


def _has_failed(outputs: list[list[str]]) -> bool:
    return bool(outputs) and outputs[0][0] != "result"


def _failure_reason(outputs: list[list[str]], run: CellRun | None) -> str:
    """Why the tests gave no points, without their messages, which may reveal the answer."""
    if outputs and outputs[0][0] == STDERR:
        return "The tests printed an error or a warning, for which nbgrader gives no points."
    if run is None or not run.failed:
        return "The tests gave no points."
    if run.outcome is not Outcome.FINISHED:
        return f"The tests did not finish: the cell {run.trouble}."
    return f"The tests stopped with {(run.error or '').partition(':')[0]}."
