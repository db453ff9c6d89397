"""What a results folder holds of one student: exported, or removed."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from grader.bank.folders import Bank
from grader.errors import SetupError
from grader.files import make_write_error
from grader.gradebook import Gradebook
from grader.grading.audit import require_student
from grader.grading.results import write_results
from grader.report.names import file_name

IDEAS = "ideas.json"
"""The newest search for wrong ideas, with the students who have them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgotten:
    """What was removed of a student whose data were deleted."""

    pseudonym: str
    """Stands for the student in the audit log."""
    rows: int
    files: int


def archive_student(out: Path, student: str, target: Path, *, by: str, why: str) -> int:
    """Writes everything that the results folder *out* holds of *student* to the zip file *target*,
    and records that; returns the number of files in it.

    Raises SetupError if the student is unknown, or if *target* exists or can't be written.
    """
    with Gradebook.open(out) as book:
        require_student(book, student)
        record = book.personal.read(student)
        pieces = {f"evidence/{d}.json": book.evidence_files.export(d) for d in record.evidence}
        files = list(_pages_of(out, student))
        if (out / IDEAS).exists():  # it names students, and can be made again
            files.append(out / IDEAS)
        contents = {name: data for name, data in pieces.items() if data is not None}
        contents["gradebook.json"] = json.dumps(record.rows, indent=2, ensure_ascii=False).encode()
        _write_zip(target, contents, files, out)
        book.record("student exported", by=by, why=why, detail={"student": student})
    return len(files) + len(contents)


def _write_zip(target: Path, contents: Mapping[str, bytes], files: list[Path], out: Path) -> None:
    try:
        with zipfile.ZipFile(target, "x", zipfile.ZIP_DEFLATED) as zipped:
            for name, data in contents.items():
                zipped.writestr(name, data)
            for path in files:
                zipped.write(path, path.relative_to(out).as_posix())
    except FileExistsError:
        raise SetupError(
            "this file exists already", where=str(target), fix="choose another name for --out"
        ) from None
    except OSError as error:
        raise make_write_error(error, target) from error


def forget_student(out: Path, student: str, bank: Bank, *, by: str, why: str) -> Forgotten:
    """Removes everything about *student* from the results folder *out*.

    Raises SetupError if the student is unknown, or if a file can't be removed.
    """
    with Gradebook.open(out) as book:
        require_student(book, student)
        # The evidence first: its names are in the gradebook, so a failure can be repeated.
        gone = sum(map(book.evidence_files.remove, book.personal.read(student).evidence))
        files = list(_pages_of(out, student))
        if (out / IDEAS).exists():  # it names students, and can be made again
            files.append(out / IDEAS)
        removed = book.personal.remove(student, by=by, why=why)
    for path in files:
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise make_write_error(error, path) from error
    write_results(out, bank)
    return Forgotten(pseudonym=removed.pseudonym, rows=removed.rows, files=gone + len(files))


def _pages_of(out: Path, student: str) -> Iterator[Path]:
    names = (f"grades/{file_name(student, '.json')}", f"feedback/{file_name(student, '.html')}")
    yield from (out / name for name in names if (out / name).exists())
