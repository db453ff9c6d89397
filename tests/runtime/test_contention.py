"""Work beside a notebook: it uses up nobody's time limit, and what it may have cost stays open."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from grader.model import Call, CallPlan, Limits, Outcome
from grader.runtime.kernels import contention
from grader.runtime.kernels.causes import describe_end
from grader.runtime.kernels.contention import (
    FairClock,
    Usage,
    count_oom_kills,
    read_usage,
    seconds_kept_waiting,
)
from tests.helpers.kernels import on_linux, until
from tests.helpers.notebooks import run

START = Usage(100.0, 5.0, {1: 2.0, 2: 0.5}, 0.25)


@pytest.mark.parametrize(
    "after, kept",
    [
        pytest.param(Usage(110, 15.0, {1: 2.0, 2: 0.5}, 0.25), 0, id="it computed all the time"),
        pytest.param(Usage(110, 5.0, {1: 2.0, 2: 0.5}, 0.25), 0, id="it slept"),
        pytest.param(Usage(110, 7.0, {1: 10.0, 2: 0.5}, 0.25), 8, id="it got a fifth"),
        pytest.param(Usage(110, 7.0, {1: 2.0, 2: 6.5}, 0.25), 6, id="a thread waited for it"),
        pytest.param(Usage(110, 7.0, {1: 2.0, 3: 4.0}, 0.25), 4, id="a new process waited"),
        pytest.param(Usage(110, 7.0, {1: 5.0, 2: 0.5}, 2.25), 5, id="the grader waited, too"),
        pytest.param(Usage(110, 5.0, {1: 2.0, 2: 0.5}, 9.25), 0, id="only the grader waited"),
        pytest.param(Usage(110, 25.0, {1: 11.0, 2: 9.5}, 0.25), 0, id="its own processes crowd"),
        pytest.param(Usage(110, 13.0, {1: 11.0, 2: 9.5}, 0.25), 2, id="it nearly had a processor"),
        pytest.param(Usage(110, 5.0, {}, 0.25), 0, id="it has ended"),
    ],
)
def test_what_others_kept_a_kernel_from(after: Usage, kept: float) -> None:
    assert seconds_kept_waiting(START, after) == pytest.approx(kept)


class Clock:
    """Time for a FairClock, and a kernel that gets a *share* of one processor in it."""

    def __init__(self, share: float):
        self.now = 0.0
        self.share = share

    def monotonic(self) -> float:
        return self.now

    def look(self) -> Usage:
        had = self.share * self.now
        return Usage(self.now, had, {1: self.now - had})

    def ended(self, fair: FairClock) -> float:
        """When *fair* says that the limit is reached."""
        while fair.seconds_left() > 0:
            self.now += min(fair.seconds_left(), 0.05)
        return self.now


@pytest.mark.parametrize(
    "share, wall, contended",
    [(1.0, 6, False), (0.5, 12, False), (0.3, 20, False), (0.2, 24, True), (0.0, 24, True)],
)
def test_a_limit_grows_by_what_others_took_up_to_a_bound(
    monkeypatch: pytest.MonkeyPatch, share: float, wall: float, contended: bool
) -> None:
    time = Clock(share)
    monkeypatch.setattr(contention, "time", time)
    monkeypatch.setattr(contention, "MOST_TIMES", 4.0)
    fair = FairClock(6.0, time.look)
    assert time.ended(fair) == pytest.approx(wall, abs=0.2)
    assert fair.contended is contended
    assert fair.waited == pytest.approx(wall - 6, abs=0.2)


def test_where_the_system_tells_nothing_a_limit_is_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    time = Clock(0.0)
    monkeypatch.setattr(contention, "time", time)
    fair = FairClock(6.0, lambda: None)
    assert time.ended(fair) == pytest.approx(6.0, abs=0.1)
    assert not fair.contended


_REFUSED = "could not start more processes, and ended the kernel (exit status 1)"


@pytest.mark.parametrize(
    "status, hit, outcome, said",
    [
        (-signal.SIGTERM, None, Outcome.CRASHED, "ended the kernel (SIGTERM)"),
        (-9, None, Outcome.CRASHED, "ended the kernel (SIGKILL)"),
        (3, None, Outcome.CRASHED, "ended the kernel (exit status 3)"),
        (-9, "processes", Outcome.CRASHED, "started more processes than allowed"),
        (1, "processes", Outcome.CRASHED, _REFUSED),
        (-signal.SIGXCPU, "processes", Outcome.TIMEOUT, "used up the notebook's CPU time"),
        (-9, "memory", Outcome.OUT_OF_MEMORY, "used more memory than allowed"),
        (-9, "machine", Outcome.OUT_OF_MEMORY, "was killed because the machine ran out of memory"),
    ],
)
def test_of_a_kernel_that_ended_is_said_what_is_known(
    status: int, hit: str | None, outcome: Outcome, said: str
) -> None:
    assert describe_end(status, hit) == (outcome, said)


# -- real processes


@on_linux
def test_the_usage_of_a_process_has_its_children_in_it() -> None:
    code = "import os, time\nos.fork()\nwhile True: pass"
    child = subprocess.Popen([sys.executable, "-c", code], start_new_session=True)
    try:

        def both() -> bool:
            found = read_usage([child.pid])
            return found is not None and len(found.waits) == 2 and found.cpu > 0.1

        if read_usage([os.getpid()]) is None:
            pytest.skip("this Linux keeps no scheduler statistics")
        assert until(both, 30)
    finally:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
    assert read_usage([child.pid]) is None
    assert count_oom_kills() >= 0


@pytest.fixture
def crowd(own_nursery: object) -> Iterator[None]:
    """One processor for all that is started from here on, and processes that spin on it."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    code = "import time; end = time.monotonic() + 120\nwhile time.monotonic() < end: pass"
    spinning = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(4)]
    try:
        yield
    finally:
        for each in spinning:
            each.kill()
            each.wait()
        os.sched_setaffinity(0, before)


