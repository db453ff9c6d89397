"""A part that needs a package: put off where it is missing, and filled in where it is installed."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.errors import SetupError
from grader.gradebook import Gradebook
from grader.grading.run import grade
from grader.grading.settings import Settings
from grader.kinds import student_tools
from grader.kinds.hidden.solutions import solution_module
from grader.model import Answer, CallPlan, Mark, Verdict, packages
from grader.model.packages import PACKAGES
from grader.runtime.execute.deferral import find_lack_of_modules
from tests.helpers.banks import a_bank, a_roster
from tests.helpers.commands import fails, ok
from tests.helpers.commands import run as run_command
from tests.helpers.notebooks import run

SPEC = """\
id: two-parts
title: Two parts
family: training
prompt: Write two functions, and a number.
parameters:
  n: {{integer: [3, 900]}}
parts:
  - id: here
    kind: code
    ask: Twice x.
    starter: |
      def here(x):
          ...
  - id: there
    kind: {kind}
    ask: Twice x, with a package.
    starter: |
      def there(x):
          ...
    needs: [triton]
{more}
"""
SOLUTION = """\
def here(x):
    return 2 * x


def here_right_sum(x):
    return x + x


def here_cases(rng, given):
    for x in (0, 1, 5, -3):
        yield "numbers", {"x": x}


def here_wrong_square(x):
    return x * x


def here_wrong_text(x):
    return str(x)


def here_wrong_list(x):
    return [x, x]


there, there_right_sum, there_cases = here, here_right_sum, here_cases
there_wrong_square, there_wrong_text = here_wrong_square, here_wrong_text
there_wrong_list = here_wrong_list
"""
RACE = """\
    speed: [{ratio: 0.1, share: 100%}]
    setup: |
      import time

      def prepare(seed):
          return (seed,)

      def baseline(x):
          time.sleep(0.01)
          return 2 * x
"""
# What a student writes who has the package: it stands above what needs nothing of it.
WITH_IMPORTS = """\
import nowhere_package
import nowhere_package.language as nl
from nowhere_package import jit

def q1_here(x):
    return 2 * x

@nowhere_package.jit
@nl.tuned(configs=[3], key=["BLOCK"])
def helper(x, BLOCK: nl.constexpr = 1):
    return x

def q1_there(x):
    return 2 * x
"""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package that is missing at first; where it is installed when it is written there."""
    rare = packages.OptionalPackage(title="Rare", module="nowhere_package", tools=())
    monkeypatch.setitem(PACKAGES, "triton", rare)
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.syspath_prepend(str(site))
    yield site / "nowhere_package.py"
    forgotten()


def forgotten() -> None:
    """Takes the package, and what has imported it, out of this process."""
    sys.modules.pop("nowhere_package", None)
    importlib.invalidate_caches()
    solution_module.cache_clear()


def handed_in(tmp_path: Path, kind: str = "code", more: str = "") -> tuple[Path, Path, Path]:
    """Solved notebooks of ann, and of dee with imports; bo's untouched; wrong ones of cy."""
    bank = tmp_path / "bank"
    for name, text in (
        ("problems/training/two-parts.yaml", SPEC.format(kind=kind, more=more)),
        ("problems/sets/lab.yaml", "id: lab\ntitle: Lab\nproblems: [two-parts]\n"),
        ("solutions/training/two-parts.py", SOLUTION),
    ):
        (bank / name).parent.mkdir(parents=True, exist_ok=True)
        (bank / name).write_text(text)
    roster = a_roster(tmp_path, "id\nann\nbo\ncy\ndee\n")
    release, handed = tmp_path / "release", tmp_path / "submissions"
    ok("render", "lab", "--roster", roster, "--out", release, "--bank", bank)
    for student in ("ann", "cy", "dee"):
        ok("solve", release, "--student", student, "--out", handed / f"{student}.ipynb")
    (handed / "bo.ipynb").write_bytes((release / "notebooks" / "bo.ipynb").read_bytes())
    changed(handed / "cy.ipynb", "q1-there", "def q1_there(x):\n    return x * x")
    changed(handed / "dee.ipynb", "q1-there", WITH_IMPORTS)
    changed(handed / "dee.ipynb", "q1-here", "pass")
    return handed, release, tmp_path / "results"


