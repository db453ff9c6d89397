"""Lists everything to search in a folder: files, names, and git history."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from grader.security.leaks.history import GitObjects
from grader.security.leaks.records import LATE, Piece, SearchBudget


class FolderScan:
    """A folder to search; links in it are not followed, and nothing in it is run."""

    def __init__(self, folder: Path, budget: SearchBudget):
        self._folder = folder
        self._budget = budget
        self.files = 0
        self.histories: list[GitObjects] = []

    def pieces(self) -> Iterator[Piece]:
        """Yields every file's bytes and name, and every object of every repository."""
        waiting = [self._folder]
        while waiting:
            here = waiting.pop()
            entries = self._list_entries(here)
            folders = [e for e in entries if e.is_dir(follow_symlinks=False)]
            if {"objects", "refs"} <= {e.name for e in folders} and (here / "HEAD").is_file():
                name = self._relative_name(here).removesuffix("/.git")
                self.histories.append(
                    GitObjects(here, "" if name in {".", ".git"} else name, self._budget)
                )
                yield from self.histories[-1].pieces()
                folders = [e for e in folders if e.name != "objects"]
            waiting += [Path(e.path) for e in folders]
            for entry in entries:
                if self._budget.is_late:
                    self._budget.skip(self._relative_name(here), LATE)
                    return
                yield from self._entry_pieces(entry)

    def _list_entries(self, folder: Path) -> list[os.DirEntry[str]]:
        """Returns the entries by name; empty if the folder can't be read."""
        try:
            with os.scandir(folder) as entries:
                return sorted(entries, key=lambda e: e.name)
        except OSError as error:
            self._skip(folder, error)
            return []

    def _entry_pieces(self, entry: os.DirEntry[str]) -> Iterator[Piece]:
        """Yields the path of *entry* and, if it is a regular file, its contents."""
        path = self._relative_name(Path(entry.path))
        if not self._budget.count_entry(path):
            return
        yield Piece(path=path, data=os.fsencode(path), is_name=True)
        try:
            if not entry.is_file(follow_symlinks=False):
                return
            self.files += 1
            data = self._read_file(path, Path(entry.path))
        except OSError as error:
            self._skip(Path(entry.path), error)
            return
        yield Piece(path=path, data=data)
        if entry.name == ".git" and not self._is_inner_repository(Path(entry.path).parent, data):
            why = "it names a repository outside of the folder; search that one, too"
            self._budget.skip(path, why)

    def _read_file(self, path: str, file: Path) -> bytes:
        """Returns the start of *file*, up to the size limit; empty unless it is a regular file."""
        most = self._budget.bounds.file_bytes
        # If the entry has since become a pipe or device, opening it must not block forever.
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        descriptor = os.open(file, flags | getattr(os, "O_BINARY", 0))
        with os.fdopen(descriptor, "rb") as stream:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return b""
            data = stream.read(most + 1)
        if len(data) > most:
            self._budget.skip(path, f"it has more than {most} bytes; the rest was not searched")
        return data[:most]

    def _is_inner_repository(self, here: Path, data: bytes) -> bool:
        """Returns whether *data*, of a `.git` file in *here*, names a repository in the folder,
        such as that of a submodule."""
        name = os.fsdecode(data[:4096]).removeprefix("gitdir:").strip().replace("\0", "")
        target = os.path.realpath(here / name)  # unlike `resolve`, never raises for a loop of links
        return Path(target).is_relative_to(self._folder.resolve())

    def _skip(self, path: Path, error: OSError) -> None:
        self._budget.skip(self._relative_name(path), (error.strerror or "it can't be read").lower())

    def _relative_name(self, path: Path) -> str:
        return path.relative_to(self._folder).as_posix()
