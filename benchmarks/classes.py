"""Makes a class: one release, the notebooks that came back, and the same for nbgrader and Otter.

Everybody grades the same code. The other graders' notebooks are ours with a cell that holds the
student's numbers, and their tests compare the same variables with keys over those numbers.
"""

# mypy: disallow-untyped-calls=False, warn-return-any=False

from __future__ import annotations

import ast
import json
import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import nbformat
from exam import ANSWERS, IMPORTS, POINTS, Answer, Given, judge
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from grader import units
from grader.bank.folders import Bank
from grader.draw import paper
from grader.model import Paper, Student
from grader.notebook import Cell, write
from grader.notebook.render import metadata, render, solution
from grader.release.rendering import make_release
from grader.units.quantity import Quantity

BANK = Path(__file__).parent / "bank"
SET = "lab"
ASSIGNMENT = "exam"

_WRONG, _BROKEN = 0.25, 0.05
_TEST = "test-"
"""How the ids of nbgrader's test cells begin."""


@dataclass(frozen=True)
class Class:
    """A folder with everything that the contenders need for one class."""

    folder: Path
    size: int

    @property
    def release(self) -> Path:
        """Our release."""
        return self.folder / "release" / "release.json"

    @property
    def submissions(self) -> Path:
        """`STUDENT.ipynb` as our students hand it in; what plain runners run, too."""
        return self.folder / "submissions"

    @property
    def nbgrader(self) -> Path:
        """A course folder with `source/` and `submitted/`, before `generate_assignment`."""
        return self.folder / "nbgrader"

    @property
    def otter(self) -> Path:
        """`tests/` and `submissions/`."""
        return self.folder / "otter"

    def truth(self) -> dict[str, dict[str, int]]:
        """Student to answer to the points that it must earn."""
        return json.loads((self.folder / "truth.json").read_text())

    def given(self) -> dict[str, Given]:
        """Student to the numbers on the paper."""
        return json.loads((self.folder / "given.json").read_text())


def make_class(size: int, folder: Path) -> Class:
    """A class of *size* in *folder*; the one that is there already if it is complete."""
    made = Class(folder, size)
    if (folder / "truth.json").exists():
        return made
    bank = Bank.open([BANK])
    students = tuple(Student(id=f"s{number:03d}") for number in range(1, size + 1))
    release = make_release(bank, SET, students, folder / "release", "benchmark").release
    truth: dict[str, dict[str, int]] = {}
    numbers: dict[str, Given] = {}
    for index, student in enumerate(students):
        mine = paper(release, student)
        given = numbers[student.id] = _given(mine)
        _check_keys(mine, given)
        work, truth[student.id] = _work(index, given)
        cells = _cells(mine, bank, work)
        _save(made.submissions / f"{student.id}.ipynb", write(cells, metadata(mine)))
        theirs = _with_tests(cells, given)
        _save(made.nbgrader / "submitted" / student.id / ASSIGNMENT / "lab.ipynb", theirs)
        _save(made.otter / "submissions" / f"{student.id}.ipynb", _with_numbers(cells, given))
        if index == 0:
            _save(made.nbgrader / "source" / ASSIGNMENT / "lab.ipynb", theirs)
    _save(made.nbgrader / "nbgrader_config.py", b"c = get_config()\n")
    for answer in ANSWERS:
        _save(made.otter / "tests" / f"{answer.name}.py", _otter_test(answer).encode())
    _save(folder / "given.json", json.dumps(numbers).encode())
    _save(folder / "truth.json", json.dumps(truth).encode())
    return made


