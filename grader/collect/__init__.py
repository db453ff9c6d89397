"""A folder or a zip of notebooks to submissions: whose each one is, and what was not taken."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from grader import notebook
from grader.collect.found import FIX, Budget, Found, sentence
from grader.collect.names import Notice, Remark, notice, short
from grader.collect.notices import Notices
from grader.collect.platforms import check_table
from grader.collect.readers import entries, read
from grader.collect.roster import Roster
from grader.errors import SubmissionError
from grader.model import Student, Submission

__all__ = ["Collected", "Notice", "collect", "load"]

MAX_ATTEMPTS = 100
"""Of one student; only the newest are read."""
MAX_ATTEMPTS_BYTES = 200_000_000
"""Of all attempts of one student together, unpacked."""

Look = Callable[[str, notebook.Notebook], str | None]
"""Asked of each notebook with its student: raises SubmissionError when it can't be the student's,
and returns what the instructor should know of it."""

Fit = Callable[[str, notebook.Notebook], int]
"""Asked of each of several notebooks with its student: how well it fits the exam. The newest of
those that fit best is graded."""

BEST = 2
"""A notebook that is the student's own of this exam, as far as can be told."""

_TOO_MANY = f"there are {MAX_ATTEMPTS} newer attempts; not read"
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


def collect(
    path: Path,
    known: Mapping[str, Student],
    users: Mapping[str, str] | None = None,
    look: Look | None = None,
    fit: Fit | None = None,
) -> Collected:
    """The submissions in *path*: a folder, a zip, or one notebook.

    A file belongs to the first folder on its way that is a student's id, or else to the student
    it is named after. What Canvas or Moodle named belongs to whom they say: by *users*, their
    numbers of people with the ids of students, or by the only name that fits. What *look* says is
    not the student's is refused, and graded only where there is nothing else. Of several the newest
    counts, among those that *fit* says belong to the exam. Never raises for one file; SetupError
    when *path* itself can't be read, and when *users* are another platform's than the one that
    named the files.
    """
    roster = Roster(known, users)
    notices = Notices()
    platforms: set[str] = set()
    found: dict[str, list[Found]] = {}
    copies: dict[str, list[Found]] = {}
    path = Path(path).absolute()
    budget = Budget(path, roster.find)
    for entry in entries(path, budget):
        student = roster.find(entry.name)
        if isinstance(entry, Remark):
            notices.add(student, entry.notice)
            continue
        if student is None:
            notices.add(None, roster.unknown(entry.name))
        else:
            by_name = copies if roster.of_copy(entry.name) else found
            by_name.setdefault(student, []).append(entry)
        if platform := roster.platform(entry.name):
            platforms.add(platform)
    check_table(users, platforms)
    _leave_namesakes(found, roster, notices)
    _add_copies(found, copies, notices)
    attempts: dict[str, tuple[Submission, ...]] = {}
    for student in dict.fromkeys((*found, *budget.left_out)):
        mine = found.get(student, [])
        mine.sort(key=lambda entry: (entry.time, str(entry.name)), reverse=True)
        not_theirs: dict[str, Notice] = {}
        fits: dict[str, int] = {}
        asked = fit if len(mine) > 1 or student in budget.left_out else None
        found_here = tuple(read_attempts(student, mine, notices, look, not_theirs, asked, fits))
        attempts[student] = tuple(
            sorted(found_here, key=lambda one: (one.path in not_theirs, -fits.get(one.path, 0)))
        )
        # Beside one that is theirs it costs nothing, such as the sample that a repository has.
        best = [p for p, fits_so in fits.items() if fits_so == BEST and p not in not_theirs]
        if student in budget.left_out and not best:
            unseen = left_out(student, path, budget.left_out[student])
            attempts[student] = (unseen, *attempts[student])
        graded = attempts[student][0].path
        level: Literal["info", "warning"] = "warning" if graded in not_theirs else "info"
        for said in not_theirs.values():
            notices.add(student, replace(said, level=level))
        if len(mine) > 1 and graded in fits:
            notices.add(student, _several(student, mine, attempts[student], not_theirs))
    order = sorted(attempts)
    return Collected(
        submissions=tuple(attempts[s][0] for s in order),
        earlier=tuple(one for s in order for one in attempts[s][1:]),
        notices=notices.all(),
        missing=tuple(s for s in known if s not in attempts),
    )


