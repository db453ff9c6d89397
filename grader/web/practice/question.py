"""One question: a variant with its inputs, and its marks once it is answered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from grader.bank.folders import Bank
from grader.bank.heads import Head
from grader.figures import prompt_figures, solution_blocks
from grader.grading.score import score
from grader.kinds import kinds
from grader.kinds.answers import explain_part
from grader.kinds.attempts import CodeKey, required_packages
from grader.kinds.base import Unreadable
from grader.kinds.code import CodeKind, ExampleResult
from grader.kinds.criteria import Criterion, split_rubric
from grader.kinds.explanation import ExplanationKey
from grader.kinds.texts import fill
from grader.model import (
    Answer,
    CellRun,
    Evidence,
    Job,
    Key,
    Limits,
    Mark,
    Outcome,
    Submission,
    Verdict,
)
from grader.model.evidence import CUT_SHORT
from grader.model.packages import missing_packages
from grader.model.result import ProblemText
from grader.notebook import Cell, write
from grader.notebook.render import cell_id, given_values, metadata
from grader.release.rendering import Preview, preview
from grader.runtime.execute import execute
from grader.web.practice.answers import NONE, answer_of, form_of, missing_fields
from grader.web.safety import FormFields

_SECONDS = 60.0
"""Time limit for all code of a question."""
_MOST_LISTED = 6
"""Fields that are listed if an answer is not complete."""
_ASK_AGAIN = (Verdict.ABSENT, Verdict.UNREADABLE)


@dataclass(frozen=True, slots=True, kw_only=True)
class PracticeQuestion:
    """A variant that a student is asked. **Secret**, because its paper contains the key."""

    head: Head
    preview: Preview
    text: ProblemText
    missing: tuple[str, ...]
    """The packages that this machine lacks to run its code."""

    @property
    def keys(self) -> Mapping[str, Key]:
        """The keys by the names of the answers."""
        return dict(self.preview.paper.named_keys())

    @property
    def sources(self) -> Mapping[str, str]:
        """The sources of the code cells by id."""
        return {cell.id: cell.source for cell in self.preview.cells if cell.type == "code"}


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkedQuestion:
    """The marks of an answered question."""

    marks: Mapping[str, Mark]
    """By the name of the answer."""
    examples: Mapping[str, tuple[ExampleResult, ...]]
    unfinished_answers: Mapping[str, str]
    """What is missing in answers of which some fields are filled in."""

    @property
    def to_correct(self) -> Mapping[str, str]:
        """Why answers are blank, not complete, or can't be read, which is not wrong."""
        again = {n: m.feedback for n, m in self.marks.items() if m.verdict in _ASK_AGAIN}
        return again | dict(self.unfinished_answers)

    @property
    def points(self) -> float:
        """The points of the settled marks."""
        return sum(mark.points or 0.0 for mark in self.marks.values())

    @property
    def max_points(self) -> float:
        """The maximum points of the settled marks."""
        return sum(mark.max_points for mark in self.marks.values() if mark.points is not None)

    @property
    def open(self) -> int:
        """The number of marks that wait for the student to tick a rubric or for another machine."""
        return sum(mark.verdict is Verdict.UNSETTLED for mark in self.marks.values())

    @property
    def share(self) -> float | None:
        """The share of the settled points that was earned; None if no mark is settled."""
        return self.points / self.max_points if self.max_points else None

    def with_points(self, name: str, points: float) -> MarkedQuestion:
        """Returns the marks with *points* for the explanation *name*, as the student ticked."""
        old = self.marks[name]
        points = min(max(points, 0.0), old.max_points)
        verdict = Verdict.PARTIAL if points else Verdict.INCORRECT
        if points == old.max_points:
            verdict = Verdict.CORRECT
        feedback = "You graded this answer yourself."
        new = replace(old, points=points, verdict=verdict, feedback=feedback)
        return replace(self, marks={**self.marks, name: new})


def ask(bank: Bank, head: Head, number: int) -> PracticeQuestion:
    """Returns variant *number* of the problem. Raises SpecError if it can't be drawn."""
    shown = preview(bank, head.id, number)
    variant = shown.paper.questions[0].variant
    problem = variant.problem
    solution = fill(problem.explanation, variant.draw)
    text = ProblemText(
        title=problem.title,
        prompt=fill(problem.prompt, variant.draw),
        given_values=tuple(given_values(variant)),
        assumptions=tuple(fill(assumption, variant.draw) for assumption in problem.assumptions),
        solution=solution,
        figures=prompt_figures(variant),
        solution_blocks=solution_blocks(variant, variant.keys, solution),
    )
    needed = (name for p in problem.parts for name in required_packages(p, problem.solution))
    return PracticeQuestion(
        head=head, preview=shown, text=text, missing=missing_packages(dict.fromkeys(needed))
    )


def mark(asked: PracticeQuestion, fields: FormFields, sandbox: str = "auto") -> MarkedQuestion:
    """Returns the marks for the answers in *fields*. Code runs in a kernel in the sandbox."""
    evidence = _gather_evidence(asked, fields, sandbox)
    grade = score(asked.preview.paper, evidence)
    notes = {**_describe_blanks(asked, fields), **_describe_stops(asked, evidence)}
    marks = {
        mark.name: replace(mark, feedback=notes[mark.name])
        if mark.verdict in _ASK_AGAIN and mark.name in notes
        else mark
        for mark in grade.marks
    }
    results = {n: _example_results(k, evidence.answers.get(n)) for n, k in asked.keys.items()}
    return MarkedQuestion(
        marks=marks,
        examples={name: examples for name, examples in results.items() if examples},
        unfinished_answers=_describe_gaps(asked, fields),
    )


