"""Parents of kernels: who shares one, what is kept ready, and when they end."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

if sys.platform != "linux":
    pytest.skip("elsewhere kernels start cold", allow_module_level=True)

from grader.model import Limits, Outcome
from grader.runtime import executors
from grader.runtime.execute import execute
from grader.runtime.kernels import NotStartedError, scratch, warm
from grader.runtime.kernels import pool as nursery
from grader.runtime.kernels.base import KernelOptions, LaunchSpec
from grader.runtime.kernels.forked import ForkedKernel
from grader.runtime.kernels.pool import KernelPool
from grader.runtime.kernels.session import KernelSession
from grader.runtime.sandbox import choose_sandbox, sandboxes
from tests.helpers.kernels import until, with_children
from tests.helpers.notebooks import QUICK, a_job, a_notebook, run

ROOT = Path(__file__).parents[2]
BOTH = pytest.mark.parametrize("sandbox", ["auto", "off"])


def parents(own: KernelPool) -> set[int]:
    """The processes that were started for parents."""
    return {parent._process.pid for parent in own.servers}


def ready(own: KernelPool) -> int:
    """How many kernels wait for a notebook."""
    return len(kept_ready(own))


def kept_ready(own: KernelPool) -> list[ForkedKernel]:
    """The kernels that wait for a notebook."""
    return [kernel for server in own.servers for kernel in server.spares.values()]


def gone(pids: set[int]) -> bool:
    return until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids))


def session(**changes: Any) -> KernelSession:
    """A kernel that has been taken and is in use."""
    options = {"limits": QUICK, "sandbox": choose_sandbox("auto").sandbox, "more_follow": True}
    return KernelSession(KernelOptions(**{**options, **changes}), warm.start)


def test_notebooks_that_are_alike_share_a_parent_and_no_kernel(own_nursery: KernelPool) -> None:
    source = "q1_a = get_ipython().kernel.session.session"
    keys = set()
    for _ in range(3):
        keys.add(run(source, asks="q1_a").answers["q1_a"].raw["v"])
        seen = parents(own_nursery)
    assert len(keys) == 3
    assert len(seen) == 1
    assert ready(own_nursery) == 1


@pytest.mark.thorough
def test_a_sandbox_and_a_device_and_variables_have_a_parent_each(own_nursery: KernelPool) -> None:
    ways: tuple[dict[str, Any], ...] = (
        {},
        {"sandbox": sandboxes.find("off")},
        {"device": "cuda"},
        {"variables": (("COURSE", "systems"),)},
    )
    for way in ways:
        one = session(**way)
        assert one.run("x = 1", seconds=5, keep=100).outcome is Outcome.FINISHED
        one.close()
    assert len(parents(own_nursery)) == len(ways)


@pytest.mark.thorough
def test_variables_that_a_set_asks_for_are_there(own_nursery: KernelPool) -> None:
    one = session(variables=(("COURSE", "systems"),))
    try:
        shown = one.run("import os; print(os.environ['COURSE'])", seconds=5, keep=100)
        assert shown.output == "systems\n"
    finally:
        one.close()


@pytest.mark.thorough
@BOTH
def test_a_parent_that_nobody_needs_ends_and_the_next_is_a_new_one(
    sandbox: str, own_nursery: KernelPool, short: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nursery, "IDLE_SECONDS", 0.4)
    assert run("q1_a = 1", asks="q1_a", sandbox=sandbox).outcome is Outcome.FINISHED
    first = parents(own_nursery)
    assert gone(first)
    assert until(lambda: list(short.iterdir()) == [])
    assert run("q1_a = 1", asks="q1_a", sandbox=sandbox).outcome is Outcome.FINISHED


@pytest.mark.thorough
@BOTH
def test_a_parent_whose_kernel_is_at_work_is_needed(
    sandbox: str, own_nursery: KernelPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nursery, "IDLE_SECONDS", 0.4)
    evidence = run("import time\ntime.sleep(2)\nq1_a = 1", asks="q1_a", sandbox=sandbox)
    assert evidence.outcome is Outcome.FINISHED, evidence.note
    assert evidence.answers["q1_a"].raw == {"t": "int", "v": "1"}


@pytest.mark.thorough
def test_a_kernel_that_died_while_it_waited_is_not_given_to_anybody(
    own_nursery: KernelPool,
) -> None:
    run("pass", asks="")
    own_nursery.wait_until_reaped()
    (waiting,) = kept_ready(own_nursery)
    (kernel,) = (pid for parent in parents(own_nursery) for pid in below(parent) if is_kernel(pid))
    os.kill(kernel, signal.SIGKILL)

    def has_ended() -> bool:
        waiting.read_messages()
        return waiting.status is not None

    assert until(has_ended)
    evidence = run("q1_a = 1", asks="q1_a")
    assert evidence.answers["q1_a"].raw == {"t": "int", "v": "1"}
    assert evidence.environment["restarts"] == 0
    assert waiting.status == -signal.SIGKILL


def is_kernel(pid: int) -> bool:
    """Whether it is number 2 where a guard is number 1."""
    if "processes" not in choose_sandbox("auto").describe()["layers"]:  # type: ignore[operator]
        pytest.skip("processes have no numbers of their own here")
    status = Path(f"/proc/{pid}/status").read_text()
    mine = Path("/proc/self/status").read_text()
    numbers, depth = (text.split("NSpid:")[1].split("\n")[0].split() for text in (status, mine))
    return numbers[-1] == "2" and len(numbers) == len(depth) + 2


def below(pid: int) -> set[int]:
    """A process and all that came of it."""
    return set(with_children([pid]))


CROWDED = """\
import threading, time
threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
"""


@pytest.mark.thorough
def test_a_package_that_starts_threads_is_left_to_the_notebooks(
    own_nursery: KernelPool, tmp_path: Path
) -> None:
    (tmp_path / "crowded.py").write_text(CROWDED)
    off = sandboxes.find("off")
    paths = (("PYTHONPATH", f"{tmp_path}{os.pathsep}{ROOT}"),)
    one = session(sandbox=off, imports=("crowded",), variables=paths)
    try:
        imported = one.run("import sys; print('crowded' in sys.modules)", seconds=5, keep=100)
        assert imported.output == "False\n"
        assert one.run("import crowded", seconds=5, keep=100).error is None
    finally:
        one.close()


@pytest.mark.thorough
@pytest.mark.parametrize("text", ["1 / 0", "import no_such_module", "raise SystemExit"])
def test_a_package_that_can_not_be_imported_is_no_matter(
    own_nursery: KernelPool, tmp_path: Path, text: str
) -> None:
    (tmp_path / "broken.py").write_text(text)
    off = sandboxes.find("off")
    paths = (("PYTHONPATH", f"{tmp_path}{os.pathsep}{ROOT}"),)
    one = session(sandbox=off, imports=("broken", "numpy"), variables=paths)
    try:
        said = one.run(
            "import sys; print('numpy' in sys.modules)\nimport broken", seconds=5, keep=99
        )
        assert said.output.startswith("True\n")
        assert said.error
    finally:
        one.close()


def test_an_interpreter_that_is_gone_is_our_fault(
    own_nursery: KernelPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/does/not/exist/python")
    with pytest.raises(NotStartedError):
        session(sandbox=sandboxes.find("off"))


@pytest.mark.thorough
@BOTH
def test_closing_ends_parents_kernels_and_those_in_use(
    sandbox: str, own_nursery: KernelPool, short: Path
) -> None:
    one = session(sandbox=choose_sandbox(sandbox).sandbox)
    every = set().union(*(below(pid) for pid in parents(own_nursery)))
    assert len(every) >= 3
    one.close()
    own_nursery.close()
    assert gone(every)
    assert list(short.iterdir()) == []
    own_nursery.close()  # once more does nothing


@pytest.mark.thorough
def test_it_may_be_used_again_after_it_was_closed(own_nursery: KernelPool) -> None:
    for _ in range(2):
        assert run("q1_a = 1", asks="q1_a").outcome is Outcome.FINISHED
        own_nursery.close()


@pytest.mark.thorough
def test_a_folder_that_was_tidied_away_costs_nobody_an_answer(
    own_nursery: KernelPool, short: Path
) -> None:
    assert run("q1_a = 1", asks="q1_a").outcome is Outcome.FINISHED
    own_nursery.wait_until_reaped()
    for folder in short.glob("grader-*"):
        shutil.rmtree(folder)  # as those do that clear /tmp of what is old
    assert run("q1_a = 1", asks="q1_a").outcome is Outcome.FINISHED


@pytest.mark.thorough
def test_a_parent_is_not_idle_while_a_kernel_of_it_runs(
    own_nursery: KernelPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nursery, "IDLE_SECONDS", 0.2)
    evidence = run("import time\nfor _ in range(20): time.sleep(0.1)\nq1_a = 1", asks="q1_a")
    assert evidence.outcome is Outcome.FINISHED, evidence.note
    assert until(lambda: not parents(own_nursery), 10)


@pytest.mark.thorough
@BOTH
def test_kernels_outlive_the_replacement_of_their_parent(
    sandbox: str, own_nursery: KernelPool, short: Path
) -> None:
    slow = "import time\nprint('up')\nfor _ in range(20): time.sleep(0.1)\nq1_a = time.time()"
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(run, slow, asks="q1_a", sandbox=sandbox)
        assert until(lambda: bool(own_nursery.servers), 20)
        time.sleep(0.5)
        before = parents(own_nursery)
        (member,) = own_nursery._servers
        own_nursery._retire(member)  # as one is whose folder was tidied away
        assert run("q1_a = 1", asks="q1_a", sandbox=sandbox).outcome is Outcome.FINISHED
        assert parents(own_nursery).isdisjoint(before)
        evidence = waiting.result(30)
    assert evidence.outcome is Outcome.FINISHED, evidence.note
    assert evidence.seconds < 8  # it was not run again
    own_nursery.wait_until_reaped()
    assert len(own_nursery._servers) == 1
    assert gone(before)


@pytest.mark.thorough
def test_what_can_not_be_made_ahead_is_no_harm(
    own_nursery: KernelPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("pass", asks="")
    furnish = scratch.make_kernel_folder
    opened: list[object] = []

    def full(place: Any, **options: bool) -> None:
        opened.append(place)
        if len(opened) % 2:
            raise OSError(28, "No space left on device")
        furnish(place, **options)

    monkeypatch.setattr(scratch, "make_kernel_folder", full)
    files = len(list(Path("/proc/self/fd").iterdir()))
    done = [run("q1_a = 1", asks="q1_a") for _ in range(4)]
    assert [each.outcome for each in done] == [Outcome.FINISHED] * 4
    assert len(opened) > 4
    own_nursery.wait_until_reaped()
    assert len(list(Path("/proc/self/fd").iterdir())) <= files + 3


@pytest.mark.thorough
def test_one_that_can_not_be_forked_leaves_the_others_alone(
    own_nursery: KernelPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The parent says so on the line of that one, and serves the next."""
    without = """\
import json, os, runpy, sys
fork, folder = os.fork, json.load(open(sys.argv[1]))["folder"]
def refuse():
    if os.path.exists(folder + "/full"):
        raise BlockingIOError(11, "Resource temporarily unavailable")
    return fork()
os.fork = refuse
runpy.run_module("grader.runtime.worker.fork_server", run_name="__main__", alter_sys=True)
"""

    def wrapped(_: object, command: list[str], __: object) -> list[str]:
        return [*command[:2], "-c", without, *command[4:]]

    monkeypatch.setattr(type(choose_sandbox("auto").sandbox), "wrap", wrapped)
    assert run("q1_a = 1", asks="q1_a").outcome is Outcome.FINISHED
    (parent,) = own_nursery.servers
    mark = parent._home.root / "parent" / "full"
    slow = "import time\nfor _ in range(20): time.sleep(0.1)\nq1_a = 1"
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(run, slow, asks="q1_a")
        time.sleep(0.7)
        run("pass", asks="")  # takes the one that was kept ready
        mark.touch()
        refused = run("q1_a = 1", asks="q1_a")
        refused = run("q1_a = 1", asks="q1_a")
        mark.unlink()
        evidence = waiting.result(30)
    assert refused.outcome is Outcome.REFUSED
    assert "temporarily" in str(refused.note)
    assert evidence.outcome is Outcome.FINISHED
    assert evidence.seconds < 8
    assert own_nursery.servers == [parent]
    assert run("q1_a = 1", asks="q1_a").outcome is Outcome.FINISHED


