"""nbgrader itself on the other side: its commands, its rule, its own test notebooks."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from grader.bank.folders import Bank
from grader.cli import grader
from grader.grading.score import score
from grader.integrations.nbgrader.export import Nbgrader as NbgraderExporter
from grader.integrations.nbgrader.export import version_paper
from grader.integrations.nbgrader.marks import UndecidedError, earned_points
from grader.integrations.quiz_items import quiz_items
from grader.kinds import kinds
from grader.kinds.answers import answer_as_python
from grader.model import Answer, Evidence, Outcome
from grader.wire.encoding import encode_answer
from tests.helpers.nbgrader import (
    Nbgrader,
    a_cell,
    a_test,
    an_answer,
    filed,
    nbgrader,
    sourced,
    with_sources,
    written,
)

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def real() -> Nbgrader:
    return nbgrader()


def ours(course: Path, assignment: str) -> dict[str, dict[str, list[object]]]:
    """What we give, in the form of `Nbgrader.marks`."""
    out = course / "results"
    done = CliRunner().invoke(
        grader,
        ["grade", str(course / "submitted"), "--format", "nbgrader", "--out", str(out),
         "--source", str(course / "source" / assignment)],
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    return {
        path.stem: {
            mark["part"]: [mark["points"], mark["points"] is None]
            for mark in json.loads(path.read_text("utf-8"))["marks"]
        }
        for path in (out / "grades").glob("*.json")
    }


def theirs(real: Nbgrader, course: Path, assignment: str) -> dict[str, dict[str, list[object]]]:
    """What nbgrader gives to those whom it does not stop at."""
    real.run(course, "generate_assignment", assignment, "--create")
    real.tried(course, "autograde", assignment)
    done = {path.parent.name for path in course.glob(f"autograded/*/{assignment}")}
    found = real.marks(course, assignment)
    return {student: cells for student, cells in found.items() if student in done}


_RULE = """
import json, sys
from nbformat.v4 import new_code_cell, new_output
from nbgrader.utils import determine_grade
made = {
    "error": lambda: new_output("error", ename="E", evalue="", traceback=[]),
    "stderr": lambda: new_output("stream", name="stderr", text="x"),
    "stdout": lambda: new_output("stream", name="stdout", text="x"),
    "display": lambda: new_output("display_data", {"text/plain": "0"}),
    "result": lambda text: new_output("execute_result", {"text/plain": text}),
}
found = []
for outputs in json.loads(sys.argv[1]):
    cell = new_code_cell("1", metadata={"nbgrader": {"grade": True, "points": 3}})
    cell.outputs = [made[kind](*rest) for kind, *rest in outputs]
    try:
        found.append(determine_grade(cell)[0])
    except (ValueError, KeyError):
        found.append("stops")
