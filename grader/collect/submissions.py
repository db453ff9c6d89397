"""Collects submissions from a folder or zip: which student sent each file, and what was ignored."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from grader import notebook
from grader.collect.entries import (
    FIX,
    FileQuota,
    NotebookFile,
    Notice,
    Remark,
    display_name,
    error_sentence,
    make_notice,
)
from grader.collect.namesakes import add_copies, add_other_files, drop_namesakes, keep_remark
from grader.collect.notices import Notices
from grader.collect.platforms import check_platform
from grader.collect.readers import iter_entries, read_submission
from grader.collect.roster import Roster
from grader.errors import SubmissionError
from grader.model import Student, Submission

MAX_ATTEMPTS = 100
"""Maximum attempts per student; only the newest are read."""
MAX_ATTEMPTS_BYTES = 200_000_000
"""Maximum unpacked size of all attempts of a student together, in bytes."""

OwnerCheck = Callable[[str, notebook.Notebook], str | None]
"""Called with a student and each of the student's notebooks: raises SubmissionError if it can't be
the student's, and returns a note for the instructor."""

ExamFit = Callable[[str, notebook.Notebook], int]
"""Called with a student and each of several notebooks: returns how well it fits the exam. The
newest of those that fit best is graded."""

BEST = 2
"""The fit of a notebook that appears to be the student's notebook of this exam."""

_BLANK = re.compile(r'^q\d+_\w+ *= *(?:"""\s*)?\.\.\.', re.M)
"""An answer that still has the placeholder of the notebook that was handed out."""
_TOO_MANY = f"not read: there are {MAX_ATTEMPTS} newer attempts"
_NOTHING = hashlib.sha256(b"").hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectedSubmissions:
    """The contents of a folder or zip."""

    submissions: tuple[Submission, ...]
    """The submission to grade for each student, sorted by student."""
    earlier: tuple[Submission, ...]
    notices: tuple[Notice, ...]
    missing: tuple[str, ...]
    same_exam: Mapping[str, tuple[Submission, ...]] = field(default_factory=dict)
    """By student: the attempts that can be read and fit the exam as well as the one to grade,
    newest first; no entry if there are none."""

    def only(self, students: Collection[str]) -> CollectedSubmissions:
        """Returns what belongs to *students*."""
        return replace(
            self,
            submissions=tuple(
                submission for submission in self.submissions if submission.student in students
            ),
            earlier=tuple(s for s in self.earlier if s.student in students),
            missing=tuple(s for s in self.missing if s in students),
            same_exam={id_: found for id_, found in self.same_exam.items() if id_ in students},
        )


def collect(
    path: Path,
    known: Mapping[str, Student],
    users: Mapping[str, str] | None = None,
    look: OwnerCheck | None = None,
    fit: ExamFit | None = None,
    *,
    newest_counts: bool = True,
) -> CollectedSubmissions:
    """Collects the submissions in *path*: a folder, a zip, or one notebook.

    A file belongs to the student whose id is the outermost matching folder in its path, or else the
    file's name. *users* maps a platform's user numbers to ids. A file that *look* rejects is graded
    only if there is no other. Of several files, the newest of those that fit best by *fit* is
    graded; unless *newest_counts*, a course may count another one.
    """
    roster = Roster(known, users)
    notices = Notices()
    platforms: set[str] = set()
    files: dict[str, list[NotebookFile]] = {}
    copies: dict[str, list[NotebookFile]] = {}
    others: dict[str, list[Remark]] = {}
    path = Path(path).absolute()
    budget = FileQuota(path, roster.find)
    for entry in iter_entries(path, budget):
        if isinstance(entry, Remark):
            keep_remark(entry, roster, others, notices)
            continue
        owner = roster.owner(entry.name)
        student = owner.student
        if student is None:
            notices.add(None, roster.unknown_notice(entry.name))
        else:
            by_name = copies if owner.copy else files
            by_name.setdefault(student, []).append(entry)
        if owner.by and not owner.by.is_ambiguous:
            platforms.add(owner.by.platform)
    check_platform(users, platforms)
    add_other_files(files, copies, others, notices)
    drop_namesakes(files, roster, notices)
    add_copies(files, copies, notices)
    submissions: dict[str, list[Submission]] = {}
    same_exam: dict[str, tuple[Submission, ...]] = {}
    for student in dict.fromkeys((*files, *budget.left_out)):
        mine = files.get(student, [])
        mine.sort(key=lambda entry: (entry.time, str(entry.name)), reverse=True)
        rate = fit if len(mine) > 1 or student in budget.left_out else None
        attempts = list(read_attempts(student, mine, notices, look, rate))
        ranked = sorted(attempts, key=lambda attempt: (attempt.rejection is not None, -attempt.fit))
        submissions[student] = [attempt.submission for attempt in ranked]
        graded = ranked[0] if ranked else None
        has_best = any(a.fit == BEST and a.rejection is None for a in attempts)
        if student in budget.left_out and not has_best:
            unseen = unexamined_submission(student, path, budget.left_out[student])
            submissions[student].insert(0, unseen)
            graded = None
        # It costs nothing if another file is graded, as with the sample in a repository.
        level: Literal["info", "warning"] = "warning" if graded and graded.rejection else "info"
        for attempt in attempts:
            if attempt.rejection is not None:
                notices.add(student, replace(attempt.rejection, level=level))
        same_exam[student] = _find_same_exam(attempts, graded)
        if len(mine) > 1 and graded:
            rivals = [one for one in attempts if one.submission in same_exam[student]]
            has_less = any(one.blank_count < graded.blank_count for one in rivals)
            how = _choice_notice(mine, attempts[0], graded, newest_counts, has_less=has_less)
            notices.add(student, how)
    order = sorted(submissions)
    return CollectedSubmissions(
        submissions=tuple(submissions[s][0] for s in order),
        earlier=tuple(submission for s in order for submission in submissions[s][1:]),
        notices=notices.all(),
        missing=tuple(s for s in known if s not in submissions),
        same_exam={student: same for student, same in same_exam.items() if same},
    )


