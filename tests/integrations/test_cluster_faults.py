"""What a cluster's faults cost, what crosses its wires, and how courses share it."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import struct
import subprocess
import threading
import time
from concurrent.futures import Future
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from grader.gradebook import Gradebook
from grader.gradebook.evidence_files import pack_evidence
from grader.grading import batch
from grader.grading.batch import SET_APART, execute_all
from grader.integrations.cluster import environments
from grader.integrations.cluster.environments import Worker, choose_workers
from grader.model import Answer, Evidence, Job, Outcome
from grader.runtime import executors
from tests.helpers.banks import a_bank, a_roster
from tests.helpers.batch import Class, a_class, gradebook_of
from tests.helpers.cluster import (
    a_cluster,
    answers,
    dask,
    end,
    handed_in,
    right,
    settings,
    workers_of,
)
from tests.helpers.code import CODE_EXAM, CODE_SPEC
from tests.helpers.commands import ok
from tests.helpers.folders import OWN_MOUNTS, can_mount
from tests.helpers.kernels import until
from tests.helpers.notebooks import a_notebook

pytest.importorskip("distributed")
pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(os.name != "posix", reason="kills processes"),
]

# What kills a worker each time: a stand-in for a notebook that takes a machine's last memory.
_POISON = """
import os
from pathlib import Path
from typing import Any
from grader.grading import batch
usual = batch._execute_job

def _execute_job(job, more_follow, data=None, **others):
    if b"POISON" in data:
        with Path(os.environ["DEATHS"]).open("a") as log:
            log.write("x")
        os._exit(1)
    return usual(job, more_follow, data, **others)

batch._execute_job = _execute_job
"""


def poisonous(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Makes workers that start from now on die of notebooks with POISON in them; returns the file
    that counts the deaths."""
    (tmp_path / "poison.py").write_text(_POISON)
    deaths = tmp_path / "deaths"
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("DASK_DISTRIBUTED__WORKER__PRELOAD", "['poison']")
    monkeypatch.setenv("DEATHS", str(deaths))
    return deaths


def graded(home: Class, out: Path, *more: str, code: int = 0) -> str:
    """What a run said on stderr."""
    found = subprocess.run(
        home.command(out, *more), capture_output=True, timeout=280, text=True, check=False
    )
    assert found.returncode == code, found.stderr
    assert "Traceback" not in found.stderr
    return found.stderr


@pytest.mark.slow
def test_a_poisoned_notebook_is_set_apart_and_stays_so_until_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, out = a_class(tmp_path, 5), tmp_path / "out"
    bad = home.submissions / "s02.ipynb"
    bad.write_bytes(bad.read_bytes().replace(b"1 / 0", b"'POISON'"))
    assert b"POISON" in bad.read_bytes()
    deaths = poisonous(tmp_path, monkeypatch)
    graded(home, out, "--executor", "dask", code=1)
    # Three times among others, and three times alone, so that no other one is blamed.
    assert deaths.read_text() == "x" * 6
    with Gradebook.open(out) as book:
        grades = {grade.student: grade for grade in book.grades()}
        assert book.setting(SET_APART) == {"s02": grades["s02"].submission_sha256}
    assert [s for s, g in grades.items() if all(m.points is None for m in g.marks)] == ["s02"]
    assert "every worker that ran this notebook died" in grades["s02"].marks[0].feedback

    said = graded(home, out, "--executor", "dask")
    assert deaths.read_text() == "x" * 6
    assert "1 notebook is set apart" in said
    assert "--student s02 --again" in said

    monkeypatch.delenv("DASK_DISTRIBUTED__WORKER__PRELOAD")
    graded(home, out, "--executor", "dask", "--student", "s02", "--again")
    assert "set apart" not in graded(home, out, "--executor", "dask")
    with Gradebook.open(out) as book:
        assert book.setting(SET_APART) == {}
        assert any(mark.points for mark in book.grade("s02").marks)


@pytest.mark.slow
def test_a_worker_that_stops_answering_costs_time_only(tmp_path: Path) -> None:
    """As in a partition: the connection stays open, and nothing comes."""
    todo = handed_in(tmp_path, 6, "import time; time.sleep(0.5)")
    with a_cluster(tmp_path, DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL="5s") as cluster:
        running = execute_all(todo, ("q1_x",), settings(cluster.spec))
        found = dict([next(running)])
        os.killpg(cluster.workers[0].pid, signal.SIGSTOP)
        for submission, evidence in running:
            assert submission not in found
            found[submission] = evidence
    assert {s.student: e.answers["q1_x"].raw for s, e in found.items()} == right(todo)


