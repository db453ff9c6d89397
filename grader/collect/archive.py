"""Lists the contents of a zip, and unpacks its members one at a time, within limits."""

from __future__ import annotations

import stat
import threading
import zipfile
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path, PurePosixPath

from grader import notebook
from grader.collect.entries import (
    Entry,
    FileQuota,
    NotebookFile,
    ignored_file_remark,
    is_ignored,
    is_notebook,
    is_too_long,
    link_error,
    make_remark,
    storable,
)
from grader.errors import SetupError, SubmissionError

MEMBER = "//"
"""Separates the path of a zip from the name inside. A path from pathlib contains it only at its
start, if at all."""

_ARCHIVES = 4
"""Number of zips kept open: listing a large one again takes longer than reading a member."""
_READ = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}
"""Supported methods. Others may unpack a few bytes to gigabytes in one step."""
_ENCRYPTED = 1


class _Archive:
    """An open zip with its list of members; thread-safe."""

    def __init__(self, path: str):
        self._zip = zipfile.ZipFile(path)
        self._lock = threading.Lock()  # the library counts its open members without one
        self.members = self._zip.infolist()

    def read(self, member: str) -> bytes:
        """Returns the bytes of *member*. Raises SubmissionError, or any exception of zipfile."""
        with self._lock:
            return _read_info(self._zip, self._zip.getinfo(member))


@lru_cache(maxsize=_ARCHIVES)
def _cached_archive(path: str, _version: tuple[int, ...]) -> _Archive:
    return _Archive(path)


def _open_archive(path: Path) -> _Archive:
    now = path.stat()
    return _cached_archive(str(path), (now.st_dev, now.st_ino, now.st_size, now.st_mtime_ns))


def iter_members(path: Path, budget: FileQuota) -> Iterator[Entry]:
    """Yields everything in the zip, sorted by name. Raises SetupError if it is damaged."""
    try:
        listed = _open_archive(path).members
    except Exception as error:  # the library raises many kinds of exceptions
        raise SetupError(
            "the zip is damaged or incomplete",
            where=str(path),
            fix="download it or create it again",
        ) from error
    # If several entries have the same name, the last one is used, as when a zip is unpacked.
    last = {info.filename: info for info in listed}
    if len(last) < len(listed):
        yield from _duplicate_remarks(listed)
    for filename in sorted(last):
        name = PurePosixPath(storable(filename.replace("\\", "/")))
        if not name.parts or is_ignored(name) or not budget.admit(name):
            continue
        if is_too_long(name):
            if is_notebook(name):
                budget.record_unexamined(name, "the path of a notebook is too long")
            yield make_remark("warning", name, "not read: the path is too long")
            continue
        if not last[filename].is_dir():
            yield _member_entry(last[filename], name, path)


def _duplicate_remarks(listed: list[zipfile.ZipInfo]) -> Iterator[Entry]:
    """Yields a warning for each name that several files in the zip have."""
    times = Counter(info.filename for info in listed if not info.is_dir())
    for filename, count in times.items():
        if count > 1:
            name = PurePosixPath(storable(filename.replace("\\", "/")))
            text = f"appears {count} times in the zip; the last one is used"
            yield make_remark("warning", name, text)


def _member_entry(info: zipfile.ZipInfo, name: PurePosixPath, path: Path) -> Entry:
    if name.is_absolute() or ".." in name.parts or name.parts[0][1:2] == ":":
        return make_remark("warning", name, "not read: the path leads out of the zip")
    full_path = f"{path}{MEMBER}{info.filename}"
    if not is_notebook(name):
        return ignored_file_remark(name, full_path)
    return NotebookFile(name=name, path=full_path, time=_member_time(info))


def read_member(path: Path, member: str) -> bytes:
    """Returns the bytes of one member of the zip at *path*. Raises SubmissionError or OSError."""
    try:
        return _open_archive(path).read(member)
    except (SubmissionError, OSError):
        raise
    except Exception as error:  # as above
        raise SubmissionError(
            "the file can't be unpacked: the zip is damaged",
            fix="hand it in again, or have the zip packed again",
        ) from error


def _read_info(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """Returns the bytes of one member. Raises SubmissionError if it is a link, encrypted, or too
    large."""
    if stat.S_ISLNK(info.external_attr >> 16):
        raise link_error()
    if info.flag_bits & _ENCRYPTED:
        raise SubmissionError(
            "the file is encrypted with a password", fix="hand it in without a password"
        )
    if info.compress_type not in _READ:
        raise SubmissionError(
            "the zip uses an unsupported compression method",
            fix="create an ordinary zip, or hand in the notebook itself",
        )
    if info.file_size > notebook.MAX_BYTES:
        raise notebook.too_large_error(info.file_size)
    with archive.open(info) as file:  # the declared size may be wrong
        data = file.read(notebook.MAX_BYTES + 1)
    if len(data) > notebook.MAX_BYTES:
        raise notebook.too_large_error(len(data))
    return data


def _member_time(info: zipfile.ZipInfo) -> float:
    """Returns the member's time in seconds since 1970, in UTC, since a zip has no time zone."""
    try:
        return datetime(*info.date_time, tzinfo=UTC).timestamp()
    except ValueError:
        return 0.0