@pytest.mark.thorough
def test_a_forked_grader_has_kernels_of_its_own(own_nursery: KernelPool) -> None:
    run("pass", asks="")
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            signal.alarm(60)
            done = [run("q1_a = 1", asks="q1_a").outcome for _ in range(10)]
            status = int(done != [Outcome.FINISHED] * 10)
            own_nursery.close()
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert ready(own_nursery) == 1
    assert run("q1_a = 1", asks="q1_a").outcome is Outcome.FINISHED


@pytest.mark.thorough
def test_no_descriptor_is_left_of_a_kernel_that_nobody_heard(own_nursery: KernelPool) -> None:
    def opened() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    run("pass", asks="")
    own_nursery.close()
    before = opened()
    for _ in range(2):
        run("pass", asks="")
        assert until(lambda: ready(own_nursery) == 1, 10)
        time.sleep(0.5)  # it has said that it is ready
        own_nursery.close()
    assert opened() == before


@pytest.mark.thorough
def test_a_forked_process_leaves_the_parents_to_whom_they_belong(own_nursery: KernelPool) -> None:
    run("pass", asks="")
    pid = os.fork()
    if pid == 0:
        try:
            own_nursery.close()
        finally:
            os._exit(0)
    os.waitpid(pid, 0)
    assert all(parent.is_alive for parent in own_nursery.servers)
    assert run("q1_a = 1", asks="q1_a").outcome is Outcome.FINISHED


