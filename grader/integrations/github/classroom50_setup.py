"""An exam's files for Classroom 50: the autograder's bundle and the assignment's entry."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from grader.errors import SetupError
from grader.integrations.github.classroom import Course
from grader.integrations.templates import render_folder

ENTRY, PACK = "assignment.json", "exam.pack"
MOST_BYTES = 10 * 2**20
"""Size limit of a bundle, set by Classroom 50's runner."""
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{1,38}")
_LONGEST = 59
"""Maximum length of both names together: GitHub allows 100 characters for
`CLASSROOM-ASSIGNMENT-USERNAME`, and 39 of them may be the user's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobLimits:
    """Time limits of the autograder, in seconds."""

    job: int = 15 * 60
    """Classroom 50 ends the job after this time, without a result."""
    total: int = 13 * 60
    """The whole autograder; leaves two minutes for checkout, Python and publishing."""
    install: int = 5 * 60
    notebook: int = 5 * 60
    """The notebook's cells; hidden tests run after them."""


LIMITS = JobLimits()


def default_url(owner: str, classroom: str, assignment: str) -> str:
    """The URL pattern of students' repositories in Classroom 50."""
    return f"https://github.com/{owner}/{classroom}-{assignment}-{{id}}.git"


def check_names(course: Course) -> Course:
    """Returns *course*. Raises SetupError for a name that Classroom 50 does not accept."""
    for option, name in (("--classroom", course.classroom), ("--assignment", course.assignment)):
        if not _NAME.fullmatch(name):
            raise SetupError(
                f"{option} '{name}' is not a valid name in Classroom 50",
                fix="use the name it has there: 2 to 39 of a-z, 0-9 and -, not starting with -",
            )
    if len(course.classroom) + len(course.assignment) > _LONGEST:
        raise SetupError(
            f"'{course.classroom}' and '{course.assignment}' together have more than {_LONGEST} "
            "characters, so a repository's name may become longer than GitHub allows",
            fix="choose a shorter --classroom or --assignment",
        )
    return course


def classroom50_files(
    course: Course, owner: str, templates: tuple[Path, ...], pack: bytes = b""
) -> dict[str, bytes]:
    """The bundle, with *pack* if given, and the assignment's entry. All of it is public.

    Raises SetupError if the bundle is too large for Classroom 50.
    """
    made = dict(
        render_folder(
            "classroom/classroom50", templates, course=course, pack=bool(pack), limits=LIMITS
        )
    )
    made[ENTRY] = (
        json.dumps(assignment_entry(course, owner), indent=2, ensure_ascii=False) + "\n"
    ).encode()
    if pack:
        made[PACK] = pack
    size = sum(len(data) for data in made.values())
    if size > MOST_BYTES:
        raise SetupError(
            f"Classroom 50's bundle would have {size / 2**20:.1f} MiB, and its runner downloads at "
            f"most {MOST_BYTES // 2**20} MiB",
            fix="seal a smaller release, such as one per section or one with --shared versions, or "
            "omit --pack and grade in the instructor's repository",
        )
    return made


def assignment_entry(course: Course, owner: str) -> Mapping[str, object]:
    """The assignment's entry in the classroom's `assignments.json` (classroom50/assignments/v1)."""
    due = {"due": _to_utc(course.deadline)} if course.deadline else {}
    return {
        "slug": course.assignment,
        "name": course.title,
        "template": {
            "owner": owner,
            "repo": f"{course.assignment}-template",
            "branch": course.branch,
        },
        **due,
        "mode": "individual",
        "autograder": "default",
        # Otherwise every push is a submission, and starts the autograder and makes a release.
        "submission_mode": "tag",
        "runtime": {"python": course.python, "runs-on": "ubuntu-latest"},
    }


def setup_notes(course: Course) -> Iterator[str]:
    """Notes on where Classroom 50 differs from other hosts."""
    yield (
        f"Classroom 50 supports only integer points, so points are multiplied by {course.scale}; "
        "it has no late cutoff, and the latest submission counts"
    )
    yield (
        f"{ENTRY} sets submission_mode to tag: students submit with `gh student submit`; a plain "
        "push is not graded"
    )
    yield (
        f"Classroom 50 ends a job after {LIMITS.job // 60} minutes: autograder.py takes at most "
        f"{LIMITS.total // 60}, {LIMITS.install // 60} of them to install and "
        f"{LIMITS.notebook // 60} to run the notebook's cells"
    )


def _to_utc(deadline: str) -> str:
    return datetime.fromisoformat(deadline).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
