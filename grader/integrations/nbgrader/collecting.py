"""Collects submissions of an nbgrader assignment."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from grader.collect import read_attempts, unexamined_submission
from grader.collect.entries import FileQuota, NotebookFile, Notice, Remark, make_notice
from grader.collect.notices import Notices
from grader.collect.readers import iter_entries
from grader.model import Submission

_TOP, _STAMP = "submitted", "timestamp.txt"


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectedAssignment:
    """The contents of a folder or zip."""

    submissions: Mapping[str, Mapping[str, Submission]]
    """The newest submission by student and notebook."""
    notices: tuple[Notice, ...]


def collect_assignment(
    path: Path, assignment: str, notebooks: Collection[str]
) -> CollectedAssignment:
    """Collects the submissions in *path*: a folder, a zip, or one notebook.

    Their paths are `STUDENT/ASSIGNMENT/NOTEBOOK.ipynb`, optionally below `submitted`, or
    `STUDENT/NOTEBOOK.ipynb`; with a single notebook also `STUDENT.ipynb`.
    """
    layout = _CourseLayout(assignment, notebooks)
    path = Path(path).absolute()
    notices = Notices()
    budget = FileQuota(path, layout.student)
    files, ignored = _find_notebooks(path, layout, budget)
    submissions: dict[str, dict[str, Submission]] = {}
    for student, name in sorted(files):
        # A file with the notebook's name takes precedence over newer files.
        mine = sorted(
            files[student, name],
            key=lambda e: (e.name.stem == name, e.time, str(e.name)),
            reverse=True,
        )
        (newest,) = read_attempts(student, mine[:1], notices)
        submissions.setdefault(student, {})[name] = newest.submission
        text = f"not graded: {mine[0].name} is graded instead"
        for older in mine[1:]:
            notices.add(student, make_notice("info", older.name, text))
    for student, why in budget.left_out.items():
        for name in notebooks:
            submissions.setdefault(student, {}).setdefault(
                name, unexamined_submission(student, path, why)
            )
    for whose, notice in ignored:
        # It may be the work of a student who has no other.
        may_be_lost = whose is not None and whose not in submissions
        notices.add(whose, replace(notice, level="warning") if may_be_lost else notice)
    return CollectedAssignment(submissions=submissions, notices=notices.all())


def _find_notebooks(
    path: Path, layout: _CourseLayout, budget: FileQuota
) -> tuple[dict[tuple[str, str], list[NotebookFile]], list[tuple[str | None, Notice]]]:
    """Returns the files in *path* by student and notebook, and a notice about each other file, with
    its student."""
    files: dict[tuple[str, str], list[NotebookFile]] = {}
    ignored: list[tuple[str | None, Notice]] = []
    for entry in iter_entries(path, budget):
        if layout.is_other_assignment(entry.name) or entry.name.name == _STAMP:
            continue
        located = entry.notice if isinstance(entry, Remark) else layout.locate(entry.name)
        if isinstance(located, Notice):
            ignored.append((layout.student(entry.name), located))
        elif isinstance(entry, NotebookFile):
            files.setdefault(located, []).append(entry)
    return files, ignored


class _CourseLayout:
    """Finds the student and the notebook from a path."""

    def __init__(self, assignment: str, notebooks: Collection[str]):
        self._assignment = assignment
        self._notebooks = notebooks

    def is_other_assignment(self, name: PurePosixPath) -> bool:
        """Returns whether *name* belongs to another assignment of the course."""
        parts = _parts_below_top(name)
        return len(parts) > 2 and self._assignment not in parts[1:-1]

    def student(self, name: PurePosixPath) -> str | None:
        """Returns the student whose folder contains *name*; None if it is not in a folder."""
        parts = _parts_below_top(name)
        return parts[0] if len(parts) > 1 else None

    def locate(self, name: PurePosixPath) -> tuple[str, str] | Notice:
        """Returns the student and the notebook of the file *name*, or a notice if there is none."""
        parts = _parts_below_top(name)
        if len(parts) > 1 and name.stem in self._notebooks:
            return parts[0], name.stem
        # Outside the assignment's folder, a single notebook may have any name.
        if len(self._notebooks) == 1 and len(parts) <= 2:
            student = parts[0] if len(parts) == 2 else name.stem
            return student, next(iter(self._notebooks))
        return make_notice("info", name, f"ignored: the assignment has no notebook '{name.stem}'")


def _parts_below_top(name: PurePosixPath) -> tuple[str, ...]:
    # The folder itself, which is reported if it can't be opened, has no parts.
    return name.parts[1:] if name.parts[:1] == (_TOP,) else name.parts
