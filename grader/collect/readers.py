"""Folders, zips and single notebooks as entries, read with bounds and without following links."""

from __future__ import annotations

import os
import stat
import threading
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Literal

from grader import notebook
from grader.errors import SetupError, SubmissionError

MAX_FILES = 100_000
"""Entries of one folder or zip that are looked at."""

_MEMBER = "//"
"""Between the path of a zip and the name inside: no path that pathlib wrote has it, except at
its very start."""
_ARCHIVES = 4
"""Zips that are kept open: to read the list of a large one again takes longer than a member."""
_SILENT = {".ipynb_checkpoints", "__MACOSX", "Thumbs.db", "desktop.ini"}
_LINK = "a symbolic link instead of a notebook; not followed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """Something the instructor should know about one file; it never stops the batch."""

    level: Literal["info", "warning"]
    """A warning when a student's work may be missing or misread."""
    path: str
    """Within the folder or zip."""
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One file that is called a notebook."""

    name: PurePosixPath
    """Within the folder or zip."""
    path: str
    """How `reread` finds it again."""
    time: float
    """Seconds since 1970."""
    data: bytes = b""
    refusal: str | None = None


def reread(path: str) -> bytes:
    """The bytes of an entry by its path. Raises SubmissionError when they are gone."""
    at = path.find(_MEMBER, 1)
    file, member = (path, None) if at < 0 else (path[:at], path[at + len(_MEMBER) :])
    try:
        if member is None:
            return _read_file(Path(file))
        now = Path(file).stat()
        version = (now.st_dev, now.st_ino, now.st_size, now.st_mtime_ns)
        return _archive(file, version).read(member)
    except Exception as error:
        if isinstance(error, SubmissionError):
            raise
        raise SubmissionError(
            "the notebook can't be read any more", where=Path(file).name
        ) from error


class _Archive:
    """An open zip with its list of members, for several threads."""

    def __init__(self, path: str):
        self._zip = zipfile.ZipFile(path)
        self._lock = threading.Lock()  # the library counts its open members without one

    def read(self, member: str) -> bytes:
        """The bytes of *member*. Raises whatever the library does."""
        with self._lock:
            return _read_member(self._zip, self._zip.getinfo(member))


@lru_cache(maxsize=_ARCHIVES)
def _archive(path: str, _version: tuple[int, ...]) -> _Archive:
    return _Archive(path)


def entries(path: Path) -> Iterator[Entry | Notice]:
    """Everything in *path* that is called a notebook, and a notice for what is not taken."""
    if path.is_dir():
        yield from _folder(path)
    elif path.is_file() and path.suffix.casefold() == ".ipynb":
        yield from _file(path.resolve(), PurePosixPath(path.name))
    elif path.is_file() and zipfile.is_zipfile(path):
        yield from _zip(path)
    elif path.exists():
        raise SetupError(
            "submissions are neither a folder nor a zip nor a notebook", where=str(path)
        )
    else:
        raise SetupError("there are no submissions here: the path does not exist", where=str(path))


def _too_many(path: Path) -> SetupError:
    return SetupError(
        f"more than {MAX_FILES} files", where=str(path), fix="grade the class in several folders"
    )


def _silent(name: PurePosixPath) -> bool:
    """Whether nobody put it there on purpose."""
    return any(part in _SILENT or (part[0] == "." and part != "..") for part in name.parts)


def _foreign(name: PurePosixPath, *, link: bool = False) -> Notice:
    if link:
        return Notice(level="warning", path=str(name), text="a symbolic link; not followed")
    return Notice(level="info", path=str(name), text="not a notebook; ignored")


def _hollow(folders: Iterable[PurePosixPath], files: Iterable[PurePosixPath]) -> Iterator[Notice]:
    """A notice for each folder that is called a notebook and has none in it."""
    called = [name for name in folders if _notebook(name) and not _silent(name)]
    if not called:
        return
    holding = {parent for file in files if _notebook(file) for parent in file.parents}
    for name in called:
        if name not in holding:
            text = "a folder that is called like a notebook, with no notebook in it"
            yield Notice(level="warning", path=str(name), text=text)


def _notebook(name: PurePosixPath) -> bool:
    return name.suffix.casefold() == ".ipynb"


def _folder(root: Path) -> Iterator[Entry | Notice]:
    count = 0
    seen: list[PurePosixPath] = []
    called: list[PurePosixPath] = []
    for folder, folders, files in os.walk(root):
        folders.sort()
        links = [name for name in folders if Path(folder, name).is_symlink()]
        for file in sorted(files + links):
            path = Path(folder, file)
            name = _name(path, root)
            count += 1
            if count > MAX_FILES:
                raise _too_many(root)
            if _silent(name):
                continue
            seen.append(name)
            if not _encodable(str(path)):
                text = "the file's name is not UTF-8; rename it"
                yield Notice(level="warning", path=str(name), text=text)
                continue
            yield from _file(path, name)
        folders[:] = [name for name in folders if name not in links]
        called += [_name(Path(folder, name), root) for name in folders]
    yield from _hollow(called, seen)


def _name(path: Path, root: Path) -> PurePosixPath:
    return PurePosixPath(_storable(path.relative_to(root).as_posix()))


def _file(path: Path, name: PurePosixPath) -> Iterator[Entry | Notice]:
    if not _notebook(name):
        yield _foreign(name, link=path.is_symlink())
        return
    entry = Entry(name=name, path=str(path), time=path.lstat().st_mtime)
    if path.is_symlink():
        # Not even one that stays inside: it would hand in another student's work.
        yield replace(entry, refusal=_LINK)
        return
    try:
        yield replace(entry, data=_read_file(path))
    except SubmissionError as error:
        yield replace(entry, refusal=error.what)
    except OSError:
        yield replace(entry, refusal="the file can't be opened")


def _encodable(text: str) -> bool:
    return _storable(text) == text


def _storable(text: str) -> str:
    return text.encode("utf-8", "replace").decode().replace("\0", "?")


def _read_file(path: Path) -> bytes:
    if not stat.S_ISREG(path.stat().st_mode):
        raise SubmissionError("this is not a file")
    with path.open("rb") as file:
        return _bounded(file.read(notebook.MAX_BYTES + 1))


def _bounded(data: bytes) -> bytes:
    if len(data) > notebook.MAX_BYTES:
        raise _too_large()
    return data


def _too_large() -> SubmissionError:
    return SubmissionError(
        f"the file has more than {notebook.MAX_BYTES / 1e6:.0f} MB, when unpacked"
    )


def _zip(path: Path) -> Iterator[Entry | Notice]:
    try:
        archive = zipfile.ZipFile(path)
    except Exception as error:  # a damaged one makes the library raise all sorts of things
        raise SetupError("the zip can't be read", where=str(path)) from error
    with archive:
        members = archive.infolist()
        if len(members) > MAX_FILES:
            raise _too_many(path)
        # Of entries with the same name the last one counts, as it does when a zip is unpacked.
        last = {info.filename: info for info in members}
        named = [(last[filename], _member_name(filename)) for filename in sorted(last)]
        for info, name in named:
            if not info.is_dir() and name.parts and not _silent(name):
                yield from _member(archive, info, name, path)
        files = [name for info, name in named if not info.is_dir()]
        folders = {name for info, name in named if info.is_dir() and name.parts}
        folders |= {parent for file in files for parent in file.parents if parent.parts}
        yield from _hollow(sorted(folders), files)


def _member_name(filename: str) -> PurePosixPath:
    return PurePosixPath(_storable(filename.replace("\\", "/")))


def _member(
    archive: zipfile.ZipFile, info: zipfile.ZipInfo, name: PurePosixPath, path: Path
) -> Iterator[Entry | Notice]:
    if name.is_absolute() or ".." in name.parts or name.parts[0][1:2] == ":":
        yield Notice(
            level="warning", path=str(name), text="a path that leads out of the zip; refused"
        )
        return
    if not _notebook(name):
        yield _foreign(name)
        return
    entry = Entry(name=name, path=f"{path}{_MEMBER}{info.filename}", time=_zip_time(info))
    try:
        yield replace(entry, data=_read_member(archive, info))
    except SubmissionError as error:
        yield replace(entry, refusal=error.what)
    except Exception:  # noqa: BLE001  # as above
        yield replace(entry, refusal="the file can't be unpacked: the zip is damaged or encrypted")


def _read_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    if stat.S_ISLNK(info.external_attr >> 16):
        raise SubmissionError(_LINK)
    if info.file_size > notebook.MAX_BYTES:
        raise _too_large()
    with archive.open(info) as file:  # what is declared need not be true
        return _bounded(file.read(notebook.MAX_BYTES + 1))


def _zip_time(info: zipfile.ZipInfo) -> float:
    """The member's time; a zip doesn't say in which zone, so UTC is assumed."""
    try:
        return datetime(*info.date_time, tzinfo=UTC).timestamp()
    except ValueError:
        return 0.0
