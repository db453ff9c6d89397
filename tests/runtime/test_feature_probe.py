"""That a layer is missing is one thing, and that nobody could look for it is another."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from collections.abc import Iterator
from pathlib import Path

import pytest

if sys.platform != "linux":
    pytest.skip("there are no walls", allow_module_level=True)

from grader.cli.doctor_report import examine
from grader.errors import SetupError
from grader.runtime.sandbox import choose_sandbox, linux, probing
from tests.helpers.commands import run as grader
from tests.helpers.notebooks import run

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def unsurveyed() -> Iterator[None]:
    """Nothing is known yet of this machine."""
    linux._probe_features.cache_clear()
    yield
    linux._probe_features.cache_clear()


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> None:
    """A survey that fails itself."""
    monkeypatch.setattr(probing, "MODULE", "grader.runtime.worker.nothing")


def test_layers_are_found_from_a_checkout_that_is_not_installed(tmp_path: Path) -> None:
    venv.create(tmp_path, symlinks=True)
    site = tmp_path / f"lib/python3.{sys.version_info[1]}/site-packages"
    # As folders on the path, whose own .pth files, such as that of this package, are not read.
    site.joinpath("others.pth").write_text(
        "\n".join(path for path in sys.path if path.endswith("-packages"))
    )
    code = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r})\n"
        "from grader.runtime.sandbox import linux as walled\n"
        "print(*sorted(walled._probe_features()))"
    )
    done = subprocess.run(
        [tmp_path / "bin/python", "-c", code],
        cwd="/",
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "survey" not in done.stdout.split()
    assert set(done.stdout.split()) == set(linux._probe_features())


def test_the_path_of_the_grader_stays_that_of_the_survey(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    tmp_path.joinpath("grader_survey_here.py").write_text(
        "import json, grader\nprint(json.dumps({'here': None}))"
    )
    monkeypatch.setattr(probing, "MODULE", "grader_survey_here")
    assert probing.probe_features({}) == {"here": None}


@pytest.mark.parametrize(
    ("attempt", "why"),
    [("0", "None"), ("sys.exit(3)", "3"), ("exec('raise OSError(chr(0xd800))')", "?")],
)
def test_an_attempt_reports_whatever_it_raises_and_runs_nothing_else(
    attempt: str, why: str
) -> None:
    code = (
        "import sys; from grader.runtime.worker import feature_probe\n"
        f"print(feature_probe._why_attempt_fails(lambda *_: {attempt}, {{}}, ''))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == (f"{why}\n", "")


def test_a_survey_that_takes_too_long_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probing, "SECONDS", 0.001)
    with pytest.raises(SetupError, match=r"timed out after 0\.001 seconds"):
        choose_sandbox("auto")


@pytest.mark.usefixtures("broken")
def test_student_code_does_not_run_without_a_wall_when_nobody_could_look_for_one() -> None:
    for mode in ("auto", "required", "required:files"):
        with pytest.raises(SetupError, match=r"could not be tested: exit status 1, .*nothing"):
            choose_sandbox(mode)
    with pytest.raises(SetupError) as caught:
        run("q1_a = 1", asks="q1_a")
    assert caught.value.where
    assert caught.value.fix
    evidence = run("q1_a = 1", asks="q1_a", sandbox="off")
    assert (evidence.answers["q1_a"].raw or {}).get("v") == "1"


def test_what_the_survey_says_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probing, "MODULE", "this")
    with pytest.raises(SetupError, match="could not be tested"):
        probing.probe_features({})


@pytest.mark.usefixtures("broken")
def test_the_doctor_does_not_blame_the_layers() -> None:
    for kernel in (True, False):
        found = {finding.what: finding for finding in examine(kernel=kernel)}
        assert found["sandbox"].ok is False
        assert "could not be tested" in found["sandbox"].observation
        assert "SYS_ADMIN" not in str(found)
        assert not [what for what in found if what.startswith("sandbox:")]
    assert grader("doctor", "--no-kernel").return_value == 1


def test_the_doctor_names_the_layers_of_a_machine_that_could_be_looked_at() -> None:
    found = {finding.what: finding for finding in examine(kernel=False)}
    assert "sandbox" not in found
    assert found["sandbox: environment"].ok
