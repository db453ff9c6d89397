"""Chooses the notebook to grade among the submitted files."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from grader import notebook
from grader.collect.entries import FileQuota, NotebookFile
from grader.collect.folder import iter_folder, read_file
from grader.collect.names import display_name
from grader.errors import SubmissionError
from grader.model import SAMPLE
from grader.notebook.self_description import SelfDescription, read_owner

MOST = 20
"""Notebooks of one submission that are read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenNotebook:
    """The submitted notebook to grade."""

    data: bytes
    student: str | None
    """The submitter whom the notebook names; None if it names none of them."""
    note: str
    """A sentence about the other notebooks; empty if there are none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Candidate:
    found: NotebookFile
    data: bytes
    release: str
    student: str
    version: str
    readable: bool


def choose_notebook(
    folder: Path, release: str, students: Collection[str], versions: Collection[str] = ()
) -> ChosenNotebook | None:
    """The notebook in *folder* that belongs to *release* and one of *students*; None if none does.

    Notebooks of the shared *versions* belong to the students too; the practice sample belongs to
    nobody. What a notebook says about itself only decides between several. Raises
    SubmissionError with a sentence for the student if there are only notebooks that can't be
    opened.
    """
    trouble: SubmissionError | None = None
    candidates = []
    budget = FileQuota(folder, lambda _: "handed in")
    files = [one for one in iter_folder(folder, budget) if isinstance(one, NotebookFile)]
    for found in files[:MOST]:
        try:
            candidates.append(_read_candidate(found))
        except (SubmissionError, OSError) as error:
            trouble = trouble or _error_with_file(error, found)
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
        # The name breaks ties: files from a zip can have equal times.
        name = str(one.found.name)
        return one.version != SAMPLE, whose, ours, one.readable, one.found.time, name

    best, *others = sorted(candidates, key=fit, reverse=True)
    return ChosenNotebook(
        data=best.data,
        student=best.student if names_one(best) else None,
        note=_note_on_others(best, others),
    )


def _read_candidate(found: NotebookFile) -> _Candidate:
    if found.refusal is not None:
        raise SubmissionError(found.refusal)
    data = read_file(Path(found.path))
    try:
        about, readable = read_owner(notebook.read(data)), True
    except SubmissionError:
        about, readable = SelfDescription(), False  # grading reports what is wrong with it
    return _Candidate(
        found=found,
        data=data,
        release=about.release,
        student=about.student,
        version=about.version,
        readable=readable,
    )


def _error_with_file(error: SubmissionError | OSError, found: NotebookFile) -> SubmissionError:
    if isinstance(error, SubmissionError):
        return SubmissionError(f"{display_name(found.name)}: {error.what}", fix=error.fix)
    return SubmissionError(f"{display_name(found.name)}: the file can't be opened")


def _note_on_others(best: _Candidate, others: list[_Candidate]) -> str:
    if not others:
        return ""
    names = ", ".join(display_name(PurePosixPath(one.found.name)) for one in others[:5])
    more = ", …" if len(others) > 5 else ""
    return (
        f"You submitted {len(others) + 1} notebooks. {display_name(best.found.name)} is graded, "
        f"not {names}{more}. To choose another, submit it alone."
    )