def changed(path: Path, cell: str, source: str) -> None:
    notebook = json.loads(path.read_text())
    (found,) = (c for c in notebook["cells"] if c["id"] == cell)
    found["source"] = source
    path.write_text(json.dumps(notebook))


def marks(results: Path, student: str) -> dict[str, Mark]:
    with Gradebook.open(results) as book:
        (found,) = (g for g in book.grades() if g.student == student)
    return {mark.part: mark for mark in found.marks}


@pytest.mark.thorough
@pytest.mark.parametrize(("kind", "more"), [("code", ""), ("measurement", RACE)])
def test_what_needs_a_package_waits_for_it_and_is_filled_in(
    tmp_path: Path, installed: Path, kind: str, more: str
) -> None:
    handed, release, results = handed_in(tmp_path, kind, more)
    assert grade(handed, release, results, Settings()).executed_count == 4
    for student in ("ann", "cy", "dee"):
        mine = marks(results, student)
        assert mine["here"].points == 1.0, student
        assert (mine["there"].points, mine["there"].verdict) == (None, Verdict.UNSETTLED)
        assert "needs Triton" in mine["there"].feedback
        assert "no points are deducted" in mine["there"].feedback
        assert "not run: triton is not installed" in str(mine["there"].answer)
    assert marks(results, "bo")["there"].verdict is Verdict.ABSENT  # it is settled without

    # What is missing is said, and nothing is run again for it.
    with pytest.raises(
        SetupError, match="the deferred parts need triton, which this machine lacks"
    ):
        grade(handed, release, results, Settings(only_deferred=True))
    assert grade(handed, release, results, Settings()).executed_count == 0

    # A machine that has it: into the same gradebook, and once.
    installed.write_text("def jit(function):\n    return function\n")
    assert grade(handed, release, results, Settings()).executed_count == 0
    changed_before = marks(results, "ann")["here"]
    assert grade(handed, release, results, Settings(only_deferred=True)).executed_count == 3
    assert marks(results, "ann")["there"].points == 1.0
    assert marks(results, "ann")["here"] == changed_before
    assert marks(results, "cy")["there"].points == 0.0
    assert grade(handed, release, results, Settings(only_deferred=True)).executed_count == 0
    assert ok("score", results, "--dry-run").output.startswith("0 of 4 grades would change")


@pytest.mark.thorough
def test_a_run_that_had_it_from_the_start_comes_to_the_same(
    tmp_path: Path, installed: Path
) -> None:
    handed, release, results = handed_in(tmp_path)
    grade(handed, release, results, Settings())
    installed.write_text("def jit(function):\n    return function\n")
    grade(handed, release, results, Settings(only_deferred=True))
    grade(handed, release, tmp_path / "whole", Settings())
    for student in ("ann", "bo", "cy"):
        assert marks(results, student) == marks(tmp_path / "whole", student)


def test_what_waits_for_a_gpu_goes_on_waiting_when_a_package_is_there(
    tmp_path: Path, installed: Path
) -> None:
    both = "  - id: third\n    kind: code\n    ask: Twice x.\n    device: cuda\n"
    both += "    starter: |\n      def third(x):\n          ...\n"
    third = "third, third_right_sum, third_cases = here, here_right_sum, here_cases\n"
    third += "third_wrong_square, third_wrong_text = here_wrong_square, here_wrong_text\n"
    third += "third_wrong_list = here_wrong_list\n"
    handed, release, results = tmp_path / "submissions", tmp_path / "release", tmp_path / "out"
    bank = tmp_path / "bank"
    for name, text in (
        ("problems/training/two-parts.yaml", SPEC.format(kind="code", more=both)),
        ("problems/sets/lab.yaml", "id: lab\ntitle: Lab\nproblems: [two-parts]\n"),
        ("solutions/training/two-parts.py", SOLUTION + third),
    ):
        (bank / name).parent.mkdir(parents=True, exist_ok=True)
        (bank / name).write_text(text)
    ok(
        "render",
        "lab",
        "--roster",
        a_roster(tmp_path, "id\nann\n"),
        "--out",
        release,
        "--bank",
        bank,
    )
    ok("solve", release, "--student", "ann", "--out", handed / "ann.ipynb")
    grade(handed, release, results, Settings())
    installed.write_text("")
    assert grade(handed, release, results, Settings(only_deferred=True)).executed_count == 1
    mine = marks(results, "ann")
    assert (mine["there"].points, mine["third"].points) == (1.0, None)
    assert "needs a GPU" in mine["third"].feedback
    assert grade(handed, release, results, Settings(only_deferred=True)).executed_count == 0


