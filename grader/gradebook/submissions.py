"""Converts submissions, their times, and their executions to rows of the tables and back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, replace

from sqlalchemy import Connection, bindparam, delete, func, insert, select, update

from grader.gradebook import schema, students
from grader.gradebook.plain import read_record, storable, storable_or_none
from grader.model import Outcome, Submission
from grader.model.course import HandedIn, TimeSource
from grader.model.result import EvidenceSummary

_TABLE, _TIMES, _EVIDENCE = schema.submissions, schema.times, schema.evidence
# Student, path, and SHA-256: the same when an attempt is handed in again.
_AttemptId = tuple[str, str, str]


def store_submissions(connection: Connection, batch: Iterable[Submission], *, at: str) -> None:
    """Stores every attempt of *batch*, the latest last."""
    attempts: dict[_AttemptId, Submission] = {}
    for attempt in batch:
        attempt_id = attempt.student, storable(attempt.path), attempt.sha256
        attempts.pop(attempt_id, None)  # so that it gets the last position
        attempts[attempt_id] = attempt
    student_ids = [student for student, _, _ in attempts]
    students.require_known(connection, student_ids)
    numbers = _read_numbers(connection, student_ids)
    first = (connection.scalar(select(func.max(_TABLE.c.seen))) or 0) + 1
    new: list[dict[str, object]] = []
    again: list[dict[str, object]] = []
    for seen, (attempt_id, attempt) in enumerate(attempts.items(), first):
        line: dict[str, object] = {
            "seen": seen,
            "received": attempt.received,
            "refusal": storable_or_none(attempt.refusal),
        }
        if attempt_id in numbers:
            again.append(line | {"known": numbers[attempt_id]})
        else:
            student, path, sha256 = attempt_id
            new.append(line | {"student": student, "path": path, "sha256": sha256, "added": at})
    if again:
        # One statement for all rows: it sets the columns that they name.
        connection.execute(update(_TABLE).where(_TABLE.c.number == bindparam("known")), again)
    if new:
        connection.execute(insert(_TABLE), new)


def read_submissions(connection: Connection, student: str | None) -> Iterator[Submission]:
    """Yields the attempts of one student or of all, the latest last."""
    t = _TABLE.c
    query = select(t.student, t.path, t.sha256, t.received, t.refusal).order_by(t.seen)
    if student is not None:
        query = query.where(t.student == student)
    yield from (Submission(**row) for row in connection.execute(query).mappings())


def _read_numbers(connection: Connection, student_ids: Iterable[str]) -> dict[_AttemptId, int]:
    """Returns the row number of every stored attempt of these students."""
    t = _TABLE.c
    query = select(t.student, t.path, t.sha256, t.number)
    return {
        (row.student, row.path, row.sha256): row.number
        for chunk in students.in_chunks(student_ids)
        for row in connection.execute(query.where(t.student.in_(chunk)))
    }


def merge_times(handed_in: HandedIn, stored: HandedIn | None) -> HandedIn:
    """Returns *handed_in* with the times that it lacks and that *stored*, the earlier line about
    the same file, has."""
    if stored is None:
        return handed_in
    started = handed_in.started or stored.started
    if handed_in.received is None:
        return replace(stored, started=started, by=handed_in.by or stored.by)
    return replace(handed_in, started=started)


def store_times(connection: Connection, batch: Iterable[HandedIn]) -> None:
    """Stores times of submission, each in place of an earlier time of the same file."""
    lines = {(handed_in.student, handed_in.sha256): handed_in for handed_in in batch}
    students.require_known(connection, (student for student, _ in lines))
    t = _TIMES.c
    for student, sha256 in lines:
        connection.execute(delete(_TIMES).where((t.student == student) & (t.sha256 == sha256)))
    rows = [asdict(handed_in) | {"source": handed_in.source.value} for handed_in in lines.values()]
    if rows:
        connection.execute(insert(_TIMES), rows)


def read_times(connection: Connection) -> Iterator[HandedIn]:
    """Yields all times of submission, sorted by student and file."""
    query = select(_TIMES).order_by(_TIMES.c.student, _TIMES.c.sha256)
    for row in connection.execute(query).mappings():
        yield read_record(HandedIn, row, source=TimeSource(row["source"]))


def read_summaries(connection: Connection) -> Iterator[EvidenceSummary]:
    """Yields the latest execution of each file."""
    t = _EVIDENCE.c
    latest = select(func.max(t.number)).group_by(t.submission_sha256)
    query = select(
        t.submission_sha256, t.outcome, t.seconds, t.note, t.failed_cells, t.first_error
    ).where(t.number.in_(latest))
    for row in connection.execute(query).mappings():
        yield read_record(EvidenceSummary, row, outcome=Outcome(row["outcome"]))


def find_shared_files(connection: Connection) -> frozenset[str]:
    """Returns the SHA-256 of each file that several students have handed in."""
    t = _TABLE.c
    several = func.count(t.student.distinct()) > 1
    return frozenset(connection.scalars(select(t.sha256).group_by(t.sha256).having(several)))


def find_executions(connection: Connection, file: str) -> list[tuple[str, int]]:
    """Returns digest and size of the evidence of each execution of *file*, the latest first."""
    t = _EVIDENCE.c
    query = select(t.digest, t.size).where(t.submission_sha256 == file).order_by(t.number.desc())
    return [(row.digest, row.size) for row in connection.execute(query)]


def find_latest(
    connection: Connection, files: list[str], fingerprint: str | None = None
) -> dict[str, tuple[str, int]]:
    """Returns digest and size of the latest evidence of each of *files*, optionally of those that
    were executed in a given way."""
    t = _EVIDENCE.c
    query = select(t.submission_sha256, t.digest, t.size).where(t.submission_sha256.in_(files))
    if fingerprint is not None:
        query = query.where(t.fingerprint == fingerprint)
    rows = connection.execute(query.order_by(t.number))
    return {row.submission_sha256: (row.digest, row.size) for row in rows}