def _find_same_exam(
    attempts: Sequence[ReadAttempt], graded: ReadAttempt | None
) -> tuple[Submission, ...]:
    """Returns those of *attempts* that fit the exam as well as the *graded* one; empty if that is
    None, since files that were not examined may fit better."""
    return tuple(
        attempt.submission
        for attempt in attempts
        if graded is not None
        and attempt.fit == graded.fit
        and attempt.rejection is None
        and attempt.submission.refusal is None
    )


def unexamined_submission(student: str, path: Path, why: str) -> Submission:
    """Returns a placeholder for files that were not examined; its marks stay open."""
    hidden_path = f"{path}/{student}/…"
    return Submission(student=student, path=hidden_path, sha256=_NOTHING, refusal=f"{why}; {FIX}")


def load_submission(submission: Submission) -> bytes:
    """Returns the bytes of a submission. Raises SubmissionError, also if they have changed."""
    if submission.refusal is not None and submission.sha256 == _NOTHING:
        return b""
    name = Path(submission.path).name
    try:
        data = read_submission(submission.path)
    except (OSError, SubmissionError) as error:
        reason = error.what if isinstance(error, SubmissionError) else _os_reason(error)
        raise SubmissionError(
            f"the notebook can no longer be read: {reason}", where=name
        ) from error
    if hashlib.sha256(data).hexdigest() != submission.sha256:
        raise SubmissionError("the notebook has changed since it was collected", where=name)
    return data


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadAttempt:
    """One of a student's files as a submission."""

    submission: Submission
    fit: int
    """How well it fits the exam; an unreadable file fits best, since it may be the exam."""
    rejection: Notice | None
    """Why it can't be the student's; None if it can."""
    blank_count: int = 0
    """How many answers still have the placeholder of the notebook that was handed out."""


def read_attempts(
    student: str,
    mine: Sequence[NotebookFile],
    notices: Notices,
    look: OwnerCheck | None = None,
    fit: ExamFit | None = None,
) -> Iterator[ReadAttempt]:
    """Yields the files in *mine* as attempts, in order, and adds a notice for each problem."""
    remaining = MAX_ATTEMPTS_BYTES
    # The first that is not read stands for all that are older, any of which may be the exam.
    unread = [replace(file, refusal=_TOO_MANY) for file in mine[MAX_ATTEMPTS : MAX_ATTEMPTS + 1]]
    for entry in (*mine[:MAX_ATTEMPTS], *unread):
        contents = _read_contents(entry, remaining)
        remaining -= len(contents.data)
        rejection = None
        if not _is_theirs(student, contents, look):
            rejection = make_notice("warning", entry.name, contents.refusal or "", entry.path)
        elif problem := contents.refusal or contents.trouble:
            notices.add(student, make_notice("warning", entry.name, problem, entry.path))
        submission = Submission(
            student=student,
            path=entry.path,
            sha256=hashlib.sha256(contents.data).hexdigest(),
            received=_iso_time(entry.time),
            refusal=contents.refusal,
        )
        yield ReadAttempt(
            submission=submission,
            fit=_fit_of(student, contents, fit),
            rejection=rejection,
            blank_count=_count_blanks(contents.readable) if fit else 0,
        )


