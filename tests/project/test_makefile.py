"""What the Makefile installs, and what it does with a Python that does not fit."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(
    sys.platform == "win32" or not shutil.which("make"), reason="there is no make"
)
ROOT = Path(__file__).parents[2]
PYTHON = """\
#!/bin/sh
# Python {version}, as far as the Makefile asks it.
case "$*" in
  *"print("*) echo {version} ;;
  *"version_info < "*) exit {old} ;;
  *"-m venv"*)
    rm -rf "$4" && mkdir -p "$4/bin" && touch "$4/pyvenv.cfg" && cp "$0" "$4/bin/python" ;;
  *"-m pip"*--index-url*) echo "$*" >> "$0.log"; exit {index} ;;
  *"-m pip"*) echo "$*" >> "$0.log" ;;
  *) exit 1 ;;
esac
"""


def a_python(folder: Path, version: str, *, index: int = 0) -> Path:
    """A stand-in for Python; *index* is the exit status of pip with another index."""
    path = folder / f"python{version}"
    text = PYTHON.format(version=version, old=int(version == "3.10"), index=index)
    path.write_text(text)
    path.chmod(0o755)
    return path


def make(folder: Path, target: str, python: Path | str) -> subprocess.CompletedProcess[str]:
    words = ["make", target, f"PYTHON={python}", f"VENV={folder / 'venv'}"]
    return subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("version", ["3.10", "none"])
def test_a_python_that_is_too_old_is_one_sentence_and_leaves_nothing(
    tmp_path: Path, version: str
) -> None:
    python = a_python(tmp_path, version) if version != "none" else tmp_path / "no-python"
    done = make(tmp_path, "demo", python)
    assert done.returncode != 0
    said = [line for line in done.stderr.splitlines() if not line.startswith("make")]
    assert len(said) == 1
    assert "3.11 or newer" in said[0]
    assert "make demo PYTHON=python3.12" in said[0]
    assert not (tmp_path / "venv").exists()


def test_an_environment_of_another_python_is_made_again(tmp_path: Path) -> None:
    """Such as one that an earlier version of the Makefile made with Python 3.10."""
    venv = tmp_path / "venv"
    (venv / "bin").mkdir(parents=True)
    (venv / "pyvenv.cfg").touch()
    shutil.copy(a_python(tmp_path, "3.10"), venv / "bin" / "python")
    (venv / "left").touch()
    twelve, eleven = a_python(tmp_path, "3.12"), a_python(tmp_path, "3.11")
    assert make(tmp_path, f"{venv}/.python-3.12", twelve).returncode == 0
    assert not (venv / "left").exists()
    (venv / "kept").touch()
    assert make(tmp_path, f"{venv}/.python-3.12", twelve).returncode == 0
    assert (venv / "kept").exists()
    assert make(tmp_path, f"{venv}/.python-3.11", eleven).returncode == 0
    assert [p.name for p in venv.glob(".python-*")] == [".python-3.11"]
    assert not (venv / "kept").exists()


def test_a_folder_that_is_no_environment_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "venv").mkdir()
    (tmp_path / "venv" / "mine").touch()
    done = make(tmp_path, "demo", a_python(tmp_path, "3.12"))
    assert done.returncode != 0
    assert "is not a virtual environment" in done.stderr
    assert (tmp_path / "venv" / "mine").exists()


@pytest.mark.parametrize("reached", [True, False])
def test_torch_comes_from_the_index_of_cpu_builds_where_it_can_be_reached(
    tmp_path: Path, reached: bool
) -> None:
    python = a_python(tmp_path, "3.12", index=0 if reached else 1)
    done = make(tmp_path, f"{tmp_path / 'venv'}/.installed-dev", python)
    assert done.returncode == 0, done.stderr
    calls = (tmp_path / "venv/bin/python.log").read_text().splitlines()
    torch = [call for call in calls if "torch==" in call and ".[dev" not in call]
    assert "--index-url https://download.pytorch.org/whl/cpu" in torch[0]
    assert len(torch) == (1 if reached else 2)
    assert all("--index-url" not in call for call in torch[1:])
    assert ".[dev,lint]" in calls[-1]


@pytest.mark.parametrize("target", ["lint", "docs", "demo"])
def test_only_tests_and_benchmarks_need_torch(tmp_path: Path, target: str) -> None:
    python = a_python(tmp_path, "3.12")
    words = ["make", "--dry-run", target, f"PYTHON={python}", f"VENV={tmp_path / 'venv'}"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "pip" in done.stdout
    assert "torch" not in done.stdout
