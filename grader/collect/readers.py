"""Reads submissions from folders, zips and single notebooks alike."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from grader.collect.archive import MEMBER, members, read_member
from grader.collect.folder import read_file, walk
from grader.collect.found import Budget, Found, Thing, hollow
from grader.collect.names import Remark
from grader.errors import SetupError


def entries(path: Path, budget: Budget) -> Iterator[Found | Remark]:
    """The notebooks in *path* by extension, and remarks on other files; raises SetupError."""
    files: list[PurePosixPath] = []
    folders: list[PurePosixPath] = []
    for thing in _things(path, budget):
        if isinstance(thing, PurePosixPath):
            folders.append(thing)
            continue
        if isinstance(thing, Found):
            files.append(thing.name)
        yield thing
    yield from hollow(folders, files)
    yield from budget.remarks()


def _things(path: Path, budget: Budget) -> Iterator[Thing]:
    if path.is_dir():
        yield from walk(path, budget)
    elif path.is_file() and path.suffix.casefold() == ".ipynb":
        file = path.resolve()
        yield Found(name=PurePosixPath(path.name), path=str(file), time=file.stat().st_mtime)
    elif path.is_file() and zipfile.is_zipfile(path):
        yield from members(path, budget)
    elif path.is_file() and path.suffix.casefold() == ".zip":
        fix = "download it or create it again"
        raise SetupError("the zip is damaged or incomplete", where=str(path), fix=fix)
    elif path.exists():
        raise SetupError(
            "this is not a folder, a zip or a notebook",
            where=str(path),
            fix="give the folder or zip that contains STUDENT.ipynb or STUDENT/*.ipynb",
        )
    else:
        raise SetupError(
            "this path to submissions does not exist",
            where=str(path),
            fix="check the path",
        )


def read(path: str) -> bytes:
    """The bytes of the submission at *path*, as in `Found.path`.

    Raises SubmissionError for errors that the student can correct, and OSError for others.
    """
    at = path.find(MEMBER, 1)
    if at < 0:
        return read_file(Path(path))
    return read_member(Path(path[:at]), path[at + len(MEMBER) :])
