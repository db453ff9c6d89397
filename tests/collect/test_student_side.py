"""What a student sees of the check: the terminal, receipts, GitHub, and pytest."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import Result

from grader.bank.folders import Bank
from grader.cli import check_screen
from grader.collect.check import receipts
from grader.collect.check.run import AnswerLine, AnswerStatus, CheckResult, check
from grader.integrations.github.class_files import student_files
from grader.model import Limits
from tests.helpers import classroom
from tests.helpers.commands import fails, ok, run
from tests.helpers.notebooks import a_notebook
from tests.helpers.roundtrip import NAMES, a_course, jupyterlab

PACKAGE = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return a_course(tmp_path_factory.mktemp("student"), "ada")


@pytest.fixture
def solved(course: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(course / "solved/ada.ipynb", tmp_path / "midterm.ipynb"))


@pytest.fixture
def blank(course: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(course / "release/notebooks/ada.ipynb", tmp_path / "midterm.ipynb"))


def edited(path: Path, **answers: str) -> Path:
    """The notebook with these expressions in its answer cells, or whole bodies of functions."""
    tree = json.loads(path.read_text("utf-8"))
    for cell in tree["cells"]:
        text = "".join(cell["source"])
        for name, value in answers.items():
            if re.search(rf"^q1_{name} = ", text, re.M):
                cell["source"] = f"q1_{name} = {value}"
            if re.search(rf"^def q1_{name}\b", text, re.M):
                cell["source"] = value
    path.write_text(json.dumps(tree), encoding="utf-8")
    return path


def rows(result: Result) -> dict[str, str]:
    """The lines of the screen by answer, each with the words that it goes on with."""
    found: dict[str, str] = {}
    last = ""
    for line in result.output.splitlines():
        words = line.split()
        if len(words) > 1 and words[1] in NAMES:
            last = words[1]
            found[last] = " ".join(words)
        elif line.startswith(" ") and last:
            found[last] += " " + " ".join(words)
        else:
            last = ""
    return found


MESSY = {
    "share": '"3.25 parsec"',
    "whole": "...",
    "bound": "undefined_name",
    "stages": '{1: "A", 2: ...}',
    "sizes": '{2: [13], 4: ["much"]}',
    "scaled": "import numpy as np\ndef q1_scaled(x, by=2):\n    return x + by",
}


@pytest.mark.thorough
def test_every_answer_is_said_with_a_sign_that_is_a_word(solved: Path) -> None:
    result = run("check", edited(solved, **MESSY))
    assert result.return_value == 1
    said = rows(result)
    assert list(said) == list(NAMES)
    assert said["q1_share"].startswith("UNCLEAR q1_share Unknown unit 'parsec'")
    assert said["q1_whole"] == "EMPTY q1_whole to do: a whole number"
    assert re.fullmatch(
        r"MISSING q1_bound code cell \d+ stopped .*undefined_name.* To do: one letter, A to C, in "
        "quotes",
        said["q1_bound"],
    )
    assert said["q1_stages"].startswith("PARTLY q1_stages 1 of 2 items is blank; read as 1: A,")
    assert said["q1_sizes"].startswith("PARTLY q1_sizes 1 of 2 cells can't be read: 'much' is not")
    assert said["q1_name"] == "ok q1_name read as all-reduce"
    assert re.fullmatch(
        r"FAIL q1_scaled read as code, 0 of 2 visible examples pass "
        r"FAIL `scaled\(np.array\(\[1.5\]\)\)` gives \[3.5\].*: the result has .* "
        r"FAIL `scaled\(np.zeros\(2\), by=3\)` gives \[3.*, 3.*\].*: the result has .*",
        said["q1_scaled"],
    ), said["q1_scaled"]
    flat = " ".join(result.output.split())
    assert "5 of 10 answers are there and readable; 0 of 2 visible examples pass." in flat
    assert "This says nothing about whether they are right." in flat
    assert re.search(
        r"code cell \d+, line 1: NameError: name 'undefined_name' is not defined "
        r"`q1_bound = undefined_name`",
        flat,
    )


@pytest.mark.thorough
def test_the_screen_has_80_columns_and_no_colour_where_none_is_wanted(
    solved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = run("check", edited(solved, **MESSY))
    assert max(map(len, result.output.splitlines())) <= 80
    assert "\x1b" not in result.output
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert check_screen.color_setting() is None
    monkeypatch.setenv("NO_COLOR", "1")
    assert check_screen.color_setting() is False
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert check_screen.color_setting() is False


def test_colour_adds_nothing_to_what_the_words_say() -> None:
    lines = (
        AnswerLine(name="q1_a", status=AnswerStatus.READ, text="read as 28 GB"),
        AnswerLine(
            name="q1_" + "b" * 40, status=AnswerStatus.EMPTY, text="still `...`", how="a number"
        ),
        AnswerLine(name="q1_c", status=AnswerStatus.MISSING, text="no cell sets q1_c"),
    )
    made = CheckResult(lines=lines, sha256="0" * 64, seconds=1.0)
    painted = check_screen.report(made)
    assert "\x1b[32mok" in painted
    plain = re.sub(r"\x1b\[\d+m", "", painted)
    assert [line.split()[0] for line in plain.splitlines()[:4]] == ["ok", "EMPTY", "to", "MISSING"]
    assert max(map(len, plain.splitlines())) <= 80


def test_what_a_student_wrote_moves_no_cursor(solved: Path) -> None:
    path = edited(solved, name='"\\x1b[2J\\x1b]0;owned\\x07 all"', share="1 / 0  # \x1b[2J")
    result = run("check", path)
    assert "\x1b" not in result.output
    assert "\\x1b[2J" in result.output


def test_the_whole_of_it_as_json(solved: Path) -> None:
    found = json.loads(run("check", edited(solved, **MESSY), "--json").stdout)
    assert (found["set"], found["student"]) == ("quiz", "ada")
    assert re.fullmatch("[0-9a-f]{16}", found["release"])
    assert (found["ready"], found["complete"]) == (False, False)
    by_name = {answer["name"]: answer for answer in found["answers"]}
    assert {n: by_name[f"q1_{n}"]["found"] for n in MESSY} == {
        "share": "unreadable", "whole": "empty", "bound": "missing", "stages": "partly",
        "sizes": "partly", "scaled": "ok",
    }  # fmt: skip
    assert by_name["q1_whole"]["how"] == "a whole number"
    assert [one["passes"] for one in by_name["q1_scaled"]["examples"]] == [False, False]
    stopped = found["stopped"][0]
    assert (stopped["line"], stopped["error"].split(":")[0]) == (1, "NameError")
    assert found["trouble"][0].startswith(f"code cell {stopped['cell']}, line 1: NameError")


@pytest.mark.thorough
def test_examples_that_fail_are_not_ready_and_answers_that_are_read_are_complete(
    solved: Path,
) -> None:
    wrong = check(edited(solved, scaled=MESSY["scaled"]), Limits(cell_seconds=20))
    assert wrong.complete
    assert not wrong.ready
    assert run("check", solved).return_value == 1


class TestReceipts:
    def test_a_receipt_holds_what_was_read_and_is_for_this_very_file(
        self, solved: Path, tmp_path: Path
    ) -> None:
        path = tmp_path / "receipt.json"
        said = ok("check", solved, "--receipt", path)
        made = json.loads(path.read_text("utf-8"))
        assert said.return_value == 0
        assert f"Wrote receipt {made['code']} to {path}" in said.output
        assert made["schema"] == "systems-grader/receipt/v1"
        assert made["notebook"]["size"] == solved.stat().st_size
        assert made["notebook"]["name"] == "midterm.ipynb"
        assert (made["set"], made["student"], made["ready"]) == ("quiz", "ada", True)
        assert [answer["name"] for answer in made["answers"]] == list(NAMES)
        assert made["answers"][0]["text"].startswith("read as ")
        written = datetime.strptime(made["time"], "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
        assert abs((datetime.now(UTC) - written).total_seconds()) < 120
        assert str(tmp_path) not in path.read_text("utf-8")
        same = ok("check", solved, "--verify-receipt", path)
        assert same.return_value == 0
        assert (
            same.output
            == f"YES: Receipt {made['code']} of {made['time']} is for exactly this file.\n"
        )

    def test_a_file_of_an_odd_name_has_one_too(self, solved: Path, tmp_path: Path) -> None:
        odd = tmp_path / os.fsdecode(b"\xff.ipynb")
        odd.write_bytes(solved.read_bytes())
        path = tmp_path / "receipt.json"
        assert ok("check", odd, "--receipt", path).return_value == 0
        assert ok("check", odd, "--verify-receipt", path).output.startswith("YES: ")

    def a_receipt(self, solved: Path) -> Path:
        path = solved.with_name("receipt.json")
        ok("check", solved, "--receipt", path)
        return path

    def test_a_file_that_was_saved_again_is_another_with_the_same_code(self, solved: Path) -> None:
        path = self.a_receipt(solved)
        solved.write_bytes(jupyterlab(solved.read_bytes()).replace(b"\n", b"\r\n"))
        said = run("check", solved, "--verify-receipt", path)
        assert said.return_value == 1
        assert said.output.startswith("NO: ")
        assert "another file with the same code" in said.output

    def test_another_answer_is_another_notebook(self, solved: Path) -> None:
        path = self.a_receipt(solved)
        said = run("check", edited(solved, whole="5"), "--verify-receipt", path, "--json")
        assert said.return_value == 1
        found = json.loads(said.stdout)
        assert [found[name] for name in ("holds", "intact", "same_file", "same_code")] == [
            False, True, False, False,
        ]  # fmt: skip

    @pytest.mark.parametrize("change", [{"time": "2020-01-01T00:00:00Z"}, {"student": "bo"}])
    def test_a_receipt_that_was_changed_says_nothing(
        self, solved: Path, change: dict[str, str]
    ) -> None:
        path = self.a_receipt(solved)
        path.write_text(json.dumps({**json.loads(path.read_text("utf-8")), **change}))
        said = run("check", solved, "--verify-receipt", path)
        assert said.return_value == 1
        assert "was changed after it was written" in said.output

    @pytest.mark.thorough
    def test_a_receipt_is_written_or_compared(
        self, solved: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        path = self.a_receipt(solved)
        assert "not both" in fails(
            capsys, "check", solved, "--receipt", path, "--verify-receipt", path
        )

    @pytest.mark.parametrize("name", ["midterm.ipynb", "other.ipynb", "link"])
    def test_a_receipt_never_replaces_a_notebook(
        self, solved: Path, capsys: pytest.CaptureFixture[str], name: str
    ) -> None:
        before = solved.read_bytes()
        solved.with_name("link").symlink_to(solved)
        said = fails(capsys, "check", solved, "--receipt", solved.with_name(name))
        assert "name another file, such as receipt.json" in said
        assert solved.read_bytes() == before
        assert not solved.with_name("other.ipynb").exists()

    def test_a_receipt_laid_out_anew_is_the_same(self, solved: Path) -> None:
        path = self.a_receipt(solved)
        made = json.loads(path.read_text("utf-8"))
        path.write_text(json.dumps(dict(reversed(made.items()))))
        assert ok("check", solved, "--verify-receipt", path).return_value == 0

    @pytest.mark.parametrize("text", ["", "[1]", "{}", '{"schema": "x"}', "[" * 9000, "\x00"])
    def test_what_is_no_receipt_is_refused(
        self, solved: Path, text: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        path = solved.with_name("receipt.json")
        path.write_text(text)
        assert "receipt" in fails(capsys, "check", solved, "--verify-receipt", path)

    @pytest.mark.thorough
    def test_the_same_check_gives_the_same_code(self, solved: Path) -> None:
        checked = check(solved, Limits(cell_seconds=20))
        now = datetime(2026, 1, 1, tzinfo=UTC)
        one, two = (receipts.make_receipt(checked, "a.ipynb", now) for _ in range(2))
        assert one == two
        assert re.fullmatch(r"([A-Z2-7]{4}-){2}[A-Z2-7]{4}", str(one["code"]))
        assert receipts.make_receipt(checked, "b.ipynb", now)["code"] != one["code"]


class TestOnGitHub:
    def test_annotations_stand_at_the_lines_and_the_summary_says_what_was_not_looked_at(
        self, solved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = edited(solved, **MESSY)
        path.write_text(json.dumps(json.loads(path.read_text("utf-8")), indent=1))
        summary = tmp_path / "summary.md"
        summary.write_text("before\n")
        monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
        monkeypatch.chdir(tmp_path)
        result = run("check", "midterm.ipynb", "--github")
        assert result.return_value == 1
        lines = path.read_text("utf-8").splitlines()
        found = re.findall(
            r"^::(error|warning) file=midterm.ipynb,line=(\d+),title=([^:]*)::", result.output, re.M
        )
        at = {title.replace("%3A", ":"): lines[int(number) - 1] for _, number, title in found}
        assert "q1_share = " in at["q1_share: UNCLEAR"]
        assert "def q1_scaled" in at["q1_scaled: FAIL"]
        assert any("undefined_name" in line for title, line in at.items() if "cell" in title)
        text = summary.read_text("utf-8")
        assert text.startswith("before\n## quiz")
        assert "These are the public checks only." in text
        assert len(re.findall(r"^\| q1", text, re.M)) == len(NAMES)

    @pytest.mark.thorough
    def test_an_answer_gives_the_runner_no_command(self, solved: Path, tmp_path: Path) -> None:
        text = '"\\n::error::owned\\n##[error]owned ::set-output name=a::b"'
        summary = tmp_path / "summary.md"
        env = {**os.environ, "GITHUB_STEP_SUMMARY": str(summary)}
        path = edited(solved, name=text, fits='"::warning::maybe <b>@ada</b>"')
        done = subprocess.run(
            [sys.executable, "-m", "grader", "check", path, "--github"],
            capture_output=True, text=True, cwd=PACKAGE, env=env,
        )  # fmt: skip
        first, *rest = done.stdout.splitlines()
        token = re.fullmatch(r"::stop-commands::([0-9a-f]{32})", first)
        assert token
        end = rest.index(f"::{token[1]}::")
        for line in rest[end + 1 :]:
            assert re.fullmatch(r"::(warning|error) (?:(?!::).)*::(?:(?!::).)*", line), line
        assert "<b>" not in summary.read_text("utf-8")


class TestPytest:
    """`test_exam.py` beside a notebook, as a student's repository has it."""

    def run(self, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
        made = student_files(classroom.a_course(), Bank.open().templates)
        (folder / "test_exam.py").write_bytes(made["test_exam.py"])
        return subprocess.run(
            [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments],
            capture_output=True, text=True, cwd=folder,
            env={**os.environ, "PYTHONPATH": str(PACKAGE)},
        )  # fmt: skip

    @pytest.mark.thorough
    def test_every_part_of_a_solved_notebook_passes(self, solved: Path) -> None:
        done = self.run(solved.parent, "-v")
        assert done.returncode == 0, done.stdout
        for name in NAMES:
            assert f"test_exam.py::test_public_check[{name}] PASSED" in done.stdout
        assert f"{len(NAMES) + 1} passed" in done.stdout
        assert "These are the public checks only." in done.stdout

    @pytest.mark.thorough
    def test_every_part_of_an_untouched_one_fails_and_says_what_to_do(self, blank: Path) -> None:
        done = self.run(blank.parent, "-q")
        assert done.returncode == 1
        assert f"{len(NAMES)} failed, 1 passed" in done.stdout
        assert "  to do: a number in GB, or a text with its unit" in done.stdout
        assert "Traceback" not in done.stdout
        assert "def test_public_check" not in done.stdout  # no source of ours in the way
        assert "These are the public checks only." in done.stdout

    @pytest.mark.thorough
    def test_one_wrong_part_is_one_failure(self, solved: Path) -> None:
        done = self.run(edited(solved, scaled=MESSY["scaled"], bound="nope").parent, "-q")
        assert f"2 failed, {len(NAMES) - 1} passed" in done.stdout
        assert "fails: `scaled(np.array([1.5]))` gives [3.5]" in done.stdout
        assert re.search(r"stopped: code cell \d+, line 1: NameError: name 'nope'", done.stdout)

    @pytest.mark.thorough
    @pytest.mark.parametrize("text", ["{", "[]", '{"cells": 3}', '{"cells": [], "metadata": {}}'])
    def test_a_broken_notebook_is_one_failure(self, blank: Path, text: str) -> None:
        blank.write_text(text)
        done = self.run(blank.parent, "-q")
        assert done.returncode == 1
        assert "1 failed, 1 skipped" in done.stdout
        assert "midterm.ipynb" in done.stdout
        assert "Traceback" not in done.stdout

    @pytest.mark.thorough
    def test_none_and_several_are_one_failure_and_one_may_be_named(
        self, solved: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        shutil.copy(solved, solved.with_name("Copy of midterm.ipynb"))
        done = self.run(solved.parent, "-q")
        assert "but found: Copy of midterm.ipynb, midterm.ipynb." in done.stdout
        monkeypatch.setenv("EXAM_NOTEBOOK", "midterm.ipynb")
        assert self.run(solved.parent, "-q").returncode == 0
        monkeypatch.setenv("EXAM_NOTEBOOK", "final.ipynb")
        done = self.run(solved.parent, "-q")
        assert "EXAM_NOTEBOOK names final.ipynb, which does not exist." in done.stdout

    @pytest.mark.thorough
    def test_without_the_package_the_parts_are_skipped_and_it_says_why(self, solved: Path) -> None:
        (solved.parent / "conftest.py").write_text("import sys\nsys.modules['grader'] = None\n")
        done = self.run(solved.parent, "-q", "-rs")
        assert done.returncode == 0
        assert f"1 passed, {len(NAMES)} skipped" in done.stdout
        assert "to run these checks, use `python -m pip install -r requirements.txt`" in done.stdout

    @pytest.mark.thorough
    def test_a_grader_that_can_not_check_is_a_failure(self, solved: Path) -> None:
        other = solved.parent / "grader"
        other.mkdir()
        (other / "__init__.py").touch()
        (other / "__main__.py").write_text("raise SystemExit('no such option: --json')\n")
        done = self.run(solved.parent, "-q")
        assert done.returncode == 1
        assert "`grader check` gave no result: no such option: --json" in done.stdout
        assert "skipped" not in done.stdout

    @pytest.mark.thorough
    def test_collecting_runs_nothing_and_finds_the_parts_without_metadata(
        self, solved: Path
    ) -> None:
        path = edited(solved, whole="open('ran', 'w')")
        tree = json.loads(path.read_text("utf-8"))
        path.write_text(json.dumps({**tree, "metadata": {}}))
        (solved.parent / "conftest.py").write_text("import sys\nsys.modules['grader'] = None\n")
        done = self.run(solved.parent, "--collect-only", "-q")
        found = re.findall(r"\[(q1_\w+)\]", done.stdout)
        assert found == list(NAMES)
        assert not (solved.parent / "ran").exists()

    def test_a_bank_may_bring_its_own(self, tmp_path: Path) -> None:
        folder = tmp_path / "classroom"
        folder.mkdir()
        (folder / "test_exam.py").write_text("# ours\n")
        made = student_files(classroom.a_course(), (tmp_path, *Bank.open().templates))
        assert made["test_exam.py"] == b"# ours\n"


def test_a_notebook_without_answers_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "other.ipynb"
    path.write_bytes(a_notebook("x = 1"))
    assert "no answer cells" in fails(capsys, "check", path)
