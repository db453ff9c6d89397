"""Nothing that goes wrong reaches a person as a traceback: real processes, real signals."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from grader.cli import crash
from grader.gradebook import Gradebook
from tests.helpers.banks import a_bank

GRADER = [sys.executable, "-m", "grader"]
# A command that fails as a bug would.
BROKEN = """
import sys, threading
from grader.cli import main
from grader.cli.bank_commands import list_command
def fail(**_):
    {failure}
list_command.callback = fail
list_command.ignore_unknown_options = True
list_command.allow_extra_args = True
main(["list", *sys.argv[1:]])
"""


def failed(tmp_path: Path, failure: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    code = BROKEN.format(failure=failure.replace("\n", "\n    "))
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        timeout=120,
    )


def reports(folder: Path) -> list[str]:
    return [path.read_text() for path in folder.glob("grader-crash-*.txt")]


@pytest.mark.parametrize(
    ("failure", "named"),
    [
        ("raise KeyError('the key is 42')", "KeyError"),
        ("def again():\n    again()\nagain()", "RecursionError"),
        ("raise MemoryError", "MemoryError"),
        ("raise SystemExit(0)", "RuntimeError"),
        ("raise AssertionError", "AssertionError"),
        ("raise BrokenPipeError", "BrokenPipeError"),  # not of stdout, where `| head` ends
    ],
)
def test_a_bug_is_a_sentence_and_a_report(tmp_path: Path, failure: str, named: str) -> None:
    done = failed(tmp_path, failure, "--family", "a family")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"grader:\nunexpected {named}")
    assert len(done.stderr.splitlines()) == 3
    (report,) = reports(tmp_path)
    assert "Traceback" in report
    assert named in report
    assert re.search(r"grader \S+, Python 3\.\d+\.\d+, \w+", report)
    assert "command: grader list --family 'a family'" in report
    (path,) = tmp_path.glob("grader-crash-*.txt")
    assert str(path) in done.stderr
    assert path.stat().st_mode & 0o077 == 0


def test_a_thread_that_fails_leaves_a_report(tmp_path: Path) -> None:
    thread = "one = threading.Thread(target=lambda: 1 / 0)\none.start()\none.join()"
    done = failed(tmp_path, thread)
    assert "unexpected ZeroDivisionError" in done.stderr
    assert "Traceback" not in done.stderr
    assert "Traceback" in reports(tmp_path)[0]


def test_a_report_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    full = "import tempfile\ndef mkstemp(**_): raise OSError(28, 'No space left on device')\n"
    done = failed(tmp_path, f"{full}tempfile.mkstemp = mkstemp\nraise ValueError")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "could not be written: [Errno 28] No space left on device" in done.stderr


def test_a_report_has_no_secret(tmp_path: Path) -> None:
    secret = "raise ValueError('hunter2 of https://me:hunter3@example.org')"
    more = ("--private-key", "hunter2", "--token=hunter4", "--url", "https://me:hunter5@a.org/x")
    failed(tmp_path, secret, *more)
    (report,) = reports(tmp_path)
    assert "hunter" not in report
    assert "--private-key ***" in report
    assert "--token=***" in report
    assert "https://***@a.org/x" in report


def test_paths_in_a_report_do_not_name_the_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", "/home/ada-lovelace")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    crash.report_crash(ValueError("/home/ada-lovelace/exam"), ["list"])
    assert "unexpected ValueError" in capsys.readouterr().err
    (report,) = reports(tmp_path)
    assert "ada-lovelace" not in report


@pytest.mark.thorough
@pytest.mark.parametrize("command", [["schema"], ["--help"]])
def test_a_reader_that_has_seen_enough_is_no_error(command: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(
            [*GRADER, *command], stdout=writer, stderr=subprocess.PIPE, text=True, timeout=120
        )
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.thorough
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("command", [["schema"], ["--help"]])
def test_a_full_disk_behind_stdout_is_said(command: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*GRADER, *command], stdout=full, stderr=subprocess.PIPE, text=True, timeout=120
        )
    assert done.returncode == 2
    assert "no space left on device" in done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


SLOW = """\
import os, pathlib, time
pathlib.Path({mark!r}).write_text("here")


