"""Stores students' requests for a regrade, after checking who sent each file, and what it asks."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.bank.yaml12 import Located
from grader.errors import SpecError, SpecErrors
from grader.gradebook import Gradebook
from grader.grading.request_files import RequestFile, plain_text, read_request_file
from grader.grading.sources import rows_of, source_of
from grader.model.requests import NewRequest, RequestForm
from grader.model.result import Row

_SECRET, _OPEN = "request_secret", "requests_open"
_SUFFIXES = (".json", ".md", ".txt")


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenRequests:
    """The outcome of taking in files."""

    files: int
    new: int
    """How many requests were not stored before."""


def open_requests(book: Gradebook, *, by: str) -> None:
    """Shows the form for requests on the feedback pages."""
    if not isinstance(book.setting(_SECRET), str):
        book.set_setting(_SECRET, secrets.token_hex(32), by=by, secret=True)
    book.set_setting(_OPEN, True, by=by)


def close_requests(book: Gradebook, *, by: str) -> None:
    """Removes the form from the feedback pages."""
    book.set_setting(_OPEN, False, by=by)


def form_secret(book: Gradebook) -> str:
    """Returns the secret that the forms' tokens are made with, or an empty text while no form is
    shown."""
    secret = book.setting(_SECRET)
    return secret if book.setting(_OPEN) and isinstance(secret, str) else ""


def form_of(secret: str, row: Row) -> RequestForm | None:
    """Returns the form of a student's page, or None if no form is shown or the student has no
    marks."""
    if not secret or not row.marks:
        return None
    return RequestForm(token=_token(secret, row.student.id))


def _token(secret: str, student: str) -> str:
    """Returns what only the page of *student* contains."""
    return hmac.new(secret.encode(), student.encode(), hashlib.sha256).hexdigest()[:32]


def take_requests(out: Path, paths: Sequence[Path]) -> TakenRequests:
    """Stores the requests in files and folders, all or none."""
    files = [file for path in paths for file in _files_in(path)]
    read = [read_request_file(file) for file in files]
    with Gradebook.open(out) as book:
        return store_requests(book, read)


def store_requests(book: Gradebook, read: Sequence[tuple[RequestFile, Located]]) -> TakenRequests:
    """Stores the requests of files that were read, all or none.

    Raises SpecErrors with all errors in them, such as a file that does not come from the student's
    own page, or a part that the student does not have.
    """
    graded = source_of(book)
    secret = book.setting(_SECRET)
    intake = _Intake(
        exam=graded.exam,
        secret=secret if isinstance(secret, str) else "",
        rows={row.student.id: row for row in rows_of(book, graded)},
    )
    errors = [error for file, source in read for error in intake.find_errors(file, source)]
    if errors:
        raise SpecErrors(tuple(errors))
    requests = [request for file, _ in read for request in intake.make_requests(file)]
    return TakenRequests(files=len(read), new=book.requests.add(requests))


def _files_in(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    return sorted(
        p
        for p in path.rglob("*")
        if p.suffix.lower() in _SUFFIXES
        and not p.name.startswith(".")  # such as "._ada.json", which macOS adds to a zip
        and p.is_file()
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Intake:
    """What files are compared with."""

    exam: str
    secret: str
    rows: Mapping[str, Row]

    def find_errors(self, file: RequestFile, source: Located) -> Iterator[SpecError]:
        """Yields why the requests of a file can't be stored."""
        if file.set != self.exam:
            fix = f"name the results of '{file.set}'"
            what = f"this file is for the set '{file.set}', not '{self.exam}'"
            yield source.error(("set",), what, fix)
            return
        row = self.rows.get(file.student)
        token = _token(self.secret, file.student).encode() if self.secret else b""
        if row is None or not token or not hmac.compare_digest(token, _bytes(file.token)):
            what = f"this file does not come from the feedback page of '{file.student}'"
            fix = (
                "if the page is from other results, name their folder; otherwise, ask the student "
                "to use the form on their own page"
            )
            yield source.error(("student",), what, fix)
            return
        names = {mark.name for mark in row.marks}
        for index, request in enumerate(file.requests):
            if request.part not in names:
                what = f"'{file.student}' has no mark for '{request.part}'"
                fix = "the parts are: " + ", ".join(sorted(names)) if names else "see the results"
                yield source.error(("requests", index, "part"), what, fix)

    def make_requests(self, file: RequestFile) -> Iterator[NewRequest]:
        """Yields the requests of a file without errors."""
        points = {mark.name: mark.points for mark in self.rows[file.student].marks}
        for request in file.requests:
            yield NewRequest(
                student=file.student,
                name=request.part,
                text=plain_text(request.text),
                points=points[request.part],
            )


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
