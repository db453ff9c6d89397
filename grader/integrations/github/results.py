"""The input of GitHub Classroom's autograding reporter."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

from grader.integrations.base import StudentExporter, option
from grader.integrations.github.actions import step_outputs
from grader.integrations.results import (
    VERDICT_TEXTS,
    deduction_text,
    graded_problems,
    json_bytes,
    omission_notes,
    open_parts,
    reason_text,
    settled_parts,
)
from grader.model.exported import Exported, Result
from grader.model.result import ShownPart, ShownProblem
from grader.text.escape import neutralize, neutralize_line
from grader.text.words import count_points, join_names, points

MOST = 60
"""Maximum number of tests per problem. If points need more, they are rounded to this number."""
RUNNERS = "runners"
"""Name of the output that lists all runner ids for the reporter."""

# Linux limits the length of an environment variable, including its name.
_LONGEST_VARIABLE = 128 * 1024 - 256
_LONGEST_REASON = 1000
_VERSION = 3
_FINEST = 1000
_SAME = 1e-6  # points are kept to six digits


@dataclass(frozen=True, kw_only=True)
class GitHub(StudentExporter):
    """Write the results that GitHub Classroom's autograding reporter reads, one file per problem.

    With --github-output, a student's results become outputs of the workflow step: q1, q2, ... for
    the problems, and `runners` with all their names.
    """

    examples = (
        "grader export github results",
        'grader export github results --student ada --github-output "$GITHUB_OUTPUT"',
    )
    leave_out: bool = option(
        False,
        also="--partial",
        help="If points are still open, leave those parts out of the result and of its maximum.",
    )
    github_output: Path | None = option(
        None, metavar="FILE", help="Append the outputs to FILE: $GITHUB_OUTPUT in a workflow."
    )

    def export(self, subject: Result) -> Exported:
        """Returns one file per problem, and `outputs.json` with the outputs of the step."""
        exported = reporter_files(subject, leave_out=self.leave_out)
        if self.github_output is None:
            return exported
        lines = step_outputs(reporter_outputs(runners(subject, leave_out=self.leave_out)))
        return replace(exported, appended_text={self.github_output: lines})


@dataclass(frozen=True, slots=True, kw_only=True)
class Runner:
    """One problem in the reporter's input."""

    id: str
    """Only letters and digits: with other characters the reporter misreports errors."""
    payload: Mapping[str, object]

    @property
    def variable(self) -> str:
        """The environment variable that the reporter reads."""
        return f"{self.id.upper()}_RESULTS"

    @property
    def encoded_payload(self) -> str:
        """The variable's value: the payload as base64 of JSON."""
        data = json.dumps(self.payload, ensure_ascii=False, allow_nan=False)
        return base64.b64encode(data.encode()).decode("ascii")


def runners(result: Result, *, leave_out: bool = False) -> tuple[Runner, ...]:
    """Returns one runner for every problem with points to earn.

    The reporter shows two totals: one counts passing tests, the other adds their scores. So that
    both agree, a problem becomes tests of equal weight that pass in proportion to its points.
    Raises SetupError as `graded_problems` does.
    """
    records: list[Runner] = []
    scores = _Scores()
    feedback = result.feedback
    # These are shown once, not for every problem.
    messages = [*(f"warning: {text}" for text in feedback.warnings), *_deduction_lines(result)]
    for problem in graded_problems(result, leave_out=leave_out):
        split = split_into_tests(settled_parts(problem))
        if split is not None:
            records.append(_problem_runner(problem, split, scores, feedback.refusal, messages))
            messages = []
    return tuple(records)


class _Scores:
    """Scores of tests whose floating-point sum is exact: 1, not ten times 0.1."""

    def __init__(self) -> None:
        self._exact = Fraction(0)
        self._sum = 0.0

    def next_score(self, step: Fraction) -> float | int:
        """Returns the score of the next test that is worth *step*."""
        self._exact += step
        value, wanted = float(step), float(self._exact)
        if self._sum + value != wanted:
            value = wanted - self._sum
        self._sum += value
        return _as_int_if_whole(value)


def reporter_outputs(records: Iterable[Runner]) -> dict[str, str]:
    """Returns the step's outputs: one per runner, and `runners` with their ids."""
    listing = list(records)
    return {
        **{runner.id: runner.encoded_payload for runner in listing},
        RUNNERS: ",".join(r.id for r in listing),
    }


def reporter_files(result: Result, *, leave_out: bool = False) -> Exported:
    """Returns the reporter's JSON for every problem, for inspection or for other programs."""
    made = runners(result, leave_out=leave_out)
    files = {
        f"{runner.id}.json": json_bytes({"variable": runner.variable, "payload": runner.payload})
        for runner in made
    }
    files["outputs.json"] = json_bytes(reporter_outputs(made))
    return Exported(files=files, notes=export_notes(result, leave_out=leave_out))


def _deduction_lines(result: Result) -> tuple[str, ...]:
    feedback = result.feedback
    text = deduction_text(feedback)
    if not text:
        return ()
    total = f"{points(feedback.score)} of {count_points(feedback.max_score)}"
    return (f"total after deductions: {total}", text)


