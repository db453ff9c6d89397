"""Lists and reads the files in a folder without following links or blocking."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from grader import notebook
from grader.collect.entries import (
    Entry,
    FileQuota,
    NotebookFile,
    error_sentence,
    file_type_error,
    ignored_file_remark,
    is_ignored,
    is_notebook,
    is_too_long,
    link_error,
    make_remark,
    storable,
)

# A link or pipe that appears at the last moment must not be followed or waited for.
_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_BINARY", 0)
)


def iter_folder(root: Path, budget: FileQuota) -> Iterator[Entry]:
    """Yields everything under *root*, folder by folder, sorted by name."""
    waiting = [root]
    while waiting:
        folder = waiting.pop()
        name = _relative_name(folder, root)
        if is_too_long(name):
            budget.record_unexamined(name / "x", "a folder is nested too deeply")
            yield make_remark("warning", name, "not searched: the path is too long or too deep")
            continue
        try:
            listed = sorted(_scan_folder(folder, root, budget), key=lambda entry: entry.name)
        except OSError as error:
            reason = (error.strerror or "it no longer exists").lower()
            yield make_remark("warning", name, f"the folder can't be opened: {reason}")
            continue
        for entry in listed:
            if not entry.is_dir(follow_symlinks=False):
                yield _file_entry(entry, _relative_name(Path(entry.path), root))
        folders = [Path(e.path) for e in listed if e.is_dir(follow_symlinks=False)]
        waiting += reversed(folders)


def _scan_folder(folder: Path, root: Path, budget: FileQuota) -> Iterator[os.DirEntry[str]]:
    """Yields what is in *folder*, except ignored names, up to the student's limit."""
    with os.scandir(folder) as entries:
        for entry in entries:
            name = _relative_name(Path(entry.path), root)
            admitted = budget.admit(name)
            if admitted and not is_ignored(name):
                yield entry
            if not admitted and budget.is_used_up(name.parent):
                return


def _relative_name(path: Path, root: Path) -> PurePosixPath:
    return PurePosixPath(storable(path.relative_to(root).as_posix()))


def _file_entry(entry: os.DirEntry[str], name: PurePosixPath) -> Entry:
    """Returns the notebook *entry*, or a remark on why the file is not read."""
    link = entry.is_symlink()
    if storable(entry.path) != entry.path:
        return make_remark("warning", name, "the file's name is not UTF-8; rename it")
    if not is_notebook(name):
        if link:
            return make_remark("warning", name, "symbolic link, not followed")
        return ignored_file_remark(name, entry.path)
    try:
        time = entry.stat(follow_symlinks=False).st_mtime
    except OSError:  # it was removed; reading it will report that
        time = 0.0
    refusal = error_sentence(link_error()) if link else None
    return NotebookFile(name=name, path=entry.path, time=time, refusal=refusal)


def read_file(path: Path) -> bytes:
    """Returns the bytes of a regular file. Raises SubmissionError or OSError."""
    if not stat.S_ISREG(path.lstat().st_mode):  # just opening a device may have side effects
        raise file_type_error()
    with os.fdopen(os.open(path, _FLAGS), "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise file_type_error()
        data = file.read(notebook.MAX_BYTES + 1)
    if len(data) > notebook.MAX_BYTES:
        raise notebook.too_large_error(max(status.st_size, len(data)))
    return data
