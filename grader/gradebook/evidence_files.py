"""The folder of evidence: one file per execution, named by the SHA-256 of its content."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path

from grader.errors import GraderError
from grader.files import write_atomic
from grader.gradebook.evidence import evidence_from_json, evidence_to_json
from grader.gradebook.plain import as_plain, storable_or_none
from grader.model import Answer, CellRun, Evidence
from grader.model.evidence import CUT_SHORT

MAX_BYTES = 16_000_000
"""Maximum bytes of a submission's JSON: ten times what the limits on output and answers allow, so
only a kernel that forges its messages comes close."""

_LONGEST_ERROR = 1_000
_FIRST = 300
"""Maximum number of characters of the first error in the table."""
_AGAIN = "run `grader grade` again; the notebook is executed again"


class EvidenceFiles:
    """Evidence files in one folder; they never change."""

    def __init__(self, folder: Path):
        self.folder = folder

    def path(self, digest: str) -> Path:
        """Returns the path of the evidence with this digest."""
        return self.folder / f"{digest}.json"

    def write(self, evidence: Evidence) -> tuple[Evidence, dict[str, object]]:
        """Writes the evidence to disk; returns it as stored, with the data for the table."""
        evidence, data = limit_size(evidence)
        digest = hashlib.sha256(data).hexdigest()
        write_atomic(self.path(digest), data, durable=True)
        failed = [(n, cell) for n, cell in enumerate(evidence.cells, 1) if cell.failed]
        first = next((cell.describe_failure(n)[:_FIRST] for n, cell in failed), None)
        return evidence, {
            "submission_sha256": evidence.submission_sha256,
            "digest": digest,
            "size": len(data),
            "outcome": evidence.outcome.value,
            "seconds": evidence.seconds,
            "note": storable_or_none(evidence.note),
            "failed_cells": len(failed),
            "first_error": storable_or_none(first),
        }

    def is_whole(self, digest: str) -> bool:
        """Returns whether the file exists and is not damaged."""
        try:
            return hashlib.sha256(self.path(digest).read_bytes()).hexdigest() == digest
        except OSError:
            return False

    def read(self, digest: str, size: int) -> Evidence:
        """Returns the evidence. Raises GraderError, naming the file, if it is missing or
        damaged."""
        path = self.path(digest)
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            raise GraderError("an evidence file is missing", where=str(path), fix=_AGAIN) from None
        if hashlib.sha256(data).hexdigest() != digest:
            seen = "other content" if len(data) == size else f"{len(data)} bytes instead of {size}"
            raise GraderError(
                f"evidence is damaged: the file has {seen}",
                where=str(path),
                fix=f"delete the file and {_AGAIN}",
            )
        return evidence_from_json(data, where=str(path))


def limit_size(evidence: Evidence, most: int = MAX_BYTES) -> tuple[Evidence, bytes]:
    """Returns the evidence truncated to at most *most* bytes, and its JSON.

    The output of cells is removed first, then the largest answers, each replaced by the reason.
    Raises GraderError if something in it is not plain data.
    """
    data = evidence_to_json(evidence)
    if len(data) <= most:
        return evidence, data
    evidence = replace(evidence, cells=tuple(_without_output(cell) for cell in evidence.cells))
    data = evidence_to_json(evidence)
    if len(data) <= most:
        return evidence, data
    evidence = _without_largest(evidence, len(data) - most)
    return evidence, evidence_to_json(evidence)


def _without_output(cell: CellRun) -> CellRun:
    return replace(cell, output="", error=cell.error and cell.error[:_LONGEST_ERROR])


def _without_largest(evidence: Evidence, excess: int) -> Evidence:
    sizes = {name: _json_size(answer) for name, answer in evidence.answers.items()}
    answers, cut_short = dict(evidence.answers), dict(evidence.cut_short)
    for name in sorted(sizes, key=sizes.__getitem__, reverse=True):
        if excess <= 0:
            break
        why = f"the value of {name} is too large to be stored"
        answers[name] = Answer(name=name, raw=None, absent=why)
        cut_short[name] = why
        excess -= sizes[name] - _json_size(answers[name])
    environment = {**evidence.environment, CUT_SHORT: cut_short}
    return replace(evidence, answers=answers, environment=environment)


def _json_size(answer: Answer) -> int:
    text = json.dumps([answer.raw, answer.absent], separators=(",", ":"), default=as_plain)
    return len(text)
