"""Submissions of an nbgrader assignment: as it files them, or a notebook a student."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from grader.collect import left_out, read_attempts
from grader.collect.found import Budget, Found
from grader.collect.names import Notice, Remark, notice
from grader.collect.notices import Notices
from grader.collect.readers import entries
from grader.model import Submission

_TOP, _STAMP = "submitted", "timestamp.txt"


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectedAssignment:
    """What a folder or zip held."""

    submissions: Mapping[str, Mapping[str, Submission]]
    """By student and notebook: the newest of each."""
    notices: tuple[Notice, ...]


def collect_assignment(
    path: Path, assignment: str, notebooks: Collection[str]
) -> CollectedAssignment:
    """The submissions in *path*: a folder, a zip, or one notebook.

    They lie in `STUDENT/ASSIGNMENT/NOTEBOOK.ipynb`, below `submitted` or not; in
    `STUDENT/NOTEBOOK.ipynb`; or, of an assignment of one notebook, in `STUDENT.ipynb` or under
    any name in a folder `STUDENT`. Raises SetupError when *path* itself can't be read.
    """
    layout = _Layout(assignment, notebooks)
    path = Path(path).absolute()
    notices = Notices()
    found: dict[tuple[str, str], list[Found]] = {}
    budget = Budget(path, layout.student)
    for entry in entries(path, budget):
        if layout.is_other(entry.name):
            continue
        if isinstance(entry, Remark):
            if entry.name.name != _STAMP:
                notices.add(layout.student(entry.name), entry.notice)
        else:
            whose = layout.find(entry.name)
            if isinstance(whose, Notice):
                notices.add(layout.student(entry.name), whose)
            else:
                found.setdefault(whose, []).append(entry)
    submissions: dict[str, dict[str, Submission]] = {}
    for student, name in sorted(found):
        # One that is called like the notebook before any other, however new that is.
        mine = sorted(
            found[student, name],
            key=lambda e: (e.name.stem == name, e.time, str(e.name)),
            reverse=True,
        )
        (newest,) = read_attempts(student, mine[:1], notices)
        submissions.setdefault(student, {})[name] = newest
        said = f"{mine[0].name} is graded, not this"
        for older in mine[1:]:
            notices.add(student, notice("info", older.name, said))
    for student, why in budget.left_out.items():
        for name in notebooks:
            submissions.setdefault(student, {}).setdefault(name, left_out(student, path, why))
    return CollectedAssignment(submissions=submissions, notices=notices.all())


class _Layout:
    """Whose a notebook is, and which, by its path."""

    def __init__(self, assignment: str, notebooks: Collection[str]):
        self._assignment = assignment
        self._notebooks = notebooks

    def is_other(self, name: PurePosixPath) -> bool:
        """Whether it belongs to another assignment of the course."""
        parts = _below(name)
        return len(parts) > 2 and self._assignment not in parts[1:-1]

    def student(self, name: PurePosixPath) -> str | None:
        """Whose folder it lies in."""
        parts = _below(name)
        return parts[0] if len(parts) > 1 else None

    def find(self, name: PurePosixPath) -> tuple[str, str] | Notice:
        """The student and the notebook, or what to say of a file that is no part of it."""
        parts, only = _below(name), len(self._notebooks) == 1
        if len(parts) > 1 and name.stem in self._notebooks:
            return parts[0], name.stem
        as_filed = len(parts) > 2
        if only and not as_filed:
            student = parts[0] if len(parts) == 2 else name.stem
            return student, next(iter(self._notebooks))
        return notice("info", name, f"the assignment has no notebook '{name.stem}'; ignored")


def _below(name: PurePosixPath) -> tuple[str, ...]:
    # The folder itself, where it can't be opened, has no parts.
    return name.parts[1:] if name.parts[:1] == (_TOP,) else name.parts
