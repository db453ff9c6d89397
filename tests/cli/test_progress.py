"""How far long work has come, and when it will be over: as told by a clock that tests set."""

from __future__ import annotations

import sys
import time

import pytest

from grader.cli import progress as module
from grader.cli.progress import Tracker, progress


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def a_tracker(total: int) -> tuple[Tracker, Clock]:
    clock = Clock()
    return Tracker("executing", total, clock), clock


def test_nothing_is_estimated_before_anything_is_known() -> None:
    tracker, clock = a_tracker(200)
    tracker.running(["ada", "bo"])
    clock.now += 5
    assert tracker.remaining_seconds() is None
    assert tracker.log_line() == "executing: 0 of 200 done"
    clock.now += 60
    assert tracker.log_line() == "executing: 0 of 200 done; running longest: ada (65 s), bo (65 s)"


def test_even_work_is_shared_by_the_workers_that_were_seen() -> None:
    tracker, clock = a_tracker(100)
    for pair in range(20):
        names = [f"s{2 * pair}", f"s{2 * pair + 1}"]
        tracker.running(names)
        clock.now += 10
        for name in names:
            tracker(name)
    assert tracker.remaining_seconds() == pytest.approx(60 * 10 / 2)
    assert tracker.log_line() == "executing: 40 of 100 done; about 5 min left"


def test_one_after_the_other_needs_no_word_on_what_runs() -> None:
    tracker, clock = a_tracker(10)
    for number in range(5):
        clock.now += 2
        tracker(f"s{number}")
    assert tracker.remaining_seconds() == pytest.approx(10)


def test_a_slow_one_is_named_and_holds_up_the_estimate() -> None:
    """Nine took a second each; the last has run for 150 s, and nobody says it is over in a second.

    The one that is named is the one that runs, not the last that was done.
    """
    tracker, clock = a_tracker(11)
    tracker.running(["slow"])
    for number in range(9):
        tracker.running(["slow", f"s{number}"])
        clock.now += 1
        tracker(f"s{number}")
    tracker.running(["slow", "late"])
    clock.now += 141
    assert tracker.remaining_seconds() == pytest.approx(150)
    assert tracker.slowest()[0] == ("slow", 150)
    assert tracker.log_line() == (
        "executing: 9 of 11 done; about 2 min left; running longest: slow (2 min), late (2 min)"
    )


def test_slow_ones_that_are_done_say_how_long_others_run_on() -> None:
    """Where some ran into a limit of 60 s, one at 40 s is expected to take 20 s more."""
    tracker, clock = a_tracker(7)
    for number in range(6):
        tracker.running([f"s{number}"])
        clock.now += 60 if number < 2 else 1
        tracker(f"s{number}")
    tracker.running(["slow"])
    clock.now += 40
    assert tracker.remaining_seconds() == pytest.approx(20)


def test_a_name_can_not_command_the_terminal() -> None:
    tracker, clock = a_tracker(2)
    tracker.running(["\x1b[2J" + "x" * 100])
    clock.now += 20
    assert "\x1b" not in tracker.log_line()
    assert len(tracker.log_line()) < 120


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
