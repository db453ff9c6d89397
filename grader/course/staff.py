"""The staff of a course as the file says now, for applications that run for weeks."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from threading import Lock

from grader.course.load import load_course
from grader.errors import GraderError, SetupError
from grader.model.course import StaffMember


class StaffFile:
    """Reads the staff of a course file, again whenever the file has changed."""

    def __init__(self, path: Path):
        self._path = path
        self._state: tuple[int, ...] = ()
        self._staff: Mapping[str, StaffMember] = {}
        self._error: GraderError | None = None
        self._lock = Lock()

    def __call__(self) -> Mapping[str, StaffMember]:
        """Returns the staff by id. Raises GraderError as long as the file has errors."""
        try:
            status = self._path.stat()
        except OSError as error:
            fix = "restore the file"
            what = "the course file can't be read"
            raise SetupError(what, where=str(self._path), fix=fix) from error
        state = (status.st_mtime_ns, status.st_size, status.st_ino)
        with self._lock:
            if state != self._state:
                self._read()
                self._state = state
            if self._error is not None:
                raise self._error
            return self._staff

    def _read(self) -> None:
        """Reads the file, and keeps the staff, or the error that it has."""
        self._error = None
        try:
            self._staff = load_course(self._path).staff
        except GraderError as error:
            self._error = error
