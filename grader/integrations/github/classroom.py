"""The files of a class's repositories: the students' starter files, and the instructor's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from grader.errors import SetupError
from grader.integrations.install import Source
from grader.integrations.templates import render_folder

STUDENT, INSTRUCTOR = "student", "instructor"
CHECK = ".github/workflows/check.yml"

PINS: Mapping[str, str] = {
    "checkout": "actions/checkout@de0fac2e4500dabe0009e67214ff5f5447ce83dd # v6.0.2",
    "python": "actions/setup-python@ece7cb06caefa5fff74198d8649806c4678c61a1 # v6.3.0",
    "upload": "actions/upload-artifact@043fb46d1a93c77aae656e7c1c64a875d1fc6a0a # v7.0.1",
    "download": "actions/download-artifact@3e5f45b2cfb9172054b4087a40e8e0b5a5461e7c # v8.0.1",
}
"""Pinned to commits, because a tag can be moved to other code."""

_ODD = frozenset("\"'`$\\<>|;&*?[]()#!~\n\r\t")
"""Characters that are special in a shell or in YAML."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """Values for the templates of a class's files; none of them is secret."""

    title: str
    notebook: str
    """Name of the notebook in every student's repository."""
    url: str
    """URL of students' repositories, with {id} in it."""
    source: Source
    """Where the grader is installed from."""
    python: str = "3.12"
    branch: str = "main"
    deadline: str = ""
    """ISO 8601 with an offset; empty if there is none."""
    cron: str = ""
    """When to collect and grade, in UTC; if empty, only on request."""
    torch: bool = False
    cuda: bool = False
    gpu_label: str = "gpu"
    classroom: str = "CLASSROOM"
    assignment: str = "exam"
    scale: int = 100
    """Factor for points in Classroom 50, which supports only integers."""
    again: str = ""
    """The command-line options that write the same files again."""
    shared: str = ""
    """The version that all students share, and so the same notebook; empty if there is none."""
    sample: str = ""
    """Path of the practice notebook in the template; empty if there is none."""

    @property
    def install(self) -> str:
        """The grader as a requirement for pip."""
        return self.source.requirement()

    @property
    def install_sealed(self) -> str:
        """The grader as a requirement for pip, with the packages that open sealed packs."""
        return self.source.requirement("classroom")

    @property
    def title_line(self) -> str:
        """The title without characters that are special in a docstring."""
        return "".join(c for c in self.title if c.isprintable() and c not in '"\\')


def check_course(course: Course) -> Course:
    """Returns *course*. Raises SetupError for values that would break a workflow file."""
    values = {
        "--notebook": course.notebook,
        "--url": course.url,
        "--deadline": course.deadline,
        "--branch": course.branch,
        "--gpu-label": course.gpu_label,
        "--python": course.python,
        "--classroom": course.classroom,
        "--assignment": course.assignment,
    }
    for option, value in values.items():
        odd = sorted(set(value) & _ODD | {c for c in value if not c.isprintable() or c.isspace()})
        if odd or "${{" in value:
            raise SetupError(
                f"{option} '{value}' has characters that are special in a workflow: "
                f"{' '.join(map(repr, odd))}",
                fix="remove them",
            )
    if "{id}" not in course.url:
        raise SetupError(
            f"--url '{course.url}' does not contain {{id}}",
            fix="write {id} in place of the student's id: https://github.com/ORG/midterm-{id}.git",
        )
    if set(course.cron) - set("0123456789*/,- ") or len(course.cron.split()) not in (0, 5):
        raise SetupError(
            f"--schedule '{course.cron}' is not a cron schedule",
            fix="write five cron fields, in UTC, such as '30 22 * * *'",
        )
    return course


def student_files(
    course: Course,
    templates: tuple[Path, ...],
    student: str = "",
    version: str = "",
    *,
    check: bool = True,
) -> dict[str, bytes]:
    """The starter files of a student's repository by path, without the notebook.

    *version* is the version that the student shares with others. *check* says whether to include
    the GitHub Actions workflow. Raises SpecError if a template can't be filled in.
    """
    made = dict(_render_files(STUDENT, templates, course=course, student=student, version=version))
    if not check:
        made.pop(CHECK, None)
    return made


def instructor_files(course: Course, templates: tuple[Path, ...]) -> dict[str, bytes]:
    """The files of the instructor's repository by path, without the release and the roster."""
    return dict(_render_files(INSTRUCTOR, templates, course=course))


def _render_files(
    kind: str, templates: tuple[Path, ...], **names: object
) -> Iterator[tuple[str, bytes]]:
    return render_folder(f"classroom/{kind}", templates, pins=PINS, **names)
