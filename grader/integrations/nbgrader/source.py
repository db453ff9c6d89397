"""Reads the instructor's notebooks of an nbgrader assignment, and stores them with results."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path

from grader import notebook
from grader.errors import SetupError, SubmissionError
from grader.files import write_atomic
from grader.gradebook import Gradebook
from grader.integrations.nbgrader.assignment import (
    Assignment,
    CourseConfig,
    SourceCell,
    SourceNotebook,
)
from grader.integrations.nbgrader.cells import clear_answers, source_cell
from grader.integrations.nbgrader.course import load_course
from grader.notebook import Notebook

FILE = "assignment.json"
"""File with the assignment in a results folder. **Secret**: it contains hidden tests."""

_NOT_COPIED = (".ipynb_checkpoints", "__pycache__")


def load_assignment(path: Path) -> Assignment:
    """Loads the assignment in the folder `source/NAME`, or in one notebook. Raises SetupError."""
    others: dict[str, bytes] = {}
    if path.suffix == ".ipynb":
        files, folder = [path], path.parent
        name = folder.name if folder.parent.name == "source" else path.stem
    else:
        files, folder = sorted(path.glob("*.ipynb")), path
        name = path.resolve().name
        others = dict(_other_files(path))
    if not files or not all(file.is_file() for file in files):
        raise SetupError(
            "there are no source notebooks",
            where=str(path),
            fix="pass the course's folder source/ASSIGNMENT, or one notebook",
        )
    config = load_course(folder)
    notebooks = tuple(_load_notebook(file, config) for file in files)
    if not any(cell.is_marked for each in notebooks for cell in each.cells):
        raise SetupError(
            "no cell of these notebooks is graded by nbgrader",
            where=str(path),
            fix="pass the notebooks in source/, which have nbgrader's metadata",
        )
    return Assignment(name=name, notebooks=notebooks, files=others, config=config)


def _other_files(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Yields the files next to the notebooks, which nbgrader copies to every submission."""
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder)
        if not path.is_file() or path.suffix == ".ipynb" or set(inside.parts) & {*_NOT_COPIED}:
            continue
        yield inside.as_posix(), path.read_bytes()


def _load_notebook(file: Path, config: CourseConfig) -> SourceNotebook:
    """Returns the source notebook in *file*. Raises SetupError if it can't be graded here."""
    where = str(file)
    try:
        parsed = notebook.read(file.read_bytes())
    except SubmissionError as error:
        raise SetupError(error.what, where=where, fix="save it again in Jupyter") from None
    spec = parsed.metadata.get("kernelspec")
    language = spec.get("language", "python") if isinstance(spec, Mapping) else "python"
    if language != "python":
        raise SetupError(
            f"the notebook is in {language}, and only Python is supported",
            where=where,
            fix="grade it with nbgrader",
        )
    cells = tuple(_source_cells(parsed, where, config))
    counts = Counter(cell.grade_id for cell in cells).most_common()
    duplicates = [name for name, count in counts if count > 1]
    if duplicates:
        raise SetupError(
            f"more than one cell has the grade_id '{duplicates[0]}'",
            where=where,
            fix="give every cell a unique grade_id",
        )
    return SourceNotebook(name=file.stem, cells=cells)


def _source_cells(parsed: Notebook, where: str, config: CourseConfig) -> Iterator[SourceCell]:
    """Yields the cells that nbgrader manages, without answers. Raises SetupError for AUTOTEST."""
    for cell in parsed.cells:
        managed = source_cell(cell, where)
        if cell.type == "code" and "AUTOTEST" in cell.source:
            raise SetupError(
                "a cell has '### AUTOTEST', which only nbgrader can expand",
                where=where,
                fix="write the tests out, for example as nbgrader expands them",
            )
        if managed is not None:
            yield clear_answers(managed, where, config)


def release_of(assignment: Assignment) -> str:
    """Returns an identifier of the graded cells, including their points."""
    return hashlib.sha256(_assignment_json(assignment).encode()).hexdigest()[:16]


def files_digest(assignment: Assignment) -> str:
    """Returns a digest of the files next to the notebooks."""
    digests = {name: hashlib.sha256(data).hexdigest() for name, data in assignment.files.items()}
    return hashlib.sha256(json.dumps(digests, sort_keys=True).encode()).hexdigest()


def _assignment_json(assignment: Assignment) -> str:
    """Returns the assignment in the form in which it is stored, without the content of files."""
    plain = {
        "schema": "systems-grader/nbgrader/v1",
        "name": assignment.name,
        "notebooks": [asdict(each) for each in assignment.notebooks],
        "files": sorted(assignment.files),
    }
    return json.dumps(plain, indent=1, sort_keys=True) + "\n"


def store_assignment(book: Gradebook, assignment: Assignment) -> None:
    """Writes the assignment's cells next to the gradebook, so that marks can be explained."""
    data = _assignment_json(assignment).encode()
    write_atomic(book.folder / FILE, data, durable=True, private=True)


def stored_assignment(book: Gradebook) -> Assignment:
    """Returns the assignment in *book*, without files. Raises SetupError if it can't be read."""
    file = book.folder / FILE
    try:
        plain = json.loads(file.read_bytes())
        notebooks = [
            SourceNotebook(
                name=str(each["name"]), cells=tuple(SourceCell(**c) for c in each["cells"])
            )
            for each in plain["notebooks"]
        ]
        return Assignment(name=plain["name"], notebooks=tuple(notebooks))
    except (OSError, ValueError, KeyError, TypeError):
        raise SetupError(
            "the cells of the assignment can't be read",
            where=str(file),
            fix="run `grader grade --format nbgrader` again to restore them",
        ) from None