COMPUTES = """\
import time
def computed(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
    return seconds
computed(0.5)
q1_x = 1
q2_f = computed
"""
CALLS = CallPlan(
    name="q2_f",
    alias="f",
    calls=(Call(inputs='{"seconds": {"t": "float", "v": "0.5"}}'),),
    seconds=0.6,
)
BRIEF = Limits(cell_seconds=0.6, notebook_seconds=20.0)


@pytest.mark.thorough
@on_linux
def test_neighbors_that_spin_cost_an_honest_notebook_nothing(
    crowd: None,
) -> None:
    # A seed of their own gives these kernels a parent of their own, on the crowded processor.
    evidence = run(COMPUTES, asks="q1_x q2_f", limits=BRIEF, call_plans=(CALLS,), seed=4711)
    assert evidence.note is None
    assert evidence.answers["q1_x"].raw == {"t": "int", "v": "1"}
    raw = evidence.answers["q2_f"].raw
    assert raw is not None
    assert [call["is"] for call in raw["calls"]] == ["returned"]  # type: ignore[attr-defined]
    assert not evidence.disturbances


@pytest.mark.thorough
@on_linux
def test_a_limit_that_is_hit_in_a_crowd_is_no_evidence(
    crowd: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contention, "MOST_TIMES", 1.1)
    # Almost the limit, since the kernel may get most of a processor from an unfair scheduler.
    nearly = COMPUTES.replace("computed(0.5)", "computed(0.58)")
    evidence = run(nearly, asks="q1_x q2_f", limits=BRIEF, seed=4711)
    why = "code cell 1 hit a time limit while the machine was busy with other work"
    assert dict(evidence.disturbances) == {"q1_x": why, "q2_f": why}
    assert evidence.outcome is Outcome.TIMEOUT
    assert evidence.note == f"code cell 1 ran longer than 0.6 s; {why}"


@pytest.mark.thorough
@on_linux
def test_one_who_sleeps_wants_no_processor_and_is_stopped_for_good(crowd: None) -> None:
    source = "import time\ntime.sleep(600)\nq1_x = 1"
    evidence = run(source, asks="q1_x", limits=BRIEF, seed=4711)
    assert evidence.outcome is Outcome.TIMEOUT
    assert not evidence.disturbances