def left_out(student: str, path: Path, why: str) -> Submission:
    """What stands for the files in *path* of a student that were not looked at: its mark is open.

    It counts where none of those that were looked at is the exam.
    """
    there = f"{path}/{student}/…"
    return Submission(student=student, path=there, sha256=_NOTHING, refusal=f"{why}; {FIX}")


def _leave_namesakes(found: dict[str, list[Found]], roster: Roster, notices: Notices) -> None:
    """Takes away what several people handed in who are taken for one student by their name.

    On some platforms people choose what they are called, and the newest file would be graded.
    """
    for student, files in list(found.items()):
        told = [(entry, roster.handed(entry.name)) for entry in files] if len(files) > 1 else []
        numbers: dict[str, set[str]] = {}
        for _, by in told:
            if by is not None:
                numbers.setdefault(by.platform, set()).add(by.user)
        left: set[str] = set()
        for entry, by in told:
            if by is None or len(numbers[by.platform]) < 2 or not roster.by_name(by):
                continue
            several = ", ".join(sorted(numbers[by.platform])[:5])
            text = f"whose it is can't be told: several people in {by.platform} ({several}) seem "
            text += f"to be '{student}'; give their numbers with --names FILE, or rename the file"
            notices.add(student, notice("warning", entry.name, f"{text} to STUDENT.ipynb"))
            left.add(entry.path)
        found[student] = [entry for entry in files if entry.path not in left]
        if not found[student]:
            del found[student]


def _add_copies(
    found: dict[str, list[Found]], copies: Mapping[str, list[Found]], notices: Notices
) -> None:
    """Adds files that are named like copies, of students who have no other.

    Beside a notebook of the student's very name anybody may have put a copy's.
    """
    for student, files in copies.items():
        for entry in files:
            if student in found:
                text = f"named like a copy of the notebook of '{student}', which is there; not read"
                text += ". Rename it if it is the one to grade"
                notices.add(student, notice("warning", entry.name, text))
            else:
                text = f"a copy by its name, so of '{student}'"
                notices.add(student, notice("info", entry.name, text))
    found.update({student: mine for student, mine in copies.items() if student not in found})


def load(submission: Submission) -> bytes:
    """The bytes of a collected submission, as they were when it was collected.

    Raises SubmissionError when they can't be read, or have changed.
    """
    if submission.refusal is not None and submission.sha256 == _NOTHING:
        return b""
    name = Path(submission.path).name
    try:
        data = read(submission.path)
    except (OSError, SubmissionError) as error:
        reason = error.what if isinstance(error, SubmissionError) else _reason(error)
        raise SubmissionError(
            f"the notebook can't be read any more: {reason}", where=name
        ) from error
    if hashlib.sha256(data).hexdigest() != submission.sha256:
        raise SubmissionError("the notebook has changed since it was collected", where=name)
    return data


def read_attempts(
    student: str,
    mine: Sequence[Found],
    notices: Notices,
    look: Look | None = None,
    not_theirs: dict[str, Notice] | None = None,
    fit: Fit | None = None,
    fits: dict[str, int] | None = None,
) -> Iterator[Submission]:
    """*mine* as submissions, in their order, and a notice for each that has a problem.

    The notices of those that *look* refuses go to *not_theirs* instead, by path. *fits* gets what
    *fit* says of each, by path; a file that can't be read may be the exam, and fits best.
    """
    elsewhere = {} if not_theirs is None else not_theirs
    left = MAX_ATTEMPTS_BYTES
    # The first that is not read stands for all that are older, any of which may be the exam.
    unread = [replace(one, refusal=_TOO_MANY) for one in mine[MAX_ATTEMPTS : MAX_ATTEMPTS + 1]]
    for entry in (*mine[:MAX_ATTEMPTS], *unread):
        seen = _seen(entry, left)
        left -= len(seen.data)
        if not _is_theirs(student, seen, look):
            elsewhere[entry.path] = notice("warning", entry.name, seen.refusal or "")
        elif said := seen.refusal or seen.trouble:
            notices.add(student, notice("warning", entry.name, said))
        if fits is not None:
            fits[entry.path] = _fit(student, seen, fit)
        yield Submission(
            student=student,
            path=entry.path,
            sha256=hashlib.sha256(seen.data).hexdigest(),
            received=_iso(entry.time),
            refusal=seen.refusal,
        )


