"""Reads submissions from folders, zips, and single notebooks alike."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from grader.collect.archive import MEMBER, iter_members, read_member
from grader.collect.entries import Entry, FileQuota, NotebookFile
from grader.collect.folder import iter_folder, read_file
from grader.errors import SetupError


def iter_entries(path: Path, budget: FileQuota) -> Iterator[Entry]:
    """Yields the notebooks in *path* and remarks on other files."""
    yield from _iter_path(path, budget)
    yield from budget.overflow_remarks()


def _iter_path(path: Path, budget: FileQuota) -> Iterator[Entry]:
    """Yields everything in the folder, zip, or notebook *path*. Raises SetupError otherwise."""
    if path.is_dir():
        yield from iter_folder(path, budget)
    elif path.is_file() and path.suffix.casefold() == ".ipynb":
        file = path.resolve()
        yield NotebookFile(name=PurePosixPath(path.name), path=str(file), time=file.stat().st_mtime)
    elif path.is_file() and (zipfile.is_zipfile(path) or path.suffix.casefold() == ".zip"):
        yield from iter_members(path, budget)
    elif path.exists():
        raise SetupError(
            "this is not a folder, a zip, or a notebook",
            where=str(path),
            fix="give the folder or zip that contains STUDENT.ipynb or STUDENT/*.ipynb",
        )
    else:
        raise SetupError(
            "this path to submissions does not exist", where=str(path), fix="check the path"
        )


def read_submission(path: str) -> bytes:
    """Returns the bytes of the submission at *path*, as in `NotebookFile.path`."""
    at = path.find(MEMBER, 1)
    if at < 0:
        return read_file(Path(path))
    return read_member(Path(path[:at]), path[at + len(MEMBER) :])
