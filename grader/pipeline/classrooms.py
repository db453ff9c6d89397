"""The folders of a class: templates for students, and the instructor's repository."""

from __future__ import annotations

import csv
import io
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from grader import __version__
from grader.draw import paper
from grader.errors import SetupError
from grader.export.classroom import (
    Course,
    checked,
    classroom50_files,
    instructor_files,
    student_files,
)
from grader.files import write_whole
from grader.load import Bank, load_release, own_bank, release_bytes
from grader.model import Release
from grader.notebook import write
from grader.pipeline.papers import trials_of
from grader.pipeline.student import TEST_EXAM, test_exam_source
from grader.render import metadata, render

TEMPLATE, STUDENTS, INSTRUCTOR, BUNDLE = "student-template", "students", "instructor", "classroom50"
ROSTER = "roster.csv"
_TORCH = re.compile(r"^\s*(import|from) torch\b", re.M)
"""In code; a text may mention it without anything that needs it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What the instructor said of the class; empty where they left it to us."""

    host: str = "github"
    owner: str = ""
    url: str = ""
    notebook: str = ""
    deadline: str = ""
    schedule: str = ""
    branch: str = "main"
    install: str = ""
    python: str = "3.12"
    gpu_label: str = "gpu"
    classroom: str = "CLASSROOM"
    assignment: str = ""
    scale: int = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Init:
    """What was written."""

    course: Course
    students: int
    notes: tuple[str, ...]


def init_classroom(
    release_file: Path,
    out: Path,
    wishes: Wishes,
    bank: Bank,
    *,
    pack: Path | None = None,
    done: Callable[[str], None] = lambda _: None,
) -> Init:
    """Writes the template, every student's starting repository, and the instructor's.

    The release goes into the instructor's alone. Files that are there are replaced, the roster
    aside; others stay.
    """
    release = load_release(release_file)
    course = course_of(release, wishes)
    if out.exists() and (out / ".git").exists():
        raise SetupError(
            "this folder is a git repository, and it would hold the release",
            where=str(out),
            fix="name a folder outside of it; only instructor/, private, may hold the release",
        )
    check = wishes.host == "github"
    tests = {TEST_EXAM: test_exam_source(bank.templates).encode()}
    _put(out / TEMPLATE, {**student_files(course, bank.templates, check=check), **tests})
    for student in release.students.values():
        mine = paper(release, student)
        notebook = write(render(mine, bank.templates), metadata(mine))
        files = student_files(course, bank.templates, student.id, check=check)
        _put(out / STUDENTS / student.id, {**files, **tests, course.notebook: notebook})
        done(student.id)
    instructor = instructor_files(course, bank.templates)
    if not (out / INSTRUCTOR / ROSTER).exists():  # later it holds what the instructor wrote
        instructor[ROSTER] = _roster(release)
    _put(out / INSTRUCTOR, instructor)
    write_whole(out / INSTRUCTOR / "release" / "release.json", release_bytes(release), private=True)
    if wishes.host == "classroom50":
        bundle = classroom50_files(course, bank.templates, pack=pack is not None)
        if pack is not None:
            bundle["exam.pack"] = _sealed(pack)
        _put(out / BUNDLE, bundle)
    notes = (*known_to_students(release), *_notes(course, wishes))
    return Init(course=course, students=len(release.students), notes=notes)


def course_of(release: Release, wishes: Wishes) -> Course:
    """What the files are filled in with."""
    exam = release.exam
    owner = wishes.owner or "OWNER"
    course = Course(
        title=" ".join(exam.title.split()),
        notebook=wishes.notebook or f"{exam.id}.ipynb",
        url=wishes.url or f"https://github.com/{owner}/{exam.id}-{{id}}.git",
        install=wishes.install or f"systems-grader=={__version__}",
        python=wishes.python,
        branch=wishes.branch,
        deadline=wishes.deadline,
        cron=" ".join(wishes.schedule.split()),
        torch=any(_TORCH.search(text) for text in _texts(release.sources)),
        cuda=_needs_cuda(release),
        gpu_label=wishes.gpu_label,
        classroom=wishes.classroom,
        assignment=wishes.assignment or exam.id,
        scale=wishes.scale,
    )
    return replace(checked(course), again=_again(wishes))


def _texts(data: object) -> Iterator[str]:
    """Every text in plain data."""
    if isinstance(data, str):
        yield data
    elif isinstance(data, Mapping):
        yield from (text for value in data.values() for text in _texts(value))
    elif isinstance(data, list | tuple):
        yield from (text for value in data for text in _texts(value))


def _needs_cuda(release: Release) -> bool:
    """Whether a part is put off on a runner without a GPU."""
    student = next(iter(release.students.values()), None)
    if student is None or not any(p.solution for p in release.problems.values()):
        return False
    return any(trial.device == "cuda" for trial in trials_of(paper(release, student)))


def _again(wishes: Wishes) -> str:
    plain = Wishes()
    given = {
        name: getattr(wishes, name)
        for name in Wishes.__dataclass_fields__
        if getattr(wishes, name) != getattr(plain, name)
    }
    return "".join(f" --{k.replace('_', '-')} {shlex.quote(str(v))}" for k, v in given.items())


def _roster(release: Release) -> bytes:
    text = io.StringIO(newline="")
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(["id", "name", "email", "section", "repository", "deadline"])
    for s in release.students.values():
        rows.writerow([s.id, s.name, s.email, s.section, "", ""])
    return text.getvalue().encode()


def _sealed(pack: Path) -> bytes:
    from grader import sealed

    if not sealed.is_pack_file(pack):
        raise SetupError(
            "this is not a sealed pack, and the bundle is public",
            where=str(pack),
            fix="name the file that `grader classroom seal` wrote",
        )
    return pack.read_bytes()


def known_to_students(release: Release) -> Iterator[str]:
    """Says which problems every student can look up: the package is theirs to install and read."""
    own = Bank((own_bank(),))
    known = [n for n, d in release.digests.items() if n in own.paths and own.digest(n) == d]
    if known:
        yield (
            f"{len(known)} of {len(release.digests)} problems come with the package, which "
            "students install: its formulas, right options and solution files are theirs to read; "
            "for an exam that counts, use a bank of your own"
        )


def _notes(course: Course, wishes: Wishes) -> list[str]:
    notes = []
    if not wishes.owner and not wishes.url:
        notes.append(f"students' repositories are looked for at {course.url}; see --owner, --url")
    if course.torch:
        notes.append("some part needs torch, so installing takes longer than a minute without it")
    if course.cuda:
        notes.append(
            f"some parts wait for a runner with the labels self-hosted and {course.gpu_label}"
        )
    if wishes.host == "classroom50":
        notes.append(
            "Classroom 50 has integer points, no late cut-off, and takes the latest submission; "
            f"points are multiplied by {course.scale}"
        )
    return notes


def _put(folder: Path, files: Mapping[str, bytes]) -> None:
    for name, data in files.items():
        target = folder / name
        if not target.exists() or target.read_bytes() != data:
            write_whole(target, data)
