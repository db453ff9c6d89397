"""Which of the files that were handed in is the notebook to grade."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from grader import notebook
from grader.collect.folder import read_file, walk
from grader.collect.found import Budget, Found
from grader.collect.names import short
from grader.errors import SubmissionError
from grader.model import SAMPLE
from grader.notebook.self_description import About, whose

MOST = 20
"""Notebooks that are looked into."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """A notebook that was handed in."""

    data: bytes
    student: str | None
    """Of those who handed in, whose it says it is; None when it says nothing."""
    note: str
    """What was said of the others; empty when it is the only one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Candidate:
    found: Found
    data: bytes
    release: str
    student: str
    version: str
    readable: bool


def choose(
    folder: Path, release: str, students: Collection[str], versions: Collection[str] = ()
) -> Chosen | None:
    """The notebook in *folder* that is the exam *release* of one of *students*; None without one.

    One of the shared *versions* that they have is theirs too, and the sample is nobody's. What a
    notebook says of itself only decides between several. Raises SubmissionError with a sentence for
    the student when there is one that can't even be opened.
    """
    trouble: SubmissionError | None = None
    candidates = []
    budget = Budget(folder, lambda _: "handed in")
    files = [one for one in walk(folder, budget) if isinstance(one, Found)]
    for found in files[:MOST]:
        try:
            candidates.append(_candidate(found))
        except (SubmissionError, OSError) as error:
            trouble = trouble or _as_theirs(error, found)
    if (files[MOST:] or budget.left_out) and all(one.release != release for one in candidates):
        raise SubmissionError(
            "there are too many files to look at all of them, and none of the first notebooks is "
            "of this exam",
            fix="hand in the notebook of the exam alone",
        )
    if not candidates:
        if trouble is not None:
            raise trouble
        return None

    def names_one(one: _Candidate) -> bool:
        return one.release == release and one.student in students

    def fit(one: _Candidate) -> tuple[bool, bool, bool, bool, float, str]:
        ours = one.release == release
        whose = ours and (names_one(one) or one.version in versions)
        # With equal times, as a zip may give them, the same one every time.
        name = str(one.found.name)
        return one.version != SAMPLE, whose, ours, one.readable, one.found.time, name

    best, *others = sorted(candidates, key=fit, reverse=True)
    return Chosen(
        data=best.data,
        student=best.student if names_one(best) else None,
        note=_note(best, others),
    )


def _candidate(found: Found) -> _Candidate:
    if found.refusal is not None:
        raise SubmissionError(found.refusal)
    data = read_file(Path(found.path))
    try:
        about, readable = whose(notebook.read(data)), True
    except SubmissionError:
        about, readable = About(), False  # grading says what is wrong with it
    return _Candidate(
        found=found,
        data=data,
        release=about.release,
        student=about.student,
        version=about.version,
        readable=readable,
    )


def _as_theirs(error: SubmissionError | OSError, found: Found) -> SubmissionError:
    if isinstance(error, SubmissionError):
        return SubmissionError(f"{short(found.name)}: {error.what}", fix=error.fix)
    return SubmissionError(f"{short(found.name)}: the file can't be opened")


def _note(best: _Candidate, others: list[_Candidate]) -> str:
    if not others:
        return ""
    names = ", ".join(short(PurePosixPath(one.found.name)) for one in others[:5])
    more = ", …" if len(others) > 5 else ""
    return (
        f"You handed in {len(others) + 1} notebooks. {short(best.found.name)} is graded, "
        f"not {names}{more}. Hand in one alone to choose another."
    )
