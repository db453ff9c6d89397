"""Loads the results that exporters work on, runs exporters, and writes what they return."""

from __future__ import annotations

import os
from collections.abc import Iterable
from itertools import count
from pathlib import Path

from grader import __version__
from grader.errors import SetupError
from grader.files import make_write_error, write_atomic
from grader.gradebook import Gradebook
from grader.grading.sources import evidence_of, is_published, rows_of, source_of
from grader.integrations.base import StudentExporter
from grader.model.exported import ClassResults, Exported, Result
from grader.registry import suggest
from grader.report import file_name
from grader.text.words import join_names


def class_results(folder: Path, students: Iterable[str] = ()) -> ClassResults:
    """Returns what students may see of the results in *folder*: all of them, or only *students*."""
    with Gradebook.open(folder) as book:
        graded = source_of(book)
        published = is_published(book, graded)
        chosen = set(students) or set(graded.students)
        for student in sorted(chosen - set(graded.students)):
            fix = suggest(student, graded.students, "see the ids in grades.csv")
            raise SetupError(f"the results contain no student '{student}'", fix=fix)
        times = {(s.student, s.sha256): s.received for s in book.submissions()}
        results = []
        for row in sorted(rows_of(book, graded), key=lambda row: row.student.id):
            if row.student.id not in chosen:
                continue
            evidence = evidence_of(book, row)
            sha256 = row.grade.submission_sha256 if row.grade else None
            result = Result(
                feedback=graded.feedback_for(row, published=published, evidence=evidence),
                submission_sha256=sha256,
                submitted_at=times.get((row.student.id, sha256)) if sha256 else None,
                seconds=evidence.seconds if evidence else 0.0,
            )
            results.append(result)
        return ClassResults(
            exam=graded.exam,
            title=graded.title,
            release=graded.release,
            engine=__version__,
            results=tuple(results),
        )


def export_students(exporter: StudentExporter, results: Iterable[Result]) -> Exported:
    """Returns the files of all students, one folder per student, with a note on each left out."""
    files: dict[str, bytes] = {}
    # Most notes are the same for all students.
    notes: dict[str, list[str]] = {}
    fixes: list[str] = []
    exported_count = 0
    for result in results:
        student = result.feedback.student.id
        try:
            exported = exporter.export(result)
        except SetupError as error:
            notes.setdefault(f"left out: {error.what}", [])
            fixes += [error.fix] if error.fix else []
            continue
        if exported.stdout or exported.appended_text:
            raise SetupError(
                "these options print or append the result of one student", fix="add --student ID"
            )
        exported_count += 1
        files |= {f"{file_name(student)}/{name}": data for name, data in exported.files.items()}
        for note in exported.notes:
            notes.setdefault(note, []).append(student)
    if not files:
        rest = f"; and {len(notes) - 3} more" if len(notes) > 3 else ""
        raise SetupError(
            "no student has a result that this format can represent",
            fix="; ".join([*(fixes[:1] or ["grade submissions first"]), *list(notes)[:3]]) + rest,
        )
    # Preceded by the students it is about unless it is about everybody.
    shown = (
        note if len(who) in (0, exported_count) else f"{join_names(who, most=5)}: {note}"
        for note, who in notes.items()
    )
    return Exported(files=files, notes=tuple(shown))


def append_text(file: Path, text: str) -> None:
    """Appends *text* to *file*, after a line break if the last line has none."""
    with file.open("ab+") as sink:
        if sink.tell():
            sink.seek(-1, 2)
            if sink.read(1) != b"\n":
                sink.write(b"\n")
        sink.write(text.encode("utf-8", "replace"))


def write_exported(exported: Exported, out: Path, *, private: bool = False) -> list[Path]:
    """Writes the files into the folder *out*, and replaces links. With *private*, only the owner
    can read them. Raises SetupError if it can't."""
    written = []
    for name, data in exported.files.items():
        target = out / name
        # The last component is not resolved, because it is replaced even if it is a link.
        if target.name == ".." or not target.parent.resolve().is_relative_to(out.resolve()):
            raise SetupError(f"'{name}' would be written outside '{out}'", fix="rename it")
        write_atomic(target, data, private=private)
        written.append(target)
    return written


def move_folders_aside(exported: Exported, out: Path) -> list[str]:
    """Renames folders in the place of files, since a student must not be able to block a result."""
    notes = []
    for name in exported.files:
        target = out / name
        if target.is_dir() and not target.is_symlink():
            moved = target.with_name(f"{target.name}.moved")
            for number in count(2):
                if not os.path.lexists(moved):
                    break
                moved = target.with_name(f"{target.name}.moved-{number}")
            try:
                target.rename(moved)
            except OSError as error:
                raise make_write_error(error, target) from error
            notes.append(f"the folder '{name}' was renamed to '{moved.name}'")
    return notes
