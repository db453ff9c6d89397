"""Converts executions to rows of the evidence table and back; their evidence is in files."""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import Connection, func, select

from grader.gradebook import schema
from grader.gradebook.plain import read_record
from grader.model import Outcome
from grader.model.result import EvidenceSummary

_TABLE = schema.evidence


def read_summaries(connection: Connection) -> Iterator[EvidenceSummary]:
    """Yields the latest execution of each file."""
    t = _TABLE.c
    latest = select(func.max(t.number)).group_by(t.submission_sha256)
    query = select(
        t.submission_sha256, t.outcome, t.seconds, t.note, t.failed_cells, t.first_error
    ).where(t.number.in_(latest))
    for row in connection.execute(query).mappings():
        yield read_record(EvidenceSummary, row, outcome=Outcome(row["outcome"]))


def find_digests(connection: Connection, files: list[str]) -> dict[str, tuple[str, int]]:
    """Returns digest and size of the latest evidence of each of *files*."""
    t = _TABLE.c
    query = select(t.submission_sha256, t.digest, t.size).where(t.submission_sha256.in_(files))
    rows = connection.execute(query.order_by(t.number))
    return {row.submission_sha256: (row.digest, row.size) for row in rows}


def find_latest(
    connection: Connection, submission_sha256: str, fingerprint: str | None
) -> tuple[str, int] | None:
    """Returns digest and size of the latest evidence for a file, optionally executed in a given
    way."""
    t = _TABLE.c
    query = select(t.digest, t.size).where(t.submission_sha256 == submission_sha256)
    if fingerprint is not None:
        query = query.where(t.fingerprint == fingerprint)
    row = connection.execute(query.order_by(t.number.desc()).limit(1)).first()
    return None if row is None else (row.digest, row.size)