def criteria(key: Key, max_points: float) -> tuple[Criterion, ...]:
    """Returns the rubric of an explanation by paragraphs; empty for other kinds.

    The points are those of `split_rubric`.
    """
    if not isinstance(key, ExplanationKey):
        return ()
    rubric = key.rubric.strip() or explain_part(kinds.find(key.part.kind), key)
    return split_rubric(rubric, max_points)


def _gather_evidence(asked: PracticeQuestion, fields: FormFields, sandbox: str) -> Evidence:
    """Returns the evidence of one attempt; only code and measurements need a kernel."""
    answers: dict[str, Answer] = {}
    sources: dict[str, str] = {}
    for name, key in asked.keys.items():
        if kinds.find(key.part.kind).call_plan(name, key) is None:
            raw = answer_of(name, key, fields)
            answers[name] = Answer(name=name, raw=raw, absent=None if raw else "it is blank")
        elif isinstance(key, CodeKey):
            sources[name] = fields.text(name)
        elif line := fields.text(name).strip():
            sources[name] = f"{name} = {line!r}"
    if not sources:
        return Evidence(
            submission_sha256="",
            outcome=Outcome.FINISHED,
            answers=answers,
            cells=(),
            seconds=0.0,
        )
    ran = _run_cells(asked, sources, sandbox)
    # What has no value is asked for again; no person reviews it here.
    held = {name: why for name, why in ran.cut_short.items() if ran.answers[name].raw is not None}
    environment = {**ran.environment, CUT_SHORT: held}
    return replace(ran, answers={**answers, **ran.answers}, environment=environment)


def _describe_blanks(asked: PracticeQuestion, fields: FormFields) -> Mapping[str, str]:
    """Returns a message for each blank or contradictory answer, by its name."""
    notes = {}
    for name, key in asked.keys.items():
        form = form_of(key)
        if form == "code":
            continue
        if form == "letters" and NONE in fields.every(name) and len(fields.every(name)) > 1:
            notes[name] = "Choose either options or “None of these”, not both."
        elif answer_of(name, key, fields) is None:
            notes[name] = "This answer is blank."
    return notes


def _describe_gaps(asked: PracticeQuestion, fields: FormFields) -> Mapping[str, str]:
    """Returns what is missing in answers that are begun, by the names of the answers."""
    notes = {}
    for name, key in asked.keys.items():
        missing = missing_fields(name, key, fields)
        if missing and answer_of(name, key, fields) is not None:
            rest = len(missing) - _MOST_LISTED
            listed = "; ".join(missing[:_MOST_LISTED]) + (f"; and {rest} more" if rest > 0 else "")
            notes[name] = f"This answer is not complete. Still missing: {listed}."
    return notes


def _describe_stops(asked: PracticeQuestion, evidence: Evidence) -> Mapping[str, str]:
    """Returns why the code of answers did not run to its end, by the names of the answers."""
    offset = len(_tool_cells(asked))
    names = [
        name
        for name, key in asked.keys.items()
        if kinds.find(key.part.kind).call_plan(name, key) is not None and name in evidence.answers
    ]
    return {
        names[run.index - offset]: _stop_sentence(run)
        for run in evidence.cells
        if run.has_failed and offset <= run.index < offset + len(names)
    }


def _stop_sentence(run: CellRun) -> str:
    line = f" in line {run.line}" if run.line else ""
    return f"Your code stopped{line}: {run.trouble.rstrip('.')}."


def _tool_cells(asked: PracticeQuestion) -> list[Cell]:
    return [cell for cell in asked.preview.cells if cell.id.startswith("tools-")]


def _run_cells(asked: PracticeQuestion, sources: Mapping[str, str], sandbox: str) -> Evidence:
    """Returns the evidence of *sources*, by answer, run after the tools in one notebook."""
    cells = _tool_cells(asked)
    cells += [Cell(type="code", source=text, id=cell_id(name)) for name, text in sources.items()]
    plans = (kinds.find(k.part.kind).call_plan(n, k) for n, k in asked.keys.items() if n in sources)
    job = Job(
        submission=Submission(student="you", path="practice", sha256=""),
        names=tuple(sources),
        call_plans=tuple(plan for plan in plans if plan is not None),
        limits=Limits(cell_seconds=_SECONDS / 2, notebook_seconds=_SECONDS),
        sandbox=sandbox,
        loopback="loopback" in asked.preview.paper.questions[0].variant.problem.needs,
    )
    return execute(job, write(cells, metadata(asked.preview.paper)))


def _example_results(key: Key, answer: Answer | None) -> tuple[ExampleResult, ...]:
    """Returns how code did on the visible examples; empty for other kinds or unreadable code."""
    kind = kinds.find(key.part.kind)
    if not isinstance(kind, CodeKind) or not isinstance(key, CodeKey):
        return ()
    if answer is None or answer.raw is None:
        return ()
    try:
        return kind.example_results(kind.read(answer.raw, key), key)
    except Unreadable:
        return ()
