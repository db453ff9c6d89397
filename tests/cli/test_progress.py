"""How far long work has come, and when it will be over."""

from __future__ import annotations

import sys
import time

import pytest

from grader.cli import progress as module
from grader.cli.progress import progress, progress_line


@pytest.mark.parametrize(
    ("done", "seconds", "line"),
    [
        (0, 60, "executing: 0 of 200 done"),
        (4, 60, "executing: 4 of 200 done"),
        (50, 100, "executing: 50 of 200 done; about 5 min left"),
        (199, 398, "executing: 199 of 200 done; about 2 s left"),
        (200, 400, "executing: 200 of 200 done; about 1 s left"),
    ],
)
def test_the_time_left_is_estimated_once_some_are_done(done, seconds, line) -> None:
    assert progress_line("executing", done, 200, seconds) == line


def test_a_few_items_say_too_little_for_an_estimate() -> None:
    assert progress_line("executing", 1, 2, 30) == "executing: 1 of 2 done"


def test_off_a_terminal_there_are_lines(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(module, "EVERY_SECONDS", 0.01)
    assert not sys.stderr.isatty()
    with progress("executing", 3) as tracker:
        tracker("ada")
        said = ""
        while said.count("\n") < 2:
            time.sleep(0.01)
            said += capsys.readouterr().err
    assert set(said.splitlines()) <= {"executing: 0 of 3 done", "executing: 1 of 3 done"}
    capsys.readouterr()
    time.sleep(0.05)
    assert capsys.readouterr().err == ""  # nothing is written once the work is over


def test_work_of_less_than_a_minute_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with progress("executing", 2) as tracker:
        tracker("ada")
    assert capsys.readouterr().err == ""
