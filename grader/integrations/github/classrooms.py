"""Writes a class's folders: the student template and repositories, and the instructor's."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from grader.bank.folders import Bank
from grader.bank.index import own_bank
from grader.draw import paper
from grader.errors import SetupError
from grader.files import write_atomic
from grader.integrations.github.classroom import (
    Course,
    check_course,
    instructor_files,
    student_files,
)
from grader.integrations.github.classroom50_setup import (
    PACK,
    check_names,
    classroom50_files,
    default_url,
    setup_notes,
)
from grader.integrations.github.options import (
    KEPT,
    ClassroomOptions,
    PreviousRun,
    command_line,
    load_previous,
    stored_options,
)
from grader.integrations.github.student_files import (
    TEST_EXAM,
    is_rendered_notebook,
    test_exam_source,
)
from grader.integrations.install import Source, chosen_source
from grader.model import Release
from grader.release.file import load_release, release_bytes
from grader.release.papers import call_plans_of
from grader.release.rendering import Notebooks
from grader.release.roster import load_roster
from grader.release.versions import of_version, sample_student, shared_version, versions_of
from grader.words import counted

__all__ = [
    "ClassroomOptions",
    "PreviousRun",
    "WrittenClassroom",
    "course_of",
    "init_classroom",
    "own_bank_notes",
]

TEMPLATE, STUDENTS, INSTRUCTOR, BUNDLE = "student-template", "students", "instructor", "classroom50"
ROSTER = "roster.csv"
_NOBODY = "OWNER"
"""Placeholder if no organization was given."""
_TORCH = re.compile(r"^\s*(import|from) torch\b", re.M)
"""An import in code; a text may mention torch without needing it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenClassroom:
    """What was written."""

    course: Course
    students: int
    notes: tuple[str, ...]


def init_classroom(
    release_file: Path,
    out: Path,
    wishes: ClassroomOptions,
    bank: Bank,
    *,
    pack: Path | None = None,
    done: Callable[[str], None] = lambda _: None,
) -> WrittenClassroom:
    """Writes the template, every student's starter repository, and the instructor's repository.

    If all students share one version, the template has the notebook itself; otherwise a sample
    with numbers that belong to no student. Only the instructor's repository gets the release, and
    the options for the next run. Existing files are replaced, except the roster; other files
    stay, except a notebook that an earlier run put into the template. Raises SetupError for bad
    options, and if *out* is a git repository.
    """
    release = load_release(release_file)
    course = course_of(release, wishes)
    _check_reachable(course.source, wishes)
    if out.exists() and (out / ".git").exists():
        raise SetupError(
            "this folder is a git repository, and it would contain the release",
            where=str(out),
            fix="choose a folder outside it; only instructor/, kept private, may hold the release",
        )
    check = wishes.host == "github"
    bundle = {} if check else _bundle_files(course, wishes, bank, pack, out / BUNDLE)
    tests = {TEST_EXAM: test_exam_source(bank.templates).encode()}
    notebooks = Notebooks(release, bank)
    shown = _template_notebook(course, notebooks)
    stale = _remove_stale(out / TEMPLATE, load_previous(out / INSTRUCTOR), shown)
    _write_files(
        out / TEMPLATE, {**student_files(course, bank.templates, check=check), **tests, **shown}
    )
    for student in release.students.values():
        files = student_files(course, bank.templates, student.id, student.version, check=check)
        mine = {course.notebook: notebooks.of(student)}
        _write_files(out / STUDENTS / student.id, {**files, **tests, **mine})
        done(student.id)
    instructor = instructor_files(course, bank.templates)
    roster = out / INSTRUCTOR / ROSTER
    unlisted = _unlisted_note(roster, release)
    if not roster.exists():  # the instructor may have edited it
        instructor[ROSTER] = _roster_csv(release)
    instructor[KEPT] = stored_options(wishes, tuple(shown))
    _write_files(out / INSTRUCTOR, instructor)
    write_atomic(
        out / INSTRUCTOR / "release" / "release.json", release_bytes(release), private=True
    )
    _write_files(out / BUNDLE, bundle)
    notes = (*own_bank_notes(release), *_notes(course, wishes), *_template_notes(release, course))
    return WrittenClassroom(
        course=course, students=len(release.students), notes=(*notes, *stale, *unlisted)
    )


def _check_reachable(source: Source, wishes: ClassroomOptions) -> None:
    """Raises SetupError if the wheel that students must install is only on this machine."""
    if source.wheel is not None and not wishes.grader_source.startswith("file:"):
        digest = source.url.rpartition("#")[2]
        raise SetupError(
            "students can't install a wheel that is only on this machine",
            where=str(source.wheel),
            fix="upload it, for example to a release of a repository, and pass "
            f"--grader-source https://HOST/{source.wheel.name}#{digest}",
        )


def _template_notebook(course: Course, notebooks: Notebooks) -> dict[str, bytes]:
    """The notebook in the template, which does not depend on the student; may be empty."""
    if course.shared:
        return {course.notebook: notebooks.of(of_version(course.shared))}
    return {course.sample: notebooks.of(sample_student())} if course.sample else {}


def _remove_stale(template: Path, earlier: PreviousRun, shown: Mapping[str, bytes]) -> list[str]:
    """Removes notebooks that only an earlier run put into the template; returns a note.

    Students who started from one would work in a notebook that this release does not grade.
    """
    gone = [n for n in earlier.notebooks if n not in shown and is_rendered_notebook(template / n)]
    for name in gone:
        (template / name).unlink()
    return [f"removed from the template: {', '.join(gone)}"] if gone else []


