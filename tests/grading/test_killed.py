"""`kill -9` at any instant: the next run carries on, and ends with the same gradebook."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.batch import (
    Class,
    a_class,
    assert_sound,
    descendants,
    gradebook_of,
    rows,
    same,
)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc and subreapers")

STUDENTS = 10
# Outside of the sandbox a notebook can tell that it was executed.
TELL = """
import os
told = os.open("{file}", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
os.write(told, b"STUDENT\\n")
os.close(told)
"""


@pytest.fixture(autouse=True)
def orphans_come_to_us() -> Iterator[None]:
    """What outlives its parent becomes a child of this process, so that it is found."""
    prctl = ctypes.CDLL(None).prctl
    assert prctl(36, 1, 0, 0, 0) == 0  # PR_SET_CHILD_SUBREAPER
    yield
    prctl(36, 0, 0, 0, 0)


@pytest.fixture
def dice(request: pytest.FixtureRequest) -> random.Random:
    """Random instants; GRADER_SEED repeats those of a run that failed."""
    seed = int(os.environ.get("GRADER_SEED", "0")) or random.SystemRandom().randrange(1, 10**9)
    print(f"GRADER_SEED={seed}")
    return random.Random(seed)


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> tuple[Class, dict[str, Any], float]:
    """A class, its gradebook after a run that nobody disturbed, and how long that took."""
    home = tmp_path_factory.mktemp("course")
    made = a_class(home, STUDENTS, TELL.format(file=home / "told"))
    began = time.monotonic()
    made.graded(home / "plain", "--sandbox", "off")
    took = time.monotonic() - began
    assert_sound(home / "plain")
    return made, gradebook_of(home / "plain"), took


class Killer:
    """Runs of `grader grade` that are killed, and what must hold after each."""

    def __init__(self, made: Class, out: Path, *more: str):
        self.kills = 0
        self._class = made
        self._out = out
        self._more = more
        self._told = made.home / "told"

    def run(self, seconds: float | None) -> bool:
        """Whether a run came to its end within *seconds*; if not, it was killed then."""
        before = descendants(os.getpid())
        self._told.write_text("")
        stored = self.stored()
        command = self._class.command(self._out, *self._more)
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
            try:
                out, err = run.communicate(timeout=seconds)
            except subprocess.TimeoutExpired:
                run.kill()
                run.communicate()
                self.kills += 1
            else:
                assert run.returncode == 0, err.decode()
                self._require_report(json.loads(out), len(stored))
        nobody_is_left(before)
        self._require_once(stored)
        return run.returncode == 0

    def stored(self) -> set[str]:
        """The students whose evidence is safe."""
        query = (
            "SELECT student FROM submissions s JOIN evidence e ON s.sha256 = e.submission_sha256"
        )
        return {student for (student,) in rows(self._out, query)}

    def _require_report(self, report: dict[str, Any], stored: int) -> None:
        assert report["unsettled"] == 0
        assert report["kept"] == stored + 1, "the broken file counts as kept"

    def _require_once(self, stored: set[str]) -> None:
        told = Counter(self._told.read_text().split())
        assert not stored & told.keys(), "executed again although it was stored"
        assert max(told.values(), default=1) == 1, "executed twice in one run"


def nobody_is_left(before: dict[int, str]) -> None:
    """All processes that were started since *before* end by themselves within seconds."""
    end = time.monotonic() + 10
    while True:
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        left = {p: c for p, c in descendants(os.getpid()).items() if p not in before}
        if not left:
            return
        assert time.monotonic() < end, f"outlived the grader: {left}"
        time.sleep(0.02)


def killed_again_and_again(
    made: Class, plain: dict[str, Any], took: float, dice: random.Random, most: int, *more: str
) -> None:
    kills = batch = 0
    while kills < most:
        out = made.home / f"killed-{dice.randrange(10**9)}"
        killer = Killer(made, out, *more)
        # Often soon after the start of the work, so that one batch takes many kills.
        while not killer.run(
            dice.uniform(0.1, took * 1.2) if killer.kills + kills < most else None
        ):
            pass
        kills += killer.kills
        batch += 1
        assert_sound(out)
        same(gradebook_of(out), plain)
        shutil.rmtree(out)
    print(f"{kills} kills in {batch} batches")


@pytest.mark.thorough
def test_after_any_kill_the_next_run_carries_on(
    course: tuple[Class, dict[str, Any], float], dice: random.Random
) -> None:
    killed_again_and_again(*course, dice, 5, "--sandbox", "off")


@pytest.mark.slow
@pytest.mark.parametrize(
    "more",
    [("--sandbox", "off"), ("--sandbox", "auto"), ("--sandbox", "off", "--executor", "processes")],
    ids=["bare", "sandboxed", "processes"],
)
def test_a_hundred_kills_lose_nothing(
    course: tuple[Class, dict[str, Any], float], dice: random.Random, more: tuple[str, ...]
) -> None:
    made, plain, took = course
    if "auto" in more:  # where cells can't tell, and fail when they try
        made.graded(made.home / "sandboxed", *more)
        plain = gradebook_of(made.home / "sandboxed")
    killed_again_and_again(made, plain, took, dice, int(os.environ.get("KILLS", "100")), *more)


@pytest.mark.slow
def test_kernels_that_are_killed_from_outside_stop_neither_the_batch_nor_other_students(
    course: tuple[Class, dict[str, Any], float], dice: random.Random
) -> None:
    made, plain, _ = course
    out = made.home / "kernels-killed"
    before = descendants(os.getpid())
    killed: list[int] = []
    with subprocess.Popen(
        made.command(out, "--sandbox", "off"), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as run:
        while run.poll() is None:
            below = [pid for pid in descendants(run.pid) if pid != run.pid]
            if below and len(killed) < 4:
                victim = dice.choice(below)
                with contextlib.suppress(ProcessLookupError):
                    os.kill(victim, signal.SIGKILL)
                    killed.append(victim)
            time.sleep(dice.uniform(0.05, 0.4))
        printed, err = run.communicate()
    assert killed, "the run was over before anything could be killed"
    assert run.returncode in (0, 1), err.decode()
    assert b"Traceback" not in err
    nobody_is_left(before)
    assert_sound(out)
    unsettled = json.loads(printed)["unsettled"]
    assert (run.returncode == 1) == (unsettled > 0)
    changed = [
        (mine, theirs)
        for mine, theirs in zip(gradebook_of(out)["grades"], plain["grades"], strict=True)
        if mine != theirs
    ]
    assert len(changed) <= 2 * len(killed)
    made.graded(out, "--sandbox", "off")
    assert_sound(out)


@pytest.mark.slow
def test_a_worker_process_that_is_killed_costs_nobody_anything(
    course: tuple[Class, dict[str, Any], float],
) -> None:
    made, plain, _ = course
    out = made.home / "workers-killed"
    command = made.command(out, "--sandbox", "off", "--executor", "processes")
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
        killed = 0
        while run.poll() is None and killed < 2:
            done = len(list(out.glob("evidence/*.json.gz")))
            workers = [p for p, c in descendants(run.pid).items() if "spawn_main" in c]
            if done > 2 * killed and workers:
                os.kill(workers[0], signal.SIGKILL)
                killed += 1
            time.sleep(0.05)
        printed, err = run.communicate(timeout=120)
    assert killed == 2
    assert run.returncode == 0, err.decode()
    assert json.loads(printed)["unsettled"] == 0
    same(gradebook_of(out), plain)
