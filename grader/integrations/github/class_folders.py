"""Writes a class's folders: the student template and repositories, and the instructor's."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path

from grader.bank.folders import Bank
from grader.bank.index import own_bank
from grader.draw import paper
from grader.errors import SetupError
from grader.files import write_atomic, write_changed
from grader.integrations.github.class_files import (
    PACK,
    check_names,
    classroom50_files,
    classroom50_notes,
    instructor_files,
    student_files,
)
from grader.integrations.github.options import (
    KEPT,
    ClassroomCourse,
    ClassroomOptions,
    Host,
    changed_options,
    check_options,
    format_options,
    load_previous,
    stored_options,
)
from grader.integrations.install import Source, chosen_source
from grader.model import Release
from grader.release.file import load_release, release_bytes
from grader.release.papers import call_plans_of
from grader.release.rendering import Notebooks
from grader.release.roster import load_roster
from grader.release.versions import of_version, sample_student, shared_version, versions_of
from grader.text.spreadsheet import csv_line
from grader.text.words import count_of, join_names

TEMPLATE, STUDENTS, INSTRUCTOR, BUNDLE = "student-template", "students", "instructor", "classroom50"
ROSTER = "roster.csv"
_NOBODY = "OWNER"
_TORCH = re.compile(r"^\s*(import|from) torch\b", re.M)
"""An import in code; a text may mention torch without needing it."""


def init_classroom(
    release_file: Path,
    out: Path,
    options: ClassroomOptions,
    bank: Bank,
    *,
    pack: Path | None = None,
    done: Callable[[str], None] = lambda _: None,
) -> list[str]:
    """Writes the template and every student's and the instructor's repository; returns notes.

    Only the instructor's repository gets the release, and the options for the next run. Its roster
    is kept if it exists, since the instructor may have edited it.
    """
    release = load_release(release_file)
    course = course_of(release, options)
    _require_reachable(course.source, options)
    if (out / ".git").exists():
        raise SetupError(
            "this folder is a git repository, and it would contain the release",
            where=str(out),
            fix="choose a folder outside it; only instructor/, kept private, may hold the release",
        )
    check = options.host is Host.GITHUB
    bundle = {} if check else _bundle_files(course, bank, pack, out / BUNDLE)
    notebooks = Notebooks(release, bank)
    shown = _template_notebook(course, notebooks)
    notes = [
        *own_bank_notes(release),
        *_course_notes(course, options),
        *_template_notes(release, course),
        *_remove_stale_notebooks(out, shown),
        *_unlisted_notes(out / INSTRUCTOR / ROSTER, release),
        *_repository_notes(out),
    ]
    _write_files(out / TEMPLATE, {**student_files(course, bank.templates, check=check), **shown})
    for student in release.students.values():
        files = student_files(course, bank.templates, student.id, student.version, check=check)
        _write_files(out / STUDENTS / student.id, {**files, course.notebook: notebooks.of(student)})
        done(student.id)
    instructor = {**instructor_files(course, bank.templates), KEPT: stored_options(options, shown)}
    if not (out / INSTRUCTOR / ROSTER).exists():  # the instructor may have edited it
        instructor[ROSTER] = _roster_csv(release)
    _write_files(out / INSTRUCTOR, instructor)
    private = out / INSTRUCTOR / "release" / "release.json"
    write_atomic(private, release_bytes(release), private=True)
    _write_files(out / BUNDLE, bundle)
    return notes


def _require_reachable(source: Source, options: ClassroomOptions) -> None:
    """Raises SetupError if the wheel that students must install is only on this machine."""
    if source.wheel is not None and not options.grader_source.startswith("file:"):
        digest = source.url.rpartition("#")[2]
        raise SetupError(
            "students can't install a wheel that is only on this machine",
            where=str(source.wheel),
            fix="upload it, for example to a release of a repository, and pass "
            f"--grader-source https://HOST/{source.wheel.name}#{digest}",
        )


def _template_notebook(course: ClassroomCourse, notebooks: Notebooks) -> dict[str, bytes]:
    """Returns the template's notebook by its path: the shared version, the sample, or nothing."""
    if course.shared_version:
        return {course.notebook: notebooks.of(of_version(course.shared_version))}
    return {course.sample_path: notebooks.of(sample_student())} if course.sample_path else {}


def _remove_stale_notebooks(out: Path, shown: Mapping[str, bytes]) -> Iterator[str]:
    """Removes notebooks of earlier runs from the template, so that nobody starts from one."""
    _, earlier = load_previous(out / INSTRUCTOR)
    stale = [n for n in earlier if n not in shown and (out / TEMPLATE / n).exists()]
    for name in stale:
        (out / TEMPLATE / name).unlink()
    if stale:
        yield f"removed from the template: {', '.join(stale)}"


def _unlisted_notes(roster: Path, release: Release) -> Iterator[str]:
    """Yields a note that names students without a line in the kept roster."""
    if not roster.exists():
        return
    listed = {student.id for student in load_roster(roster)}
    new = [name for name in release.students if name not in listed]
    if new:
        who = count_of(len(new), "student has", "students have")
        yield f"{who} no line in instructor/{ROSTER}: {join_names(new, most=5)}"