def _unlisted_note(roster: Path, release: Release) -> list[str]:
    """A note that names students without a line in the kept roster, who are not collected."""
    if not roster.exists():
        return []
    listed = {student.id for student in load_roster(roster)}
    new = [name for name in release.students if name not in listed]
    told = ", ".join(new[:5]) + (", …" if len(new) > 5 else "")
    if not new:
        return []
    who = counted(len(new), "student has", "students have")
    return [f"{who} no line in instructor/{ROSTER}: {told}"]


def course_of(release: Release, wishes: ClassroomOptions) -> Course:
    """The values for the templates; raises SetupError for bad options."""
    exam = release.exam
    owner, assignment = wishes.owner or _NOBODY, wishes.assignment or exam.id
    usual = f"https://github.com/{owner}/{exam.id}-{{id}}.git"
    if wishes.host == "classroom50":
        usual = default_url(owner, wishes.classroom, assignment)
    source = chosen_source(wishes.grader_source)
    course = Course(
        title=" ".join(exam.title.split()),
        notebook=wishes.notebook or f"{exam.id}.ipynb",
        url=wishes.url or usual,
        source=source,
        python=wishes.python,
        branch=wishes.branch,
        deadline=wishes.deadline,
        cron=" ".join(wishes.schedule.split()),
        torch=any(_TORCH.search(text) for text in _iter_strings(release.sources)),
        cuda=_needs_cuda(release),
        gpu_label=wishes.gpu_label,
        classroom=wishes.classroom,
        assignment=assignment,
        scale=wishes.scale,
        shared=shared_version(release),
    )
    course = replace(
        check_course(course), again=command_line(replace(wishes, grader_source=source.url))
    )
    if wishes.host == "classroom50":
        check_names(course)
    if course.shared or not wishes.sample:
        return course
    # In a separate folder, because the only notebook in the top folder is the one that counts.
    return replace(course, sample=f"sample/{Path(course.notebook).stem}-sample.ipynb")


def _iter_strings(data: object) -> Iterator[str]:
    """Yields every string in nested data."""
    if isinstance(data, str):
        yield data
    elif isinstance(data, Mapping):
        yield from (text for value in data.values() for text in _iter_strings(value))
    elif isinstance(data, list | tuple):
        yield from (text for value in data for text in _iter_strings(value))


def _needs_cuda(release: Release) -> bool:
    """Whether a runner without a GPU has to defer a part."""
    student = next(iter(release.students.values()), None)
    if student is None or not any(p.solution for p in release.problems.values()):
        return False
    return any(trial.device == "cuda" for trial in call_plans_of(paper(release, student)))


def _roster_csv(release: Release) -> bytes:
    text = io.StringIO(newline="")
    rows = csv.writer(text, lineterminator="\n")
    has = bool(versions_of(release))
    version = ["version"] if has else []
    rows.writerow(["id", "name", "email", "section", *version, "repository", "deadline"])
    for s in release.students.values():
        rows.writerow([s.id, s.name, s.email, s.section, *([s.version] if has else []), "", ""])
    return text.getvalue().encode()


def _bundle_files(
    course: Course, wishes: ClassroomOptions, bank: Bank, pack: Path | None, folder: Path
) -> Mapping[str, bytes]:
    """Classroom 50's files, with *pack* or else the pack of an earlier run in *folder*."""
    earlier = folder / PACK
    kept = earlier.read_bytes() if pack is None and earlier.exists() else b""
    sealed = kept if pack is None else _read_pack(pack)
    return classroom50_files(course, wishes.owner or _NOBODY, bank.templates, sealed)


def _read_pack(pack: Path) -> bytes:
    from grader.release import sealed

    if not sealed.is_pack_file(pack):
        raise SetupError(
            "this is not a sealed pack, and the bundle is public",
            where=str(pack),
            fix="pass the file that `grader classroom seal` wrote",
        )
    return pack.read_bytes()


def own_bank_notes(release: Release) -> Iterator[str]:
    """A note if problems come from the package's own bank, which students can read."""
    own = Bank((own_bank(),))
    known = [n for n, d in release.digests.items() if n in own.paths and own.digest(n) == d]
    if known:
        yield (
            f"{len(known)} of {len(release.digests)} problems come with the package, so students "
            "can read their formulas, right options and solutions; for an exam that counts, use "
            "a private bank"
        )


def _notes(course: Course, wishes: ClassroomOptions) -> list[str]:
    notes = [course.source.note] if course.source.note else []
    if not wishes.owner and not wishes.url:
        notes.append(f"students' repositories are expected at {course.url}; see --owner and --url")
    if course.torch:
        notes.append("some parts need torch, so installing takes more than a minute")
    if course.cuda:
        notes.append(
            f"some parts wait for a runner with the labels self-hosted and {course.gpu_label}"
        )
    if wishes.host == "classroom50":
        notes += setup_notes(course)
    return notes


def _template_notes(release: Release, course: Course) -> Iterator[str]:
    """Notes on what the template shows and what it can't contain."""
    if course.shared:
        yield (
            f"all students share version {course.shared}, so the template contains the exam "
            "itself: keep it private until the exam begins"
        )
    elif course.sample:
        yield (
            f"the template has a practice sample, {course.sample}: the exam's problems with other "
            "numbers; if students must not see the problems before, pass --no-sample"
        )
    if not course.shared and (shared := versions_of(release)):
        yield (
            f"the release has several versions ({', '.join(shared)}), and a template can contain "
            "only one: hand out the notebooks, or render a release for each template"
        )


def _write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    for name, data in files.items():
        target = folder / name
        if not target.exists() or target.read_bytes() != data:
            write_atomic(target, data)