def test_tasks_for_a_worker_that_is_gone_go_to_another_that_can_run_them(tmp_path: Path) -> None:
    with ExitStack() as stack:
        cluster = stack.enter_context(a_cluster(tmp_path, workers=1))
        declared = ("worker", cluster.address, "--nthreads", "1", "--no-dashboard",
                    "--no-nanny", "--resources", "GPU=1")  # fmt: skip
        first = dask(stack, tmp_path, *declared)
        pool = stack.enter_context(executors.open(cluster.spec))
        assert isinstance(pool, executors.RemoteExecutor)
        assert until(lambda: pool.workers == 2, 60)
        gpu = executors.WorkerNeeds(sandbox="off", gpu=True)
        waiting = [pool.submit_for(gpu, _slow_square, n) for n in range(3)]
        end(first)
        assert until(
            lambda: pool.workers == 1 and "no worker declares a GPU" in pool.describe(), 60
        )
        assert not all(one.done() for one in waiting)
        dask(stack, tmp_path, *declared)
        assert until(lambda: pool.workers == 2 and all(one.done() for one in waiting), 90)
        assert [one.result() for one in waiting] == [0, 1, 4]


def _slow_square(n: int) -> int:
    time.sleep(1)
    return n * n


def test_without_workers_a_run_says_what_it_waits_for(tmp_path: Path) -> None:
    with (
        a_cluster(tmp_path, workers=1, dashboard=True) as cluster,
        executors.open(cluster.spec) as pool,
    ):
        assert isinstance(pool, executors.RemoteExecutor)
        assert until(lambda: pool.workers == 1 and "1 worker, 1 thread" in pool.describe(), 60)
        assert re.search(r"dashboard: http://\S+:\d+", pool.describe())
        end(cluster.workers[0])
        assert until(lambda: pool.workers == 1 and "waiting" in pool.describe(), 60)


def test_packages_that_a_part_needs_choose_its_worker() -> None:
    plain = Worker(address="tcp://plain", versions=environments.describe_environment())
    triton = replace(plain, address="tcp://triton", packages=("triton",))
    gpu = replace(plain, address="tcp://gpu", resources={"GPU": 1.0})
    both = replace(gpu, address="tcp://both", packages=("triton",))
    needs = executors.WorkerNeeds(packages=("triton",))
    assert choose_workers([plain, triton], needs) == {"workers": ["tcp://triton"]}
    assert choose_workers([plain], needs) == {}  # the part is deferred there
    assert choose_workers([plain, gpu, both], replace(needs, gpu=True)) == {
        "workers": ["tcp://both"],
        "resources": {"GPU": 1},
    }


def test_evidence_of_any_size_arrives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    todo = handed_in(tmp_path, 1, "print('x' * 900_000)")
    ((_, small),) = execute_all(todo, ("q1_x",), settings("dask", 1))
    assert small.outcome is Outcome.FINISHED
    monkeypatch.setattr(batch, "_execute_remotely", _huge)
    ((_, huge),) = execute_all(todo, ("q1_x",), settings("dask", 1))
    assert huge.answers["q1_x"].raw is None
    assert "too large" in str(huge.answers["q1_x"].absent)


def _huge(job: Job, _more_follow: bool, _data: bytes) -> bytes:
    raw = {"t": "str", "v": os.urandom(20_000_000).hex()}
    found = Evidence(
        submission_sha256=job.submission.sha256,
        outcome=Outcome.FINISHED,
        answers={"q1_x": Answer(name="q1_x", raw=raw)},
        cells=(),
        seconds=1.0,
    )
    return pack_evidence(found)


@pytest.mark.parametrize("sent", [b"", b"rubbish", pack_evidence(batch.refused_evidence("f", ""))])
def test_what_is_no_evidence_of_this_notebook_grades_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sent: bytes
) -> None:
    class Lying(executors.RemoteExecutor, executors.InlineExecutor):
        workers = 1

        def submit_for(self, _needs: Any, _fn: Any, /, *_args: Any, **_more: Any) -> Future[Any]:
            return self.submit(bytes, sent)

    monkeypatch.setattr(executors.executors, "_registered", {"lying": lambda *_: Lying()})
    ((_, found),) = execute_all(handed_in(tmp_path, 1), ("q1_x",), settings("lying", 1))
    assert found.outcome is Outcome.REFUSED
    assert "a worker sent" in str(found.note)


# What crosses the wire

_SECRET_SPEC = (
    CODE_SPEC
    + """\
  - id: size
    kind: numeric
    ask: How many?
    points: 1
    answer: 9081726354
    tolerance: {absolute: 1}
    mistakes: [{id: half, value: 4540863177, credit: 0%, feedback: SECRET-FEEDBACK}]
explanation: The SECRET-EXPLANATION.
"""
)
_SECRET_SOLUTION = '''\
"""SECRET-OF-THE-SOLUTION."""


def solve(given):
    return {"size": 9081726354}


def scaled(x, by=2):
    return x * by * 700000000001


def scaled_right_sum(x, by=2):
    return sum([x * 700000000001] * by)


def scaled_cases(rng, given):
    for x in (3, 5, 7, 1122334455667788):
        yield "numbers", {"x": x, "by": 13}


def scaled_wrong_added(x, by=2):
    return x + by


def scaled_wrong_text(x, by=2):
    return str(x)


def scaled_wrong_two(x, by=2):
    return x * 2
'''


