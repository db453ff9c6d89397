"""An export format of another package: installed as packages are, and run from the command line."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.banks import a_bank, a_roster
from tests.helpers.commands import ok

SOURCE = '''\
from dataclasses import dataclass

from grader.errors import SetupError
from grader.integrations.base import ClassExporter, StudentExporter, option
from grader.integrations.lms.variants import VariantsExporter
from grader.model.exported import Exported


@dataclass(frozen=True, kw_only=True)
class Lines(ClassExporter):
    """A line for every student, by somebody else."""

    mark: str = option(";", help="Between the columns.")

    def export(self, subject):
        rows = [f"{r.feedback.student.id}{self.mark}{r.feedback.score}" for r in subject.results]
        return Exported(files={"lines.txt": "\\n".join(rows).encode()}, notes=("no names in it",))


@dataclass(frozen=True, kw_only=True)
class Slip(StudentExporter):
    """A slip of paper for one student."""

    leave_out: bool = option(False, help="Leave out open parts.")

    def export(self, subject):
        if not subject.feedback.problems:
            raise SetupError("nothing was graded", fix="collect a submission")
        return Exported(files={"slip.txt": f"{subject.feedback.score} {self.leave_out}".encode()})


@dataclass(frozen=True, kw_only=True)
class Sheet(VariantsExporter):
    """A sheet with the points of a quiz."""

    out = ""

    def export(self, subject):
        worth = "+".join(f"{pool.points:g}x{len(pool.questions)}" for pool in subject.pools)
        return Exported(files={"sheet.txt": worth.encode()})


class Mute:
    """Is not an exporter."""
'''


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A package on the path with exporters, a bank, and a class of which one handed in."""
    home = tmp_path_factory.mktemp("plugged")
    info = home / "site" / "elsewhere-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: elsewhere\nVersion: 1.0\n")
    names = "lines = elsewhere:Lines\nslip = elsewhere:Slip\nsheet = elsewhere:Sheet\n"
    names += "mute = elsewhere:Mute\ngone = elsewhere:Gone\ncsv = elsewhere:Lines\n"
    (info / "entry_points.txt").write_text(f"[grader.exporters]\n{names}")
    (home / "site" / "elsewhere.py").write_text(SOURCE)
    bank = a_bank(home / "bank")
    roster = a_roster(home, "id\nada\neve\n")
    ok("render", "quiz", "--roster", roster, "--out", home / "release", "--bank", bank)
    ok("solve", home / "release", "--student", "ada", "--out", home / "in" / "ada.ipynb",
       "--bank", bank)  # fmt: skip
    ok("grade", home / "in", "--release", home / "release", "--out", home / "results",
       "--bank", bank)  # fmt: skip
    return home


def export(home: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "grader", "export", *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(home / "site")},
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.mark.thorough
def test_a_table_of_all_with_an_option_of_its_own(home: Path, tmp_path: Path) -> None:
    done = export(home, "lines", home / "results", "--out", tmp_path, "--mark", "|")
    assert (done.returncode, done.stderr) == (0, "note: no names in it\n")
    assert (tmp_path / "lines.txt").read_text() == "ada|3.0\neve|0.0"


@pytest.mark.thorough
def test_a_file_for_each_student_and_a_note_for_who_has_none(home: Path) -> None:
    done = export(home, "slip", home / "results", "--leave-out")
    assert done.returncode == 0, done.stderr
    assert (home / "results/exports/slip/ada/slip.txt").read_text() == "3.0 True"
    assert "left out: nothing was graded" in done.stderr


@pytest.mark.thorough
def test_a_quiz_with_its_variants(home: Path, tmp_path: Path) -> None:
    done = export(home, "sheet", "quiz", "--bank", home / "bank", "--variants", 3,
                  "--private-key", "x", "--out", tmp_path)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "sheet.txt").read_text() == "3x3"


@pytest.mark.thorough
def test_it_is_listed_and_says_what_it_is(home: Path) -> None:
    listed = export(home, "--help").stdout
    assert "\n  lines" in listed
    assert listed.index("nbgrader") < listed.index("\n  lines")
    assert "A line for every student, by somebody else." in export(home, "lines", "--help").stdout


@pytest.mark.thorough
def test_a_format_that_comes_along_is_not_replaced(home: Path, tmp_path: Path) -> None:
    assert export(home, "csv", home / "results", "--out", tmp_path).returncode == 0
    assert (tmp_path / "results.csv").exists()


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("mute", "RESULTS"), "is not an exporter"),
        (("gone", "RESULTS"), "can't be loaded"),
        (("line", "RESULTS"), "did you mean 'grader export lines'?"),
        (("lines", "RESULTS", "--student", "adda"), "did you mean 'ada'?"),
    ],
    ids=lambda found: found[0] if isinstance(found, tuple) else "says",
)
def test_what_can_not_be_is_said_without_a_traceback(
    home: Path, arguments: tuple[str, ...], words: str
) -> None:
    done = export(home, *(home / "results" if a == "RESULTS" else a for a in arguments))
    assert done.returncode == 2
    assert words in done.stderr
    assert "fix: " in done.stderr
    assert "Traceback" not in done.stderr
