"""What lies in a zip, listed once and unpacked within bounds, one member at a time."""

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
from grader.collect.found import Budget, Found, Thing, foreign, is_link
from grader.collect.names import is_notebook, is_silent, is_too_long, remark, storable
from grader.errors import SetupError, SubmissionError

MEMBER = "//"
"""Between the path of a zip and the name inside: no path that pathlib wrote has it, except at
its very start."""
MAX_MEMBERS = 1_000_000

_ARCHIVES = 4
"""Zips that are kept open: to read the list of a large one again takes longer than a member."""
_READ = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}
"""Others unpack a few bytes to gigabytes at once, before anyone can count them."""
_ENCRYPTED = 1


class _Archive:
    """An open zip with its list of members, for several threads."""

    def __init__(self, path: str):
        self._zip = zipfile.ZipFile(path)
        self._lock = threading.Lock()  # the library counts its open members without one
        self.members = self._zip.infolist()

    def read(self, member: str) -> bytes:
        """The bytes of *member*. Raises SubmissionError, or whatever the library does."""
        with self._lock:
            return _read(self._zip, self._zip.getinfo(member))


@lru_cache(maxsize=_ARCHIVES)
def _archive(path: str, _version: tuple[int, ...]) -> _Archive:
    return _Archive(path)


def _opened(path: Path) -> _Archive:
    now = path.stat()
    return _archive(str(path), (now.st_dev, now.st_ino, now.st_size, now.st_mtime_ns))


def members(path: Path, budget: Budget) -> Iterator[Thing]:
    """Everything in the zip at *path*, in order of names. Raises SetupError for a damaged one."""
    try:
        listed = _opened(path).members
    except Exception as error:  # the library raises all sorts of things
        raise SetupError(
            "the zip can't be read", where=str(path), fix="download or pack it again"
        ) from error
    if len(listed) > MAX_MEMBERS:
        raise SetupError(
            f"more than {MAX_MEMBERS:,} files",
            where=str(path),
            fix="unpack it, and name the folder that holds the submissions",
        )
    # Of entries with the same name the last one counts, as it does when a zip is unpacked.
    last = {info.filename: info for info in listed}
    if len(last) < len(listed):
        yield from _doubles(listed)
    folders: set[PurePosixPath] = set()
    for filename in sorted(last):
        name = PurePosixPath(storable(filename.replace("\\", "/")))
        if not name.parts or is_silent(name) or not budget.takes(name):
            continue
        if is_too_long(name):
            if is_notebook(name):
                budget.leave_out(name, "the path of a notebook is too long to be read")
            yield remark("warning", name, "a name too long to be a student's; not read")
            continue
        around = list(name.parents)
        if last[filename].is_dir():
            around.append(name)
        else:
            yield _member(last[filename], name, path)
        # The only folders of interest, and few; all of them could be millions.
        folders.update(folder for folder in around if is_notebook(folder))
    yield from sorted(folders)


def _doubles(listed: list[zipfile.ZipInfo]) -> Iterator[Thing]:
    times = Counter(info.filename for info in listed if not info.is_dir())
    for filename, count in times.items():
        if count > 1:
            name = PurePosixPath(storable(filename.replace("\\", "/")))
            text = f"stands in the zip {count} times; the last is taken"
            yield remark("warning", name, text)


def _member(info: zipfile.ZipInfo, name: PurePosixPath, path: Path) -> Thing:
    if name.is_absolute() or ".." in name.parts or name.parts[0][1:2] == ":":
        return remark("warning", name, "a path that leads out of the zip; refused")
    if not is_notebook(name):
        return foreign(name)
    return Found(name=name, path=f"{path}{MEMBER}{info.filename}", time=_time(info))


def read_member(path: Path, member: str) -> bytes:
    """The bytes of one member of the zip at *path*.

    Raises SubmissionError for one that can't be unpacked, and OSError when the zip is gone.
    """
    try:
        return _opened(path).read(member)
    except (SubmissionError, OSError):
        raise
    except Exception as error:  # as above
        raise SubmissionError(
            "the file can't be unpacked: the zip is damaged",
            fix="hand it in again, or have the zip packed again",
        ) from error


def _read(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    if stat.S_ISLNK(info.external_attr >> 16):
        raise is_link()
    if info.flag_bits & _ENCRYPTED:
        raise SubmissionError(
            "the file is encrypted with a password", fix="hand it in without a password"
        )
    if info.compress_type not in _READ:
        raise SubmissionError(
            "the file is packed in a way that is not read",
            fix="pack it as an ordinary zip, or hand in the notebook itself",
        )
    if info.file_size > notebook.MAX_BYTES:
        raise notebook.too_large(info.file_size)
    with archive.open(info) as file:  # what is declared need not be true
        data = file.read(notebook.MAX_BYTES + 1)
    if len(data) > notebook.MAX_BYTES:
        raise notebook.too_large(len(data))
    return data


def _time(info: zipfile.ZipInfo) -> float:
    """The member's time; a zip doesn't say in which zone, so UTC is assumed."""
    try:
        return datetime(*info.date_time, tzinfo=UTC).timestamp()
    except ValueError:
        return 0.0