@dataclass(slots=True, kw_only=True)
class _FileContents:
    """The contents of a file, as far as it can be read."""

    data: bytes = b""
    readable: notebook.Notebook | None = None
    refusal: str | None = None
    trouble: str | None = None
    """A problem that is not the student's fault, so the file is not refused. If executing it fails
    too, no points are deducted."""


def _read_contents(entry: NotebookFile, remaining: int) -> _FileContents:
    """Reads one file if *remaining* is positive. Never raises, whatever the file contains."""
    contents = _FileContents(refusal=entry.refusal)
    if contents.refusal is None and remaining <= 0:
        limit = f"{MAX_ATTEMPTS_BYTES / 1e6:.0f} MB"
        contents.refusal = f"not read: newer attempts already have {limit} together"
    if contents.refusal is not None:
        return contents
    try:
        contents.data = read_submission(entry.path)
        contents.readable = notebook.read(contents.data)
    except SubmissionError as error:
        contents.refusal = error_sentence(error)
    except OSError as error:
        contents.trouble = f"the file can't be opened: {_os_reason(error)}"
    except Exception as error:  # noqa: BLE001  # untrusted bytes may trigger anything
        name = _type_name(error)
        contents.trouble = f"the file can't be read because of an internal error: {name}"
    return contents


def _is_theirs(student: str, contents: _FileContents, look: OwnerCheck | None) -> bool:
    """Returns whether the notebook can be the student's, according to *look*."""
    if contents.readable is None or look is None:
        return True
    try:
        contents.trouble = look(student, contents.readable)
    except SubmissionError as error:
        contents.refusal = error_sentence(error)
        return False
    except Exception as error:  # noqa: BLE001  # as above; identification never affects points
        contents.trouble = (
            f"its student can't be checked because of an internal error: {_type_name(error)}"
        )
    return True


def _fit_of(student: str, contents: _FileContents, fit: ExamFit | None) -> int:
    if contents.readable is None or fit is None:
        return BEST
    try:
        return fit(student, contents.readable)
    except Exception:  # noqa: BLE001  # as above; then the newest is graded
        return BEST


def _count_blanks(readable: notebook.Notebook | None) -> int:
    code = (cell.source for cell in readable.cells if cell.type == "code") if readable else ()
    return sum(len(_BLANK.findall(source)) for source in code)


def _type_name(error: Exception) -> str:
    return type(error).__name__  # its message may contain untrusted bytes, or raise


def _os_reason(error: OSError) -> str:
    return (error.strerror or "the file no longer exists").lower()


def _iso_time(seconds: float) -> str | None:
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
    except (OverflowError, ValueError, OSError):
        return None  # a time before the year 1 or after 9999


def _choice_notice(
    mine: Sequence[NotebookFile],
    newest: ReadAttempt,
    graded: ReadAttempt,
    newest_counts: bool,
    *,
    has_less: bool,
) -> Notice:
    """Returns a notice that says which of several notebooks is graded, why, and, with *has_less*,
    that another has more answers."""
    path, student = graded.submission.path, graded.submission.student
    is_newest = graded is newest
    level: Literal["info", "warning"] = "info"
    which = "the newest is graded"
    if not newest_counts:
        which = "the course's policy decides which counts"
    if not is_newest:
        which = "the newest that can be theirs is graded"
        if newest.rejection is None:
            # Work may be missing: the notebook alone says whether it is the exam.
            level = "warning"
            which = "the newest that belongs to this exam is graded"
    others = [display_name(entry.name) for entry in mine if entry.path != path]
    named = ", ".join(others[:5]) + (", ..." if len(others) > 5 else "")
    others_are = "not" if newest_counts or not is_newest else "this one or"
    text = f"'{student}' handed in {len(mine)} notebooks; {which}, {others_are} {named}"
    if newest_counts and has_less:
        # Such as a notebook that was downloaded again and handed in untouched.
        level = "warning"
        text += "; an older one has more answers, so check which one should count"
    name = next(entry.name for entry in mine if entry.path == path)
    return make_notice(level, name, text, path)
