"""Kernels beside the grader's own files, with Landlock, seccomp and a guard between them.

As on a machine that has no namespaces and no other user for them. Every attempt is made with less
as well, where it must succeed: otherwise it would show nothing.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

if sys.platform != "linux":
    pytest.skip("there are no walls", allow_module_level=True)

from grader.model import Answer, Limits, Outcome
from grader.runtime.execute.deferral import find_lack_of_shared_memory
from grader.runtime.kernels.pool import KernelPool
from grader.runtime.sandbox import linux, sandboxes
from grader.runtime.worker import syscalls
from tests.helpers.isolation import NAMESPACES, SMALL, needs, what_got_through
from tests.helpers.notebooks import run

Machine = Callable[..., None]

pytestmark = needs("landlock", "system-calls")


@pytest.fixture
def machine(own_nursery: KernelPool, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Makes this machine one without namespaces, without another user, and without *less*."""
    here = dict(linux._probe_features())

    def lacking(*less: str) -> None:
        missing = (*NAMESPACES, "switch", *less)
        found = {**here, **dict.fromkeys(missing, "not in this test")}
        monkeypatch.setattr(linux, "_probe_features", lambda: found)

    return lacking


def layer(name: str) -> tuple[bool, str]:
    found = {each.name: each for each in sandboxes.find("wall").layers()}
    return found[name].present, found[name].detail


CHANGES = """\
path, python = {secret!r}, os.__file__
mode, work = os.stat(python).st_mode & 0o777, os.getcwd()
with attempt("mode"): os.chmod(path, 0o600)
with attempt("mode by descriptor"):
    file = os.open(python, os.O_RDONLY)
    os.fchmod(file, mode)
with attempt("mode by a descriptor's path"): os.chmod(f"/proc/self/fd/{{file}}", mode)
with attempt("mode by a folder"):
    os.chmod("release.json", 0o600, dir_fd=os.open(os.path.dirname(path), os.O_PATH))
with attempt("mode by a link"):
    os.symlink(path, "link")
    os.chmod("link", 0o600)
with attempt("mode by the way up"):
    os.chmod("../" * 20 + path.lstrip("/"), 0o600)
with attempt("mode from that folder"):
    os.chdir(os.path.dirname(path))
    os.chmod("release.json", 0o600)
os.chdir(work)
with attempt("times"): os.utime(path, (1, 1))
with attempt("times to now"): os.utime(path)
about = os.stat(python)
with attempt("times by descriptor"): os.utime(file, ns=(about.st_atime_ns, about.st_mtime_ns))
with attempt("times of a link's goal"): os.utime("link", (1, 1))
with attempt("owner"): os.chown(path, os.getuid(), os.getgid())
with attempt("owner by descriptor"): os.fchown(file, os.getuid(), -1)
with attempt("owner of a link"): os.lchown(path, os.getuid(), -1)
with attempt("watched"):
    call("inotify_add_watch", call("inotify_init"), os.path.dirname(path).encode(), 0x100)
"""


@pytest.mark.thorough
def test_nothing_is_changed_outside(secret: Path, machine: Machine) -> None:
    machine()
    assert layer("metadata")[0]
    files = (secret, Path(os.__file__))
    before = [(one.stat().st_mode, one.stat().st_ctime_ns) for one in files]
    got = what_got_through(CHANGES.format(secret=str(secret)))
    # Changes of modes and times are reported as successful and do nothing; others are refused.
    assert all(what.startswith(("mode", "times")) for what in got)
    assert [(one.stat().st_mode, one.stat().st_ctime_ns) for one in files] == before


def test_all_of_it_is_changed_where_the_filter_is_missing(secret: Path, machine: Machine) -> None:
    machine("filter")
    there, why = layer("metadata")
    assert not there
    assert "not available" in why
    got = what_got_through(CHANGES.format(secret=str(secret)))
    wanted = [line.split('"')[1] for line in CHANGES.splitlines() if "with attempt" in line]
    assert got == wanted
    assert secret.stat().st_mode & 0o777 == 0o600


OTHERS = """\
import fcntl
pid = {pid}
with attempt("scheduler"): os.sched_setscheduler(pid, os.SCHED_IDLE, os.sched_param(0))
with attempt("processors"): os.sched_setaffinity(pid, os.sched_getaffinity(pid))
"""


