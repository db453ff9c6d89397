"""Marks an nbgrader notebook from its evidence, by the rule of nbgrader 0.9. A pure function."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from grader import __version__
from grader.grading.score import hold_open
from grader.integrations.nbgrader.assignment import Assignment, SourceCell, SourceNotebook
from grader.integrations.nbgrader.source import release_of
from grader.model import CellRun, Evidence, Grade, Mark, Outcome, Submission, Verdict
from grader.model.evidence import Raw
from grader.text.words import count_points
from grader.text.words import points as shown

TESTS, MANUAL, TASK = "tests", "manual", "task"
"""Kinds of marks."""
ERROR, STDERR, RESULT = "error", "stderr", "result"
"""Kinds of outputs that decide about points."""

_SHOWN = 4_000
"""Characters of a written answer that a mark contains."""


class UndecidedError(Exception):
    """nbgrader would stop with an error here; the message says why."""


def earned_points(outputs: Sequence[Sequence[str]], points: float) -> float:
    """Returns the points of a cell worth *points*, by what it put out in this order.

    The first error, text on stderr, or result decides. A result that is a number of at least 0 is
    the points earned; any other result, and no result, earns all points. Raises
    UndecidedError where nbgrader would stop with an error.
    """
    for kind, *rest in outputs:
        if kind in (ERROR, STDERR):
            return 0.0
        if kind == RESULT:
            return _result_points(rest[0] if rest else "", points)
    return points


def _result_points(text: str, points: float) -> float:
    """Returns the points for a result. Raises UndecidedError if it is empty or exceeds *points*."""
    if not text:
        raise UndecidedError("its result has no text")
    try:
        number = float(text)
    except ValueError:
        return points
    if not number >= 0:  # negative, or NaN
        return points
    if number > points:
        raise UndecidedError(f"its result is {number:g}, more than its {points:g} points")
    return number


@dataclass(frozen=True, slots=True, kw_only=True)
class StudentWork:
    """One student's submissions and evidence, by notebook."""

    whole: Submission
    notebooks: Mapping[str, Submission]
    evidence: dict[str, Evidence] = field(default_factory=dict)


def score_assignment(assignment: Assignment, work: StudentWork) -> Grade:
    """Returns the grade for a student's evidence. The same arguments give the same grade."""
    marks = tuple(
        mark
        for notebook in assignment.notebooks
        for mark in _score_notebook(assignment, notebook, work)
    )
    first = next(iter(work.evidence.values()), None)
    environment = dict(first.environment) if first else {}
    environment["notebooks"] = {name: s.sha256 for name, s in work.notebooks.items()}
    return Grade(
        student=work.whole.student,
        exam=assignment.name,
        submission_sha256=work.whole.sha256,
        marks=marks,
        engine=__version__,
        release=release_of(assignment),
        environment=environment,
    )


def _score_notebook(
    assignment: Assignment, notebook: SourceNotebook, work: StudentWork
) -> Iterator[Mark]:
    """Yields the mark of each cell of *notebook* that has points."""
    evidence = work.evidence.get(notebook.name)
    for cell in notebook.cells:
        if not cell.is_marked:
            continue
        kind = TESTS if cell.is_tests else MANUAL
        if cell.task:
            kind = TASK
        open_mark = Mark(
            problem=notebook.name,
            part=cell.grade_id,
            name=assignment.mark_name(notebook.name, cell.grade_id),
            kind=kind,
            points=None,
            max_points=cell.points,
            verdict=Verdict.UNSETTLED,
            mistake=None,
            answer=None,
            feedback="",
        )
        mark = _judge_cell(open_mark, cell, work.notebooks.get(notebook.name), evidence)
        yield mark if evidence is None else hold_open(mark, evidence, cell.grade_id)


def _judge_cell(
    mark: Mark, cell: SourceCell, submission: Submission | None, evidence: Evidence | None
) -> Mark:
    """Returns *mark* with points, or with the reason why it is still open."""
    if submission is None:
        what = f"Your submission does not contain the notebook '{mark.problem}'."
        return replace(mark, points=0.0, verdict=Verdict.ABSENT, feedback=what)
    if submission.refusal is not None:
        return replace(mark, verdict=Verdict.UNREADABLE, feedback=submission.refusal)
    if evidence is None or evidence.outcome is Outcome.REFUSED:
        why = (evidence and evidence.note) or (
            "the notebook could not be run because of an internal error; no points are deducted"
        )
        return replace(mark, feedback=why)
    answer = evidence.answers.get(cell.grade_id)
    if answer is None or answer.raw is None:
        why = (answer and answer.absent) or "the evidence does not contain it"
        return replace(mark, feedback=f"This needs manual grading: {why}.")
    if cell.is_tests:
        return _judge_tests(mark, answer.raw, evidence)
    return _judge_written(mark, answer.raw)


def _judge_written(mark: Mark, raw: Raw) -> Mark:
    """Returns *mark* with zero points for an untouched cell, else open and with the text."""
    if raw.get("untouched") is True:
        return replace(mark, points=0.0, verdict=Verdict.ABSENT, feedback="No response.")
    text = str(raw.get("v", ""))
    if len(text) > _SHOWN:
        more = f" […] (the first {_SHOWN:,} characters; see the notebook for the rest)"
        text = text[:_SHOWN] + more
    return replace(
        mark, feedback="This is graded manually.", answer=None if mark.kind == TASK else text
    )


def _judge_tests(mark: Mark, raw: Raw, evidence: Evidence) -> Mark:
    """Returns *mark* with the points that nbgrader gives for the tests' outputs in *raw*."""
    listed = raw.get("v")
    entries = listed if isinstance(listed, list) else []
    outputs = [[str(part) for part in e] for e in entries if isinstance(e, list | tuple) and e]
    try:
        points = earned_points(outputs, mark.max_points)
    except UndecidedError as reason:
        text = f"The tests' output can't be read: {reason}. nbgrader would stop with an error; "
        return replace(mark, feedback=text + "this needs manual grading.")
    has_failed = bool(outputs) and outputs[0][0] != RESULT
    if points >= mark.max_points and not has_failed:
        verdict, text = Verdict.CORRECT, "The tests passed."
    elif points > 0:
        text = f"The tests gave {shown(points)} of {count_points(mark.max_points)}."
        verdict = Verdict.PARTIAL
    else:
        run = next((cell for cell in evidence.cells if cell.index == raw.get("index")), None)
        verdict, text = Verdict.INCORRECT, _failure_reason(outputs, run)
    return replace(mark, points=points, verdict=verdict, feedback=text)


def _failure_reason(outputs: list[list[str]], run: CellRun | None) -> str:
    """Returns why the tests gave no points, without their messages, which may reveal the answer."""
    if outputs and outputs[0][0] == STDERR:
        return "The tests printed an error or a warning, for which nbgrader gives no points."
    if run is None or not run.has_failed:
        return "The tests gave no points."
    if run.outcome is not Outcome.FINISHED:
        return f"The tests did not finish: the cell {run.trouble}."
    return f"The tests stopped with {(run.error or '').partition(':')[0]}."
