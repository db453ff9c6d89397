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

from grader.model import Limits, Outcome
from grader.runtime.kernels.pool import KernelPool
from grader.runtime.sandbox import linux, sandboxes
from grader.runtime.worker import syscalls
from tests.builders_notebooks import run
from tests.test_guard import NAMESPACES, SMALL, needs, plain, secret, what_got_through

__all__ = ["secret"]

Machine = Callable[..., None]

pytestmark = needs("landlock", "system-calls")


@pytest.fixture
def machine(own_nursery: KernelPool, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Makes this machine one without namespaces, without another user, and without *less*."""
    here = dict(linux._survey())

    def lacking(*less: str) -> None:
        missing = (*NAMESPACES, "switch", *(name for name in less if name != "asked"))
        found = {**here, **dict.fromkeys(missing, "not in this test")}
        monkeypatch.setattr(linux, "_survey", lambda: found)
        if "asked" in less:
            monkeypatch.setattr(linux, "_asking", lambda: "not in this test")

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


@pytest.mark.parametrize("less", [(), ("asked",)], ids=["guard asked", "refused"])
def test_nothing_is_changed_outside(secret: Path, machine: Machine, less: tuple[str, ...]) -> None:
    machine(*less)
    assert layer("metadata")[0]
    before = secret.stat()
    source = CHANGES.format(secret=str(secret))
    assert what_got_through(source) == []
    after = secret.stat()
    assert (after.st_mode, after.st_mtime_ns, after.st_ctime_ns) == (
        *(before.st_mode, before.st_mtime_ns, before.st_ctime_ns),
    )


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


def test_nobody_is_held_up_by_a_lease(machine: Machine) -> None:
    machine()
    assert what_got_through(LEASE) == ["locked"]
    assert what_got_through(LEASE, sandbox="off") == ["lease", "locked"]


HONEST = """\
import shutil, stat, tarfile, threading
home = pathlib.Path(os.environ["HOME"])
def mode(path): return oct(stat.S_IMODE(os.lstat(path).st_mode))
pathlib.Path("a").write_text("#!/bin/sh\\necho ran\\n")
os.chmod("a", 0o750); got.append(mode("a"))
shutil.copy("a", home / "b"); got.append(mode(home / "b"))
os.utime("a", ns=(5_000, 7_000)); shutil.copy2("a", "c"); got.append(os.stat("c").st_mtime_ns)
got.append(subprocess.run(["./c"], capture_output=True, text=True).stdout)
pathlib.Path("c").touch(); got.append(os.stat("c").st_mtime > 1e9)
with open("c", "r+") as file:
    os.fchmod(file.fileno(), 0o604); got.append(mode("c"))
    os.utime(file.fileno(), (1, 2)); got.append(os.stat("c").st_mtime)
os.chmod("b", 0o600, dir_fd=os.open(home, os.O_RDONLY)); got.append(mode(home / "b"))
os.symlink("a", "link"); os.utime("link", (3, 4), follow_symlinks=False)
got += [os.lstat("link").st_mtime, os.stat("a").st_mtime_ns]
os.chmod("link", 0o711); got.append(mode("a"))
with open("a") as file: os.chmod(f"/proc/self/fd/{file.fileno()}", 0o700)
got.append(mode("a"))
with tarfile.open("t.tar", "w") as tar: tar.add("a", "in/a")
with tarfile.open("t.tar") as tar: tar.extractall("out", filter="fully_trusted")
got += [mode("out/in/a"), round(os.stat("out/in/a").st_mtime, 3)]
got.append(subprocess.run("cp a d && chmod 640 d && stat -c %a d", shell=True,
                          capture_output=True, text=True).stdout)
shutil.copytree("out", "again"); shutil.move("again", home / "moved")
got.append(mode(home / "moved/in/a"))
def many(name):
    open(name, "w").close()
    for n in range(200): os.chmod(name, 0o600 + n % 8)
threads = [threading.Thread(target=many, args=(f"t{n}",)) for n in range(4)]
for each in threads: each.start()
for each in threads: each.join()
got += [mode(f"t{n}") for n in range(4)]
for what, error in (("nothing", FileNotFoundError), ("a/b", NotADirectoryError)):
    try: os.chmod(what, 0o600)
    except error: got.append("told why")
"""
CAME = [
    *("0o750", "0o750", 7000, "ran\n", True, "0o604", 2.0, "0o600", 4.0, 7000, "0o711", "0o700"),
    *("0o700", 0.0, "640\n", "0o700", "0o607", "0o607", "0o607", "0o607", "told why", "told why"),
]


def test_what_is_its_own_a_notebook_changes_as_everywhere(machine: Machine) -> None:
    expected = [repr(value) for value in CAME]
    source = HONEST + "got = [repr(value) for value in got]"
    assert what_got_through(source) == expected
    machine()
    assert "the supervisor allows" in layer("metadata")[1]
    assert what_got_through(source) == expected


def test_where_no_guard_can_be_asked_copying_fails_and_touching_does_not(machine: Machine) -> None:
    machine("asked")
    assert "shutil.copy fails" in layer("metadata")[1]
    source = """\
import shutil
pathlib.Path("a").touch(); pathlib.Path("a").touch()
shutil.copyfile("a", "b")
with attempt("copied"): shutil.copy("a", "c")
got += sorted(os.listdir())
"""
    assert what_got_through(source) == ["a", "b", "c"]


TRICKS = """\
import threading
file = os.open("mine", os.O_CREAT | os.O_RDWR)
def errno_of(number, *arguments):
    ctypes.set_errno(0)
    libc.syscall(number, *arguments)
    return errno.errorcode.get(ctypes.get_errno(), "done")
got.append(errno_of({chmod}, ctypes.c_void_p(8), 0o600))
got.append(errno_of({chmod}, b"x" * 5000, 0o600))
got.append(errno_of({chmod}, b"", 0o600))
got.append(errno_of({fchmod}, 999, 0o600))
got.append(errno_of({chmod}, b"mine", 0o4755))
got.append(errno_of({chmod}, b"mine", 0o755))
text = ctypes.create_string_buffer(300)
inside, outside = os.path.abspath("mine").encode(), {secret!r}.encode()
over = False
def flips():
    while not over:
        text.value = inside
        text.value = outside
thread = threading.Thread(target=flips)
thread.start()
for _ in range(3000): libc.syscall({chmod}, text, 0o700)
over = True
thread.join()
"""
NUMBERS = {"x86_64": {"chmod": 90, "fchmod": 91}}


@pytest.mark.skipif(os.uname().machine not in NUMBERS, reason="other processors lack chmod")
def test_the_guard_is_not_deceived(secret: Path, machine: Machine) -> None:
    machine()
    numbers = NUMBERS[os.uname().machine]
    got = what_got_through(TRICKS.format(secret=str(secret), **numbers))
    assert got == ["EFAULT", "ENAMETOOLONG", "ENOENT", "EBADF", "EPERM", "done"]
    assert secret.stat().st_mode & 0o777 == 0o666


def test_a_flood_of_questions_stops_nothing(machine: Machine) -> None:
    machine()
    source = """\
import os, threading
open("a", "w").close()
def flood():
    while True: os.chmod("a", 0o600)
for _ in range(8): threading.Thread(target=flood, daemon=True).start()
"""
    limits = Limits(cell_seconds=1.0, notebook_seconds=20, memory_bytes=600_000_000)
    evidence = run(source, "while True: pass", "q1_a = 28", asks="q1_a", limits=limits)
    outcomes = [cell.outcome.value for cell in evidence.cells]
    assert outcomes == ["finished", "timeout", "finished"], evidence.cells
    assert plain(evidence.answers["q1_a"].raw) == "28"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give kernels other users")
def test_two_processes_that_grade_give_no_number_twice(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine()
    found = {**linux._survey(), "switch": None}
    monkeypatch.setattr(linux, "_survey", lambda: found)
    mine = {linux.LinuxSandbox().uid(slot) for slot in range(linux.SLOTS)}
    here, there = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.write(there, str(linux.LinuxSandbox().uid(0)).encode())
        os._exit(0)
    os.waitpid(pid, 0)
    theirs = int(os.read(here, 100))
    os.close(here)
    os.close(there)
    assert len(mine) == linux.SLOTS
    assert theirs not in mine
    assert theirs >= linux.FIRST_UID


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
    found = {**linux._survey(), "switch": None}
    monkeypatch.setattr(linux, "_survey", lambda: found)


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
