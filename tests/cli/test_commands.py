"""The commands as their users call them: a whole exam through real kernels, and every exit code."""

from __future__ import annotations

import csv
import json
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import click
import nbformat
import pytest

from grader.cli import grader
from grader.gradebook import Gradebook
from grader.model import Limits
from grader.verify.one_problem import Verified
from tests.helpers.banks import SPEC, a_bank, a_roster
from tests.helpers.commands import fails, ok, run


@pytest.fixture(scope="module")
def exam(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release for three students and their submissions, graded once."""
    home = tmp_path_factory.mktemp("exam")
    bank = a_bank(home / "bank")
    ok("render", "quiz", "--roster", a_roster(home), "--out", home / "release", "--bank", bank)
    handed = home / "submissions"
    ok("solve", home / "release", "--student", "ada", "--out", handed / "ada.ipynb", "--bank", bank)
    blank = (home / "release" / "notebooks" / "bo.ipynb").read_bytes()
    (handed / "bo").mkdir()
    (handed / "bo" / "mine.ipynb").write_bytes(blank)
    (handed / "nobody.ipynb").write_bytes(blank)
    (handed / "notes.txt").write_text("hello")
    ok(
        "grade", handed, "--release", home / "release" / "release.json",
        "--out", home / "results", "--bank", bank,
    )  # fmt: skip
    return home


def grade_of(exam: Path, student: str) -> dict:  # type: ignore[type-arg]
    return json.loads((exam / "results" / "grades" / f"{student}.json").read_text())


@pytest.mark.thorough
def test_the_solved_notebook_scores_full_marks(exam: Path) -> None:
    grade = grade_of(exam, "ada")
    assert (grade["score"], grade["max_score"], grade["complete"]) == (3, 3, True)
    assert {m["verdict"] for m in grade["marks"]} == {"correct"}


def test_a_solved_notebook_replaces_no_other_file(exam, tmp_path, capsys):
    def solve(
        out: Path, release: Path = exam / "release", student: str = "ada"
    ) -> tuple[object, ...]:
        return "solve", release, "--student", student, "--out", out, "--bank", exam / "bank"

    solved = tmp_path / "ada.ipynb"
    ok(*solve(solved))
    ok(*solve(solved))  # the same again
    ok(*solve(solved, student="bo"))
    ok(*solve(solved))
    assert solved.stat().st_mode & 0o077 == 0
    handed_out = exam / "release" / "notebooks" / "ada.ipynb"
    work = tmp_path / "work.ipynb"
    work.write_bytes(handed_out.read_bytes().replace(b" = ...", b" = 3"))
    (tmp_path / "notes.txt").write_text("hello")
    lost = "this file exists already, and would be lost"
    for file, said in (
        (work, lost),
        (tmp_path / "notes.txt", lost),
        (exam / "release" / "release.json", lost),
        (handed_out, "the notebooks in this folder are handed out"),
    ):
        before = file.read_bytes()
        for release in (exam / "release", exam / "release" / "release.json"):
            assert said in fails(capsys, *solve(file, release))
            assert file.read_bytes() == before
    work.write_bytes(handed_out.read_bytes())
    ok(*solve(work))
    assert work.read_bytes() == solved.read_bytes()
    other = tmp_path / "other"
    ok("render", "quiz", "--student", "ada", "--out", other, "--bank", exam / "bank")
    ok(*solve(solved, other))


SOURCE = f"https://example.org/grader@{'0123456789' * 4}"


@pytest.mark.parametrize("command", [("gradescope", "--grader-source", SOURCE), ("seal",)])
def test_files_of_another_kind_are_not_replaced(exam, tmp_path, capsys, command):
    out = tmp_path / "exam.zip"
    name, *more = command
    arguments = ("classroom", name, exam / "release", *more, "--out", out)
    ok(*arguments)
    ok(*arguments)  # an earlier result is
    out.write_bytes(b"PK\3\4 submissions")
    assert "this file exists already, and is of another kind" in fails(capsys, *arguments)
    assert out.read_bytes() == b"PK\3\4 submissions"


def test_commands_to_copy_have_quotes_where_needed(exam, tmp_path):
    table = tmp_path / "my marks.csv"
    said = ok("mark", exam / "results", "--table", table, "--bank", exam / "bank").stdout
    assert said.endswith(f" --from '{table}'\n")


def test_the_untouched_notebook_scores_nothing(exam: Path) -> None:
    grade = grade_of(exam, "bo")
    assert grade["score"] == 0
    assert {m["verdict"] for m in grade["marks"]} == {"absent"}


def test_a_grade_has_the_keys_of_the_contract(exam: Path) -> None:
    grade = grade_of(exam, "ada")
    assert set(grade) == {
        "student", "set", "submission_sha256", "score", "max_score", "complete", "marks",
        "engine", "release", "environment",
    }  # fmt: skip
    assert set(grade["marks"][0]) == {
        "problem", "part", "name", "kind", "points", "max_points", "verdict", "mistake",
        "answer", "feedback",
    }  # fmt: skip
    assert grade["marks"][0]["name"] == "q1_share"


def test_the_csv_has_a_row_a_student_and_a_column_a_part(exam: Path) -> None:
    with (exam / "results" / "grades.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["student", "total", "max", "q1_share", "q1_bound", "standing"]
    assert {r["student"]: (r["total"], r["standing"]) for r in rows} == {
        "ada": ("3", "graded"),
        "bo": ("0", "graded"),
        "cy": ("", "no submission"),
    }


def test_the_key_of_a_student_is_json(exam: Path) -> None:
    keys = json.loads(ok("key", exam / "release", "--student", "ada", "--json").output)
    assert set(keys) == {"q1_share", "q1_bound"}
    assert keys["q1_share"]["unit"] == "GB"
    assert keys["q1_share"]["kind"] == "numeric"
    assert keys["q1_bound"]["value"] in ("A", "B", "C")


@pytest.mark.parametrize(
    ("text", "warned"), [("midterm2026", True), ("7Fq2xW9LmZr4TbKc8VnYp3", False)]
)
def test_a_private_key_that_can_be_guessed_is_told(
    exam: Path, tmp_path: Path, text: str, warned: bool
) -> None:
    """The release's id, which every notebook shows, says whether a guess is right."""
    result = ok(
        "render", "quiz", "--student", "ada", "--out", tmp_path, "--bank", exam / "bank",
        "--private-key", text, "--json",
    )  # fmt: skip
    assert ("guess" in " ".join(json.loads(result.stdout)["notes"])) is warned


def test_rendered_notebooks_are_valid_and_the_same_again(exam: Path) -> None:
    path = exam / "release" / "notebooks" / "ada.ipynb"
    nbformat.validate(nbformat.read(path, as_version=4))
    before = path.read_bytes()
    path.unlink()
    ok(
        "render", "quiz", "--roster", exam / "roster.csv", "--out", exam / "release",
        "--bank", exam / "bank",
    )  # fmt: skip
    assert path.read_bytes() == before


def test_nothing_of_the_key_is_in_a_students_notebook(exam: Path) -> None:
    text = (exam / "release" / "notebooks" / "ada.ipynb").read_text()
    keys = json.loads(ok("key", exam / "release", "--student", "ada", "--json").output)
    assert str(keys["q1_share"]["value"]) not in text
    for word in ("correct", "mistake", "feedback", "explanation", "private"):
        assert word not in text


def test_grading_again_executes_nothing(exam: Path) -> None:
    again = ok(
        "grade", exam / "submissions", "--release", exam / "release" / "release.json",
        "--out", exam / "results", "--bank", exam / "bank", "--json",
    )  # fmt: skip
    data = json.loads(again.stdout)
    assert data["executed"] == 0
    assert data["kept"] == 2
    assert data["missing"] == ["cy"]
    assert any("nobody" in n["path"] for n in data["notices"])


def test_a_zip_grades_like_its_folder(exam: Path, tmp_path: Path) -> None:
    archive = tmp_path / "all.zip"
    with zipfile.ZipFile(archive, "w") as zipped:
        for path in (exam / "submissions").rglob("*.ipynb"):
            zipped.write(path, Path("top") / path.relative_to(exam / "submissions"))
    ok(
        "grade", archive, "--release", exam / "release", "--out", tmp_path / "results",
        "--bank", exam / "bank",
    )  # fmt: skip
    assert (tmp_path / "results" / "grades.csv").read_text() == (
        exam / "results" / "grades.csv"
    ).read_text()


def test_a_corrected_key_regrades_without_a_kernel(exam: Path, tmp_path: Path) -> None:
    corrected = a_bank(
        tmp_path / "bank",
        SPEC.replace("answer: weights / gpus", "answer: 2 * weights / gpus").replace(
            "value: 2 * weights / gpus", "value: weights / gpus"
        ),
    )
    arguments = ("score", exam / "results", "--specs", "current", "--bank", corrected)
    dry = json.loads(ok(*arguments, "--dry-run", "--json").stdout)
    assert not dry["applied"]
    assert [(c["student"], c["before"], c["after"]) for c in dry["changes"]] == [("ada", 3, 1.5)]
    assert grade_of(exam, "ada")["score"] == 3
    # The second computation still says otherwise: the key is refused until somebody insists.
    assert any("the key is" in fault for fault in dry["faults"])
    refused = run(*arguments, "--why", "the key was wrong")
    assert (refused.return_value, refused.exception) == (1, None)
    assert "second-computation" in refused.stderr
    assert "Nothing was applied" in refused.stderr
    assert grade_of(exam, "ada")["score"] == 3
    assert isinstance(run(*arguments, "--unverified").exception, click.UsageError)
    ok(*arguments, "--why", "the key was wrong", "--unverified")
    assert grade_of(exam, "ada")["score"] == 1.5
    with Gradebook.open(exam / "results") as book:
        assert any("not verified: the key was wrong" in a.why for a in book.audit())
    ok("score", exam / "results", "--bank", exam / "bank")
    assert grade_of(exam, "ada")["score"] == 1.5, "a correction stays until it is taken back"
    ok("score", exam / "results", "--specs", "released", "--bank", exam / "bank")
    assert grade_of(exam, "ada")["score"] == 3


def test_a_folder_without_notebooks_is_an_error(
    exam: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()
    text = fails(
        capsys,
        "grade",
        tmp_path / "empty",
        "--release",
        exam / "release",
        "--out",
        tmp_path / "out",
    )
    assert "empty: there is no notebook here" in text
    assert "fix: name the folder or zip that holds STUDENT.ipynb" in text
    assert not (tmp_path / "out").exists()


def test_one_student_is_told_of_that_students_files_alone(exam: Path, tmp_path: Path) -> None:
    handed = tmp_path / "submissions"
    shutil.copytree(exam / "submissions", handed)
    (handed / "cy.ipynb").write_text("no notebook")
    command = (
        *("grade", handed, "--release", exam / "release", "--out", tmp_path / "out"),
        *("--bank", exam / "bank", "--json"),
    )
    told = {n["path"] for n in json.loads(ok(*command, "--student", "cy").stdout)["notices"]}
    assert told == {"cy.ipynb"}
    everything = {n["path"] for n in json.loads(ok(*command).stdout)["notices"]}
    assert everything >= {"cy.ipynb", "nobody.ipynb"}


def test_feedback_shows_the_key_only_once_published(exam: Path) -> None:
    keys = json.loads(ok("key", exam / "release", "--student", "bo", "--json").output)
    shown = f"{keys['q1_share']['value']:g}"

    def page() -> str:
        # Without style sheet, tags and drawings, whose numbers are not answers.
        text = (exam / "results" / "feedback" / "bo.html").read_text()
        return re.sub(r"<[^>]*>", " ", text.partition("</style>")[2])

    assert shown not in page()
    ok("report", exam / "results", "--publish", "--bank", exam / "bank")
    assert shown in page()
    ok("report", exam / "results", "--unpublish", "--bank", exam / "bank")
    assert shown not in page()


@pytest.mark.thorough
def test_a_student_checks_a_notebook_without_the_release(exam: Path) -> None:
    result = run("check", exam / "submissions" / "ada.ipynb")
    assert result.return_value == 0
    assert "read as" in result.output
    assert "nothing about whether they are right" in result.output
    result = run("check", exam / "release" / "notebooks" / "bo.ipynb")
    assert result.return_value == 1
    assert "EMPTY" in result.output


def test_show_prints_the_key_only_when_asked(exam: Path) -> None:
    bank = exam / "bank"
    assert "Worked solution" not in ok("show", "sample", "--bank", bank).output
    assert "Worked solution" in ok("show", "sample", "--key", "--bank", bank).output


def test_list_and_coverage_speak_json(exam: Path) -> None:
    listed = json.loads(ok("list", "--json", "--bank", exam / "bank").output)
    assert "sample" in {p["id"] for p in listed}
    assert "concepts" in json.loads(ok("coverage", "--json").output)


def test_verify_exits_1_when_something_does_not_hold(tmp_path: Path) -> None:
    sound = a_bank(tmp_path / "sound")
    assert run("verify", "sample", "--seeds", 5, "--bank", sound).return_value == 0
    broken = a_bank(tmp_path / "broken", solution="def solve(given):\n    return {}\n")
    result = run("verify", "sample", "--seeds", 5, "--no-kernel", "--json", "--bank", broken)
    assert result.return_value == 1
    found = json.loads(result.stdout)["problems"][0]["findings"]
    assert found[0]["line"]


def test_a_problem_that_fails_in_the_kernel_has_not_passed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kernel = ("a/one: earned 0 of 2 points", "a/two: earned 1 of 2 points")
    results = (Verified(problem="a", seeds=5, kernel=kernel), Verified(problem="b", seeds=5))
    monkeypatch.setattr("grader.verify.verify", lambda *_, **__: results)
    done = run("verify")
    assert done.return_value == 1
    lines = done.stdout.splitlines()
    assert [line.split()[:2] for line in lines[:2]] == [["FAIL", "a"], ["ok", "b"]]
    assert [line.removeprefix("FAIL ") for line in lines[2:4]] == [*kernel]
    assert lines[-1] == "1 of 2 problems passed."
    problems = json.loads(run("verify", "--json").stdout)["problems"]
    assert [problem["holds"] for problem in problems] == [False, True]


def test_a_new_problem_passes_the_gate(tmp_path: Path) -> None:
    ok("new", "numerics/my-problem", "--into", tmp_path)
    assert run("verify", "my-problem", "--seeds", 20, "--bank", tmp_path).return_value == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["rendr"], "did you mean 'grader render'?"),
        (["show", "kv-cache-siz"], "did you mean 'kv-cache-size'?"),
        (["render", "midtrm", "--student", "a", "--out", "x"], "did you mean 'midterm'?"),
        (["render", "quiz-numerics", "--student", " ", "--out", "x"], "the student's id is empty"),
        (
            ["render", "kv-cache-size", "--student", "a", "--out", "x"],
            "'kv-cache-size' is a problem, and a set is needed\n"
            "  fix: list it in a set file, or see it with `grader show kv-cache-size`",
        ),
        (["render", "midterm", "--out", "x"], "there are no students to render for"),
        (["render", "midterm", "--roster", "no.csv", "--out", "x"], "no.csv"),
        (["grade", "nothing", "--release", "no.json", "--out", "x"], "no.json"),
        (["report", "nothing"], "nothing"),
        (["check", "nothing.ipynb"], "nothing.ipynb"),
        (["new", "numeric/x"], "did you mean 'numerics'?"),
        (["list", "--bank", "nowhere"], "is not a bank"),
    ],
)
def test_wrong_use_exits_2_and_says_what_to_do(
    arguments: list[str],
    words: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert words in fails(capsys, *arguments)


def test_results_of_another_release_are_not_mixed(
    exam: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ok("render", "quiz", "--student", "ada", "--out", tmp_path / "other", "--bank", exam / "bank")
    text = fails(
        capsys,
        "grade", exam / "submissions", "--release", tmp_path / "other", "--out", exam / "results",
    )  # fmt: skip
    assert "belong to release" in text


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys; from grader.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'pydantic', 'jinja2', 'sqlalchemy', 'nbformat', 'nbclient', 'numpy', 'yaml'}\n"
        "sys.exit(','.join(sorted(heavy & set(sys.modules))) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


COMMANDS = [
    "list",
    "show",
    "verify",
    "coverage",
    "new",
    "schema",
    "render",
    "key",
    "solve",
    "check",
    "grade",
    "score",
    "report",
    "doctor",
    "demo",
]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_examples(name: str) -> None:
    assert "Examples:" in run(name, "--help").output


def test_git_keeps_releases_and_results_to_itself(exam: Path, tmp_path: Path) -> None:
    for folder in ("release", "results"):
        assert (exam / folder / ".gitignore").read_text().splitlines()[-1] == "*"
    # A folder with something else in it may be a repository that is not ours to hide.
    (tmp_path / "notes.txt").write_text("mine")
    ok("render", "quiz", "--student", "ada", "--out", tmp_path, "--bank", exam / "bank")
    assert not (tmp_path / ".gitignore").exists()


def test_the_limits_in_the_help_are_the_defaults() -> None:
    command = grader.get_command(click.Context(grader), "grade")
    assert command is not None
    defaults: dict[str, Any] = {
        str(parameter.name): parameter.default for parameter in command.params
    }
    assert defaults["memory_gb"] * 1e9 == Limits().memory_bytes
    assert defaults["notebook_seconds"] == Limits().notebook_seconds
