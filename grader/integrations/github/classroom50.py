"""Classroom 50's `result.json` (classroom50/result/v1) and the body of its release."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

from grader.errors import SetupError
from grader.integrations.base import StudentExporter, option
from grader.integrations.github.actions import (
    PART_COLUMNS,
    markdown_summary,
    part_rows,
    step_outputs,
)
from grader.integrations.results import (
    deduction_text,
    graded_problems,
    omission_notes,
    reason_text,
    settled_parts,
)
from grader.model.exported import Exported, Result
from grader.model.result import ShownPart, ShownProblem
from grader.text.escape import escape_controls, neutralize_line, to_one_line
from grader.text.words import count_of, count_points, points

SCHEMA = "classroom50/result/v1"
RESULT, BODY = "result.json", "release-body.md"
SCALE = 100
"""Classroom 50's points per exam point, because its points are integers."""

# Rounding may lose at most half a hundredth of a point.
_LOST = Fraction(5, 1000)


@dataclass(frozen=True, kw_only=True)
class Classroom50(StudentExporter):
    """Write result.json and release-body.md for Classroom 50's runner.

    The environment variables that the runner sets identify the submission: CLASSROOM, ASSIGNMENT,
    OWNER, SUBMISSION_TAG, COMMIT_URL, RELEASE_URL, REVIEW_URL and others. Exits 0 whatever the
    score; any other exit code means that there is no result, and nothing is published.
    """

    out = "."
    one_student = True
    examples = (
        "grader export classroom50 results --student ada",
        'grader export classroom50 results --student ada --github-output "$GITHUB_OUTPUT"',
    )
    scale: int = option(
        SCALE,
        least=1,
        most=1_000_000,
        metavar="N",
        help="Classroom 50 points per exam point, as it stores integers; use one value per class.",
    )
    leave_out: bool = option(
        False,
        also="--partial",
        help="If points are still open, leave those parts out of the result and of its maximum.",
    )
    submitted_at: str | None = option(
        None,
        metavar="TIME",
        help="Time of submission in ISO 8601, such as the commit's. Default: when it was received.",
    )
    graded_at: str | None = option(
        None, metavar="TIME", help="Time of grading in ISO 8601. Omitted by default."
    )
    github_output: Path | None = option(
        None, metavar="FILE", help="Append the outputs to FILE: $GITHUB_OUTPUT in a workflow."
    )

    def export(self, subject: Result) -> Exported:
        """Returns both files. Raises SetupError if the runner's variables are missing."""
        exported = result_files(
            subject,
            read_identity(os.environ),
            scale=self.scale,
            leave_out=self.leave_out,
            submitted_at=self.submitted_at,
            graded_at=self.graded_at,
        )
        if self.github_output is None:
            return exported
        lines = step_outputs(runner_outputs(subject, scale=self.scale, leave_out=self.leave_out))
        return replace(exported, appended_text={self.github_output: lines})


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmissionIdentity:
    """The submission, as the runner's environment identifies it."""

    classroom: str
    assignment: str
    assignment_type: str
    owner: str
    submission: str
    """The tag, `submit/...`."""
    commit: str
    """URL, like the next two."""
    release: str
    review: str
    pushed_by: str = ""
    pusher: int | None = None


_REQUIRED = {
    "classroom": "CLASSROOM",
    "assignment": "ASSIGNMENT",
    "owner": "OWNER",
    "submission": "SUBMISSION_TAG",
    "commit": "COMMIT_URL",
    "release": "RELEASE_URL",
}


def read_identity(environment: Mapping[str, str]) -> SubmissionIdentity:
    """Returns the submission described by the runner's environment variables.

    Raises SetupError if a variable is missing.
    """

    def value(name: str) -> str:
        return environment.get(name, "").strip()

    identity = {name: value(key) for name, key in _REQUIRED.items()}
    identity["owner"] = identity["owner"] or value("USERNAME")
    missing = [_REQUIRED[name] for name, text in identity.items() if not text]
    if missing:
        raise SetupError(
            f"Classroom 50's runner did not set {', '.join(missing)}",
            fix="run this from its autograder.py, or set them yourself for a test",
        )
    if not identity["submission"].startswith("submit/"):
        raise SetupError(
            f"'{identity['submission']}' is not the tag of a submission",
            fix="set SUBMISSION_TAG to a tag that starts with submit/",
        )
    number = value("GITHUB_ACTOR_ID")
    return SubmissionIdentity(
        **identity,
        # Older runners do not set it, and support only individual work.
        assignment_type=value("ASSIGNMENT_TYPE") or "individual",
        review=value("REVIEW_URL") or identity["commit"],
        pushed_by=value("GITHUB_ACTOR"),
        pusher=int(number) if number.isascii() and number.isdigit() else None,
    )