def _save(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def _given(mine: Paper) -> Given:
    def plain(value: Any) -> Any:
        return units.magnitude(value, value.unit or "") if isinstance(value, Quantity) else value

    return {
        f"q{q.number}": {name: plain(value) for name, value in q.variant.draw.parameters.items()}
        for q in mine.questions
    }


def _check_keys(mine: Paper, given: Given) -> None:
    """That the keys of the peers' tests are those of our specs."""
    right = {name: ast.literal_eval(text) for name, text in solution(mine).items()}
    marks = judge(right, given)
    if marks != dict(POINTS):
        wrong = [name for name in POINTS if marks.get(name) != POINTS[name]]
        raise SystemExit(f"benchmarks/exam.py and the bank disagree about {', '.join(wrong)}")


def _work(index: int, given: Given) -> tuple[dict[str, str], dict[str, int]]:
    """What one student writes into each answer cell, and what it earns."""
    dice = random.Random(index)
    work, marks = {}, {}
    for answer in ANSWERS:
        luck = dice.random() if index else 1.0  # the first one has everything right
        if luck < _BROKEN:
            work[answer.name] = answer.broken(given)
        else:
            work[answer.name] = answer.code(given, right=luck >= _BROKEN + _WRONG)
        marks[answer.name] = answer.points if luck >= _BROKEN + _WRONG else 0
    return work, marks


def _cells(mine: Paper, bank: Bank, work: Mapping[str, str]) -> tuple[Cell, ...]:
    cells = []
    by_id = {name.replace("_", "-"): name for name in work}
    for cell in render(mine, bank.templates):
        name = by_id.get(cell.id)
        if name is not None:
            comment = cell.source.splitlines()[0]
            cell = replace(cell, source=f"{comment}\n{work[name]}")  # noqa: PLW2901
        cells.append(cell)
    cells.insert(1, Cell(type="code", id="imports", source=IMPORTS))
    return tuple(cells)


def _numbers(given: Given) -> Cell:
    return Cell(type="code", id="given", source=f"given = {json.dumps(given, indent=1)}")


def _with_numbers(cells: tuple[Cell, ...], given: Given) -> bytes:
    """For Otter, which keeps its tests in files of their own."""
    return _notebook([_node(c) for c in (*cells[:2], _numbers(given), *cells[2:])])


def _with_tests(cells: tuple[Cell, ...], given: Given) -> bytes:
    """For nbgrader, which has a locked test cell after each answer."""
    nodes = []
    answers = {a.name.replace("_", "-"): a for a in ANSWERS}
    for cell in (*cells[:2], _numbers(given), *cells[2:]):
        node = _node(cell)
        nodes.append(node)
        if cell.id in answers:
            answer = answers[cell.id]
            node.metadata["nbgrader"] = _mark(cell.id, solution=True)
            source = f"### BEGIN HIDDEN TESTS\n{answer.test}\n### END HIDDEN TESTS"
            test = new_code_cell(source, id=_TEST + cell.id)
            test.metadata["nbgrader"] = _mark(_TEST + cell.id, points=answer.points)
            nodes.append(test)
    return _notebook(nodes)


def _mark(cell: str, *, solution: bool = False, points: int | None = None) -> dict[str, object]:
    marked: dict[str, object] = {
        "grade": not solution,
        "grade_id": cell,
        "locked": not solution,
        "schema_version": 3,
        "solution": solution,
        "task": False,
    }
    return marked if points is None else {**marked, "points": points}


def _node(cell: Cell) -> NotebookNode:
    new = new_code_cell if cell.type == "code" else new_markdown_cell
    return new(cell.source, id=cell.id)


def _notebook(nodes: list[NotebookNode]) -> bytes:
    spec = {"display_name": "Python 3", "language": "python", "name": "python3"}
    book = new_notebook(cells=nodes, metadata={"kernelspec": spec})
    return nbformat.writes(book).encode()


def _otter_test(answer: Answer) -> str:
    case = {"code": f">>> {answer.test}\n", "hidden": True, "locked": False}
    suite = {"cases": [case], "scored": True, "setup": "", "teardown": "", "type": "doctest"}
    test = {"name": answer.name, "points": answer.points, "suites": [suite]}
    return f"OK_FORMAT = True\n\ntest = {test!r}\n"
