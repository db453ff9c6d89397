"""What is found in pipes and sockets: real processes that fill them, and some that don't."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

if sys.platform != "linux":
    pytest.skip("it reads the /proc of Linux", allow_module_level=True)

from grader.runtime.worker import memory, pipe_accounting
from grader.runtime.worker.pipe_accounting import HERE, Where

MB = 2**20
ROOT = Path(__file__).parent.parent

START = """
import ctypes, fcntl, multiprocessing, os, socket, sys, threading, time
libc = ctypes.CDLL(None, use_errno=True)
kept = []
def fill(write, *files):
    for file in files:
        os.set_blocking(file.fileno() if hasattr(file, "fileno") else file, False)
        try:
            while True:
                write(file)
        except BlockingIOError:
            pass
def sockets(count, size=65536):
    for _ in range(count):
        pair = socket.socketpair()
        fill(lambda one: one.send(bytes(size)), *pair)
        kept.append(pair)
def pipes(count):
    for _ in range(count):
        pair = os.pipe()
        fill(lambda one: os.write(one, bytes(65536)), pair[1])
        kept.append(pair)
"""
WAIT = """
print("ready", flush=True)
sys.stdin.read()
"""

Started = Callable[[str], int]


@pytest.fixture
def started() -> Iterator[Started]:
    """The number of a process that has run some code and waits to be ended."""
    running: list[subprocess.Popen[str]] = []

    def start(code: str) -> int:
        text = START + textwrap.dedent(code) + WAIT
        command = [sys.executable, "-c", text]
        child = subprocess.Popen(command, stdin=-1, stdout=-1, text=True, start_new_session=True)
        running.append(child)
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        return child.pid

    yield start
    for child in running:
        os.killpg(child.pid, signal.SIGKILL)  # with what it has forked
        child.communicate()


def copies(pid: int) -> bool:
    """Whether descriptors of another process may be copied here."""
    try:
        pipe_accounting._inside(pid, 0, {"pipe": 0, "socket": 0})
    except OSError:
        return False
    return True


def test_what_sockets_hold_is_seen(started: Started) -> None:
    empty, full = started(""), started("sockets(200)")
    assert pipe_accounting.held([empty], HERE) < 2 * MB
    assert pipe_accounting.held([full], HERE) > 60 * MB
    assert pipe_accounting.most([full], 0, HERE) >= pipe_accounting.held([full], HERE)
    assert memory.used(pids=[full]) < 40 * MB
    assert memory.over(70 * MB, pids=[full])
    assert not memory.over(70 * MB, pids=[empty])


def test_what_pipes_hold_is_seen(started: Started) -> None:
    full = started("pipes(400)")
    assert pipe_accounting.held([full], HERE) > 20 * MB
    assert pipe_accounting.most([full], 0, HERE) >= pipe_accounting.held([full], HERE)


def test_what_is_shared_counts_once(started: Started) -> None:
    parent = started(
        "sockets(50)\nfor _ in range(3):\n    if not os.fork():\n        time.sleep(60)"
    )
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    pids = [parent, *map(int, children)]
    assert len(pids) == 4
    assert pipe_accounting.held(pids, HERE) < 1.2 * pipe_accounting.held([parent], HERE) + MB


def test_a_few_dozen_that_are_empty_hold_next_to_nothing(started: Started) -> None:
    honest = started(
        """
        context = multiprocessing.get_context("fork")
        pool = context.Pool(4)
        assert pool.map(abs, range(100)) == list(range(100))
        lines = [context.Queue() for _ in range(8)]
        kept += [socket.socketpair() for _ in range(60)] + [os.pipe() for _ in range(60)]
        """
    )
    children = Path(f"/proc/{honest}/task/{honest}/children").read_text().split()
    pids = [honest, *map(int, children)]
    if not copies(honest):
        pytest.skip("no descriptor of another process may be copied here")
    assert pipe_accounting.held(pids, HERE) < 2 * MB
    limit = memory.used(pids=pids) + 10 * MB
    assert pipe_accounting.most(pids, 10 * MB, HERE) > 10 * MB  # so that they are looked into
    assert not memory.over(limit, pids=pids)


def test_where_nothing_can_be_looked_into_a_few_count_little(started: Started) -> None:
    few = started("kept = [socket.socketpair() for _ in range(20)]")
    many = started("sockets(200)")
    elsewhere = Where("/proc/self/../")  # of which the numbers are not known to be ours
    assert pipe_accounting.held([few], elsewhere) < 15 * MB
    assert pipe_accounting.held([many], elsewhere) > 80 * MB


def test_what_was_sent_by_one_that_is_closed_counts(started: Started) -> None:
    full = started("sockets(100)\nkept = [pair[0] for pair in kept]")
    assert pipe_accounting.held([full], HERE) > 15 * MB


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the numbers are those of x86-64")
def test_what_one_thread_has_open_counts(started: Started) -> None:
    full = started(
        """
        done = threading.Event()
        def thread():
            assert libc.syscall(436, 1000000, 1000000, 2) == 0
            sockets(100)
            done.set()
            time.sleep(60)
        threading.Thread(target=thread, daemon=True).start()
        done.wait()
        """
    )
    assert pipe_accounting.held([full], HERE) > 35 * MB
    assert pipe_accounting.most([full], 0, HERE) > 35 * MB


IN_A_NETWORK = """
import sys
sys.path.insert(0, {root!r})
from grader.runtime.worker import pipe_accounting as queues
import array, os, socket
from grader.runtime.worker.pipe_accounting import Where
pairs = [socket.socketpair() for _ in range(60)]
where = Where(alone=True)
print(queues.held([os.getpid()], where) >> 20)
line = socket.socketpair()
files = array.array("i", [one.fileno() for pair in pairs for one in pair])
line[0].sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, files)])
for pair in pairs:
    for one in pair:
        one.close()
print(queues.held([os.getpid()], where) >> 20, queues.most([os.getpid()], 0, where) >> 20)
"""


def test_sockets_on_their_way_count_in_a_network_of_their_own(tmp_path: Path) -> None:
    command = ["unshare", "--net", *(["--user", "--map-root-user"] if os.getuid() else [])]
    if subprocess.run([*command, "true"], capture_output=True).returncode:
        pytest.skip("no namespaces here")
    script = tmp_path / "script.py"
    script.write_text(IN_A_NETWORK.format(root=str(ROOT)))
    done = subprocess.run(
        [*command, sys.executable, str(script)], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    before, held, most = map(int, done.stdout.split())
    assert before < 5
    assert min(held, most) > 40  # 120 of them, each as large as they may be
