"""Gradescope's `results.json`, and how often a student may ask for one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

from grader.errors import SetupError
from grader.integrations.results import SAID, listed, open_parts, reason, warnings
from grader.model.exported import Result
from grader.model.result import Feedback, ShownPart, ShownProblem, Standing
from grader.text.escape import markdown, one_line, plain
from grader.words import counted as count

FILE = "results.json"


class Visible(StrEnum):
    """Who sees a line, and from when on."""

    ALWAYS = "visible"
    AFTER_DUE = "after_due_date"
    AFTER_PUBLISHED = "after_published"
    STAFF = "hidden"


class TextFormat(StrEnum):
    """How Gradescope shows a text."""

    TEXT = "text"
    MARKDOWN = "md"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tiers:
    """Who sees what. While any line is hidden, Gradescope hides the total from students too."""

    marks: Visible = Visible.ALWAYS
    """Points, verdicts and reasons."""
    solutions: Visible = Visible.AFTER_PUBLISHED
    """Accepted answers and worked solutions, once the exam's own feedback is published."""
    output: Visible = Visible.STAFF
    """What the autograder prints."""


def results_json(
    result: Result,
    *,
    tiers: Tiers | None = None,
    text_format: TextFormat = TextFormat.TEXT,
    counted: tuple[str, ...] = (),
    above: tuple[str, ...] = (),
) -> bytes:
    """`results.json` of one submission.

    An open part has no score there, and the text says that it waits; while all are open there is
    no score at all. *above* is said above everything else, in plain text. *counted* are the times
    of the runs that count for the limit, this one among them, to be read by `too_soon` in the next.
    Raises SetupError while the submission waits to be graded: that is no result.
    """
    feedback, who = result.feedback, tiers or Tiers()
    if not feedback.problems and feedback.standing is Standing.WAITING:
        raise SetupError(
            f"the submission of '{feedback.student.id}' is not graded yet", fix="grade it first"
        )
    tests: list[dict[str, object]] = []
    for problem in feedback.problems:
        tests += [_test(problem, place, who, text_format) for place in range(len(problem.parts))]
        if feedback.published and _solved(problem):
            tests.append(_solution(problem, who, text_format))
    data: dict[str, object] = {
        **({} if feedback.total is None else {"score": feedback.score}),
        "execution_time": round(result.seconds, 3),
        "output": plain("\n".join((*above, _said(feedback))).strip()),
        "output_format": "text",
        "test_output_format": text_format.value,
        "test_name_format": "text",
        "visibility": Visible.ALWAYS.value,
        "stdout_visibility": who.output.value,
        "extra_data": {
            "release": feedback.release,
            "submission_sha256": result.submission_sha256,
            "complete": feedback.complete,
            "max_score": feedback.max_score,
            "counted": list(counted),
        },
        "tests": tests,
    }
    return _json(data)


def not_graded(
    sentence: str, *, counted: tuple[str, ...] = (), score: float | None = None
) -> bytes:
    """`results.json` that says why there is no grade; without a score, unless one is given.

    Gradescope takes a file without any score for an autograder that failed: no points are
    recorded, which is what a fault of ours should come to.
    """
    told = plain(sentence)
    data: dict[str, object] = {
        **({} if score is None else {"score": score}),
        "output": told,
        "output_format": "text",
        "visibility": Visible.ALWAYS.value,
        "stdout_visibility": Visible.STAFF.value,
        "extra_data": {"not_graded": True, "counted": list(counted)},
        "tests": [],
    }
    if score is None:
        data["tests"] = [
            {
                "name": "Not graded",
                "name_format": "text",
                "output": told,
                "output_format": "text",
                "status": "failed",
                "visibility": Visible.ALWAYS.value,
            }
        ]
    return _json(data)


@dataclass(frozen=True, slots=True, kw_only=True)
class TooSoon:
    """A submission beyond the limit."""

    until: datetime
    """From when on the next one counts; with a zone."""
    counted: tuple[str, ...]
    """The runs that used the limit up."""
    score: float | None
    """Of the last one that was graded."""
    sentence: str

    def results_json(self) -> bytes:
        """`results.json` that keeps the score and says when to come back."""
        data = {
            "score": self.score or 0.0,
            "output": self.sentence,
            "output_format": "text",
            "visibility": Visible.ALWAYS.value,
            "stdout_visibility": Visible.STAFF.value,
            "extra_data": {"too_soon": True, "counted": list(self.counted), "score": self.score},
            "tests": [],
        }
        return _json(data)


def too_soon(metadata: Mapping[str, Any], *, most: int, minutes: float) -> TooSoon | None:
    """Whether this submission is one more than *most* within *minutes*; None when it counts.

    Measured between the times of submissions, so that a queue or a regrade changes nothing. What
    was itself too soon, or failed by our fault, does not count. *metadata* is what
    `submission_metadata.json` holds; raises SetupError where that can't be understood.
    """
    now = _time(metadata.get("created_at"))
    earlier = [when for when in counted_before(metadata) if _time(when) <= now]
    recent = [when for when in earlier if now - _time(when) < timedelta(minutes=minutes)]
    if len(recent) < most:
        return None
    until = _time(recent[-most]) + timedelta(minutes=minutes)
    every = f"{count(most, 'submission')} within {minutes:g} minutes"
    return TooSoon(
        until=until,
        counted=tuple(recent),
        score=_last_score(metadata),
        sentence=f"Not graded: {every} are allowed. Submit again after "
        f"{until.isoformat(timespec='seconds')}. Your last score stays.",
    )