def _repository_notes(out: Path) -> Iterator[str]:
    """Yields a note if *out* is inside a git repository, to which somebody may push it."""
    for folder in out.absolute().parents:
        if (folder / ".git").exists():
            yield (
                f"{out} is inside the git repository {folder}: don't commit {INSTRUCTOR}/ there, "
                "because it contains the release"
            )
            return


def course_of(release: Release, options: ClassroomOptions) -> ClassroomCourse:
    """Returns the values for the templates; raises SetupError for bad options."""
    exam, shared = release.exam, shared_version(release)
    owner, assignment = options.owner or _NOBODY, options.assignment or exam.id
    repository = exam.id
    if options.host is Host.CLASSROOM50:
        repository = f"{options.classroom}-{assignment}"
    source = chosen_source(options.grader_source)
    notebook = options.notebook or f"{exam.id}.ipynb"
    filled = replace(
        options,
        url=options.url or f"https://github.com/{owner}/{repository}-{{id}}.git",
        notebook=notebook,
        schedule=" ".join(options.schedule.split()),
        assignment=assignment,
    )
    check_options(filled)
    if options.host is Host.CLASSROOM50:
        check_names(filled)
    # In a separate folder, because the only notebook in the top folder is the one that counts.
    sample = "" if shared or not options.sample else f"sample/{Path(notebook).stem}-sample.ipynb"
    return ClassroomCourse(
        **asdict(filled),
        title=" ".join(exam.title.split()),
        source=source,
        torch=needs_torch(release),
        cuda=needs_cuda(release),
        rerun_options=format_options(changed_options(replace(options, grader_source=source.url))),
        shared_version=shared,
        sample_path=sample,
    )


def needs_torch(release: Release) -> bool:
    """Returns whether code of a part imports torch."""
    return any(_TORCH.search(text) for text in _iter_strings(release.sources))


def _iter_strings(data: object) -> Iterator[str]:
    if isinstance(data, str):
        yield data
    elif isinstance(data, Mapping | list | tuple):
        for value in data.values() if isinstance(data, Mapping) else data:
            yield from _iter_strings(value)


def needs_cuda(release: Release) -> bool:
    """Returns whether a runner without a GPU has to defer a part."""
    student = next(iter(release.students.values()), None)
    if student is None or not any(p.solution for p in release.problems.values()):
        return False
    return any(plan.device == "cuda" for plan in call_plans_of(paper(release, student)))


def _roster_csv(release: Release) -> bytes:
    """Returns a roster of the release's students, with empty columns to fill in."""
    version = ["version"] if versions_of(release) else []
    columns = ["id", "name", "email", "section", *version]
    rows = [[*columns, "repository", "deadline"]]
    students = release.students.values()
    rows += [[*(getattr(s, column) for column in columns), "", ""] for s in students]
    return "".join(f"{csv_line(row)}\n" for row in rows).encode()


def _bundle_files(
    course: ClassroomCourse, bank: Bank, pack: Path | None, folder: Path
) -> Mapping[str, bytes]:
    """Returns Classroom 50's files, with *pack* or else the pack of an earlier run in *folder*."""
    from grader.release import sealed

    if pack is not None and not sealed.is_pack_file(pack):
        raise SetupError(
            "this is not a sealed pack, and the bundle is public",
            where=str(pack),
            fix="pass the file that `grader classroom seal` wrote",
        )
    chosen = pack or folder / PACK
    data = chosen.read_bytes() if chosen.exists() else b""
    return classroom50_files(course, course.owner or _NOBODY, bank.templates, data)


def own_bank_notes(release: Release) -> Iterator[str]:
    """Yields a note if problems come from the package's own bank, which students can read."""
    own = Bank((own_bank(),))
    public = [n for n, d in release.digests.items() if n in own.paths and own.digest(n) == d]
    if public:
        yield (
            f"{len(public)} of {len(release.digests)} problems come with the package, so students "
            "can read their formulas, right options, and solutions; for an exam that counts, use "
            "a private bank"
        )


def _course_notes(course: ClassroomCourse, options: ClassroomOptions) -> Iterator[str]:
    """Yields notes on the source of the grader, on repositories, and on what runners need."""
    if course.source.note:
        yield course.source.note
    if not options.owner and not options.url:
        yield f"students' repositories are expected at {course.url}; see --owner and --url"
    if course.torch:
        yield "some parts need torch, so installing takes more than a minute"
    if course.cuda:
        yield f"some parts wait for a runner with the labels self-hosted and {course.gpu_label}"
    if options.host is Host.CLASSROOM50:
        yield from classroom50_notes(course)


def _template_notes(release: Release, course: ClassroomCourse) -> Iterator[str]:
    """Yields notes on what the template shows and what it can't contain."""
    if course.shared_version:
        yield (
            f"all students share version {course.shared_version}, so the template contains the "
            "exam itself: keep it private until the exam begins"
        )
    elif course.sample_path:
        yield (
            f"the template has a practice sample, {course.sample_path}: the exam's problems with "
            "other numbers; if students must not see the problems before, pass --no-sample"
        )
    if not course.shared_version and (versions := versions_of(release)):
        yield (
            f"the release has several versions ({', '.join(versions)}), and a template can contain "
            "only one: hand out the notebooks, or render a release for each template"
        )


def _write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    for name, data in files.items():
        write_changed(folder / name, data)