@pytest.mark.thorough
def test_two_that_need_a_parent_at_once_start_one(own_nursery: KernelPool) -> None:
    with ThreadPoolExecutor(4) as pool:
        done = list(pool.map(lambda _: run("q1_a = 1", asks="q1_a"), range(4)))
    assert all(evidence.outcome is Outcome.FINISHED for evidence in done)
    assert len(own_nursery.servers) == 1


@pytest.mark.thorough
def test_no_thread_is_left_for_every_notebook(own_nursery: KernelPool) -> None:
    for _ in range(3):
        run("pass", asks="")
    before = threading.active_count()
    for _ in range(6):
        run("pass", asks="")
    assert threading.active_count() <= before


@pytest.mark.thorough
def test_no_file_is_left_open_for_every_notebook(own_nursery: KernelPool) -> None:
    def opened() -> int:
        own_nursery.wait_until_reaped()
        return len(list(Path("/proc/self/fd").iterdir()))

    for _ in range(3):
        run("pass", asks="")
    before = opened()
    for _ in range(6):
        run("pass", "import os\nos._exit(1)", "pass", asks="")
    assert opened() <= before + 2  # the one that waits may be half way


@pytest.mark.slow
def test_workers_that_are_processes_have_parents_of_their_own(short: Path) -> None:
    data = a_notebook("import os\nq1_a = 28")
    job = a_job("q1_a", data=data)
    with executors.open("processes:2") as pool:
        done = [pool.submit(execute, job, data) for _ in range(4)]
        answers = [each.result(timeout=60).answers["q1_a"].raw for each in done]
    assert answers == [{"t": "int", "v": "28"}] * 4


