"""What a results folder holds of one student: listed, exported, or removed."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from grader.bank.folders import Bank
from grader.errors import SetupError
from grader.files import make_write_error, write_atomic
from grader.gradebook import AuditLine, Gradebook
from grader.gradebook.personal import Removal
from grader.grading.results import write_results
from grader.registry import suggest
from grader.release.file import load_release, release_bytes
from grader.release.papers import CORRECTIONS
from grader.report.names import file_name

EXPORTS = "exports"
"""The folder in which `grader export` writes by default."""
IDEAS = "ideas.json"
"""The newest search for wrong ideas, with the students who have them."""


def read_audit(out: Path, student: str | None = None) -> tuple[AuditLine, ...]:
    """Returns the entries of the audit log, oldest first. With *student*, returns only those about
    the student or the files that the student handed in."""
    with Gradebook.open(out) as book:
        lines = book.audit()
        if student is None:
            return lines
        require_student(book, student)
        files = {submission.sha256 for submission in book.submissions(student)}
    return tuple(
        line
        for line in lines
        if line.detail.get("student") == student or line.detail.get("submission_sha256") in files
    )


def require_student(book: Gradebook, student: str) -> None:
    """Raises SetupError, with a suggestion, if *student* is not in the gradebook."""
    students = book.students()
    if student not in students:
        fix = suggest(student, students, "see the ids in grades.csv")
        what = f"student '{student}' is not in the gradebook"
        raise SetupError(what, where=str(book.folder), fix=fix)


def archive_student(out: Path, student: str, target: Path, *, by: str, why: str) -> int:
    """Writes everything that the results folder *out* holds of *student* to the zip file *target*,
    records that in the audit log, and returns the number of files in the zip."""
    with Gradebook.open(out) as book:
        require_student(book, student)
        record = book.personal.read(student)
        pieces = {f"evidence/{d}.json": book.evidence_files.export(d) for d in record.evidence}
        files = list(_files_about(out, student))
        contents = {name: data for name, data in pieces.items() if data is not None}
        contents["gradebook.json"] = json.dumps(record.rows, indent=2, ensure_ascii=False).encode()
        _write_zip(target, contents, files, out)
        book.record("student exported", by=by, why=why, detail={"student": student})
    return len(files) + len(contents)


def _write_zip(target: Path, contents: Mapping[str, bytes], files: list[Path], out: Path) -> None:
    """Writes *contents*, by name, and *files*, by their paths in *out*, to the new zip *target*."""
    try:
        # A zip can't have dates before 1980 or after 2107; the nearest date stands for them.
        with zipfile.ZipFile(target, "x", zipfile.ZIP_DEFLATED, strict_timestamps=False) as zipped:
            for name, data in contents.items():
                zipped.writestr(name, data)
            for path in files:
                zipped.write(path, path.relative_to(out).as_posix())
    except FileExistsError:
        raise SetupError(
            "this file exists already", where=str(target), fix="choose another name for --out"
        ) from None
    except BaseException as error:
        with suppress(OSError):
            target.unlink()  # a part of it would keep the next run from writing it
        if isinstance(error, OSError):
            raise make_write_error(error, target) from error
        raise


def forget_student(
    out: Path, student: str, bank: Bank, *, by: str, why: str
) -> tuple[Removal, int]:
    """Removes everything about *student* from the results folder *out*. Returns what was removed
    from the gradebook, and the number of removed files and pieces of evidence."""
    with Gradebook.open(out) as book:
        require_student(book, student)
        # The evidence first: its names are in the gradebook, so a failure can be repeated.
        evidence_count = sum(map(book.evidence_files.remove, book.personal.read(student).evidence))
        files = [*_files_about(out, student), *_exports_about(out, student, book.students())]
        removed = book.personal.remove(student, by=by, why=why)
    for path in (out / CORRECTIONS).glob("*.json"):  # earlier versions kept the students there
        if (corrected := load_release(path)).students:
            data = release_bytes(replace(corrected, students={}))
            write_atomic(path, data, durable=True, private=True)
    for path in files:
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise make_write_error(error, path) from error
        with suppress(OSError):  # unless it has other files
            path.parent.rmdir()
    write_results(out, bank)
    return removed, evidence_count + len(files)


def _files_about(out: Path, student: str) -> Iterator[Path]:
    """Yields the files in *out* that exist and that name *student*."""
    grade = file_name(student, ".json")
    page = file_name(student, ".html")
    # The ideas name students, and can be made again.
    names = (f"grades/{grade}", f"feedback/{page}", IDEAS)
    yield from (out / name for name in names if (out / name).exists())


def _exports_about(out: Path, student: str, students: Collection[str]) -> Iterator[Path]:
    """Yields the files of `grader export` in *out*, except those in the folder of another of
    *students*. Tables of the class, which name *student*, can be made again. A link leads outside
    the results."""
    others = {file_name(id_) for id_ in students if id_ != student}
    folder = out / EXPORTS
    for path in () if folder.is_symlink() else sorted(folder.rglob("*")):
        if not path.is_dir() and others.isdisjoint(path.relative_to(folder).parts[:-1]):
            yield path
