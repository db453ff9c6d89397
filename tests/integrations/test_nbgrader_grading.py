"""An assignment of nbgrader graded here: what is overwritten, the rule, and the results folder."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from grader.cli import grader
from grader.errors import SetupError
from grader.gradebook import Gradebook
from grader.grading.batch import execute_all, refused_evidence
from grader.grading.settings import Settings
from grader.integrations.nbgrader import grading
from grader.integrations.nbgrader.assignment import SourceCell, SourceNotebook
from grader.integrations.nbgrader.cells import cell_checksum, clear_answers, released_cell
from grader.integrations.nbgrader.collecting import collect_assignment
from grader.integrations.nbgrader.marks import UndecidedError, earned_points
from grader.integrations.nbgrader.overlay import NotebookOverlay, is_untouched
from grader.integrations.nbgrader.source import load_assignment
from grader.model import Submission
from tests.helpers.nbgrader import a_cell, a_test, an_answer, filed, sourced, written

SUM = "### BEGIN SOLUTION\ndef add(a, b):\n    return a + b\n### END SOLUTION"
TEST = "assert add(1, 2) == 3\n### BEGIN HIDDEN TESTS\nassert add(-1, 1) == 0\n### END HIDDEN TESTS"
ESSAY: dict[str, Any] = {"kind": "markdown", "grade": True, "solution": True, "points": 3.0}


def graded(course: Path, *options: str) -> dict[str, dict[str, Any]]:
    """By student what `grader grade --format nbgrader` wrote."""
    out = course / "results"
    done = CliRunner().invoke(
        grader,
        ["grade", str(course / "submitted"), "--format", "nbgrader", "--out", str(out),
         "--source", str(course / "source" / "ps1"), "--jobs", "1", *options],
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    found = sorted((out / "grades").glob("*.json"))
    return {path.stem: json.loads(path.read_text("utf-8")) for path in found}


def points(grade: dict[str, Any]) -> dict[str, float | None]:
    marks = grade["marks"]
    assert isinstance(marks, list)
    return {mark["name"]: mark["points"] for mark in marks}


# The rule


@pytest.mark.parametrize(
    ("outputs", "points"),
    [
        ([], 4.0),
        ([["result", "1.5"]], 1.5),
        ([["result", "0"]], 0.0),
        ([["result", "1_0e-1"]], 1.0),
        ([["result", "np.float64(0.5)"]], 4.0),
        ([["result", "True"]], 4.0),
        ([["result", "-1"]], 4.0),
        ([["result", "nan"]], 4.0),
        ([["error"]], 0.0),
        ([["stderr"], ["result", "4"]], 0.0),
        ([["result", "1"], ["stderr"]], 1.0),
        ([["result", "1"], ["result", "3"]], 1.0),
    ],
)
def test_the_first_output_that_counts_decides(outputs: list[list[str]], points: float) -> None:
    assert earned_points(outputs, 4.0) == points


@pytest.mark.parametrize("text", ["4.01", "inf", ""])
def test_where_nbgrader_would_stop_nothing_is_decided(text: str) -> None:
    with pytest.raises(UndecidedError):
        earned_points([["result", text]], 4.0)


# Cells


def a_source_cell(**changes: Any) -> SourceCell:
    whole: dict[str, Any] = {"grade_id": "t", "type": "code", "source": "1 + 1", **changes}
    return SourceCell(**whole)


def test_checksums_are_those_of_nbgrader() -> None:
    # As nbgrader 0.9.6 computed it.
    cell = a_source_cell(grade=True, locked=True, points=1)
    assert cell_checksum(cell) == "67670d449c03f107bfe1f6bc4bc56ff7"
    assert cell_checksum(a_source_cell(solution=True)) != cell_checksum(a_source_cell(locked=True))
    assert cell_checksum(cell) == cell_checksum(a_source_cell(grade=True, points=1.0))


def test_solutions_and_hidden_tests_are_cleared_as_nbgrader_does() -> None:
    source = "def f():\n    ### BEGIN SOLUTION\n    return 1\n    ### END SOLUTION\n"
    kept = clear_answers(a_source_cell(solution=True, source=source)).source
    assert kept == "def f():\n    # YOUR CODE HERE\n    raise NotImplementedError()\n"
    assert clear_answers(a_source_cell(solution=True)).source.startswith("# YOUR CODE HERE")
    text = a_source_cell(type="markdown", solution=True, grade=True, source="mine")
    assert clear_answers(text).source == "YOUR ANSWER HERE"
    hidden = clear_answers(a_source_cell(grade=True, source=TEST))
    assert "add(-1, 1)" in hidden.source
    assert released_cell(hidden).source == "assert add(1, 2) == 3"
    with pytest.raises(SetupError, match="no end"):
        released_cell(a_source_cell(source="### BEGIN HIDDEN TESTS"))
    with pytest.raises(SetupError, match="is not an answer cell"):
        clear_answers(a_source_cell(locked=True, source=SUM))


def test_locked_cells_come_from_the_source_and_the_last_of_two_counts() -> None:
    source = SourceNotebook(
        name="p1",
        cells=(
            a_source_cell(grade_id="answer", solution=True, source="stub"),
            a_source_cell(grade_id="tests", grade=True, points=1.0, source="assert right"),
            a_source_cell(grade_id="gone", grade=True, points=1.0, source="assert right"),
        ),
    )
    mine = (
        an_answer("first"),
        a_test("assert True"),
        an_answer("second"),
        a_cell("assert True", "tests", kind="markdown", points=100.0),
        a_cell("own", "unknown", grade=True, points=5.0),
    )
    overlay = NotebookOverlay(source)
    cells = overlay.apply(mine)
    assert [cell.source for cell in cells] == [
        "first", "assert True", "second", "assert right", "own",
    ]  # fmt: skip
    assert cells[3].type == "code"
    assert overlay.places(cells) == {"answer": 2, "tests": 3}
    assert is_untouched(source.cells[0], "stub")
    assert not is_untouched(source.cells[0], "stub ")


# Sources and submissions


@pytest.mark.parametrize(
    ("cells", "what"),
    [
        ([an_answer("x")], "no cell of these notebooks is graded by nbgrader"),
        ([a_test("1"), a_test("2")], "more than one cell has the grade_id 'tests'"),
        ([a_test("### AUTOTEST f(1)")], "AUTOTEST"),
        ([a_cell("x", "a b", grade=True, points=1.0)], "odd grade_id"),
        ([a_cell("x", "t", grade=True, points=-1.0)], "is worth -1.0 points"),
        ([a_cell("x", "t", grade=True, points=10**400)], "is worth 1000"),
    ],
)
def test_a_source_that_nbgrader_would_not_take_is_refused(
    tmp_path: Path, cells: list[object], what: str
) -> None:
    with pytest.raises(SetupError, match=what):
        load_assignment(sourced(tmp_path, *cells))  # type: ignore[arg-type]


def test_checkpoints_are_no_files_beside_the_notebooks(tmp_path: Path) -> None:
    folder = sourced(tmp_path, an_answer(SUM), a_test(TEST))
    (folder / ".ipynb_checkpoints").mkdir()
    (folder / ".ipynb_checkpoints" / "n.txt").touch()
    (folder / "n.txt").write_text("7")
    assert load_assignment(folder).files == {"n.txt": b"7"}


def test_submissions_are_found_however_they_were_filed(tmp_path: Path) -> None:
    data = written(a_test("1"))
    for path in (
        "submitted/ada/ps1/p1.ipynb",
        "submitted/ada/ps1/timestamp.txt",
        "submitted/ada/ps2/p1.ipynb",
        "submitted/bob/p1.ipynb",
        "submitted/bob/scratch.ipynb",
        "submitted/cy.ipynb",
        "submitted/dan/ps1/other.ipynb",
    ):
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    for root in (tmp_path, tmp_path / "submitted"):
        found = collect_assignment(root, "ps1", ["p1"])
        assert sorted(found.submissions) == ["ada", "bob", "cy"]
        assert all(Path(f["p1"].path).name in ("p1.ipynb", "cy.ipynb")
                   for f in found.submissions.values())  # fmt: skip
        assert [n.path for n in found.notices if "no notebook 'other'" in n.text]
        assert not [n for n in found.notices if "ps2" in n.path or "timestamp" in n.path]


def test_files_of_a_student_without_the_notebook_are_warnings(tmp_path: Path) -> None:
    for name in ("ada/ps1/ps1.ipynb", "ada/ps1/x.pdf", "bo/ps1/ps1 (1).ipynb", "cy/ps1/ps1.docx"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(written(a_test("1")))
    found = collect_assignment(tmp_path, "ps1", ["ps1"])
    assert list(found.submissions) == ["ada"]
    assert {n.path: n.level for n in found.notices} == {
        "ada/ps1/x.pdf": "info",
        "bo/ps1/ps1 (1).ipynb": "warning",
        "cy/ps1/ps1.docx": "warning",
    }


# Grading


def test_an_assignment_is_graded_by_its_own_tests(tmp_path: Path) -> None:
    essay = a_cell("### BEGIN SOLUTION\nkey\n### END SOLUTION", "essay", **ESSAY)
    sourced(
        tmp_path,
        an_answer(SUM),
        a_test(TEST),
        a_test("import os\nassert os.environ['NBGRADER_EXECUTION'] == 'autograde'\n"
               "open('data/n.txt').read()\n0.5", "env", 1.0),
        a_test("import sys; sys.stderr.write('careful')", "warns", 1.0),
        a_test("2.5", "much", 2.0),
        essay,
        a_cell("Draw.", "task", kind="markdown", task=True, locked=True, points=4.0),
    )  # fmt: skip
    (tmp_path / "source/ps1/data").mkdir()
    (tmp_path / "source/ps1/data/n.txt").write_text("7")

    def handed_in(code: str, text: str, *others: object) -> bytes:
        return written(
            an_answer(code),
            a_test("assert True  # edited"),
            a_test("3", "env", 100.0),
            a_test("pass", "warns"),
            a_test("2.5", "much"),
            a_cell(text, "essay", **ESSAY),
            *others,  # type: ignore[arg-type]
        )

    filed(
        tmp_path,
        {
            "ada": handed_in("add = lambda a, b: a + b", "Because."),
            "bob": handed_in("add = lambda a, b: 3", "YOUR ANSWER HERE"),
            "cy": b"no notebook",
            "dan": handed_in("import os\ndef add(a, b): os._exit(1)", "Because."),
        },
    )
    found = graded(tmp_path)
    assert points(found["ada"]) == {
        "tests": 2.0, "env": 0.5, "warns": 0.0, "much": None, "essay": None, "task": None,
    }  # fmt: skip
    assert points(found["bob"])["tests"] == 0.0
    assert points(found["bob"])["essay"] == 0.0
    assert set(points(found["cy"]).values()) == {None}
    assert points(found["dan"])["tests"] == 0.0, "what ends its kernel costs its own cell"
    assert points(found["dan"])["env"] == 0.5
    assert found["ada"]["max_score"] == 13.0
    assert not found["ada"]["complete"]
    assert found["ada"]["set"] == "ps1"
    page = (tmp_path / "results/feedback/bob.html").read_text("utf-8")
    assert "AssertionError" in page
    assert "add(-1, 1)" not in page
    csv = (tmp_path / "results/grades.csv").read_text("utf-8").splitlines()
    assert csv[0] == "student,total,max,tests,env,warns,much,essay,task,standing"
    assert csv[1] == "ada,2.5,13,2,0.5,0,,,,graded"


def test_what_was_run_is_kept_when_points_change_and_run_again_when_tests_do(
    tmp_path: Path,
) -> None:
    sourced(tmp_path, an_answer(SUM), a_test(TEST))
    filed(tmp_path, {"ada": written(an_answer("add = max"), a_test(TEST))})
    assert graded(tmp_path)["ada"]["score"] == 0.0

    def executed() -> int:
        with Gradebook.open(tmp_path / "results") as book:
            return sum(line.what == "submission executed" for line in book.audit())

    assert executed() == 1
    sourced(tmp_path, an_answer(SUM), a_test(TEST, points=5.0))
    assert graded(tmp_path)["ada"]["max_score"] == 5.0
    assert executed() == 1
    sourced(tmp_path, an_answer(SUM), a_test("assert add(1, 2) == 2", points=5.0))
    assert graded(tmp_path)["ada"]["score"] == 5.0
    assert executed() == 2


def test_points_by_hand_exports_and_reports_work_and_scoring_again_is_refused(
    tmp_path: Path,
) -> None:
    sourced(tmp_path, a_cell("key", "essay", **ESSAY), a_test("pass"))
    filed(tmp_path, {"ada": written(a_cell("mine", "essay", **ESSAY), a_test("pass"))})
    graded(tmp_path)
    results = str(tmp_path / "results")
    runner = CliRunner()
    waiting = json.loads(runner.invoke(grader, ["mark", results, "--json"]).output)
    assert waiting == [{"student": "ada", "answer": "essay", "points": "3", "text": "mine"}]
    options = ["--student", "ada", "--answer", "essay", "--points", "2.5", "--why", "good"]
    assert "4.5 of 5" in runner.invoke(grader, ["mark", results, *options]).output
    assert graded(tmp_path)["ada"]["score"] == 4.5
    done = runner.invoke(grader, ["export", "csv", results, "--out", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    assert runner.invoke(grader, ["report", results, "--publish"]).exit_code == 0
    done = runner.invoke(grader, ["score", results])
    assert isinstance(done.exception, SetupError)
    assert "has no specs to score with" in done.exception.what


def test_several_notebooks_are_one_submission(tmp_path: Path) -> None:
    sourced(tmp_path, a_test("pass"), name="p1")
    sourced(tmp_path, a_test("0.5"), name="p2")
    filed(tmp_path, {"ada": written(a_test("")), "bob": written(a_test(""))}, name="p1")
    filed(tmp_path, {"ada": written(a_test(""))}, name="p2")
    found = graded(tmp_path)
    assert points(found["ada"]) == {"p1/tests": 2.0, "p2/tests": 0.5}
    assert points(found["bob"]) == {"p1/tests": 2.0, "p2/tests": 0.0}
    assert found["ada"]["complete"]


def test_a_notebook_that_could_be_run_at_last_counts_while_another_can_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, name in enumerate(("p1", "p2", "p3")):
        cells = an_answer(SUM), a_test(f"assert add(1, {number}) == {number + 1}")
        sourced(tmp_path, *cells, name=name)
        filed(tmp_path, {"ada": written(*cells)}, name=name)
    broken = {"p2", "p3"}

    def some(todo: list[Submission], _: object, settings: Settings, **more: Any) -> Iterator[Any]:
        overlay: Any = settings.overlay
        for one in todo if overlay and overlay.source.name in broken else ():
            yield one, refused_evidence(one.sha256, "no kernel could be started")
        if overlay and overlay.source.name not in broken:
            yield from execute_all(todo, (), settings, **more)

    monkeypatch.setattr(grading, "execute_all", some)
    found = [points(graded(tmp_path)["ada"])]
    broken.remove("p2")
    found.append(points(graded(tmp_path)["ada"]))
    assert [list(each.values()) for each in found] == [[2, None, None], [2, 2, None]]


def test_a_folder_of_results_keeps_to_one_assignment(tmp_path: Path) -> None:
    sourced(tmp_path, a_test("pass"))
    filed(tmp_path, {"ada": written(a_test("pass"))})
    graded(tmp_path)
    (tmp_path / "source/ps1").rename(tmp_path / "source/ps2")
    (tmp_path / "submitted/ada/ps1").rename(tmp_path / "submitted/ada/ps2")
    done = CliRunner().invoke(
        grader,
        ["grade", str(tmp_path / "submitted"), "--format", "nbgrader", "--source",
         str(tmp_path / "source/ps2"), "--out", str(tmp_path / "results")],
    )  # fmt: skip
    assert isinstance(done.exception, SetupError)
    assert "belong to the assignment 'ps1'" in done.exception.what


@pytest.mark.parametrize(
    "options", [["--format", "nbgrader"], ["--source", "x"], ["--format", "nbgrader", "--source",
                "x", "--release", "y"]],
)  # fmt: skip
def test_options_that_do_not_go_together_are_said(tmp_path: Path, options: list[str]) -> None:
    done = CliRunner().invoke(grader, ["grade", "x", "--out", str(tmp_path), *options])
    assert isinstance(done.exception, SetupError)
