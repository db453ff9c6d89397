"""A folder or a zip of notebooks to submissions: whose each one is, and what was not taken."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from grader import notebook
from grader.collect.readers import Entry, Notice, entries, reread
from grader.collect.roster import Roster
from grader.errors import SubmissionError
from grader.model import Student, Submission

__all__ = ["Collected", "Notice", "collect", "load"]

_NOTHING = hashlib.sha256(b"").hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Collected:
    """What a folder or zip held."""

    submissions: tuple[Submission, ...]
    """The one of each student that is to be graded, by student."""
    earlier: tuple[Submission, ...]
    """All other attempts."""
    notices: tuple[Notice, ...]
    missing: tuple[str, ...]
    """Students of the roster that handed in nothing."""


def collect(path: Path, known: Mapping[str, Student]) -> Collected:
    """The submissions in *path*: a folder, a zip, or one notebook.

    A file belongs to the first folder on its way that is a student's id, or else to the student
    it is named after. Never raises for one file; SetupError when *path* itself can't be read.
    """
    roster = Roster(known)
    notices: list[Notice] = []
    attempts: dict[str, list[_Attempt]] = {}
    for entry in entries(Path(path).absolute()):
        if isinstance(entry, Notice):
            notices.append(entry)
            continue
        student = roster.find(entry.name)
        if student is None:
            notices.append(roster.unknown(entry.name))
            continue
        submission, problem = _submission(entry, student)
        attempts.setdefault(student, []).append(_Attempt(entry.time, str(entry.name), submission))
        if problem:
            notices.append(Notice(level="warning", path=str(entry.name), text=problem))
    for student, tried in attempts.items():
        tried.sort(key=lambda attempt: (attempt.time, attempt.name), reverse=True)
        if len(tried) > 1:
            notices.append(_several(student, tried))
    order = sorted(attempts)
    return Collected(
        submissions=tuple(attempts[s][0].submission for s in order),
        earlier=tuple(a.submission for s in order for a in attempts[s][1:]),
        notices=tuple(notices),
        missing=tuple(s for s in known if s not in attempts),
    )


def load(submission: Submission) -> bytes:
    """The bytes of a collected submission, as they were when it was collected.

    Raises SubmissionError when they can no longer be read, or have changed.
    """
    if submission.sha256 == _NOTHING:
        return b""
    data = reread(submission.path)
    if hashlib.sha256(data).hexdigest() != submission.sha256:
        raise SubmissionError(
            "the notebook has changed since it was collected", where=Path(submission.path).name
        )
    return data


@dataclass(frozen=True, slots=True)
class _Attempt:
    time: float
    name: str
    submission: Submission


def _submission(entry: Entry, student: str) -> tuple[Submission, str | None]:
    """The submission, and what is wrong with it if anything is."""
    refusal = entry.refusal
    if refusal is None:
        try:
            notebook.read(entry.data)
        except SubmissionError as error:
            refusal = error.what
    submission = Submission(
        student=student,
        path=entry.path,
        sha256=hashlib.sha256(entry.data).hexdigest(),
        received=_iso(entry.time),
        refusal=refusal,
    )
    return submission, refusal


def _iso(seconds: float) -> str | None:
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
    except (OverflowError, ValueError, OSError):
        return None  # a time before the year 1 or after 9999


def _several(student: str, tried: Sequence[_Attempt]) -> Notice:
    newest, *others = (attempt.name for attempt in tried)
    named = ", ".join(others[:5]) + (", ..." if len(others) > 5 else "")
    text = f"'{student}' handed in {len(tried)} notebooks; the newest is graded, not {named}"
    return Notice(level="info", path=newest, text=text)
