"""Lists everything to search in a folder: files, names, links, and git history."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

from grader.security.leaks.history import History
from grader.security.leaks.records import LATE, Budget, Piece

_MOST_NAMES = 4_000_000
"""Characters read of the file names in one folder."""
_MOST_OF_LINK = 4096
"""Bytes read of a file that names a repository."""
# Files that git itself reads; anything else in a repository's `objects` is an ordinary file.
_LOOSE = re.compile(r"[0-9a-f]{2}/[0-9a-f]{38}(?:[0-9a-f]{24})?")
_PACKED = re.compile(r"(pack/pack-[0-9a-f]{40,64})\.(?:pack|idx|rev|bitmap|mtimes)")
_PACK = (".pack", ".idx")


class Surface:
    """One folder, read once; its links are not followed, and nothing in it is run or trusted."""

    def __init__(self, folder: Path, budget: Budget):
        self._folder = folder
        self._budget = budget
        self.files = 0
        self.histories: list[History] = []

    def pieces(self) -> Iterator[Piece]:
        """Every file's bytes and name, and every object of every repository in the folder."""
        waiting: list[tuple[Path, Path | None]] = [(self._folder, None)]
        while waiting:
            here, objects = waiting.pop()
            entries = self._listed(here)
            if _is_repository(here, entries):
                yield from self._history(here)
                objects = here / "objects"
            waiting += [(Path(e.path), objects) for e in entries if _is_folder(e)]
            if objects is not None:
                entries = [e for e in entries if not _is_read_by_git(Path(e.path), objects)]
            for entry in entries:
                if self._budget.late:
                    self._budget.skip(self._name(here), LATE)
                    return
                yield from self._entry(entry)

    def _listed(self, folder: Path) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(folder) as entries:
                return sorted(entries, key=lambda e: e.name)
        except OSError as error:
            self._budget.skip(self._name(folder), (error.strerror or "it can't be read").lower())
            return []

    def _entry(self, entry: os.DirEntry[str]) -> Iterator[Piece]:
        path = self._name(Path(entry.path))
        if not self._budget.entry(path):
            return
        yield Piece(path=path, data=_bytes(path), is_name=True)
        try:
            if entry.is_symlink():
                target = str(Path(entry.path).readlink())
                yield Piece(path=path, data=_bytes(target), is_name=True)
                return
            if entry.is_dir(follow_symlinks=False):
                return
            if entry.is_file(follow_symlinks=False):
                self.files += 1
                yield from self._file(path, Path(entry.path))
                if entry.name == ".git":
                    yield from self._linked(Path(entry.path))
        except OSError as error:
            self._budget.skip(path, (error.strerror or "it can't be read").lower())

    def _file(self, path: str, file: Path) -> Iterator[Piece]:
        most = self._budget.bounds.file_bytes
        # If the entry has since become a pipe or device, opening it must not block forever.
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        descriptor = os.open(file, flags | getattr(os, "O_BINARY", 0))
        with os.fdopen(descriptor, "rb") as stream:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return
            data = stream.read(most + 1)
        if len(data) > most:
            self._budget.skip(path, f"it has more than {most} bytes; the rest was not searched")
        yield Piece(path=path, data=data[:most])

    def _linked(self, file: Path) -> Iterator[Piece]:
        """The history of a work tree whose repository is elsewhere."""
        where = _named(file.parent, file)
        if (where / "commondir").is_file():
            where = _named(where, where / "commondir")
        inside = where.is_relative_to(self._folder.resolve())
        if file.parent != self._folder and not inside:
            self._budget.skip(self._name(file), "it names a repository outside of the folder")
        elif not inside:  # the folder itself is a work tree; repositories inside are found anyway
            yield from self._history(where)

    def _history(self, repository: Path) -> Iterator[Piece]:
        name = self._name(repository)
        name = "" if name in {".git", "."} or not _inside(repository, self._folder) else name
        history = History(repository, name.removesuffix("/.git"), self._budget)
        self.histories.append(history)
        yield from history.pieces()

    def _name(self, path: Path) -> str:
        if not _inside(path, self._folder):
            return path.name
        return path.relative_to(self._folder).as_posix()


def _named(folder: Path, file: Path) -> Path:
    """The path in *file*, relative to *folder*."""
    with file.open("rb") as stream:
        text = stream.read(_MOST_OF_LINK).decode("utf-8", "surrogateescape")
    return (folder / text.removeprefix("gitdir:").strip().replace("\0", "")).resolve()


def _is_read_by_git(path: Path, objects: Path) -> bool:
    """Whether git reads this file in *objects*, so that the history includes its contents."""
    if not path.is_relative_to(objects):
        return False
    name = path.relative_to(objects).as_posix()
    packed = _PACKED.fullmatch(name)
    # Git ignores a pack without its index.
    known = packed is not None and all((objects / f"{packed[1]}{e}").is_file() for e in _PACK)
    return known or _LOOSE.fullmatch(name) is not None


def _inside(path: Path, folder: Path) -> bool:
    return path.is_relative_to(folder)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


def _is_repository(here: Path, entries: list[os.DirEntry[str]]) -> bool:
    names = {e.name for e in entries if _is_folder(e)}
    return {"objects", "refs"} <= names and (here / "HEAD").is_file()


def _bytes(name: str) -> bytes:
    return os.fsencode(name)
