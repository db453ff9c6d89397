"""The evidence of a results folder: one piece per execution, named by its SHA-256."""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from dataclasses import replace

from grader.errors import GraderError
from grader.gradebook.evidence import evidence_from_json, evidence_to_json
from grader.gradebook.evidence_places import EvidencePlace, ObjectStore
from grader.gradebook.plain import as_plain, storable_or_none
from grader.model import Answer, Evidence
from grader.model.evidence import CUT_SHORT

MAX_BYTES = 16_000_000
"""Maximum bytes of a submission's JSON: ten times what the limits on output and answers allow, so
only a kernel that forges its messages comes close."""

_LEVEL = 6
_GZIP = 16 + zlib.MAX_WBITS
"""The value of `wbits` for data in gzip's format."""
_LONGEST_ERROR = 1_000
_FIRST = 300
"""Maximum number of characters of the first error in the table."""
_AGAIN = "run `grader grade` again; the notebook is executed again"


class EvidenceFiles:
    """The pieces of evidence in one place; they never change.

    Each is compressed, and named after the SHA-256 of its JSON.
    """

    def __init__(self, place: EvidencePlace):
        self.place = place
        self._whole: set[str] = set()

    def where(self, digest: str) -> str:
        """Returns the path or the address of the evidence with this digest."""
        return self.place.where(_name(digest))

    def write(self, evidence: Evidence) -> tuple[Evidence, dict[str, object]]:
        """Stores the evidence. Returns it as stored, which may be truncated, and its row for the
        table."""
        evidence, data = limit_size(evidence)
        digest = hashlib.sha256(data).hexdigest()
        self.place.write(_name(digest), gzip.compress(data, _LEVEL, mtime=0))
        self._remember_whole(digest)
        failed = [(n, cell) for n, cell in enumerate(evidence.cells, 1) if cell.has_failed]
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

    def is_whole(self, digest: str, size: int) -> bool:
        """Returns whether the evidence exists and is not damaged. Raises SetupError if its place
        can't be reached."""
        if digest in self._whole:
            return True
        data = self._unpack_piece(digest, size)
        return data is not None and hashlib.sha256(data).hexdigest() == digest

    def read(self, digest: str, size: int) -> Evidence:
        """Returns the evidence, whose JSON has *size* bytes.

        Raises GraderError, naming the file, if it is missing or damaged, and SetupError if its
        place can't be reached.
        """
        where = self.where(digest)
        data = self._unpack_piece(digest, size)
        if data is None:
            raise GraderError("an evidence file is missing", where=where, fix=_AGAIN)
        if hashlib.sha256(data).hexdigest() != digest:
            raise GraderError(
                "evidence is damaged: the file has other content than when it was written",
                where=where,
                fix=f"delete the file and {_AGAIN}",
            )
        self._remember_whole(digest)
        return evidence_from_json(data, where=where)

    def copy_to(self, target: EvidencePlace, digest: str) -> bool:
        """Copies a piece to *target* unless it is there. Returns whether it is there afterward."""
        for name in (_name(digest), _plain_name(digest)):
            if target.read(name) is not None:
                return True
            data = self.place.read(name)
            if data is not None:
                target.write(name, data)
                return True
        return False

    def export(self, digest: str) -> bytes | None:
        """Returns the JSON of the evidence, unchecked, or None if it is missing or unreadable."""
        return self._unpack_piece(digest, 2 * MAX_BYTES) or None

    def remove(self, digest: str) -> bool:
        """Removes a piece. Returns whether it existed."""
        names = [n for n in (_name(digest), _plain_name(digest)) if self.place.read(n) is not None]
        for name in names:
            self.place.remove(name)
        self._whole.discard(digest)
        return bool(names)

    def _unpack_piece(self, digest: str, size: int) -> bytes | None:
        """Returns the JSON of the evidence, of at most *size* bytes, or None if it is missing, or
        empty bytes if it is damaged or larger."""
        data = self.place.read(_name(digest))
        if data is None:  # earlier versions did not compress
            return self.place.read(_plain_name(digest))
        return _unpack_bytes(data, size)

    def _remember_whole(self, digest: str) -> None:
        """Remembers that the piece is not damaged, so that it is not read again to check."""
        # Not in a folder, where people may change files at any time.
        if isinstance(self.place, ObjectStore):
            self._whole.add(digest)


def _name(digest: str) -> str:
    return f"{digest}.json.gz"


def _plain_name(digest: str) -> str:
    return f"{digest}.json"


def pack_evidence(evidence: Evidence) -> bytes:
    """Returns the evidence as compressed JSON, truncated if it is far too large."""
    return gzip.compress(limit_size(evidence)[1], _LEVEL, mtime=0)


def unpack_evidence(data: bytes) -> Evidence:
    """Returns the evidence that `pack_evidence` wrote. Raises GraderError if *data* is anything
    else."""
    return evidence_from_json(_unpack_bytes(data, 2 * MAX_BYTES))


def _unpack_bytes(data: bytes, size: int) -> bytes:
    """Returns the content of *data*, at most *size* bytes, or empty bytes if *data* is damaged or
    its content larger."""
    unpacking = zlib.decompressobj(_GZIP)
    try:
        content = unpacking.decompress(data, size + 1)
    except zlib.error:
        return b""
    return content if unpacking.eof and not unpacking.unused_data else b""


def limit_size(evidence: Evidence, most: int = MAX_BYTES) -> tuple[Evidence, bytes]:
    """Returns the evidence truncated to at most *most* bytes, and its JSON.

    The output of cells is removed first, then the largest answers, each replaced by the reason.
    Raises GraderError if something in it is not plain data.
    """
    data = evidence_to_json(evidence)
    if len(data) <= most:
        return evidence, data
    cells = (
        replace(cell, output="", error=cell.error and cell.error[:_LONGEST_ERROR])
        for cell in evidence.cells
    )
    evidence = replace(evidence, cells=tuple(cells))
    data = evidence_to_json(evidence)
    if len(data) <= most:
        return evidence, data
    evidence = _drop_largest_answers(evidence, len(data) - most)
    return evidence, evidence_to_json(evidence)


def _drop_largest_answers(evidence: Evidence, excess: int) -> Evidence:
    """Returns *evidence* with JSON that is *excess* bytes shorter, without the largest answers."""
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