print(json.dumps(found))
"""


def test_our_rule_is_nbgraders(real: Nbgrader) -> None:
    results = ["0", "1", "1.0", "3", "3.0001", "1e0", "-0.0", "-1", "nan", "inf", "-inf", "True",
               "'2'", "np.float64(1)", "[1]", "1_0", " 2 ", "None", "", "0x1", "٢"]  # fmt: skip
    one: list[list[list[str]]] = [[], [["error"]], [["stderr"]], [["stdout"]], [["display"]]]
    one += [[["result", text]] for text in results]
    cases = one + [a + b for a in one for b in one]
    got = real.python(_RULE, json.dumps(cases))
    assert isinstance(got, list)
    for outputs, points in zip(cases, got, strict=True):
        try:
            mine: object = earned_points(
                [o for o in outputs if o[0] not in ("stdout", "display")], 3.0
            )
        except UndecidedError:
            mine = "stops"
        assert mine == points, outputs


def test_an_exam_of_ours_earns_in_nbgrader_what_it_earns_here(
    real: Nbgrader, tmp_path: Path
) -> None:
    paper = version_paper(Bank.open(), "midterm", "A", "k")
    exporter = NbgraderExporter(version="A", private_key="k", leave_out=True)
    quiz = exporter.quiz(Bank.open(), "midterm")
    made = exporter.export(quiz)
    for name, data in made.files.items():
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_bytes(data)
    source = tmp_path / "source/midterm-A/midterm.ipynb"
    handed_out = (tmp_path / "students/midterm-A/midterm.ipynb").read_bytes()
    assert "Success! Your notebook passes all the tests." in real.run(
        tmp_path, "validate", str(source)
    )
    assert "VALIDATION FAILED" in real.run(
        tmp_path, "validate", str(tmp_path / "students/midterm-A/midterm.ipynb")
    )

    named = {
        name: key for name, key in paper.named_keys() if f"{name}-tests".encode() in handed_out
    }
    right = {name: answer_as_python(kinds.find(key.part.kind), key) for name, key in named.items()}
    assert len(right) > 10
    students = {
        "untouched": {},
        "solved": right,
        "wrong": dict.fromkeys(right, "-12345.0"),
        "half": {name: text for i, (name, text) in enumerate(right.items()) if i % 2},
        "near": {name: f"({text}) * 1.0001" for name, text in right.items()},
        "mistaken": {
            name: repr(item.ranges[-1].value)
            for name, key in named.items()
            for item in quiz_items(key)
            if hasattr(item, "ranges")
        },
    }
    for student, answers in students.items():
        path = tmp_path / "submitted" / student / "midterm-A" / "midterm.ipynb"
        path.parent.mkdir(parents=True)
        cells = {name: f"{name} = {text}" for name, text in answers.items()}
        path.write_bytes(with_sources(handed_out, cells))

    by_nbgrader = theirs(real, tmp_path, "midterm-A")
    release = json.loads((tmp_path / "release/midterm-A/midterm.ipynb").read_bytes())
    for mine, other in zip(json.loads(handed_out)["cells"], release["cells"], strict=True):
        assert "".join(mine["source"]) == "".join(other["source"])
        assert mine["metadata"] == other["metadata"]
    assert by_nbgrader == ours(tmp_path, "midterm-A")
    for student, answers in students.items():
        earned = by_nbgrader[student]
        evidence = Evidence(
            submission_sha256="0" * 64, outcome=Outcome.FINISHED, cells=(), seconds=0.0,
            answers={name: Answer(name=name, raw=raw_of(text)) for name, text in answers.items()},
        )  # fmt: skip
        marks = {mark.name: mark for mark in score(paper, evidence).marks}
        for name, key in named.items():
            got, mark = earned[f"{name}-tests"], marks[name]
            if key.part.uses and "Carried forward" in mark.feedback:
                continue  # which the notes say does not survive
            assert got == [pytest.approx(mark.points), False], (student, name, mark)
    assert {p for p, _ in by_nbgrader["untouched"].values()} <= {0.0}
    total = sum(p for p, _ in by_nbgrader["solved"].values())  # type: ignore[misc]
    assert total == pytest.approx(sum(paper.questions[int(n[1:].split("_")[0]) - 1].points[
        named[n].part.id] for n in named))  # fmt: skip


def raw_of(text: str) -> Any:
    """What the kernel would say of the value of an expression; of none where it raises."""
    try:
        return encode_answer(eval(text))
    except TypeError:
        return None


# Source, those who handed in, both in nbgrader's own tests.
_OWN = {
    "main": ("apps", "submitted-unchanged", (
        "apps/submitted-unchanged", "apps/submitted-changed", "apps/submitted-grade-cell-changed",
        "apps/submitted-locked-cell-changed", "apps/submitted-cheat-attempt",
        "apps/submitted-cheat-attempt-alternative", "preprocessors/submitted-changed",
        "preprocessors/submitted-unchanged", "preprocessors/submitted-grade-cell-changed",
    )),
    "hidden": ("apps", "test-hidden-tests", ("apps/test-hidden-tests",)),
    "plain": ("apps", "test", ("apps/test", "apps/test-with-output", "preprocessors/test")),
    "task": ("preprocessors", "test_taskcell", ("preprocessors/test_taskcell",)),
    "manual": (
        "preprocessors", "manually-graded-code-cell", ("preprocessors/manually-graded-code-cell",)
    ),
    "nothing": ("apps", "validation-zero-points", ("apps/validation-zero-points",)),
    "file": ("apps", "open_relative_file", ("apps/open_relative_file",)),
    "variable": (
        "apps", "validating-environment-variable", ("apps/validating-environment-variable",)
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", _OWN)
def test_nbgraders_own_notebooks_earn_the_same_here(
    real: Nbgrader, tmp_path: Path, name: str
) -> None:
    folder, source, submitted = _OWN[name]
    target = tmp_path / "source/ps1/p1.ipynb"
    target.parent.mkdir(parents=True)
    shutil.copy(real.tests / folder / "files" / f"{source}.ipynb", target)
    if name == "file":
        (tmp_path / "source/ps1/data.txt").write_text("hello")
    for one in submitted:
        room, _, stem = one.partition("/")
        data = (real.tests / room / "files" / f"{stem}.ipynb").read_bytes()
        filed(tmp_path, {f"{room}-{stem}": data})
    by_nbgrader = theirs(real, tmp_path, "ps1")
    mine = ours(tmp_path, "ps1")
    assert len(by_nbgrader) >= len(submitted) - 2
    for student, cells in by_nbgrader.items():
        assert mine[student] == cells


def test_notebooks_that_do_odd_things_earn_the_same_here(real: Nbgrader, tmp_path: Path) -> None:
    essay: dict[str, Any] = {"kind": "markdown", "grade": True, "solution": True, "points": 3.0}
    names = ("value", "half", "text", "silent", "printed", "shown")
    checks = {
        "value": "assert f(2) == 4",
        "half": "0.5 if f(3) == 9 else 0.25",
        "text": "'passed'",
        "silent": "f(2);",
        "printed": "print(f(2))",
        "shown": "from IPython.display import display\ndisplay(f(2))\n1",
    }
    cells = [a_test(checks[name], name) for name in names]
    sourced(tmp_path, an_answer("x"), *cells, a_cell("mine", "essay", **essay))

    def handed_in(code: str, *others: object, text: str = "Well.") -> bytes:
        tests = [a_test("pass", name) for name in names]
        return written(
            an_answer(code),
            *tests,
            a_cell(text, "essay", **essay),
            *others,  # type: ignore[arg-type]
        )

    filed(
        tmp_path,
        {
            "right": handed_in("f = lambda x: x * x"),
            "wrong": handed_in("f = lambda x: x + x", text="YOUR ANSWER HERE"),
            "raises": handed_in("def f(x):\n    raise ValueError(x)"),
            "warns": handed_in(
                "import warnings\ndef f(x):\n    warnings.warn('old')\n    return 4"
            ),
            "logs": handed_in(
                "import logging\ndef f(x):\n    logging.error('x')\n    return x * x"
            ),
            "broken": handed_in("def f(:"),
            "nothing": handed_in("# YOUR CODE HERE\nraise NotImplementedError()"),
            # nbgrader gives up on the whole batch here, so it comes last.
            "zoe": handed_in("f = lambda x: 4", an_answer("f = lambda x: x * x")),
            "exits": handed_in("def f(x):\n    raise SystemExit(1)"),
            "async": handed_in("import asyncio\nawait asyncio.sleep(0)\nf = lambda x: x * x"),
            "magic": handed_in("%precision 3\n!echo hello\nf = lambda x: x ** 2"),
            "short": written(an_answer("f = lambda x: x * x"), a_test("pass", "value")),
        },
    )
    by_nbgrader = theirs(real, tmp_path, "ps1")
    mine = ours(tmp_path, "ps1")
    assert len(by_nbgrader) == 11
    assert mine["zoe"] == {**mine["right"], "half": [0.25, False]}
    for student, found in by_nbgrader.items():
        assert mine[student] == found, student


_MARKERS = """
c = get_config()
c.ClearSolutions.code_stub = {"python": "# TODO: your turn\\n..."}
c.ClearSolutions.text_stub = "WRITE HERE"
c.ClearSolutions.begin_solution_delimeter = "SOLUTION STARTS"
c.ClearSolutions.end_solution_delimeter = "SOLUTION ENDS"
c.ClearHiddenTests.begin_test_delimeter = "SECRET STARTS"
c.ClearHiddenTests.end_test_delimeter = "SECRET ENDS"
c.ClearMarkScheme.begin_mark_scheme_delimeter = "SCHEME STARTS"
c.ClearMarkScheme.end_mark_scheme_delimeter = "SCHEME ENDS"
"""
_TIME = """
c.ExecutePreprocessor.timeout = 60
c.Execute.timeout = 2
"""


@pytest.mark.parametrize("text", [_MARKERS, _TIME], ids=["markers", "time"])
def test_courses_with_settings_earn_the_same_here(
    real: Nbgrader, tmp_path: Path, text: str
) -> None:
    """Nobody who handed back what they were given, and nobody slow, is judged differently."""
    (tmp_path / "nbgrader_config.py").write_text(text, "utf-8")
    manual: dict[str, Any] = {"grade": True, "solution": True, "points": 3.0}
    marked = "SOLUTION" if "STARTS" in text else "BEGIN SOLUTION"
    begin = "# SOLUTION STARTS" if "STARTS" in text else "### BEGIN SOLUTION"
    end = "# SOLUTION ENDS" if "STARTS" in text else "### END SOLUTION"
    assert marked in begin
    hidden = "# SECRET STARTS\nassert f(3) == 9\n# SECRET ENDS" if "STARTS" in text else "f(3);"
    cells = [
        an_answer(f"def f(x):\n    {begin}\n    return x * x\n    {end}\n\nready = True"),
        a_test(f"assert f(2) == 4\n{hidden}", "tests"),
        a_test("import time\ntime.sleep(getattr(f, 'slow', 0))\nassert ready", "slow"),
        a_cell("x = 1", "code", **manual),
        a_cell("Because.", "essay", "markdown", **manual),
        a_cell("Draw it.", "task", "markdown", locked=True, task=True, points=1.0),
    ]
    sourced(tmp_path, *cells)
    real.run(tmp_path, "generate_assignment", "ps1", "--create")
    given = (tmp_path / "release" / "ps1" / "p1.ipynb").read_bytes()
    right = "f = lambda x: x * x\nready = True"
    filed(
        tmp_path,
        {
            "untouched": given,
            "right": with_sources(given, {"answer": right, "code": "x = 2", "essay": "As it is."}),
            "half": with_sources(given, {"answer": "f = lambda x: 4\nready = True"}),
            "slow": with_sources(given, {"answer": f"{right}\nf.slow = 4"}),
        },
    )
    by_nbgrader = theirs(real, tmp_path, "ps1")
    assert by_nbgrader["untouched"]["essay"] == [0, False]
    assert by_nbgrader["slow"]["slow"] == ([0, False] if "timeout" in text else [2, False])
    mine = ours(tmp_path, "ps1")
    assert {s: {n: c for n, c in m.items() if n != "task"} for s, m in mine.items()} == {
        s: {n: c for n, c in m.items() if n != "task"} for s, m in by_nbgrader.items()
    }
    assert len(by_nbgrader) == 4
