"""A run that is stopped keeps what was done, and the next one goes on from there."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from grader.notebook import Cell, read, write
from tests.helpers.banks import a_bank, a_roster
from tests.helpers.commands import ok

STUDENTS = 6


def handed_in(home: Path) -> tuple[Path, Path, Path]:
    """Release, submissions of six students that each take a while, and the bank."""
    bank = a_bank(home / "bank")
    roster = a_roster(home, "id\n" + "".join(f"s{i}\n" for i in range(STUDENTS)))
    ok("render", "quiz", "--roster", roster, "--out", home / "release", "--bank", bank)
    folder = home / "submissions"
    for number in range(STUDENTS):
        path = folder / f"s{number}.ipynb"
        ok("solve", home / "release", "--student", f"s{number}", "--out", path, "--bank", bank)
        notebook = read(path.read_bytes())
        slow = Cell(type="code", id="slow", source="import time; time.sleep(0.6)")
        path.write_bytes(write((slow, *notebook.cells), notebook.metadata))
    return home / "release", folder, bank


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGINT to another process")
def test_after_ctrl_c_nothing_is_lost_and_nothing_runs_twice(tmp_path: Path) -> None:
    release, folder, bank = handed_in(tmp_path)
    results = tmp_path / "results"
    command = [
        sys.executable, "-m", "grader", "grade", str(folder), "--release", str(release),
        "--out", str(results), "--bank", str(bank), "--jobs", "1", "--json",
    ]  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as first:
        deadline = time.monotonic() + 60
        while len(list(results.glob("evidence/*.json.gz"))) < 2:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        first.send_signal(signal.SIGINT)
        _, err = first.communicate(timeout=60)
    assert first.returncode == 130
    assert b"finished work is kept" in err
    assert b"Traceback" not in err
    done = len(list(results.glob("evidence/*.json.gz")))
    assert 2 <= done < STUDENTS
    second = subprocess.run(command, capture_output=True, check=True, timeout=120)
    data = json.loads(second.stdout)
    assert data["kept"] == done
    assert data["executed"] == STUDENTS - done
    assert [g["score"] for g in data["grades"]] == [3.0] * STUDENTS
