"""Records what the files of a results folder were written from, to skip files that are up to
date."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from grader import __version__
from grader.bank.folders import Bank
from grader.files import write_atomic
from grader.gradebook import Gradebook
from grader.grading.adjustments import ADJUSTMENTS
from grader.grading.course_policy import policy_of
from grader.grading.requests import form_secret
from grader.grading.sources import NOTICES, ResultSource, collect_warnings, requests_by_student
from grader.model.grouping import group_by_key
from grader.release.papers import absent, seats_of

KEPT = "report/.pages.json"
"""Records the sources of each student's files; if lost, all files are written again.

Contains all totals, so it is stored with the class files rather than with students' pages.
"""
CLASS_FILES = ("grades.csv", "report/index.html")


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultDigests:
    """Digests of everything that the files show, computed without reading marks.

    The gradebook keeps a digest of each grade, which makes this a hundred times cheaper than
    reading the marks of a large class.
    """

    students: Mapping[str, str]
    """By ID: a digest of the files of each student."""
    whole: str
    """A digest of the table and the report of the class."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassFigures:
    """A class in a few numbers, for the last lines of a command's output."""

    standings: Mapping[str, int]
    counted: int
    """The number of students that the mean and the median cover."""
    mean: float | None
    median: float | None
    open_totals: int
    statistics: dict[str, object]
    """The statistics of the whole paper and of each part."""
    totals: list[dict[str, object]]
    """One entry per student: ID, standing, score, maximum, complete."""

    def to_json(self) -> dict[str, object]:
        """Returns everything except the lines of students and parts, for `--json`."""
        names = ("standings", "counted", "mean", "median", "open_totals")
        return {"students": len(self.totals), **{name: getattr(self, name) for name in names}}


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenRecord:
    """What was written last, and from what."""

    stamps: ResultDigests
    files: Mapping[str, tuple[int, int]]
    """Size and modification time of `CLASS_FILES`, because a person may have edited them since."""
    short: ClassFigures


def result_digests(
    book: Gradebook, graded: ResultSource, bank: Bank, *, published: bool
) -> ResultDigests:
    """Returns digests of everything in *book*, *graded*, and *bank* that the result files show."""
    common = _common_digest(graded, bank, published)
    adjusted = book.setting(ADJUSTMENTS)
    common += f"/{adjusted}" if adjusted else ""
    seats = seats_of(book) or {}
    absent_students = absent(book)
    heads = book.grade_heads()
    runs = book.evidence_summaries()
    by_hand = group_by_key((override.student, override) for override in book.overrides())
    submissions = [
        attempt for attempt in book.submissions() if attempt.student not in absent_students
    ]
    attempts = group_by_key((attempt.student, attempt) for attempt in submissions)
    warned = collect_warnings(book, submissions)
    people = graded.students
    policy = policy_of(book, graded.exam)
    attempt_heads = book.attempt_heads() if policy and policy.may_choose_attempt else ()
    attempt_texts = group_by_key((who, repr(head)) for who, *head in attempt_heads)
    requests = requests_by_student(book)
    secret = form_secret(book)
    digests: dict[str, str] = {}
    for id_ in people.keys() | heads.keys():
        digest, file = heads.get(id_, (None, None))
        changed_by_policy: tuple[object, ...] = ()
        if policy and id_ in people:
            data = policy.digest_data(people[id_])
            changed_by_policy = data, sorted(attempt_texts.get(id_, ()))
        digests[id_] = _digest(
            common,
            people.get(id_),
            seats.get(id_),
            digest,
            runs.get(file) if file else None,
            by_hand.get(id_),
            attempts.get(id_),
            warned.get((id_, file or "")),
            *filter(None, (requests.get(id_), secret)),
            *changed_by_policy,
        )
    whole = _digest(common, sorted(digests.items()), book.setting(NOTICES), bool(seats))
    return ResultDigests(students=digests, whole=whole)


def read_record(out: Path) -> WrittenRecord | None:
    """Returns the record of what was last written to the folder *out*, or None if there is none
    that this version can read."""
    try:
        data = json.loads((out / KEPT).read_bytes())
        students = data["students"]
        short = ClassFigures(**data["short"])
        files = {name: (size, changed) for name, (size, changed) in data["files"].items()}
        stamps = ResultDigests(students=dict(students), whole=data["whole"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None  # such as a file of an earlier version
    return WrittenRecord(stamps=stamps, files=files, short=short)


def write_record(out: Path, stamps: ResultDigests, short: ClassFigures) -> None:
    """Records what the files in the folder were written from."""
    _write_record(out, WrittenRecord(stamps=stamps, files=_file_states(out), short=short))


def forget_files(out: Path, kept: WrittenRecord | None, students: Collection[str]) -> None:
    """Removes the class files and the files of *students* from the record *kept*, if any, so that
    the next run writes them again."""
    if kept is not None:
        rest = {id_: digest for id_, digest in kept.stamps.students.items() if id_ not in students}
        _write_record(out, replace(kept, stamps=ResultDigests(students=rest, whole="")))


def _write_record(out: Path, record: WrittenRecord) -> None:
    """Stores *record* in the folder *out*, where `read_record` finds it."""
    plain = {
        "whole": record.stamps.whole,
        "students": dict(record.stamps.students),
        "files": dict(record.files),
        "short": {name: getattr(record.short, name) for name in ClassFigures.__slots__},
    }
    write_atomic(out / KEPT, json.dumps(plain).encode())


def is_up_to_date(out: Path, kept: WrittenRecord, stamps: ResultDigests) -> bool:
    """Returns whether the table and the report of the class exist, unmodified and up to date."""
    return kept.stamps.whole == stamps.whole and kept.files == _file_states(out)


def _file_states(out: Path) -> dict[str, tuple[int, int]]:
    """Returns size and modification time, in nanoseconds, of each of `CLASS_FILES` that exists."""
    states: dict[str, tuple[int, int]] = {}
    for name in CLASS_FILES:
        with suppress(OSError):
            state = (out / name).stat()
            states[name] = state.st_size, state.st_mtime_ns
    return states


def _common_digest(graded: ResultSource, bank: Bank, published: bool) -> str:
    """Returns a digest of what all files depend on besides the grades."""
    templates = hashlib.sha256()
    for folder in bank.templates:
        # Names count too: a renamed template may now be used, and a page may
        # include any other. Without folders and the symbolic links that some editors use as locks.
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            data = path.read_bytes()
            templates.update(repr((path.relative_to(folder).parts, len(data))).encode())
            templates.update(data)
    parts = (__version__, graded.release, graded.exam, graded.title, str(published))
    return "/".join((*parts, templates.hexdigest()[:16]))


def _digest(*parts: object) -> str:
    text = repr(parts)
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:16]
