"""The files of a class: students' starter files, the instructor's, and Classroom 50's bundle."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

from grader.errors import SetupError
from grader.integrations.github.options import ClassroomCourse, ClassroomOptions
from grader.integrations.templates import render_folder, text_environment
from grader.text.templates import render_template

STUDENT, INSTRUCTOR = "student", "instructor"
CHECK, TEST_EXAM = ".github/workflows/check.yml", "test_exam.py"
ENTRY, PACK = "assignment.json", "exam.pack"

PINS: Mapping[str, str] = {
    "checkout": "actions/checkout@de0fac2e4500dabe0009e67214ff5f5447ce83dd # v6.0.2",
    "python": "actions/setup-python@ece7cb06caefa5fff74198d8649806c4678c61a1 # v6.3.0",
    "upload": "actions/upload-artifact@043fb46d1a93c77aae656e7c1c64a875d1fc6a0a # v7.0.1",
    "download": "actions/download-artifact@3e5f45b2cfb9172054b4087a40e8e0b5a5461e7c # v8.0.1",
}
"""Pinned to commits, because a tag can be moved to other code."""

MOST_BYTES = 10 * 2**20
"""Size limit of a bundle, set by Classroom 50's runner."""
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{1,38}")
_LONGEST = 59
"""Maximum length of both names together: GitHub allows 100 characters for
`CLASSROOM-ASSIGNMENT-USERNAME`, and 39 of them may be the user's."""


LIMITS = {"job": 15 * 60, "total": 13 * 60, "install": 5 * 60, "notebook": 5 * 60}
"""Seconds after which Classroom 50 ends the job without a result; limits of our autograder, which
leave two minutes for checkout and publishing; and of installing and of the notebook's cells."""


def student_files(
    course: ClassroomCourse,
    templates: tuple[Path, ...],
    student: str = "",
    version: str = "",
    *,
    check: bool = True,
) -> dict[str, bytes]:
    """Returns the starter files of a student's repository, with the workflow if *check*."""
    made = _render_files(STUDENT, templates, course=course, student=student, version=version)
    if not check:
        made.pop(CHECK, None)
    text = render_template(text_environment(templates), f"classroom/{TEST_EXAM}")
    return {**made, TEST_EXAM: text.encode()}


def instructor_files(course: ClassroomCourse, templates: tuple[Path, ...]) -> dict[str, bytes]:
    """Returns the files of the instructor's repository, without the release and the roster."""
    return _render_files(INSTRUCTOR, templates, course=course)


def classroom50_files(
    course: ClassroomCourse, owner: str, templates: tuple[Path, ...], pack: bytes = b""
) -> dict[str, bytes]:
    """Returns the public bundle and the assignment's entry. Raises SetupError if it is too
    large."""
    files = _render_files("classroom50", templates, course=course, pack=bool(pack), limits=LIMITS)
    entry = json.dumps(_assignment_entry(course, owner), indent=2, ensure_ascii=False)
    files[ENTRY] = (entry + "\n").encode()
    if pack:
        files[PACK] = pack
    size = sum(len(data) for data in files.values())
    if size > MOST_BYTES:
        raise SetupError(
            f"Classroom 50's bundle would have {size / 2**20:.1f} MiB, and its runner downloads at "
            f"most {MOST_BYTES // 2**20} MiB",
            fix="seal a smaller release, such as one per section or one with --shared versions, or "
            "omit --pack and grade in the instructor's repository",
        )
    return files


def _render_files(kind: str, templates: tuple[Path, ...], **names: object) -> dict[str, bytes]:
    return dict(render_folder(f"classroom/{kind}", templates, pins=PINS, **names))


def _assignment_entry(course: ClassroomCourse, owner: str) -> Mapping[str, object]:
    """Returns the entry in the classroom's `assignments.json` (classroom50/assignments/v1)."""
    due = {}
    if course.deadline:
        when = datetime.fromisoformat(course.deadline).astimezone(UTC)
        due = {"due": when.strftime("%Y-%m-%dT%H:%M:%SZ")}
    template = f"{course.assignment}-template"
    return {
        "slug": course.assignment,
        "name": course.title,
        "template": {"owner": owner, "repo": template, "branch": course.branch},
        **due,
        "mode": "individual",
        "autograder": "default",
        # Otherwise every push is a submission, and starts the autograder and makes a release.
        "submission_mode": "tag",
        "runtime": {"python": course.python, "runs-on": "ubuntu-latest"},
    }


def check_names(options: ClassroomOptions) -> None:
    """Raises SetupError for a name that Classroom 50 does not accept."""
    for flag, name in (("--classroom", options.classroom), ("--assignment", options.assignment)):
        if not _NAME.fullmatch(name):
            raise SetupError(
                f"{flag} '{name}' is not a valid name in Classroom 50",
                fix="use the name it has there: 2 to 39 of a-z, 0-9 and -, not starting with -",
            )
    if len(options.classroom) + len(options.assignment) > _LONGEST:
        raise SetupError(
            f"'{options.classroom}' and '{options.assignment}' together have more than {_LONGEST} "
            "characters, so a repository's name may become longer than GitHub allows",
            fix="choose a shorter --classroom or --assignment",
        )


def classroom50_notes(course: ClassroomCourse) -> Iterator[str]:
    """Yields notes on where Classroom 50 differs from other hosts."""
    yield (
        f"Classroom 50 supports only integer points, so points are multiplied by {course.scale}; "
        "it has no late cutoff, and the latest submission counts"
    )
    yield (
        f"{ENTRY} sets submission_mode to tag: students submit with `gh student submit`; a plain "
        "push is not graded"
    )
    yield (
        f"Classroom 50 ends a job after {LIMITS['job'] // 60} minutes: autograder.py takes at most "
        f"{LIMITS['total'] // 60}, {LIMITS['install'] // 60} of them to install and "
        f"{LIMITS['notebook'] // 60} to run the notebook's cells"
    )
