"""`grader export csv`, `github`, `classroom50`, `gradescope` and `actions` on a graded exam."""

from __future__ import annotations

import base64
import csv
import json
from pathlib import Path

import pytest

from tests.helpers.actions import read_commands
from tests.helpers.banks import a_bank, a_roster
from tests.helpers.classroom import CLASSROOM50_ENVIRONMENT
from tests.helpers.commands import fails, ok, run


@pytest.fixture(scope="module")
def exam(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ada solved it, Bo's notebook is as it was handed out, and Eve handed in nothing."""
    home = tmp_path_factory.mktemp("exports")
    bank = a_bank(home / "bank")
    roster = a_roster(home, "id,name,email\nada,Ada L,ada@example.edu\nbo,=Bo,\neve,Eve,\n")
    ok("render", "quiz", "--roster", roster, "--out", home / "release", "--bank", bank)
    ok(
        "solve", home / "release", "--student", "ada", "--out", home / "in" / "ada.ipynb",
        "--bank", bank,
    )  # fmt: skip
    (home / "in" / "bo.ipynb").write_bytes((home / "release/notebooks/bo.ipynb").read_bytes())
    ok(
        "grade", home / "in", "--release", home / "release", "--out", home / "results",
        "--bank", bank,
    )  # fmt: skip
    return home


def test_csv(exam: Path, tmp_path: Path) -> None:
    said = ok("export", "csv", exam / "results", "--out", tmp_path)
    with (tmp_path / "results.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = {row["student"]: row for row in csv.DictReader(file)}
    assert rows["ada"]["total"] == rows["ada"]["max"]
    assert (rows["bo"]["total"], rows["bo"]["name"]) == ("0", "'=Bo")
    assert (rows["eve"]["total"], rows["eve"]["standing"]) == ("", "no submission")
    assert "eve" in said.stderr


def test_one_student_alone(exam: Path, tmp_path: Path) -> None:
    said = ok("export", "csv", exam / "results", "--student", "ada", "--out", tmp_path, "--json")
    assert json.loads(said.stdout)["files"] == [str(tmp_path / "results.csv")]
    assert (tmp_path / "results.csv").read_text().count("\n") == 2


def test_a_student_nobody_knows_is_named(exam: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = fails(capsys, "export", "csv", exam / "results", "--student", "adaa")
    assert "did you mean 'ada'" in said


def test_github_into_the_step_s_outputs(exam: Path, tmp_path: Path) -> None:
    sink = tmp_path / "output"
    sink.write_text("before=1")  # without a line break, as some programs leave it
    ok(
        "export", "github", exam / "results", "--student", "ada", "--github-output", sink,
        "--out", tmp_path / "out",
    )  # fmt: skip
    read = dict(line.split("=", 1) for line in sink.read_text().splitlines() if "=" in line)
    assert read["before"] == "1"
    ids = read["runners"].split(",")
    assert {"before", "runners", *ids} == set(read)
    assert all(json.loads(base64.b64decode(read[i]))["status"] == "pass" for i in ids)


def test_github_for_everybody_leaves_out_who_has_no_result(exam: Path, tmp_path: Path) -> None:
    said = ok("export", "github", exam / "results", "--out", tmp_path, "--json")
    assert {p.name for p in tmp_path.iterdir()} == {"ada", "bo"}
    assert any("'eve'" in note for note in json.loads(said.stdout)["notes"])


def test_outputs_are_of_one_student(exam: Path, tmp_path: Path) -> None:
    said = run("export", "github", exam / "results", "--github-output", tmp_path / "x")
    assert "--student" in str(said.exception)


def test_classroom50_exits_with_0_whatever_the_points(
    exam: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, value in {**CLASSROOM50_ENVIRONMENT, "OWNER": "bo"}.items():
        monkeypatch.setenv(name, value)
    ok(
        "export", "classroom50", exam / "results", "--student", "bo", "--submitted-at",
        "2026-11-02T10:00:00+01:00", "--github-output", tmp_path / "output",
    )  # fmt: skip
    document = json.loads((tmp_path / "result.json").read_text())
    assert (document["owner"], document["score"]) == ("bo", 0)
    assert document["datetime"] == "2026-11-02T09:00:00Z"
    assert (tmp_path / "release-body.md").exists()
    # The runner looks for a line that starts with this, and makes one up where there is none.
    assert "status=failure" in (tmp_path / "output").read_text().splitlines()


def test_classroom50_without_a_result_is_an_error_and_writes_nothing(
    exam: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert "CLASSROOM" in fails(
        capsys, "export", "classroom50", exam / "results", "--student", "ada"
    )
    for name, value in CLASSROOM50_ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    sink = tmp_path / "output"
    assert "no submission" in fails(
        capsys,
        "export",
        "classroom50",
        exam / "results",
        "--student",
        "eve",
        "--github-output",
        sink,
    )
    assert list(tmp_path.iterdir()) == []


def test_gradescope(exam: Path, tmp_path: Path) -> None:
    ok("export", "gradescope", exam / "results", "--student", "ada", "--out", tmp_path)
    document = json.loads((tmp_path / "results.json").read_text())
    assert document["score"] == document["extra_data"]["max_score"]
    ok("export", "gradescope", exam / "results", "--out", tmp_path / "all", "--marks", "hidden")
    assert {p.name for p in (tmp_path / "all").iterdir()} == {"ada", "bo", "eve"}


def test_actions(exam: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    notebook = exam / "in" / "bo.ipynb"
    said = ok("export", "actions", exam / "results", "--student", "bo", "--notebook", notebook)
    read = read_commands(said.stdout)
    assert read
    lines = notebook.read_text(encoding="utf-8").split("\n")
    for name, properties, _ in read:
        assert name == "warning"
        assert properties["title"] in lines[int(properties["line"]) - 1]
    assert (tmp_path / "summary.md").read_text(encoding="utf-8").startswith("## ")


def test_open_points_are_left_out_only_where_it_is_said(
    exam: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "no submission" in fails(
        capsys, "export", "github", exam / "results", "--student", "eve", "--out", tmp_path
    )
