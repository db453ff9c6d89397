"""What the files of a results folder were written from, so that what still holds is left alone."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from grader import __version__
from grader.bank.folders import Bank
from grader.files import write_whole
from grader.gradebook import Gradebook
from grader.grading.sources import NOTICES, Graded, warnings_of
from grader.model import Override, Submission
from grader.release.papers import SEATS, absent

KEPT = "report/.pages.json"
"""What each student's files were written from; lost, all are written again.

It has everybody's total, so it lies where the class's are, and not among pages for students.
"""
CLASS_FILES = ("grades.csv", "report/index.html")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamps:
    """What stands for everything that the files show, without reading any marks.

    A grade in the gradebook has a digest of all that is in it, which makes this a hundred times
    cheaper than the marks of a large class.
    """

    students: Mapping[str, str]
    """By id: what the files of one student show."""
    whole: str
    """What the table and the report of the class show."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Short:
    """A class in a few numbers, for the lines that a command ends with."""

    standings: Mapping[str, int]
    counted: int
    """Students whose settled points the mean and the median are of."""
    mean: float | None
    median: float | None
    open_totals: int
    totals: list[dict[str, object]]
    """One line per student: id, standing, score, maximum, complete."""

    def figures(self) -> dict[str, object]:
        """Everything but the lines of the students, as `--json` has it."""
        return {
            "students": len(self.totals),
            "standings": dict(self.standings),
            "counted": self.counted,
            "mean": self.mean,
            "median": self.median,
            "open_totals": self.open_totals,
        }


_NOTHING = Short(standings={}, counted=0, mean=None, median=None, open_totals=0, totals=[])


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What was written last, and from what."""

    stamps: Stamps
    files: Mapping[str, tuple[int, int]]
    """Of `CLASS_FILES`, size and time of change: a person may have edited them since."""
    short: Short


def stamps_of(book: Gradebook, graded: Graded, bank: Bank, *, published: bool) -> Stamps:
    """The stamps of what *book* says now."""
    look = _look(graded, bank, published)
    seats = book.setting(SEATS)
    seats = seats if isinstance(seats, dict) else {}
    gone = absent(book)
    heads = book.grade_heads()
    runs = book.evidence_summaries()
    by_hand: dict[str, list[Override]] = {}
    for override in book.overrides():
        by_hand.setdefault(override.student, []).append(override)
    attempts: dict[str, list[Submission]] = {}
    for attempt in book.submissions():
        if attempt.student not in gone:
            attempts.setdefault(attempt.student, []).append(attempt)
    every = (attempt for mine in attempts.values() for attempt in mine)
    warned = warnings_of(book, every)
    people = graded.students
    found: dict[str, str] = {}
    for id_ in people.keys() | heads.keys():
        digest, file = heads.get(id_, (None, None))
        found[id_] = _digest(
            look,
            people.get(id_),
            seats.get(id_),
            digest,
            runs.get(file) if file else None,
            by_hand.get(id_),
            attempts.get(id_),
            warned.get((id_, file or "")),
        )
    whole = _digest(look, sorted(found.items()), book.setting(NOTICES), bool(seats))
    return Stamps(students=found, whole=whole)


def read_kept(out: Path) -> Kept | None:
    """What was written into the folder last; None when that is not known."""
    try:
        data = json.loads((out / KEPT).read_bytes())
        students = data["students"]
        short = Short(**data["short"])
        files = {name: (size, changed) for name, (size, changed) in data["files"].items()}
        stamps = Stamps(students=dict(students), whole=data["whole"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None  # such as one of an earlier version
    return Kept(stamps=stamps, files=files, short=short)


def write_kept(out: Path, stamps: Stamps, short: Short) -> None:
    """Remembers what the files in the folder were written from."""
    _write(out, Kept(stamps=stamps, files=_states(out), short=short))


def forget(out: Path, kept: Kept | None, students: Collection[str]) -> None:
    """Takes back what is known of the class's files, and of these students'."""
    if kept is not None:
        rest = {id_: one for id_, one in kept.stamps.students.items() if id_ not in students}
        _write(out, Kept(stamps=Stamps(students=rest, whole=""), files={}, short=_NOTHING))


def _write(out: Path, kept: Kept) -> None:
    plain = {
        "whole": kept.stamps.whole,
        "students": dict(kept.stamps.students),
        "files": dict(kept.files),
        "short": {name: getattr(kept.short, name) for name in Short.__slots__},
    }
    write_whole(out / KEPT, json.dumps(plain).encode())


def holds(out: Path, kept: Kept, stamps: Stamps) -> bool:
    """Whether the table and the report of the class are there, untouched, and still true."""
    return kept.stamps.whole == stamps.whole and kept.files == _states(out)


def _states(out: Path) -> dict[str, tuple[int, int]]:
    found: dict[str, tuple[int, int]] = {}
    for name in CLASS_FILES:
        with suppress(OSError):
            state = (out / name).stat()
            found[name] = state.st_size, state.st_mtime_ns
    return found


def _look(graded: Graded, bank: Bank, published: bool) -> str:
    """What all files depend on beside the grades."""
    templates = hashlib.sha256()
    for folder in bank.templates:
        # By name too: one that is called otherwise may count now. A page may include any other.
        # Without folders, and the links by which some editors lock a file.
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            data = path.read_bytes()
            templates.update(repr((path.relative_to(folder).parts, len(data))).encode())
            templates.update(data)
    parts = (__version__, graded.release, graded.exam, graded.title, str(published))
    return "/".join((*parts, templates.hexdigest()[:16]))


def _digest(*parts: object) -> str:
    text = repr(parts)
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:16]