def counted_now(metadata: Mapping[str, Any], *, minutes: float) -> tuple[str, ...]:
    """The times of runs that count for the limit, with this one: for `results_json`."""
    now = _time(metadata.get("created_at"))
    window = timedelta(minutes=minutes)
    recent = [when for when in counted_before(metadata) if timedelta(0) < now - _time(when)]
    return (*(w for w in recent if now - _time(w) < window), str(metadata["created_at"]))


def counted_before(metadata: Mapping[str, Any]) -> tuple[str, ...]:
    """The times of earlier submissions that count, from the oldest.

    The latest one's own list where it has one, as Gradescope keeps the results of that alone.
    """
    previous = _previous(metadata)
    if not previous:
        return ()
    results = previous[-1].get("results")
    extra = results.get("extra_data") if isinstance(results, Mapping) else None
    listing = extra.get("counted") if isinstance(extra, Mapping) else None
    if isinstance(listing, list):
        return tuple(str(when) for when in listing)
    return tuple(str(p.get("submission_time")) for p in previous if not p.get("autograder_error"))


def _previous(metadata: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    listing = metadata.get("previous_submissions")
    if not isinstance(listing, list):
        return []
    found = [one for one in listing if isinstance(one, Mapping) and one.get("submission_time")]
    return sorted(found, key=lambda one: _time(one["submission_time"]))


def _last_score(metadata: Mapping[str, Any]) -> float | None:
    for one in reversed(_previous(metadata)):
        score = one.get("score")
        try:
            if score is not None and not one.get("autograder_error"):
                return float(score)
        except (TypeError, ValueError):
            continue
    return None


def _time(value: object) -> datetime:
    try:
        when = datetime.fromisoformat(str(value))
    except ValueError:
        raise SetupError(
            f"'{one_line(str(value), 60)}' in submission_metadata.json is no time",
            fix="the file is Gradescope's; run this where it lies",
        ) from None
    return when.replace(tzinfo=UTC) if when.tzinfo is None else when


def _said(feedback: Feedback) -> str:
    """What stands above all tests; plain text."""
    told = []
    if feedback.refusal:
        told.append(feedback.refusal)
    elif feedback.standing is Standing.MISSING:
        told.append("There was no notebook in what you handed in.")
    told += [f"Warning: {text}." for text in feedback.warnings]
    if feedback.standing is Standing.WAITING:
        told.append("A newer submission is not graded yet.")
    waiting = open_parts(feedback.problems)
    if waiting:
        told.append(f"Still open, and not in the score: {listed(waiting)}.")
    if feedback.run:
        told.append(feedback.run.sentence)
        told += [f"Code cell {t.number}: {t.error}" for t in feedback.run.troubles]
    return plain("\n".join(told))


def _test(
    problem: ShownProblem, place: int, who: Tiers, text_format: TextFormat
) -> dict[str, object]:
    part = problem.parts[place]
    data: dict[str, object] = {
        "name": one_line(f"{part.name} ({problem.title})"),
        "name_format": "text",
        "number": f"{problem.number}.{place + 1}",
        "output": _why(part, text_format),
        "output_format": text_format.value,
        "visibility": who.marks.value,
        "tags": [part.kind],
        "extra_data": {"name": part.name, "problem": problem.id, "verdict": part.verdict.value},
        "max_score": part.max_points,
    }
    if part.points is not None:
        data["score"] = part.points
        data["status"] = "passed" if part.points >= part.max_points else "failed"
    return data


def _why(part: ShownPart, text_format: TextFormat) -> str:
    verdict = SAID[part.verdict]
    if text_format is TextFormat.MARKDOWN:
        answer = f"Read as: {markdown(part.answer)}" if part.answer else ""
        return "\n\n".join(x for x in (f"**{verdict}**", answer, _tame(_unlinked(part))) if x)
    answer = f"Read as: {one_line(part.answer)}" if part.answer else ""
    return "\n\n".join(x for x in (verdict, answer, plain(reason(part))) if x)


def _tame(text: str) -> str:
    """Markdown without HTML and images; Gradescope's own cleaning is not relied on."""
    return plain(text).replace("&", "&amp;").replace("<", "&lt;").replace("![", "!&#91;")


def _unlinked(part: ShownPart) -> str:
    """The reason without links, as the student's own words may be among it."""
    return reason(part).replace("](", "]\u200b(").replace("://", ":\u200b//")


def _solved(problem: ShownProblem) -> bool:
    return bool(problem.solution) or any(part.accepted for part in problem.parts)


def _solution(problem: ShownProblem, who: Tiers, text_format: TextFormat) -> dict[str, object]:
    accepted = [f"{p.name}: {p.accepted}" for p in problem.parts if p.accepted]
    text = "\n\n".join([*accepted, *([problem.solution] if problem.solution else [])])
    return {
        "name": one_line(f"q{problem.number}, solution"),
        "name_format": "text",
        "number": f"{problem.number}.{len(problem.parts) + 1}",
        "output": _tame(text) if text_format is TextFormat.MARKDOWN else plain(text),
        "output_format": text_format.value,
        "visibility": who.solutions.value,
    }


def _json(data: object) -> bytes:
    return (json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()


def notes(result: Result, tiers: Tiers) -> tuple[str, ...]:
    """What whoever uses the file should know."""
    feedback, said = result.feedback, []
    waiting = open_parts(feedback.problems)
    if waiting:
        said.append(f"without a score, as they are still open: {listed(waiting)}")
    said += warnings([result])
    shown = [tiers.marks] if feedback.problems else []
    if feedback.published and any(_solved(problem) for problem in feedback.problems):
        shown.append(tiers.solutions)
    if any(tier is not Visible.ALWAYS for tier in shown):
        said.append("Gradescope hides the total from students while any test is hidden from them")
    return tuple(said)