def imported_at_the_top(tmp_path: Path) -> tuple[Path, Path, Path, Path]:
    """What `handed_in` makes, of a problem whose solution and notebooks import the package.

    The second problem has a number alone, and needs nothing.
    """
    bank = a_bank(tmp_path / "bank")
    folder = bank / "problems/training"
    folder.mkdir()
    (folder / "two-parts.yaml").write_text(
        SPEC.format(kind="code", more="").replace("    needs: [triton]\n", "")
    )
    (bank / "solutions/training").mkdir()
    (bank / "solutions/training/two-parts.py").write_text(f"import nowhere_package\n{SOLUTION}")
    (bank / "problems/sets/lab.yaml").write_text(
        "id: lab\ntitle: Lab\nproblems: [two-parts, sample]\n"
    )
    release, handed = tmp_path / "release", tmp_path / "submissions"
    roster = a_roster(tmp_path, "id\nann\nbo\n")
    ok("render", "lab", "--roster", roster, "--out", release, "--bank", bank)
    for student in ("ann", "bo"):
        ok("solve", release, "--student", student, "--out", handed / f"{student}.ipynb")
    # Bo needs the package for a number, too; and the rest of his notebook uses what it gave him.
    number, letter = (answer_cell(handed / "bo.ipynb", f"q2-{one}") for one in ("share", "bound"))
    first = f"import nowhere_package\nnowhere_package.load()\n{number}"
    changed(handed / "bo.ipynb", "q2-share", f"{first}\n{letter.replace('q2_bound', 'bound')}")
    changed(handed / "bo.ipynb", "q2-bound", "q2_bound = bound")
    return handed, release, tmp_path / "results", bank


def answer_cell(path: Path, cell: str) -> str:
    (found,) = (c for c in json.loads(path.read_text())["cells"] if c["id"] == cell)
    return "".join(found["source"])


