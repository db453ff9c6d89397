"""The benchmarks run, measure what they say, and show a contender that failed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

HOME = Path(__file__).parents[2] / "benchmarks"

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="measures by /proc")


def script(name: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(HOME / name), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True)


def measured(folder: Path, code: str) -> dict[str, Any]:
    out = folder / "usage.json"
    script("measure.py", "--out", out, "--", sys.executable, "-c", code)
    found: dict[str, Any] = json.loads(out.read_text())
    return found


# Uses a tenth of a CPU-second, however fast the machine is.
WORK = "import time\nwhile time.process_time() < 0.1: pass\n"


@pytest.mark.slow
def test_a_process_that_nobody_waits_for_is_counted(tmp_path: Path) -> None:
    orphan = f"import os\nif os.fork() == 0:\n if os.fork() == 0: exec({WORK!r})\n os._exit(0)"
    found = measured(tmp_path, orphan)
    assert found["cpu"] >= 0.1
    assert found["left_behind"] == 0


@pytest.mark.slow
def test_a_process_that_stays_is_ended_and_reported(tmp_path: Path) -> None:
    stays = "import os, time\npid = os.fork()\nif pid == 0: time.sleep(600)\nprint(pid)"
    out = tmp_path / "usage.json"
    done = script("measure.py", "--out", out, "--", sys.executable, "-c", stays)
    assert json.loads(out.read_text())["left_behind"] == 1
    with pytest.raises(ProcessLookupError):
        os.kill(int(done.stdout), 0)


def test_a_contender_that_failed_is_a_row_that_says_why(tmp_path: Path) -> None:
    run = {"contender": "ours", "label": "grader grade", "students": 20, "memory": False}
    runs = [
        run | {"round": 0, "wall": 2.0, "cpu": 3.0, "busy_elsewhere": 0.1},
        run | {"contender": "other", "label": "another grader", "failed": "3 marks are wrong"},
    ]
    machine = {
        "date": "2026-01-01", "cores": 2, "memory_gb": 8, "processor": "P", "system": "S",
        "python": "3.11", "packages": {},
    }  # fmt: skip
    (tmp_path / "throughput.json").write_text(json.dumps({"machine": machine, "runs": runs}))
    done = script("report.py", "--results", tmp_path)
    assert done.returncode == 0, done.stderr
    assert "| grader grade | 2.00 | 3.00 | 150 |" in done.stdout
    assert "| another grader | failed: 3 marks are wrong |" in done.stdout


@pytest.mark.slow
def test_the_exam_holds_to_the_gate() -> None:
    command = [sys.executable, "-m", "grader", "verify", "--bank", str(HOME / "bank")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


@pytest.mark.slow
def test_everything_runs_on_tiny_classes(tmp_path: Path) -> None:
    done = script("run.py", "--quick", "--out", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    text = (tmp_path / "results.md").read_text()
    assert "failed" not in text  # so every contender's marks were right
    for row in ("grader grade", "nbclient, one process", "bare cells", "grader score"):
        assert f"| {row}" in text
    runs = json.loads((tmp_path / "throughput.json").read_text())["runs"]
    assert {r["contender"] for r in runs} == {"ours", "nbclient", "floor"}
    assert all(r["cpu"] > 0 for r in runs)
