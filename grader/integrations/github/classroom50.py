"""Classroom 50's `result.json` (classroom50/result/v1) and the body of its release."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction

from grader.errors import SetupError
from grader.integrations.results import SAID, graded, left_out, reason, settled
from grader.model.exported import Exported, Result
from grader.model.result import ShownPart, ShownProblem
from grader.text.escape import inert_line, markdown, one_line, plain
from grader.words import points

SCHEMA = "classroom50/result/v1"
RESULT, BODY = "result.json", "release-body.md"
SCALE = 100
"""Classroom 50's points per exam point, because its points are integers."""

# Rounding may lose at most half a hundredth of a point.
_LOST = Fraction(5, 1000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
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


def identity(environment: Mapping[str, str]) -> Identity:
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
    return Identity(
        **found,
        # Older runners do not set it, and support only individual work.
        assignment_type=environment.get("ASSIGNMENT_TYPE", "").strip() or "individual",
        review=environment.get("REVIEW_URL", "").strip() or found["commit"],
        pushed_by=environment.get("GITHUB_ACTOR", "").strip(),
        pusher=int(number) if number.isascii() and number.isdigit() else None,
    )


def classroom50(
    result: Result,
    whose: Identity,
    *,
    scale: int = SCALE,
    partial: bool = False,
    submitted_at: str | None = None,
    graded_at: str | None = None,
) -> Exported:
    """`result.json` and `release-body.md`, which Classroom 50's runner reads.

    *scale* must be the same for a whole class, or its gradebook would add up unlike numbers.
    *submitted_at* and *graded_at* are ISO 8601. *submitted_at* defaults to the submission's time
    and must not change when the work is graded again, because it decides lateness. Raises
    SetupError as `graded` does, and if *scale* would lose more than half a hundredth of a point.
    """
    problems = graded(result, partial=partial)
    parts = [(problem, part) for problem in problems for part in settled(problem)]
    tests = [_test(problem, part, scale) for problem, part in parts]
    score = sum(_whole(part.points or 0.0, scale, part.name) for _, part in parts)
    most = sum(_whole(part.max_points, scale, part.name) for _, part in parts)
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
        "datetime": _instant(submitted_at or result.submitted_at, result.feedback.student.id),
        "score": score,
        "max-score": most,
        "tests": tests,
    }
    if graded_at:
        data["graded_at"] = _instant(graded_at, result.feedback.student.id)
    if whose.pushed_by:
        data["submitted_by"] = {"username": whose.pushed_by, "id": whose.pusher}
    # Plain ASCII, because the runner reads it in the machine's preferred encoding.
    text = json.dumps(data, indent=2, allow_nan=False) + "\n"
    notes = [*left_out(result)]
    if scale != 1:
        notes.append(f"Classroom 50 supports only integers: {scale} of its points are 1 exam point")
    off = Fraction(score, scale) - sum(Fraction(part.points or 0.0) for _, part in parts)
    if abs(off) > Fraction(1, 10**5):
        notes.append(f"rounded to 1/{scale} of a point; the field `points` of each test is exact")
    files = {RESULT: text.encode(), BODY: _body(result, problems, score, most, scale).encode()}
    return Exported(files=files, notes=tuple(notes))


def outputs(result: Result, *, scale: int = SCALE, partial: bool = False) -> dict[str, str]:
    """`status` and `summary` for the runner's GITHUB_OUTPUT."""
    parts = [p for one in graded(result, partial=partial) for p in settled(one)]
    right = sum(_passed(part) for part in parts)
    score = sum(_whole(part.points or 0.0, scale, part.name) for part in parts)
    most = sum(_whole(part.max_points, scale, part.name) for part in parts)
    return {
        "status": "success" if parts and right == len(parts) else "failure",
        "summary": f"{score}/{most} (full points for {right} of {len(parts)} parts)",
    }


def _test(problem: ShownProblem, part: ShownPart, scale: int) -> dict[str, object]:
    return {
        "test-name": inert_line(f"{part.name} ({problem.title})"),
        "passed": _passed(part),
        "score": _whole(part.points or 0.0, scale, part.name),
        "max-score": _whole(part.max_points, scale, part.name),
        "points": part.points,
        "max-points": part.max_points,
        "verdict": part.verdict.value,
        "answer": None if part.answer is None else one_line(part.answer),
        "message": plain(reason(part)),
    }


def _passed(part: ShownPart) -> bool:
    return part.points is not None and part.points >= part.max_points


def _whole(earned: float, scale: int, name: str) -> int:
    exact = Fraction(earned) * scale
    whole = round(exact)
    if abs(exact - whole) > _LOST * scale:
        raise SetupError(
            f"the {points(earned)} points of '{name}', multiplied by {scale}, are not an integer",
            fix=f"use --scale {SCALE}, and multiply the assignment's points by it as well",
        )
    return whole


def _instant(text: str | None, student: str) -> str:
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


def _body(
    result: Result, problems: tuple[ShownProblem, ...], score: int, most: int, scale: int
) -> str:
    feedback = result.feedback
    kept = [part for problem in problems for part in settled(problem)]
    earned = points(round(sum(part.points or 0.0 for part in kept), 6))
    worth = points(round(sum(part.max_points for part in kept), 6))
    lines = [f"### {markdown(feedback.title)}: {earned} of {worth} points", ""]
    if scale != 1:
        lines += [f"In Classroom 50: {score}/{most}, where 1 point counts as {scale}.", ""]
    if feedback.refusal:
        lines += [markdown(feedback.refusal), ""]
    for text in feedback.warnings:
        lines += [markdown(f"Warning: {text}."), ""]
    lines += ["| Part | Points | Verdict | Read as | Why |", "|---|---:|---|---|---|"]
    for problem in problems:
        for part in problem.parts:
            got = "open" if part.points is None else points(part.points)
            cells = (
                f"`{part.name}`",
                f"{got} of {points(part.max_points)}",
                SAID[part.verdict],
                markdown(part.answer or ""),
                markdown(reason(part)),
            )
            lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"