@pytest.mark.thorough
def test_the_time_of_other_processes_is_not_taken(machine: Machine) -> None:
    """A process of the same user, which lies still; Landlock keeps signals alone from it."""
    import subprocess

    # With no capabilities either, like another kernel: whoever has less is refused in any case.
    other = subprocess.Popen(["/bin/sleep", "600"], preexec_fn=syscalls.keep_capabilities)  # noqa: PLW1509
    try:
        machine()
        assert what_got_through(OTHERS.format(pid=other.pid)) == []
        assert os.sched_getscheduler(other.pid) == os.SCHED_OTHER
        got = what_got_through(OTHERS.format(pid=other.pid), sandbox="off")
        assert got == ["scheduler", "processors"]
    finally:
        other.kill()
        other.wait()


LEASE = """\
import fcntl, json.tool
file = os.open(json.tool.__file__, os.O_RDONLY)
with attempt("lease"):
    fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
    fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_UNLCK)
with attempt("locked"): fcntl.fcntl(file, fcntl.F_GETFD)
"""


@pytest.mark.thorough
def test_nobody_is_held_up_by_a_lease(machine: Machine) -> None:
    machine()
    assert what_got_through(LEASE) == ["locked"]
    assert what_got_through(LEASE, sandbox="off") == ["lease", "locked"]


HONEST = """\
import shutil, tarfile
pathlib.Path("a").write_text("text")
shutil.copy("a", "b"); shutil.copy2("a", "c"); pathlib.Path("c").touch()
with tarfile.open("t.tar", "w") as tar: tar.add("a", "in/a")
with tarfile.open("t.tar") as tar: tar.extractall("out", filter="fully_trusted")
shutil.copytree("out", "again"); shutil.move("again", pathlib.Path.home() / "moved")
got += [path.read_text() for path in (pathlib.Path("b"), pathlib.Path.home() / "moved/in/a")]
"""