def result_files(
    result: Result,
    whose: SubmissionIdentity,
    *,
    scale: int = SCALE,
    leave_out: bool = False,
    submitted_at: str | None = None,
    graded_at: str | None = None,
) -> Exported:
    """Returns `result.json` and `release-body.md`, which Classroom 50's runner reads.

    *submitted_at* decides lateness, so it must not change when the work is graded again. Raises
    SetupError as `graded_problems` does, and for a *scale* that loses points.
    """
    tests = _settled_tests(result, scale, leave_out)
    score = _final_score(result, tests, scale)
    most = _total(tests, "max-score")
    text = result_json(whose, tests, submitted_at or result.submitted_at, graded_at, score=score)
    notes = [*omission_notes(result)]
    taken = deduction_text(result.feedback)
    if taken:
        notes.append("the score is after deductions, and the tests add up to the points before")
    if scale != 1:
        notes.append(f"Classroom 50 supports only integers: {scale} of its points are 1 exam point")
    feedback = result.feedback
    exact = Fraction(feedback.score) if taken else sum(Fraction(t["points"]) for t in tests)
    if abs(Fraction(score, scale) - exact) > Fraction(1, 10**5):
        notes.append(f"rounded to 1/{scale} of a point; the field `points` of each test is exact")
    scaled = f"In Classroom 50: {score}/{most}, where 1 point counts as {scale}."
    warnings = [f"Warning: {text}." for text in feedback.warnings]
    paragraphs = filter(None, ("" if scale == 1 else scaled, taken, feedback.refusal, *warnings))
    earned = feedback.score if taken else round(_total(tests, "points"), 6)
    worth = round(_total(tests, "max-points"), 6)
    title = f"{feedback.title}: {points(earned)} of {count_points(worth)}"
    rows = part_rows(graded_problems(result, leave_out=leave_out))
    body = markdown_summary(title, paragraphs, PART_COLUMNS, rows)
    return Exported(files={RESULT: text, BODY: body.encode()}, notes=tuple(notes))


def result_json(
    whose: SubmissionIdentity,
    tests: list[dict[str, Any]],
    submitted_at: str | None,
    graded_at: str | None = None,
    *,
    score: int | None = None,
) -> bytes:
    """Returns `result.json` with these *tests*; *score* is their sum by default."""
    identity = asdict(whose)
    pusher = {"username": identity.pop("pushed_by"), "id": identity.pop("pusher")}
    data: dict[str, object] = {
        "schema": SCHEMA,
        **identity,
        "datetime": _to_utc(submitted_at, whose.owner),
        "score": _total(tests, "score") if score is None else score,
        "max-score": _total(tests, "max-score"),
        "tests": tests,
    }
    if graded_at:
        data["graded_at"] = _to_utc(graded_at, whose.owner)
    if whose.pushed_by:
        data["submitted_by"] = pusher
    # Plain ASCII, because the runner reads it in the machine's preferred encoding.
    return (json.dumps(data, indent=2, allow_nan=False) + "\n").encode()


def runner_outputs(
    result: Result, *, scale: int = SCALE, leave_out: bool = False
) -> dict[str, str]:
    """Returns `status` and `summary` as GITHUB_OUTPUT expects them."""
    tests = _settled_tests(result, scale, leave_out)
    return outputs_of(tests, _final_score(result, tests, scale))


def outputs_of(tests: list[dict[str, Any]], score: int | None = None) -> dict[str, str]:
    """Returns the outputs `status` and `summary`. By default, *score* is the sum over *tests*."""
    full, count = _total(tests, "passed"), len(tests)
    score = _total(tests, "score") if score is None else score
    most = _total(tests, "max-score")
    return {
        "status": "success" if count and full == count else "failure",
        "summary": f"{score}/{most} (full points for {full} of {count_of(count, 'part')})",
    }


def _settled_tests(result: Result, scale: int, leave_out: bool) -> list[dict[str, Any]]:
    problems = graded_problems(result, leave_out=leave_out)
    return [
        _test_entry(problem, part, scale) for problem in problems for part in settled_parts(problem)
    ]


def _final_score(result: Result, tests: list[dict[str, Any]], scale: int) -> int:
    if result.feedback.deduction is None:
        return int(_total(tests, "score"))
    return min(round(result.feedback.score * scale), int(_total(tests, "max-score")))


def _total(tests: list[dict[str, Any]], field: str) -> Any:
    return sum(test[field] for test in tests)


def _test_entry(problem: ShownProblem, part: ShownPart, scale: int) -> dict[str, Any]:
    """Returns the entry of a part in `result.json`, whose scores are points times *scale*."""
    return {
        "test-name": neutralize_line(f"{part.name} ({problem.title})"),
        "passed": part.points is not None and part.points >= part.max_points,
        "score": _whole_points(part.points, scale, part.name),
        "max-score": _whole_points(part.max_points, scale, part.name),
        "points": part.points,
        "max-points": part.max_points,
        "verdict": part.verdict.value,
        "answer": None if part.answer is None else to_one_line(part.answer),
        "message": escape_controls(reason_text(part)),
    }


def _whole_points(earned: float | None, scale: int, name: str) -> int:
    """Returns *earned* times *scale*, rounded. Raises SetupError if that changes it too much."""
    exact = Fraction(earned or 0.0) * scale
    whole = round(exact)
    if abs(exact - whole) > _LOST * scale:
        raise SetupError(
            f"the {points(earned)} points of '{name}', multiplied by {scale}, are not an integer",
            fix=f"use --scale {SCALE}, and multiply the assignment's points by it as well",
        )
    return whole


def _to_utc(text: str | None, student: str) -> str:
    """Returns the time *text* (UTC by default) in Classroom 50's form, or raises SetupError."""
    try:
        when = datetime.fromisoformat(text or "")
        when = when.replace(tzinfo=UTC) if when.tzinfo is None else when.astimezone(UTC)
    except (ValueError, OverflowError):  # in UTC it may be before the year 1 or after 9999
        raise SetupError(
            f"the submission time of '{student}' is not known: '{text or ''}'",
            fix="pass --submitted-at with, for example, the commit's date",
        ) from None
    return when.strftime("%Y-%m-%dT%H:%M:%SZ")