@dataclass(slots=True, kw_only=True)
class _Seen:
    """What a file holds, as far as it can be read."""

    data: bytes = b""
    readable: notebook.Notebook | None = None
    refusal: str | None = None
    trouble: str | None = None
    """Not the student's fault, so not refused: where executing it fails too, that costs nothing."""


def _seen(entry: Found, left: int) -> _Seen:
    """One file, unless more than *left* bytes have been read; nothing in it costs anybody else."""
    seen = _Seen(refusal=entry.refusal)
    if seen.refusal is None and left <= 0:
        seen.refusal = f"newer attempts have {MAX_ATTEMPTS_BYTES / 1e6:.0f} MB already; not read"
    if seen.refusal is not None:
        return seen
    try:
        seen.data = read(entry.path)
        seen.readable = notebook.read(seen.data)
    except SubmissionError as error:
        seen.refusal = sentence(error)
    except OSError as error:
        seen.trouble = f"the file can't be opened: {_reason(error)}"
    except Exception as error:  # noqa: BLE001  # whatever strangers' bytes have set off
        seen.trouble = f"the file can't be read, by a fault of ours: {_named(error)}"
    return seen


def _is_theirs(student: str, seen: _Seen, look: Look | None) -> bool:
    """Whether the notebook can be the student's, by what *look* says."""
    if seen.readable is None or look is None:
        return True
    try:
        seen.trouble = look(student, seen.readable)
    except SubmissionError as error:
        seen.refusal = sentence(error)
        return False
    except Exception as error:  # noqa: BLE001  # as above; what a notebook says earns no point
        seen.trouble = f"it can't be told whose it says it is, by a fault of ours: {_named(error)}"
    return True


def _fit(student: str, seen: _Seen, fit: Fit | None) -> int:
    """How well the notebook fits the exam, by what *fit* says."""
    if seen.readable is None or fit is None:
        return BEST
    try:
        return fit(student, seen.readable)
    except Exception:  # noqa: BLE001  # as above: then the newest counts
        return BEST


def _named(error: Exception) -> str:
    return type(error).__name__  # what it says may be strangers' bytes, or not even be sayable


def _reason(error: OSError) -> str:
    return (error.strerror or "it is gone").lower()


def _iso(seconds: float) -> str | None:
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
    except (OverflowError, ValueError, OSError):
        return None  # a time before the year 1 or after 9999


def _several(
    student: str,
    mine: Sequence[Found],
    attempts: Sequence[Submission],
    not_theirs: Container[str],
) -> Notice:
    """Which of several notebooks is graded, the newest of *mine* or another, and why."""
    names = {entry.path: entry.name for entry in mine}
    graded = attempts[0].path
    level: Literal["info", "warning"] = "info"
    which = "the newest is graded"
    if graded != mine[0].path:
        which = "the newest that may be theirs is graded"
        if mine[0].path not in not_theirs:
            # Work may be missing: whether it is the exam, only what the notebook says can tell.
            level = "warning"
            which = "the newest that belongs to this exam is graded"
    others = [short(entry.name) for entry in mine if entry.path != graded]
    named = ", ".join(others[:5]) + (", ..." if len(others) > 5 else "")
    text = f"'{student}' handed in {len(mine)} notebooks; {which}, not {named}"
    return notice(level, names[graded], text)
