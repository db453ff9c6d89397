"""nbgrader's notebooks for tests, and nbgrader itself where it can be had."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from grader import notebook
from grader.files import exclusive_lock
from grader.notebook import Cell

HOME = Path(__file__).resolve().parents[2] / ".bench" / "nbgrader-tests"
REQUIREMENTS = ("nbgrader==0.9.6", "ipykernel==7.4.0")
"""As in benchmarks/peers.py, without torch."""


def a_cell(
    source: str, grade_id: str = "", kind: str = "code", points: float | None = None, **flags: bool
) -> Cell:
    """A cell with nbgrader's metadata, or without when it has no id."""
    metadata: dict[str, Any] = {}
    if grade_id:
        about: dict[str, Any] = {"schema_version": 3, "grade_id": grade_id}
        about |= {name: flags.get(name, False) for name in ("grade", "solution", "locked", "task")}
        if points is not None:
            about["points"] = points
        metadata = {"nbgrader": about}
    return Cell(type=kind, source=source, id="", metadata=metadata)  # type: ignore[arg-type]


def an_answer(source: str, grade_id: str = "answer") -> Cell:
    """An answer that tests judge."""
    return a_cell(source, grade_id, solution=True)


def a_test(source: str, grade_id: str = "tests", points: float = 2.0) -> Cell:
    """A cell of tests."""
    return a_cell(source, grade_id, grade=True, locked=True, points=points)


def written(*cells: Cell) -> bytes:
    """A notebook of these cells."""
    found = [
        Cell(type=c.type, source=c.source, id=f"c{n}", metadata=c.metadata)
        for n, c in enumerate(cells)
    ]
    about = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    return notebook.write(found, about)


def filed(course: Path, students: Mapping[str, bytes], name: str = "p1") -> Path:
    """The folder `submitted` of a course with a notebook of each student for the assignment ps1."""
    for student, data in students.items():
        path = course / "submitted" / student / "ps1" / f"{name}.ipynb"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return course / "submitted"


def sourced(course: Path, *cells: Cell, name: str = "p1") -> Path:
    """The folder of the source of ps1."""
    path = course / "source" / "ps1" / f"{name}.ipynb"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(written(*cells))
    return path.parent


def with_sources(data: bytes, sources: Mapping[str, str]) -> bytes:
    """The notebook with other texts in the cells that have these ids for nbgrader."""
    tree = json.loads(data)
    left = set(sources)
    for cell in tree["cells"]:
        name = cell["metadata"].get("nbgrader", {}).get("grade_id")
        if name in left:
            cell["source"] = sources[name]
            left.discard(name)
    assert not left, left
    return json.dumps(tree).encode()


class Nbgrader:
    """nbgrader's commands, in an environment of its own."""

    def __init__(self, home: Path):
        self.bin = home / ("Scripts" if sys.platform == "win32" else "bin")

    def run(self, course: Path, *arguments: str) -> str:
        """What a command said; fails when it failed."""
        done = self.tried(course, *arguments)
        assert done.returncode == 0, done.stderr[-3000:]
        return done.stdout + done.stderr

    def tried(self, course: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
        """How a command went."""
        path = os.pathsep.join((str(self.bin), os.environ.get("PATH", os.defpath)))
        return subprocess.run(
            [str(self.bin / "nbgrader"), *arguments],
            cwd=course, capture_output=True, text=True, check=False,
            env={**os.environ, "PATH": path, "PYTHONHASHSEED": "0"},
        )  # fmt: skip

    def python(self, code: str, *arguments: str) -> object:
        """The JSON that *code* printed, run by the interpreter that has nbgrader."""
        done = subprocess.run(
            [str(self.bin / "python"), "-W", "ignore", "-c", code, *arguments],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr[-3000:]
        return json.loads(done.stdout)

    def marks(self, course: Path, assignment: str) -> dict[str, dict[str, list[object]]]:
        """By student and cell: what the tests gave, and whether a person is to look at it."""
        found = self.python(_MARKS, str(course / "gradebook.db"), assignment)
        assert isinstance(found, dict)
        return found

    @property
    def tests(self) -> Path:
        """Its own tests' notebooks."""
        where = self.python("import json, nbgrader; print(json.dumps(nbgrader.__file__))")
        return Path(str(where)).parent / "tests"


_MARKS = """
import json, sys
from nbgrader.api import Gradebook
with Gradebook("sqlite:///" + sys.argv[1]) as book:
    print(json.dumps({
        s.student.id: {
            g.cell.name: [g.auto_score, g.needs_manual_grade]
            for n in s.notebooks for g in n.grades
        }
        for s in book.assignment_submissions(sys.argv[2])
    }))
"""


@lru_cache(maxsize=1)
def nbgrader() -> Nbgrader:
    """nbgrader; skips the test where it is not there and can't be installed."""
    given = os.environ.get("GRADER_TEST_NBGRADER")
    if given:
        return Nbgrader(Path(given))
    HOME.parent.mkdir(exist_ok=True)
    with exclusive_lock(HOME.parent, wait=600.0):  # test processes that start together share it
        _install()
    return Nbgrader(HOME)


def _install() -> None:
    done, wanted = HOME / ".installed", "\n".join(REQUIREMENTS)
    if done.exists() and done.read_text() == wanted:
        return
    pip = [str(Nbgrader(HOME).bin / "python"), "-m", "pip", "install", "--quiet"]
    for command in ([sys.executable, "-m", "venv", "--clear", str(HOME)], [*pip, *REQUIREMENTS]):
        made = subprocess.run(command, capture_output=True, text=True, check=False)
        if made.returncode:
            last = (made.stderr.strip().splitlines() or ["no message"])[-1]
            pytest.skip(f"nbgrader can't be installed here: {last}")
    done.write_text(wanted)