def export_notes(result: Result, *, leave_out: bool = False) -> tuple[str, ...]:
    """Returns notes on what the reporter's format can't represent of *result*."""
    notes = list(omission_notes(result))
    without_points: list[str] = []
    feedback = result.feedback
    if feedback.deduction is not None and feedback.raw_score != feedback.score:
        notes.append(
            f"{feedback.student.id}: the total is {points(feedback.score)} after deductions, and "
            f"GitHub Classroom shows {points(feedback.raw_score)}, because it adds up tests; the "
            "log has the total and the reason"
        )
    for problem in graded_problems(result, leave_out=leave_out):
        parts = settled_parts(problem)
        split = split_into_tests(parts)
        if split is None:
            without_points += [f"q{problem.number}"] if parts else []
        elif not split.exact:
            notes.append(
                f"problem {problem.number} earned {problem.points:.7g} points, exported as "
                f"{split.points:.7g}, because the reporter counts tests of equal weight"
            )
    if without_points:
        notes.append(f"left out because they are worth no points: {join_names(without_points)}")
    return tuple(notes)


def _problem_runner(
    problem: ShownProblem,
    split: EqualSplit,
    scores: _Scores,
    refusal: str | None,
    messages: Sequence[str],
) -> Runner:
    """Returns the reporter's input for *problem*, without the tests' texts if they are too long."""
    number = f"q{problem.number}"
    tests = [test for one in split.quanta for test in _test_entries(one, split, problem, scores)]
    if refusal:
        tests[0]["test_code"] = neutralize_line(refusal)
    most = sum(one.total for one in split.quanta) * split.step
    passed = all(one.passing_count == one.total for one in split.quanta)
    payload: dict[str, object] = {
        "version": _VERSION,
        "status": "pass" if passed else "fail",
        "max_score": _as_int_if_whole(float(most)),
        "tests": tests,
    }
    messages = [*messages]
    if waiting := open_parts([problem]):
        messages.append(f"still open and not counted: {', '.join(waiting)}")
    if messages:
        payload["message"] = neutralize_line("; ".join(messages))
    runner = Runner(id=number, payload=payload)
    if len(runner.encoded_payload) + len(runner.variable) >= _LONGEST_VARIABLE:
        for test in tests:
            test["test_code"] = ""
    return runner


def _test_entries(
    tests: EqualTests, split: EqualSplit, problem: ShownProblem, scores: _Scores
) -> list[dict[str, object]]:
    """Returns the entries of *tests*, passing ones first. The first failing one has the reason."""
    name = tests.part.name if tests.part else f"problem {problem.number}"
    earned = points(tests.part.points if tests.part else problem.points)
    worth = count_points(tests.part.max_points if tests.part else float(split.step * tests.total))
    title = f"{name}: {earned} of {worth}"
    why = _failure_text(tests.part) if tests.part else ""
    return [
        {
            "name": neutralize_line(
                f"{title}, {count} of {tests.total}" if tests.total > 1 else title
            ),
            "status": "pass" if count <= tests.passing_count else "fail",
            "score": scores.next_score(split.step) if count <= tests.passing_count else 0,
            "message": None,
            "test_code": why if count == tests.passing_count + 1 else "",
            "filename": "",
            # The reporter prints any other value, and a missing one, as a line number.
            "line_no": 0,
            "duration": 0,
        }
        for count in range(1, tests.total + 1)
    ]


def _failure_text(part: ShownPart) -> str:
    answer = f", answer: {part.answer}" if part.answer else ""
    text = f"{VERDICT_TEXTS[part.verdict]}{answer}\n{reason_text(part)}"[:_LONGEST_REASON]
    return "\n".join(neutralize(f"  {row}") for row in text.strip().splitlines())


def _as_int_if_whole(value: float) -> float | int:
    return int(value) if value == int(value) else value


@dataclass(frozen=True, slots=True)
class EqualTests:
    """A part, or a whole problem, as *total* tests of which *passing_count* pass."""

    part: ShownPart | None
    """None for a whole problem."""
    total: int
    passing_count: int


@dataclass(frozen=True, slots=True)
class EqualSplit:
    """A problem as tests of equal weight."""

    step: Fraction
    """Points of one test."""
    quanta: tuple[EqualTests, ...]
    exact: bool
    """Whether the tests represent the points exactly; otherwise they are rounded."""

    @property
    def points(self) -> float:
        """The sum of the passing tests' points."""
        return float(self.step * sum(tests.passing_count for tests in self.quanta))


def split_into_tests(parts: Sequence[ShownPart]) -> EqualSplit | None:
    """Returns the settled *parts* as tests of equal weight; None if no part is worth points."""
    scored = [part for part in parts if part.max_points > 0]
    if not scored:
        return None
    numbers = [x for part in scored for x in (part.points or 0.0, part.max_points)]
    fractions = [Fraction(x).limit_denominator(_FINEST) for x in numbers]
    if all(abs(float(f) - x) <= _SAME for f, x in zip(fractions, numbers, strict=True)):
        below = math.lcm(*(x.denominator for x in fractions))
        step = Fraction(math.gcd(*(int(x * below) for x in fractions)), below)
        earned, maxima = fractions[::2], fractions[1::2]
        if sum(maxima) / step <= MOST:
            pairs = zip(scored, maxima, earned, strict=True)
            quanta = tuple(EqualTests(p, int(m / step), int(g / step)) for p, m, g in pairs)
            return EqualSplit(step, quanta, exact=True)
    return _round_to_most(scored)


def _round_to_most(parts: Sequence[ShownPart]) -> EqualSplit:
    """Returns *parts* together as `MOST` tests, of which a rounded number passes."""
    most = sum(Fraction(part.max_points).limit_denominator(_FINEST) for part in parts)
    got = sum(part.points or 0.0 for part in parts)
    passed = round(got / float(most) * MOST)
    if 0 < got < float(most) - _SAME:
        # Rounding must not turn partial points into none or all.
        passed = min(max(passed, 1), MOST - 1)
    step = Fraction(most, MOST)
    exact = abs(float(step * passed) - got) <= _SAME
    return EqualSplit(step, (EqualTests(None, MOST, passed),), exact=exact)