@pytest.mark.thorough
def test_a_solution_that_imports_what_is_missing_defers_its_parts(
    tmp_path: Path, installed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    handed, release, results, bank = imported_at_the_top(tmp_path)
    command = ("grade", handed, "--release", release, "--out", results, "--bank", bank)
    said = ok(*command)
    assert "Rare is not installed here" in said.stderr
    assert "two-parts" in said.stderr
    assert "pip install triton" in said.stderr
    ann, bo = marks(results, "ann"), marks(results, "bo")
    assert (ann["share"].points, ann["bound"].points) == (2.0, 1.0)
    for mark in (ann["here"], ann["there"], bo["share"], bo["bound"], bo["here"]):
        assert (mark.points, mark.verdict) == (None, Verdict.UNSETTLED), mark
        assert "is not installed on the grading machine" in mark.feedback
        assert "no points are deducted" in mark.feedback
    assert grade(handed, release, results, Settings()).executed_count == 0
    with pytest.raises(
        SetupError, match="the deferred parts need triton, which this machine lacks"
    ):
        grade(handed, release, results, Settings(only_deferred=True))
    # A correction of what needs nothing is scored here.
    assert ok("score", results, "--dry-run", "--bank", bank).exception is None

    installed.write_text("def load():\n    pass\n")
    assert grade(handed, release, results, Settings(only_deferred=True)).executed_count == 2
    whole, bo = marks(results, "ann"), marks(results, "bo")
    assert all(m.points == m.max_points for m in whole.values())
    assert (bo["here"].points, bo["there"].points) == (1.0, 1.0)
    # His numbers were run again too; kernels do not see what this process takes for installed.
    assert "ModuleNotFoundError" in bo["share"].feedback

    # What was judged there stays, on a machine that lacks it, and is not judged again there.
    installed.unlink()
    forgotten()
    for settings in (Settings(), Settings(only_deferred=True)):
        with contextlib.suppress(SetupError):
            assert grade(handed, release, results, settings).executed_count == 0
        assert marks(results, "ann") == whole
    # Marks, cases, and expected results are kept, so scoring again runs no solution.
    assert ok("score", results, "--bank", bank).exception is None
    assert marks(results, "ann") == whole
    with Gradebook.open(results) as book, book._write_transaction() as connection:
        connection.exec_driver_sql("DELETE FROM derived")  # as in results of earlier versions
    text = fails(capsys, "score", results, "--bank", bank)
    assert "can't be judged here: its solution needs triton" in text
    assert marks(results, "ann") == whole


def test_a_machine_that_has_it_grades_all_of_it_at_once(tmp_path: Path, installed: Path) -> None:
    """Without --only deferred, too: the hidden cases are part of how a notebook is executed."""
    handed, release, results, _ = imported_at_the_top(tmp_path)
    (handed / "bo.ipynb").unlink()
    grade(handed, release, results, Settings())
    assert marks(results, "ann")["here"].points is None
    installed.write_text("")
    assert grade(handed, release, results, Settings()).executed_count == 1
    assert all(m.points == m.max_points for m in marks(results, "ann").values())


def test_a_solution_that_fails_stops_the_batch_with_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(globals(), "SOLUTION", f"{SOLUTION}1 / 0\n")
    handed, release, results = handed_in(tmp_path)
    text = fails(capsys, "grade", handed, "--release", release, "--out", results)
    line = len(SOLUTION.splitlines())
    assert f"the solution can't be loaded (line {line}): ZeroDivisionError" in text
    assert "can't create the hidden cases of 'q1_here'" in text


@pytest.mark.thorough
def test_the_gate_skips_what_it_can_not_load_and_checks_the_rest(
    tmp_path: Path, installed: Path
) -> None:
    bank = imported_at_the_top(tmp_path)[3]
    everything = run_command("verify", "--bank", bank, "--no-kernel", "--seeds", 20, "--jobs", 1)
    assert everything.return_value == 0
    assert "skip two-parts  needs triton" in everything.output
    assert "ok   sample" in everything.output
    assert "The problem passed with 20 seeds." in everything.output
    assert "1 problem was skipped" in everything.output
    assert "pip install triton" in everything.output
    for more in (["--strict"], ["two-parts"]):
        result = run_command(
            "verify", *more, "--bank", bank, "--no-kernel", "--seeds", 20, "--jobs", 1
        )
        assert result.return_value == 1
    data = json.loads(
        run_command(
            "verify", "--bank", bank, "--no-kernel", "--seeds", 20, "--jobs", 1, "--json"
        ).stdout
    )
    assert data["holds"] is True
    assert {p["id"]: (p["holds"], p["skipped"]) for p in data["problems"]} == {
        "sample": (True, []),
        "two-parts": (None, ["triton"]),
    }
    # A file that is broken otherwise is no file that lacks a package.
    solution = bank / "solutions/training/two-parts.py"
    solution.write_text(solution.read_text().replace("nowhere_package", "nothing_anybody_knows"))
    failed = run_command("verify", "--bank", bank, "--no-kernel", "--seeds", 20, "--jobs", 1)
    assert failed.return_value == 1
    assert f"{solution}:1: the solution can't be loaded: ModuleNotFoundError" in failed.output


@pytest.mark.parametrize(
    ("source", "at_load", "anywhere"),
    [
        ("import torch", True, True),
        ("import math, torch.nn as nn", True, True),
        ("from torch import nn", True, True),
        ("def f():\n    import torch", False, True),
        ("import torchlike\nfrom torches import nn\nx = 'import torch'", False, False),
        ("{{ n }}\nimport torch", True, True),
    ],
)
def test_imports_are_found_in_the_text(source: str, at_load: bool, anywhere: bool) -> None:
    assert packages.imported_packages(source, at_load=True) == (("torch",) if at_load else ())
    assert packages.imported_packages(source) == (("torch",) if anywhere else ())


def test_an_import_of_what_is_not_installed_costs_no_points() -> None:
    def stopped(error: str) -> list[str]:
        evidence = run("q1_a = 1", f"{error}\nq2_b = 2", "q3_c = q2_b", asks="q1_a q2_b q3_c")
        return [f"{name}: {why}" for name, why in evidence.cut_short.items()]

    why = "the code imports 'no_such_package', which the grading machine lacks"
    assert stopped("import no_such_package.part") == [f"q2_b: {why}", f"q3_c: {why}"]
    assert stopped("""raise ModuleNotFoundError("No module named 'numpy'")""") == []
    assert stopped("import grader") == []
    assert stopped("1 / 0") == []


def test_a_call_that_imports_what_is_not_installed_costs_no_points() -> None:
    what = "No module named 'no_such_package'"
    raised = {"is": "raised", "type": "ModuleNotFoundError", "what": what}
    raw = {"t": "code", "calls": [{"is": "returned"}, raised]}
    answers = {"q1_a": Answer(name="q1_a", raw=raw), "q2_b": Answer(name="q2_b", raw=None)}
    assert list(find_lack_of_modules(answers, ())) == ["q1_a"]


def test_only_the_notebook_sees_what_stands_in(installed: Path) -> None:
    """Libraries that ask for the package must go on without it, as torch does."""
    from grader.runtime.execute.deferral import stand_in_code

    (source,) = stand_in_code([CallPlan(name="q1_a", alias="a", needs=("triton",))])
    evidence = run(
        source,
        "import nowhere_package.language as nl\nimport json\nq1_a = nl.__name__",
        "import sys\nq1_b = 'nowhere_package' in sys.modules",
        "import importlib.util\n"
        "try:\n    importlib.import_module('nowhere_package')\n"
        "except ImportError:\n    q1_c = True",
        "nl.load(3)",
        "from nowhere_package import *\nimport nowhere_package as np_, os\nq1_d = os.sep",
        asks="q1_a q1_b q1_c q1_d",
    )
    raws = {name: answer.raw for name, answer in evidence.answers.items()}
    assert raws["q1_a"]["v"] == "nowhere_package.language"
    assert raws["q1_b"]["v"] is False
    assert raws["q1_c"]["v"] is True
    assert raws["q1_d"]["v"] == "/"
    (error,) = (cell.error for cell in evidence.cells if cell.error)
    assert error.startswith("MissingPackageError: nowhere_package.language.load can't run")


def test_the_gate_says_what_it_did_not_run(tmp_path: Path, installed: Path) -> None:
    handed_in(tmp_path)
    said = ok("verify", "two-parts", "--bank", tmp_path / "bank", "--seeds", "8").output
    assert "not run on this machine: 'there' needs triton (pip install triton)" in said
    assert "Some code of 1 was not run" in said
    # What it runs, it judges: where the package is, a solution that is wrong is found.
    solution = tmp_path / "bank/solutions/training/two-parts.py"
    solution.write_text(SOLUTION.replace("there_wrong_list = here_wrong_list", ""))
    ok("verify", "two-parts", "--bank", tmp_path / "bank", "--seeds", "8", "--no-kernel")
    installed.write_text("")
    said = ok("verify", "two-parts", "--bank", tmp_path / "bank", "--seeds", "8").output
    assert "the solution has 2 known-wrong implementations" in said


@pytest.mark.thorough
def test_a_student_is_told_what_to_install(tmp_path: Path, installed: Path) -> None:
    handed, release, _ = handed_in(tmp_path)
    text = (release / "notebooks" / "bo.ipynb").read_text()
    assert "`pip install triton`" in text
    said = ok("check", handed / "ann.ipynb").output
    assert "not run: triton is not installed" in " ".join(said.split())


def test_doctor_names_what_is_missing(installed: Path) -> None:
    found = json.loads(ok("doctor", "--json").output)
    (triton,) = (f for f in found if f["what"] == "triton")
    assert triton["ok"] is None
    assert "parts that need Rare are left open" in triton["seen"]
    assert "pip install triton" in triton["fix"]


def test_a_tool_that_can_do_nothing_without_a_package_asks_for_it(tmp_path: Path) -> None:
    handed_in(tmp_path)
    spec = tmp_path / "bank/problems/training/two-parts.yaml"
    spec.write_text(
        SPEC.format(kind="code", more="").replace(
            "    needs: [triton]\n", "    tools: [triton_blocks]\n"
        )
    )
    said = ok("verify", "two-parts", "--bank", tmp_path / "bank").output
    assert "add needs: [triton]" in said


@pytest.mark.parametrize("name", PACKAGES)
def test_a_package_is_found_by_what_is_imported(name: str) -> None:
    one = PACKAGES[name]
    assert one.is_installed == (importlib.util.find_spec(one.module) is not None)
    assert packages.missing_packages([name]) == (() if one.is_installed else (name,))
    assert all(tool in student_tools.tool_names() for tool in one.tools)
    assert packages.packages_for_tools(one.tools) == ((name,) if one.tools else ())