@pytest.mark.slow
@pytest.mark.parametrize("at", [0.0, 0.3, 0.6, 1.0, 1.5])
def test_a_grader_that_is_killed_at_any_instant_of_a_start_leaves_no_process(
    at: float, short: Path
) -> None:
    code = "from tests.helpers.notebooks import run\nfor _ in range(99): run('x = 1', asks='')"
    grader = subprocess.Popen(
        [sys.executable, "-c", code], cwd=ROOT, env={**os.environ, "TMPDIR": str(short)}
    )
    assert until(lambda: bool(list(short.glob("grader-*"))), 40)
    time.sleep(at)
    every = below(grader.pid) - {grader.pid}
    grader.kill()
    grader.wait()
    assert gone(every)


@pytest.mark.thorough
def test_limits_of_one_notebook_are_not_those_of_the_next(own_nursery: KernelPool) -> None:
    sizes = []
    for size in (100_000_000, 200_000_000):
        limits = Limits(cell_seconds=5, scratch_bytes=size)
        source = "import os\nabout = os.statvfs('.')\nq1_a = about.f_blocks * about.f_frsize"
        evidence = run(source, asks="q1_a", limits=limits)
        sizes.append(int(str(evidence.answers["q1_a"].raw["v"])))
    if "bounded" not in str(choose_sandbox("auto").sandbox.layers()):
        pytest.skip("files are not bounded here")
    assert sizes[0] < 100_010_000 < sizes[1] < 200_010_000


@pytest.mark.thorough
def test_a_parent_that_was_started_early_serves_the_first_notebook(own_nursery: KernelPool) -> None:
    own_nursery.start_early(an_early_spec())
    (early,) = own_nursery._early.values()
    assert run("import numpy\nq1_a = 1", asks="q1_a").outcome is Outcome.FINISHED
    assert parents(own_nursery) == {early._process.pid}


@pytest.mark.thorough
def test_a_parent_that_was_started_early_imports_meanwhile(own_nursery: KernelPool) -> None:
    own_nursery.start_early(an_early_spec())
    own_nursery.start_early(replace(an_early_spec(), imports=("decimal",)))
    (early,) = own_nursery._early.values()
    evidence = run("import sys\nq1_a = 'decimal' in sys.modules", asks="q1_a")
    assert evidence.answers["q1_a"].raw == {"t": "bool", "v": True}
    assert parents(own_nursery) == {early._process.pid}
    own_nursery.start_early(an_early_spec())  # served by the one that runs
    assert not own_nursery._early


@pytest.mark.thorough
def test_a_parent_that_was_started_early_for_nobody_ends(
    own_nursery: KernelPool, short: Path
) -> None:
    own_nursery.start_early(replace(an_early_spec(), variables=(("COURSE", "systems"),)))
    (early,) = own_nursery._early.values()
    assert run("q1_a = 1", asks="q1_a").outcome is Outcome.FINISHED
    assert parents(own_nursery) != {early._process.pid}
    own_nursery.close()
    assert gone({early._process.pid})
    assert list(short.iterdir()) == []


def an_early_spec() -> LaunchSpec:
    """What is known of a run before its notebooks are read."""
    sandbox = choose_sandbox("auto").sandbox
    return LaunchSpec(sandbox=sandbox)