class Tap:
    """A port of this machine that passes everything on to a scheduler, and keeps a copy."""

    def __init__(self, address: str):
        host, port = address.removeprefix("tcp://").split(":")
        self._to = host, int(port)
        self.copy = bytearray()
        self._door = socket.create_server(("127.0.0.1", 0))
        self.address = f"tcp://127.0.0.1:{self._door.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                ours, _ = self._door.accept()
                theirs = socket.create_connection(self._to)
                for pair in ((ours, theirs), (theirs, ours)):
                    threading.Thread(target=self._pass_on, args=pair, daemon=True).start()

    def _pass_on(self, source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                self.copy += data
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        self._door.close()


def forms_of(number: int) -> set[bytes]:
    """A number as it may appear in text, in pickles, in MessagePack, and in arrays."""
    size = (number.bit_length() + 8) // 8
    floats = {struct.pack("<d", number), struct.pack(">d", number)}
    return {str(number).encode(), *(number.to_bytes(size, e) for e in ("little", "big"))} | floats


def test_no_secret_crosses_the_wire(tmp_path: Path) -> None:
    bank = a_bank(tmp_path / "bank", _SECRET_SPEC, _SECRET_SOLUTION, CODE_EXAM)
    roster = a_roster(tmp_path, "id\nada\n")
    release, out = tmp_path / "release", tmp_path / "out"
    ok("render", "quiz", "--roster", roster, "--out", release, "--bank", bank)
    (tmp_path / "submissions").mkdir()
    mine = a_notebook("# MARK-OF-ADA\nq1_size = 5\ndef q1_scaled(x, by=2): return x + 0.5")
    (tmp_path / "submissions" / "ada.ipynb").write_bytes(mine)
    with a_cluster(tmp_path, DASK_DISTRIBUTED__COMM__COMPRESSION="False") as cluster:
        tap = Tap(cluster.address)
        with contextlib.closing(tap):
            ok("grade", tmp_path / "submissions", "--release", release, "--out", out,
               "--bank", bank, "--executor", f"dask:{tap.address}")  # fmt: skip
        sent = bytes(tap.copy)
    with Gradebook.open(out) as book:
        marks = {m.name: m for m in book.grade("ada").marks}
    assert marks["q1_scaled"].points == 0  # the hidden cases ran there
    # What a worker needs is there to be seen, so the search would find the rest.
    assert b"MARK-OF-ADA" in sent
    assert b"q1_scaled" in sent
    assert any(form in sent for form in forms_of(1122334455667788)), "an input of a hidden case"
    private_key = re.search(r'"private_key": "([^"]+)"', (release / "release.json").read_text())
    assert private_key is not None
    results = (x * 13 * 700000000001 for x in (3, 5, 7, 1122334455667788))
    for number in (9081726354, 4540863177, 700000000001, *results):
        for form in forms_of(number):
            assert form not in sent, number
    for secret in (b"SECRET", private_key[1].encode()):
        assert secret not in sent, secret


# Several courses


def test_a_single_push_does_not_wait_for_another_courses_flood(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    flood = handed_in(tmp_path / "a", 60, "import time; time.sleep(0.2)")
    push = handed_in(tmp_path / "b", 1)
    with a_cluster(tmp_path) as cluster:
        how, filed = settings(cluster.spec), list[str]()

        def grade_flood() -> None:
            for submission, _ in execute_all(flood, ("q1_x",), how):
                filed.append(submission.student)

        course = threading.Thread(target=grade_flood)
        course.start()
        assert until(lambda: len(filed) >= 3, 120)
        assert answers(push, how) == right(push)
        before = len(filed)
        course.join()
    assert before < 40
    assert len(filed) == 60


@pytest.mark.slow
@pytest.mark.skipif(not can_mount(), reason="needs user namespaces to mount a disk")
def test_a_worker_whose_disk_is_full_is_left_out_and_costs_no_mark(tmp_path: Path) -> None:
    home, out = a_class(tmp_path, 5), tmp_path / "out"
    # All folders in which Python would put temporary files, full once the worker runs.
    script = """
        exec 9<.
        for place in /tmp /var/tmp; do mount -t tmpfs -o size=1M none $place; done
        cd /proc
        (while [ ! -e /dev/fd/9/full ]; do sleep 0.1; done
         for place in /tmp /var/tmp; do head -c 2000000 /dev/zero > $place/filled; done) &
        exec "$@"
    """
    with ExitStack() as stack:
        cluster = stack.enter_context(a_cluster(tmp_path, workers=0))
        dask(
            stack, tmp_path, "worker", cluster.address, "--nthreads", "1", "--no-dashboard",
            "--no-nanny", inside=[*OWN_MOUNTS, "bash", "-ec", script, "bash"],
        )  # fmt: skip
        assert until(lambda: len(workers_of(cluster)) == 1, 60)
        (tmp_path / "full").touch()
        time.sleep(2)
        said = graded(home, out, "--executor", cluster.spec, code=2)
        assert "no worker is left that can run notebooks" in said
        dask(stack, tmp_path, "worker", cluster.address, "--nthreads", "1", "--no-dashboard")
        assert until(lambda: len(workers_of(cluster)) == 2, 60)
        graded(home, out, "--executor", cluster.spec)
    home.graded(tmp_path / "undisturbed")
    assert gradebook_of(out) == gradebook_of(tmp_path / "undisturbed")
