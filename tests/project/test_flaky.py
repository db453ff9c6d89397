"""A test that fails now and then is named with the number of its failures."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / ".ci" / "flaky.py"
TESTS = """\
from pathlib import Path

RUNS = Path(__file__).with_name("runs")


def test_fails_in_every_second_run():
    with RUNS.open("a") as file:
        file.write(".")
    assert RUNS.stat().st_size % 2 == 0


def test_passes():
    pass
"""


@pytest.mark.thorough
def test_what_fails_now_and_then_is_counted(tmp_path: Path) -> None:
    (tmp_path / "test_some.py").write_text(TESTS)
    command = [sys.executable, str(SCRIPT), "3", "-p", "no:cacheprovider", "test_some.py"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 1, done.stderr
    lines = [line.partition(" failed")[0] for line in done.stdout.splitlines()]
    assert lines == [
        "run 1 of 3: 1",
        "run 2 of 3: 0",
        "run 3 of 3: 1",
        "2 of 3: test_some::test_fails_in_every_second_run",
    ]
