"""`grader classroom publish`: to whom there is anything to send, and folders of students."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from grader.cli import main
from tests.helpers.banks import a_bank, a_roster
from tests.helpers.classroom import Remote, git
from tests.helpers.commands import ok


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of a class in which ada and bo handed in, and cy did not."""
    home = tmp_path_factory.mktemp("publish")
    bank = a_bank(home / "bank")
    release, handed = home / "release", home / "submissions"
    ok("render", "quiz", "--roster", a_roster(home), "--out", release, "--bank", bank)
    for name in ("ada", "bo"):
        made = handed / f"{name}.ipynb"
        ok("solve", release, "--student", name, "--out", made, "--bank", bank)
    ok("grade", handed, "--release", release, "--out", home / "results", "--bank", bank)
    ok("report", home / "results", "--bank", bank)
    return home / "results"


@dataclass(frozen=True)
class Done:
    exit_code: object
    stdout: str
    stderr: str


@pytest.fixture
def publish(capsys: pytest.CaptureFixture[str]) -> Callable[..., Done]:
    """The command as its users call it."""

    def called(*arguments: object) -> Done:
        capsys.readouterr()
        with pytest.raises(SystemExit) as stop:
            main(["classroom", "publish", *map(str, arguments)])
        return Done(stop.value.code, *capsys.readouterr())

    return called


def test_nothing_to_send_is_said_for_whom(
    publish: Callable[..., Done], results: Path, tmp_path: Path
) -> None:
    Remote(tmp_path, "cy")
    where = ["--url", f"{tmp_path}/server/{{id}}.git"]
    done = publish(results, "--student", "cy", *where)
    assert done.exit_code == 1
    assert "There is nothing to send to cy." in done.stdout
    assert "student" not in done.stdout
    told = json.loads(publish(results, "--student", "cy", *where, "--json").stdout)
    assert told == {"students": [], "nothing": ["cy"]}


def test_who_is_named_and_has_nothing_is_no_success(
    publish: Callable[..., Done], results: Path, tmp_path: Path
) -> None:
    ada = Remote(tmp_path, "ada")
    url = ["--url", f"{tmp_path}/server/{{id}}.git"]
    done = publish(results, "--student", "ada", "--student", "cy", *url)
    assert done.exit_code == 1
    assert "cy: no submission" in done.stderr
    assert "1 of 1 repositories are up to date" in done.stdout
    assert git("ls-tree", "--name-only", "feedback", cwd=ada.bare).split() == [
        "README.md", "feedback.html",
    ]  # fmt: skip
    # Of a whole class it is no fault that somebody has handed in nothing.
    Remote(tmp_path, "bo")
    done = publish(results, *url, "--json")
    assert done.exit_code == 0
    told = json.loads(done.stdout)
    assert told["nothing"] == ["cy"]
    assert [one["student"] for one in told["students"]] == ["ada", "bo"]


def test_a_class_that_handed_in_nothing_is_told(
    publish: Callable[..., Done], tmp_path: Path
) -> None:
    bank, release = a_bank(tmp_path / "bank"), tmp_path / "release"
    ok("render", "quiz", "--roster", a_roster(tmp_path), "--out", release, "--bank", bank)
    (tmp_path / "handed").mkdir()
    (tmp_path / "handed" / "stranger.ipynb").write_text("{}")
    graded = tmp_path / "results"
    ok("grade", tmp_path / "handed", "--release", release, "--out", graded, "--bank", bank)
    done = publish(graded, "--url", f"{tmp_path}/{{id}}.git")
    assert done.exit_code == 0
    assert "There is nothing to send: there are no submissions" in done.stdout