def solve(given):
    time.sleep(60)
"""


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform == "win32", reason="sends a signal to a group of processes")
def test_ctrl_c_ends_workers_without_a_word(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    bank = a_bank(tmp_path / "bank", solution=SLOW.format(mark=str(mark)))
    other = bank / "problems" / "memory-math" / "other.yaml"
    text = (bank / "problems" / "memory-math" / "sample.yaml").read_text()
    other.write_text(text.replace("id: sample", "id: other"))
    slow = bank / "solutions" / "memory-math" / "sample.py"
    (slow.parent / "other.py").write_text(slow.read_text())
    # Two work and two wait: both kinds of workers get the signal, as from a terminal.
    with subprocess.Popen(
        [*GRADER, "verify", "--bank", str(bank), "--jobs", "2", "--no-kernel"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as run:
        while not mark.exists():
            assert run.poll() is None, run.communicate()
        os.killpg(run.pid, signal.SIGINT)
        out, err = run.communicate(timeout=60)
    assert (run.returncode, out) == (130, "")
    assert err.strip() == "grader: stopped; finished work is kept"


ODD = {
    "exits": ("raise SystemExit('bye')", "sample.py:1"),
    "divides": ("\n\n1 / 0", "sample.py:3"),
    "no Python": ("def solve(:", "sample.py:1"),
    "imports": ("import os\nimport no_such_module_here", "sample.py:2"),
    "exits in solve": ("def solve(given):\n    raise SystemExit(0)", "sample.py:2"),
    "recurses": ("def solve(given):\n    return solve(given)", "sample.py:2"),
    "no memory": ("def solve(given):\n    raise MemoryError", "sample.py:2"),
}


@pytest.mark.thorough
@pytest.mark.parametrize("name", ODD)
def test_a_solution_that_fails_is_named_with_its_line(tmp_path: Path, name: str) -> None:
    text, place = ODD[name]
    bank = a_bank(tmp_path / "bank", solution=text + "\n")
    done = subprocess.run(
        [*GRADER, "verify", "--bank", str(bank), "--no-kernel", "--seeds", "1"],
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 1
    assert "Traceback" not in done.stdout + done.stderr
    assert f"{place}: the solution " in done.stdout


@pytest.mark.thorough
def test_a_worker_that_dies_is_a_sentence(tmp_path: Path) -> None:
    bank = a_bank(tmp_path / "bank", solution="import os\nos._exit(9)\n")
    text = (bank / "problems" / "memory-math" / "sample.yaml").read_text()
    other = bank / "problems" / "memory-math" / "other.yaml"
    other.write_text(text.replace("id: sample", "id: other"))
    done = subprocess.run(
        [*GRADER, "verify", "--bank", str(bank), "--jobs", "2", "--no-kernel"],
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, "")
    assert "a worker process ended early" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.thorough
def test_output_that_the_encoding_lacks_is_written_with_backslashes() -> None:
    done = subprocess.run(
        [*GRADER, "show", "kv-cache-size", "--key"],
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "cp1252"},
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"\\u2212" in done.stdout


@pytest.mark.thorough
def test_a_command_runs_without_stdout() -> None:
    line = " ".join(map(shlex.quote, [*GRADER, "list"]))
    done = subprocess.run(f"{line} >&-", shell=True, stderr=subprocess.PIPE, timeout=120)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.thorough
def test_an_argument_that_is_not_utf8_is_named(tmp_path: Path) -> None:
    with Gradebook.open(tmp_path, create=True):
        pass
    done = subprocess.run(
        [*GRADER, "mark", str(tmp_path), "--student", b"jos\xe9"], capture_output=True, timeout=120
    )
    assert done.returncode == 2
    assert b"the argument 'jos\\udce9' is not valid UTF-8" in done.stderr
    assert b"fix: check the encoding of the terminal" in done.stderr