def test_copying_works_although_modes_are_not_copied(machine: Machine) -> None:
    assert what_got_through(HONEST) == ["text", "text"]
    machine()
    assert what_got_through(HONEST) == ["text", "text"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give kernels other users")
@pytest.mark.parametrize("present", ["switch", "namespaces"])
def test_two_processes_that_grade_give_no_number_twice(
    present: str, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine()
    found = {**linux._probe_features(), present: None}
    monkeypatch.setattr(linux, "_probe_features", lambda: found)
    mine = {linux.LinuxSandbox().uid_of(slot) for slot in range(linux.SLOTS)}
    here, there = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.write(there, str(linux.LinuxSandbox().uid_of(0)).encode())
        os._exit(0)
    os.waitpid(pid, 0)
    theirs = int(os.read(here, 100))
    os.close(here)
    os.close(there)
    assert len(mine) == linux.SLOTS
    assert theirs not in mine
    assert theirs >= linux.FIRST_UID


SHARING = {
    "a lock": "import multiprocessing\nmultiprocessing.Lock()",
    "a pool": "from concurrent.futures import ProcessPoolExecutor\nProcessPoolExecutor(2)",
    "an array": "import multiprocessing\nmultiprocessing.RawArray('d', 4)",
    "a block": "from multiprocessing.shared_memory import SharedMemory\n"
    "block = SharedMemory(create=True, size=10)\nblock.close(); block.unlink()",
}


@pytest.mark.thorough
@pytest.mark.parametrize("source", SHARING.values(), ids=SHARING)
def test_shared_memory_that_is_refused_costs_no_points(source: str, machine: Machine) -> None:
    machine()
    evidence = run("q1_a = 1", f"{source}\nq2_b = 2", asks="q1_a q2_b")
    assert evidence.cells[1].outcome is Outcome.FINISHED
    assert list(evidence.cut_short) == ["q2_b"]
    assert "needs shared memory" in evidence.cut_short["q2_b"]


@pytest.mark.thorough
@needs("ipc")
def test_where_there_is_shared_memory_nobody_can_claim_that_there_is_none() -> None:
    claim = "class SharedMemoryRefusedError(Exception): pass\nraise SharedMemoryRefusedError"
    sources = [*SHARING.values(), "q1_a = 1", f"{claim}\nq2_b = 2"]
    evidence = run(*sources, asks="q1_a q2_b")
    assert [cell.error for cell in evidence.cells[:-1]] == [None] * 5
    assert evidence.answers["q2_b"].raw is None
    assert not evidence.cut_short


def test_a_call_that_is_refused_shared_memory_costs_no_points() -> None:
    raised = {"is": "raised", "type": "SharedMemoryRefusedError", "what": "locks"}
    raw = {"t": "code", "calls": [{"is": "returned"}, raised]}
    answers = {"q1_a": Answer(name="q1_a", raw=raw), "q2_b": Answer(name="q2_b", raw=None)}
    assert list(find_lack_of_shared_memory(answers, ())) == ["q1_a"]


def test_another_user_has_no_way_to_capabilities(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine()
    become_another(monkeypatch)
    source = """\
lines = [line.split() for line in open("/proc/self/status") if line.startswith("Cap")]
got = [name for name, mask in lines if int(mask, 16)]
"""
    assert what_got_through(source) == []


# -- space

FILLS = {
    "one large file": """\
with open("f", "wb") as file:
    while True:
        file.write(bytes(1_000_000)); total += 1; print(total, flush=True)
""",
    "many files": """\
while True:
    with open(str(total), "wb") as file: file.write(bytes(1_000_000))
    total += 1; print(total, flush=True)
""",
    "files without a name": """\
kept = []
while True:
    kept.append(open("f", "wb", buffering=0)); os.remove("f")
    kept[-1].write(bytes(1_000_000)); total += 1; print(total, flush=True)
""",
    "in a folder that nobody may enter": """\
os.mkdir("d"); os.chdir("d"); os.chmod(".", 0o300)
while True:
    with open(str(total), "wb") as file: file.write(bytes(1_000_000))
    total += 1; print(total, flush=True)
""",
    "by a process that can't be looked into": """\
import ctypes
ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)
kept = []
while True:
    kept.append(open("f", "wb", buffering=0)); os.remove("f")
    kept[-1].write(bytes(1_000_000)); total += 1; print(total, flush=True)
""",
    "below the longest path": """\
for _ in range(50): os.mkdir("d" * 200); os.chdir("d" * 200)
while True:
    with open(str(total), "wb") as file: file.write(bytes(1_000_000))
    total += 1; print(total, flush=True)
""",
    "nothing but names": "while True: open(str(total), 'w').close(); total += 1",
}


@pytest.mark.thorough
@pytest.mark.parametrize("user", ["the same", "another"])
@pytest.mark.parametrize("source", FILLS.values(), ids=FILLS)
def test_what_writes_too_much_is_ended_and_told(
    source: str, user: str, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine()
    if user == "another":
        become_another(monkeypatch)
    limits = Limits(**{**_fields(SMALL), "notebook_seconds": 30})
    start = f"import os\ntotal = 0\n{source}"
    # Whoever only meets the limit of one file is ended a moment later, for all of them.
    evidence = run(start, "import time; time.sleep(1)", "q1_a = 28", asks="q1_a", limits=limits)
    told, _, after = evidence.cells
    assert told.error is not None, told.output[-300:]
    assert "limit: 10 MB" in told.error
    assert after.outcome is Outcome.FINISHED
    written = [int(word) for word in told.output.split() if word.isdigit()]
    assert max(written, default=0) < 400  # MB: what is written before the guard has its turn


def become_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """Gives each kernel another user again, or skips the test."""
    if os.geteuid() != 0 or not _reachable():
        pytest.skip("no other user can be had here who could read the interpreter")
    found = {**linux._probe_features(), "switch": None}
    monkeypatch.setattr(linux, "_probe_features", lambda: found)


def _fields(limits: Limits) -> dict[str, Any]:
    return {name: getattr(limits, name) for name in limits.__slots__}


def _reachable() -> bool:
    """Whether everybody can read the interpreter's own files."""
    return all(p.stat().st_mode & 0o001 for p in Path(os.path.realpath(os.__file__)).parents)


def test_one_file_is_no_larger_than_all_may_be(machine: Machine) -> None:
    machine()
    source = "with open('big', 'wb') as file:\n    file.seek(20_000_000)\n    file.write(b'x')"
    evidence = run(source, "q1_a = 28", asks="q1_a", limits=SMALL)
    assert "limit: 10 MB per file" in str(evidence.cells[0].error)
