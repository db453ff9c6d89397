"""Classroom 50's `result.json` (classroom50/result/v1) and the body of its release."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

from grader.errors import SetupError
from grader.integrations.base import StudentExporter, option
from grader.integrations.github.actions import (
    PART_COLUMNS,
    markdown_summary,
    part_rows,
    step_outputs,
)
from grader.integrations.results import graded_problems, omission_notes, reason_text, settled_parts
from grader.model.exported import Exported, Result
from grader.model.result import ShownPart, ShownProblem
from grader.text.escape import escape_controls, neutralize_line, to_one_line
from grader.words import points

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
        return replace(exported, appended={self.github_output: lines})


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
    """Reads the submission's identity from the variables that Classroom 50's runner sets.

    Raises SetupError that names missing variables.
    """
    found = {name: environment.get(key, "").strip() for name, key in _REQUIRED.items()}
    found["owner"] = found["owner"] or environment.get("USERNAME", "").strip()
    missing = [_REQUIRED[name] for name, value in found.items() if not value]
    if missing:
        raise SetupError(
            f"Classroom 50's runner did not set {', '.join(missing)}",
            fix="run this from its autograder.py, or set them yourself for a test",
        )
    if not found["submission"].startswith("submit/"):
        raise SetupError(
            f"'{found['submission']}' is not the tag of a submission",
            fix="set SUBMISSION_TAG to a tag that starts with submit/",
        )
    number = environment.get("GITHUB_ACTOR_ID", "").strip()
    return SubmissionIdentity(
        **found,
        # Older runners do not set it, and support only individual work.
        assignment_type=environment.get("ASSIGNMENT_TYPE", "").strip() or "individual",
        review=environment.get("REVIEW_URL", "").strip() or found["commit"],
        pushed_by=environment.get("GITHUB_ACTOR", "").strip(),
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
    """`result.json` and `release-body.md`, which Classroom 50's runner reads.

    *scale* must be the same for a whole class, or its gradebook would add up unlike numbers.
    *submitted_at* and *graded_at* are ISO 8601. *submitted_at* defaults to the submission's time
    and must not change when the work is graded again, because it decides lateness. Raises
    SetupError as `graded_problems` does, and if *scale* would lose more than half a hundredth of a
    point.
    """
    problems = graded_problems(result, leave_out=leave_out)
    parts = [(problem, part) for problem in problems for part in settled_parts(problem)]
    tests = [_test_entry(problem, part, scale) for problem, part in parts]
    score = sum(_whole_points(part.points or 0.0, scale, part.name) for _, part in parts)
    most = sum(_whole_points(part.max_points, scale, part.name) for _, part in parts)
    data: dict[str, object] = {
        "schema": SCHEMA,
        "classroom": whose.classroom,
        "assignment": whose.assignment,
        "assignment_type": whose.assignment_type,
        "owner": whose.owner,
        "submission": whose.submission,
        "commit": whose.commit,
        "release": whose.release,
        "review": whose.review,
        "datetime": _to_utc(submitted_at or result.submitted_at, result.feedback.student.id),
        "score": score,
        "max-score": most,
        "tests": tests,
    }
    if graded_at:
        data["graded_at"] = _to_utc(graded_at, result.feedback.student.id)
    if whose.pushed_by:
        data["submitted_by"] = {"username": whose.pushed_by, "id": whose.pusher}
    # Plain ASCII, because the runner reads it in the machine's preferred encoding.
    text = json.dumps(data, indent=2, allow_nan=False) + "\n"
    notes = [*omission_notes(result)]
    if scale != 1:
        notes.append(f"Classroom 50 supports only integers: {scale} of its points are 1 exam point")
    off = Fraction(score, scale) - sum(Fraction(part.points or 0.0) for _, part in parts)
    if abs(off) > Fraction(1, 10**5):
        notes.append(f"rounded to 1/{scale} of a point; the field `points` of each test is exact")
    files = {
        RESULT: text.encode(),
        BODY: _release_body(result, problems, score, most, scale).encode(),
    }
    return Exported(files=files, notes=tuple(notes))


def runner_outputs(
    result: Result, *, scale: int = SCALE, leave_out: bool = False
) -> dict[str, str]:
    """`status` and `summary` for the runner's GITHUB_OUTPUT."""
    parts = [p for one in graded_problems(result, leave_out=leave_out) for p in settled_parts(one)]
    right = sum(_is_full(part) for part in parts)
    score = sum(_whole_points(part.points or 0.0, scale, part.name) for part in parts)
    most = sum(_whole_points(part.max_points, scale, part.name) for part in parts)
    return {
        "status": "success" if parts and right == len(parts) else "failure",
        "summary": f"{score}/{most} (full points for {right} of {len(parts)} parts)",
    }


def _test_entry(problem: ShownProblem, part: ShownPart, scale: int) -> dict[str, object]:
    return {
        "test-name": neutralize_line(f"{part.name} ({problem.title})"),
        "passed": _is_full(part),
        "score": _whole_points(part.points or 0.0, scale, part.name),
        "max-score": _whole_points(part.max_points, scale, part.name),
        "points": part.points,
        "max-points": part.max_points,
        "verdict": part.verdict.value,
        "answer": None if part.answer is None else to_one_line(part.answer),
        "message": escape_controls(reason_text(part)),
    }


def _is_full(part: ShownPart) -> bool:
    return part.points is not None and part.points >= part.max_points


def _whole_points(earned: float, scale: int, name: str) -> int:
    exact = Fraction(earned) * scale
    whole = round(exact)
    if abs(exact - whole) > _LOST * scale:
        raise SetupError(
            f"the {points(earned)} points of '{name}', multiplied by {scale}, are not an integer",
            fix=f"use --scale {SCALE}, and multiply the assignment's points by it as well",
        )
    return whole


def _to_utc(text: str | None, student: str) -> str:
    """Converts ISO 8601 to the form that the format requires; without a zone it is UTC."""
    try:
        when = datetime.fromisoformat(text or "")
        when = when.replace(tzinfo=UTC) if when.tzinfo is None else when.astimezone(UTC)
    except (ValueError, OverflowError):  # in UTC it may be before the year 1 or after 9999
        raise SetupError(
            f"the submission time of '{student}' is not known: '{text or ''}'",
            fix="pass --submitted-at with, for example, the commit's date",
        ) from None
    return when.strftime("%Y-%m-%dT%H:%M:%SZ")


def _release_body(
    result: Result, problems: tuple[ShownProblem, ...], score: int, most: int, scale: int
) -> str:
    feedback = result.feedback
    kept = [part for problem in problems for part in settled_parts(problem)]
    earned = points(round(sum(part.points or 0.0 for part in kept), 6))
    worth = points(round(sum(part.max_points for part in kept), 6))
    paragraphs = []
    if scale != 1:
        paragraphs.append(f"In Classroom 50: {score}/{most}, where 1 point counts as {scale}.")
    if feedback.refusal:
        paragraphs.append(feedback.refusal)
    paragraphs += [f"Warning: {text}." for text in feedback.warnings]
    title = f"{feedback.title}: {earned} of {worth} points"
    return markdown_summary(title, paragraphs, PART_COLUMNS, part_rows(problems))
