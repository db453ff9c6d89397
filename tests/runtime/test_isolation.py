"""What each layer of the wall promises, tried from inside by real notebooks that want to get out.

Where a layer is not there the test says why and is skipped. Every attempt is also made without a
sandbox, where it must succeed: otherwise it would show nothing.
"""

from __future__ import annotations

import ctypes
import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

if sys.platform != "linux":
    pytest.skip("there are no walls", allow_module_level=True)

from grader.errors import SetupError
from grader.model import Evidence, Limits, Outcome
from grader.runtime import executors
from grader.runtime.kernels.pool import KernelPool
from grader.runtime.sandbox import WANTED, choose_sandbox, linux, sandboxes
from tests.helpers.isolation import (
    LAYERS,
    NAMESPACES,
    ORDINARY,
    SMALL,
    TRY,
    needs,
    plain,
    present,
    what_got_through,
)
from tests.helpers.kernels import LONG, Mark, until
from tests.helpers.notebooks import run

ROOT = Path(__file__).parents[2]


# -- files


READS = """\
for path in {paths!r}:
    with attempt("read " + path):
        os.listdir(path) if os.path.isdir(path) else open(path, "rb").read()
with attempt("followed a link"):
    os.symlink({secret!r}, "link"); open("link").read()
with attempt("followed a path through the guard"):
    open("/proc/1/root" + {secret!r}).read()
with attempt("made another name"):
    os.link({secret!r}, "hard")
with attempt("saw that it is there"):
    os.stat({secret!r})
"""


@needs("files")
def test_no_file_outside_is_seen(secret: Path) -> None:
    paths = [str(secret), str(secret.parent), str(ROOT / "problems"), "/etc/shadow"]
    source = READS.format(paths=paths, secret=str(secret))
    assert what_got_through(source) == []
    without = what_got_through(source, sandbox="off")
    assert {"read " + str(secret), "followed a link", "saw that it is there"} <= set(without)


@needs("files")
def test_no_problem_and_no_solution_is_in_the_packages() -> None:
    source = """\
import site, sysconfig
places = {*sys.path, *sysconfig.get_paths().values(), *site.getsitepackages()}
got = [str(found) for place in places if place and os.path.isdir(place)
       for found in pathlib.Path(place).glob("grader/**/*.py")]
"""
    assert what_got_through(source) == []


WRITES = """\
for folder in {folders!r}:
    path = os.path.join(folder, {name!r})
    with attempt("wrote " + folder):
        open(path, "w").close()
        os.remove(path)
with attempt("changed"):
    open({secret!r}, "a").close()
with attempt("cut short"):
    os.truncate({secret!r}, 0)
with attempt("removed"):
    os.chmod({secret!r}, 0o644); os.rename({secret!r}, {secret!r} + "x")
"""


@needs("files")
def test_nothing_outside_is_written(secret: Path) -> None:
    packages = str(Path(pytest.__file__).parent)
    folders = [
        "/",
        "/usr",
        "/etc",
        "/var",
        "/sys",
        "/dev",
        "/root",
        packages,
        str(Path(os.__file__).parent),
    ]
    folders += [str(secret.parent), str(ROOT)]
    source = WRITES.format(folders=folders, name="t" + secrets.token_hex(8), secret=str(secret))
    assert what_got_through(source) == []
    assert secret.read_text() == '{"key": "xyzzy"}'
    without = what_got_through(source, sandbox="off")
    assert {"wrote " + str(secret.parent), "changed", "cut short", "removed"} <= set(without)


@needs("files")
def test_the_root_folder_shows_only_what_python_needs() -> None:
    source = "import os\nq1_a = sorted(os.listdir('/'))\nq2_b = sorted(os.listdir('/student'))"
    evidence = run(source, asks="q1_a q2_b", limits=SMALL)
    known = {"bin", "dev", "etc", "lib", "lib32", "lib64", "libx32", "opt", "proc", "sbin"}
    known |= {"student", "sys", "tmp", "usr", "var", "places"}
    # The interpreter and its packages may lie anywhere.
    known |= {Path(path).parts[1] for path in (sys.prefix, sys.base_prefix, *sys.path) if path}
    assert set(plain(evidence.answers["q1_a"].raw)) <= known
    assert set(plain(evidence.answers["q2_b"].raw)) <= {"home", "work", "tmp", "shm", "wire"}


@needs("files")
@pytest.mark.parametrize("folder", ["/places", "/student/wire"])
def test_the_folders_of_the_grader_are_hidden(folder: str) -> None:
    source = f"for path in pathlib.Path({folder!r}).glob('**/*'): got.append(str(path))"
    assert what_got_through(source) == []


@needs("files")
def test_the_notebook_works_with_files_of_its_own() -> None:
    source = """\
import json, shutil, sqlite3, tempfile
os.makedirs("a/b")
pathlib.Path("a/b/c.txt").write_text("x")
shutil.copytree("a", "d"); shutil.move("d", "e"); os.symlink("e", "f")
with tempfile.TemporaryDirectory() as folder: pathlib.Path(folder, "x").touch()
sqlite3.connect("t.db").execute("create table t (x)")
pathlib.Path.home().joinpath(".cache").mkdir()
got = [open("f/b/c.txt").read(), oct(os.stat("a/b/c.txt").st_mode & 0o777)]
"""
    assert what_got_through(source) == ["x", "0o600"]


# -- network


@pytest.fixture
def listeners() -> Iterator[dict[str, Any]]:
    """Servers left of the wall that answer whoever gets through to them."""
    with tempfile.TemporaryDirectory(prefix="t-") as folder:
        yield from _listeners(Path(folder))


def _listeners(folder: Path) -> Iterator[dict[str, Any]]:
    path, name = str(folder / "socket"), "\0" + secrets.token_hex(8)
    made = []
    for family, where in (
        (socket.AF_INET, ("127.0.0.1", 0)),
        (socket.AF_UNIX, path),
        (socket.AF_UNIX, name),
    ):
        made.append(socket.socket(family, socket.SOCK_STREAM))
        made[-1].bind(where)
        made[-1].listen()
    made.append(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
    made[-1].bind(("127.0.0.1", 0))
    folder.chmod(0o755)
    Path(path).chmod(0o777)
    ports = {"tcp": made[0].getsockname()[1], "udp": made[3].getsockname()[1]}
    yield {**ports, "path": path, "name": name, "sockets": made}
    for each in made:
        each.close()


CONNECTS = """\
for what, family, where in (("tcp", socket.AF_INET, ("127.0.0.1", {tcp})),
                            ("a socket file", socket.AF_UNIX, {path!r}),
                            ("an abstract socket", socket.AF_UNIX, {name!r})):
    with attempt(what), socket.socket(family, socket.SOCK_STREAM) as line:
        line.settimeout(2)
        line.connect(where)
with attempt("udp"), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as line:
    line.sendto(b"hello", ("127.0.0.1", {udp}))
with attempt("ipv6"), socket.socket(socket.AF_INET6, socket.SOCK_STREAM) as line:
    line.settimeout(1)
    line.connect(("2001:db8::1", 80))
with attempt("raw"), socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP) as line:
    pass
with attempt("packets"), socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as line:
    pass
with attempt("the machine's host"), socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM) as line:
    line.settimeout(1)
    line.connect((2, 1024))
"""


@needs("network")
def test_nobody_is_reached_over_a_network(listeners: dict[str, Any]) -> None:
    source = CONNECTS.format(**listeners)
    assert what_got_through(source) == []
    without = what_got_through(source, sandbox="off")
    assert {"tcp", "a socket file", "an abstract socket", "udp"} <= set(without)


@needs("network")
def test_there_is_no_network_card() -> None:
    source = (
        "got = [n for n in os.listdir('/sys/class/net')] if os.path.isdir('/sys/class/net') else []"
    )
    source += (
        "\ngot += [line.split(':')[0].strip() for line in open('/proc/net/dev') if ':' in line]"
    )
    assert set(what_got_through(source)) <= {"lo"}


@pytest.mark.thorough
@needs("network")
def test_only_where_it_is_asked_for_a_notebook_talks_to_itself(listeners: dict[str, Any]) -> None:
    source = """\
with attempt("itself"):
    server = socket.create_server(("127.0.0.1", 0))
    client = socket.create_connection(server.getsockname(), 2)
"""
    assert what_got_through(source) == []
    both = source + CONNECTS.format(**listeners)
    evidence = run(TRY, both, asks="got", limits=SMALL, loopback=True)
    got = plain(evidence.answers["got"].raw)
    # A datagram to nobody is sent without an error, and arrives nowhere.
    assert "itself" in got
    assert set(got) <= {"itself", "udp"}
    listeners["sockets"][3].settimeout(0.2)
    with pytest.raises(TimeoutError):
        listeners["sockets"][3].recv(10)


# -- processes


SIGNALS = """\
with attempt("saw"):
    status = open("/proc/{pid}/status").read()
    if "Name:\\t{name}" not in status:
        raise OSError
with attempt("signalled"):
    os.kill({pid}, 0)
    if not os.path.exists("/proc/{pid}") or "{name}" not in open("/proc/{pid}/comm").read():
        raise OSError  # another process by the same number
with attempt("held"):
    held = os.pidfd_open({pid})
    if "{name}" not in open("/proc/{pid}/comm").read(): raise OSError
with attempt("read its memory"):
    if not open("/proc/{pid}/maps").read(): raise OSError
with attempt("read its environment"):
    if "{name}" not in open("/proc/{pid}/comm").read() or not open("/proc/{pid}/environ").read():
        raise OSError
"""


@needs("processes")
def test_no_other_process_is_seen_or_reached() -> None:
    mark = Mark()
    other = subprocess.Popen(["sleep", mark.argument])
    try:
        source = SIGNALS.format(pid=other.pid, name="sleep")
        assert what_got_through(source) == []
        assert {"saw", "signalled", "held"} <= set(what_got_through(source, sandbox="off"))
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


@needs("processes")
def test_a_notebook_sees_itself_its_guard_and_its_children() -> None:
    source = """\
child = subprocess.Popen(["sleep", "100"])
got = [name for name in os.listdir("/proc") if name.isdigit()]
got = sorted(set(got) - {str(os.getpid()), str(child.pid), "1"})
child.kill(); child.wait()
"""
    assert what_got_through(source) == []


GUARD = """\
guard = os.getppid() or 1
for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGSTOP, signal.SIGINT, signal.SIGUSR1):
    with attempt(f"signal {number.name}"):
        os.kill(guard, number)
for path in ("mem", "maps", "environ", "root", "cwd", "fd/0", "ns/pid"):
    with attempt("opened " + path):
        os.open(f"/proc/{guard}/{path}", os.O_RDONLY)
with attempt("traced"):
    call("ptrace", 16, guard, 0, 0)  # PTRACE_ATTACH
with attempt("limited"):
    import resource
    resource.prlimit(guard, resource.RLIMIT_NOFILE, (4, 4))
with attempt("slowed"):
    os.setpriority(os.PRIO_PROCESS, guard, 19)
with attempt("took a file of"):
    libc.syscall.restype = ctypes.c_long
    if libc.syscall(438, os.pidfd_open(guard), 0, 0) < 0:  # pidfd_getfd
        raise OSError
with attempt("all at once"):
    if os.fork() == 0:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.kill(-1, signal.SIGTERM)
        os._exit(0)
    raise OSError
"""


@needs("processes", "system-calls", "privileges")
def test_the_guard_is_out_of_reach() -> None:
    evidence = run(
        TRY + "signal.signal(signal.SIGTERM, signal.SIG_IGN)", GUARD, asks="got", limits=SMALL
    )
    assert evidence.outcome is Outcome.FINISHED
    assert plain(evidence.answers["got"].raw) == []


# -- ipc, hostname


@pytest.fixture
def shared_segment() -> Iterator[int]:
    """A piece of System V shared memory that everybody may use; its key."""
    libc = ctypes.CDLL(None, use_errno=True)
    key = secrets.randbelow(2**30) + 1
    number = libc.shmget(key, 4096, 0o1666)
    assert number >= 0
    yield key
    libc.shmctl(number, 0, None)


@needs("ipc")
def test_shared_memory_of_others_is_not_found(shared_segment: int) -> None:
    source = f"with attempt('found'): call('shmget', {shared_segment}, 0, 0)"
    assert what_got_through(source) == []
    assert what_got_through(source, sandbox="off") == ["found"]


@pytest.mark.thorough
@needs("ipc")
def test_the_namespace_alone_hides_shared_memory(
    shared_segment: int, pretended: Callable[..., None]
) -> None:
    pretended("filter")
    source = f"with attempt('found'): call('shmget', {shared_segment}, 0, 0)\n"
    source += "with attempt('made'): call('shmget', 77, 4096, 0o1666)"
    assert what_got_through(source) == ["made"]


@needs("files")
def test_dev_shm_is_private() -> None:
    outside = Path("/dev/shm", "t" + secrets.token_hex(8))
    outside.write_text("x")
    name = "t" + secrets.token_hex(8)
    source = f"""\
got = os.listdir("/dev/shm")
from multiprocessing import shared_memory
kept = shared_memory.SharedMemory({name!r}, create=True, size=100)
got += [n for n in os.listdir("/dev/shm") if n != {name!r}]
if os.path.exists("/dev/shm/{name}"): time.sleep(0.2)
"""
    try:
        assert what_got_through(source) == []
        assert not Path("/dev/shm", name).exists()
    finally:
        outside.unlink()


@needs("hostname")
def test_the_name_of_the_machine_is_not_told_and_not_changed() -> None:
    here = os.uname().nodename
    source = (
        "got = [os.uname().nodename, socket.gethostname(), open('/etc/hostname').read().strip()]"
    )
    source += "\nwith attempt('renamed'): call('sethostname', b'x', 1)"
    assert what_got_through(source) == ["student"] * 3
    assert os.uname().nodename == here != "student"


# -- rights

STATUS = """\
status = dict(line.split(":\\t", 1) for line in open("/proc/self/status").read().splitlines())
got = [status[name].strip() for name in {names!r}]
"""


def in_status(*names: str) -> list[str]:
    return what_got_through(STATUS.format(names=names))


@needs("privileges")
def test_there_is_no_capability_and_no_way_to_one() -> None:
    nothing = "0" * 16
    assert in_status("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb") == [nothing] * 5
    assert in_status("NoNewPrivs") == ["1"]


@needs("privileges")
def test_programs_that_give_rights_give_none() -> None:
    source = """\
done = subprocess.run(["/usr/bin/su", "-c", "id -u"], stdin=subprocess.DEVNULL, capture_output=True,
                      text=True) if os.path.exists("/usr/bin/su") else None
got = [] if done is None or done.stdout.strip() != "0" else ["root"]
for number in (0, 1, 65534):
    if number != os.getuid():
        with attempt(f"became {number}"): os.setuid(number)
        with attempt(f"joined {number}"): os.setgroups([number])
"""
    assert what_got_through(source) == []


@needs("user")
def test_the_notebook_is_nobody_that_this_machine_knows() -> None:
    got = in_status("Uid", "Gid", "Groups")
    if os.geteuid() == 0:
        assert set(got[0].split()) & {"0", str(os.getuid())} == set()
    assert len(set(got[0].split())) == len(set(got[1].split())) == 1
    assert got[2] in ("", "65534")


@pytest.mark.thorough
@needs("user", "files")
def test_two_notebooks_at_once_are_two_users(own_nursery: KernelPool) -> None:
    """Only root can give numbers away; others have what their namespace hides."""
    if os.geteuid() != 0:
        pytest.skip("only root gives each notebook a number of its own")
    source = "import os\nq1_a = os.getuid()"
    first, second = (run(source, asks="q1_a").answers["q1_a"].raw["v"] for _ in range(2))
    assert first != second


@pytest.mark.thorough
@needs("user", "files")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives each notebook a number of its own")
def test_two_graders_at_once_do_not_share_a_limit_on_threads() -> None:
    source = """\
import threading, time
threads = [threading.Thread(target=time.sleep, args=(6,)) for _ in range(25)]
for each in threads: each.start()
for each in threads: each.join()
q1_a = len(threads)
"""
    with executors.open("processes:2") as workers:
        futures = [workers.submit(run, source, asks="q1_a", limits=LONG) for _ in range(2)]
        answers = [future.result().answers["q1_a"] for future in futures]
    assert [plain(answer.raw) for answer in answers] == ["25", "25"], answers


@needs("system-calls")
def test_a_filter_is_in_force_also_in_threads_and_children() -> None:
    assert in_status("Seccomp") == ["2"]
    source = """\
import threading
def seen():
    status = open("/proc/thread-self/status").read()
    got.append(status.split("Seccomp:")[1].split()[0])
thread = threading.Thread(target=seen); thread.start(); thread.join()
got.append(subprocess.run(["grep", "Seccomp:", "/proc/self/status"], capture_output=True,
                          text=True).stdout.split()[1])
"""
    assert what_got_through(source) == ["2", "2"]


CALLS = """\
for what, name, *arguments in (
    ("namespaces", "unshare", 0x10000000),
    ("mounting", "mount", b"none", b"/student/tmp", b"tmpfs", 0, None),
    ("unmounting", "umount2", b"/student", 2),
    ("another root", "chroot", b"/student"),
    ("tracing", "ptrace", 0, 0, 0, 0),
    ("keys", "syscall", 250, 0, -3, 0, 0, 0),
    ("programs in the kernel", "syscall", 321, 0, None, 0),
    ("counters", "syscall", 298, None, 0, -1, -1, 0),
    ("rings", "syscall", 425, 1, ctypes.create_string_buffer(120)),
    ("modules", "syscall", 175, None, 0, b""),
    ("the clock", "clock_settime", 0, ctypes.create_string_buffer(16)),
    ("restarting", "reboot", 0),
    ("the log", "klogctl", 10, None, 0),
    ("page faults", "syscall", 323, 1),
):
    with attempt(what):
        call(name, *arguments)
"""


@needs("system-calls")
@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the numbers are those of x86-64")
def test_calls_that_no_notebook_needs_are_refused() -> None:
    assert what_got_through(CALLS) == []


# -- bounds


def error_of(source: str, **changes: Any) -> tuple[Evidence, str]:
    evidence = run(
        "q1_a = 1", source, "q2_b = q1_a + 1", asks="q1_a q2_b", **{"limits": SMALL, **changes}
    )
    assert plain(evidence.answers["q1_a"].raw) == "1"
    assert plain(evidence.answers["q2_b"].raw) == "2"
    return evidence, str(evidence.cells[1].error)


FILLS = """\
import os
os.chdir({folder})
for n in range(100):
    with open(f"f{{n}}", "wb") as file:
        file.write(bytes(1_000_000))
"""
FOLDERS = {
    "work": "'.'",
    "home": "os.environ['HOME']",
    "tmp": "os.environ['TMPDIR']",
    "shm": "'/dev/shm'",
    # A folder of the system's own where the interpreter lies in there.
    **({} if sys.prefix.startswith("/tmp/") else {"tmp of all": "'/tmp'"}),
}


@needs("files", "scratch")
@pytest.mark.skipif("bounded" not in LAYERS["scratch"].detail, reason=LAYERS["scratch"].detail)
@pytest.mark.parametrize("folder", FOLDERS.values(), ids=FOLDERS)
def test_files_take_no_more_than_they_may_and_the_limit_is_named(folder: str) -> None:
    _, error = error_of(FILLS.format(folder=folder))
    assert "No space left on device" in error
    assert "limit: 10 MB for all files" in error


@needs("files", "scratch")
@pytest.mark.skipif("bounded" not in LAYERS["scratch"].detail, reason=LAYERS["scratch"].detail)
def test_no_folder_anywhere_takes_more() -> None:
    source = """\
places = [line.split()[4] for line in open("/proc/self/mountinfo")]
places += [os.path.join(folder, name) for folder, names, _ in os.walk("/student") for name in names]
written = 0
for place in places:
    if os.path.isdir(place):
        with contextlib.suppress(OSError), open(os.path.join(place, "fill"), "wb") as file:
            while written < 50_000_000:
                written += file.write(bytes(1_000_000))
got = [] if 1_000_000 < written < 12_000_000 else [f"{written} bytes"]
"""
    assert what_got_through(source) == []


@needs("files", "scratch")
@pytest.mark.skipif("bounded" not in LAYERS["scratch"].detail, reason=LAYERS["scratch"].detail)
def test_empty_files_are_counted_too() -> None:
    _, error = error_of("for n in range(10**6): open(str(n), 'w').close()")
    assert "No space left on device" in error


def test_one_file_has_a_limit_everywhere() -> None:
    source = "with open('big', 'wb') as file:\n    file.seek(2**31)\n    file.write(b'x')"
    assert "OSError: [Errno 27] File too large" in error_of(source)[1]


def test_open_files_have_a_limit() -> None:
    assert "Too many open files" in error_of("f = [open('/dev/null') for _ in range(5000)]")[1]


THREADS = """\
import threading
over = threading.Event()
try:
    for _ in range(300): threading.Thread(target=over.wait, daemon=True).start()
finally:
    over.set()
"""
FORKS = """\
import os, signal, time
children = []
try:
    for _ in range(300):
        pid = os.fork()
        if pid == 0:
            time.sleep(60); os._exit(0)
        children.append(pid)
finally:
    for pid in children: os.kill(pid, signal.SIGKILL)
    for pid in children: os.wait()
"""


@pytest.mark.thorough
@needs("user")
@pytest.mark.parametrize("source", [THREADS, FORKS], ids=["threads", "processes"])
def test_processes_and_threads_have_a_limit_that_is_named(source: str) -> None:
    assert "64" in error_of(source)[1]


@pytest.mark.thorough
@needs("user", "processes")
def test_a_fork_bomb_is_over_with_its_notebook() -> None:
    mark = Mark()
    limits = Limits(cell_seconds=2, notebook_seconds=20, processes=64)
    forks = "while True:\n    try: os.fork()\n    except OSError: pass"
    bomb = f"import os\n{mark.on_this_process}\n{forks}"
    evidence = run("q1_a = 1", bomb, "q2_b = 2", asks="q1_a q2_b", limits=limits)
    assert plain(evidence.answers["q1_a"].raw) == "1"
    assert evidence.cells[1].outcome is not Outcome.FINISHED
    assert mark.is_gone(10)


MANY = """\
import os, time
for _ in range(8): os.fork()  # 256 processes, and no more: nobody else counts them here
time.sleep(15)
"""


@pytest.mark.thorough
def test_a_guard_counts_processes_where_nothing_else_does() -> None:
    limits = Limits(cell_seconds=10, notebook_seconds=30, processes=64)
    sources = ("q1_a = 1", MANY, "q2_b = 2")
    evidence = run(*sources, asks="q1_a q2_b", limits=limits, sandbox="off")
    assert [plain(evidence.answers[n].raw) for n in ("q1_a", "q2_b")] == ["1", "2"]
    assert "64" in str(evidence.cells[1].error)


EATERS = """\
import os, time
for _ in range(4):
    if os.fork() == 0:
        try:
            held = b"x" * 300_000_000
            time.sleep(3)
        finally:
            os._exit(0)
ends = [os.waitstatus_to_exitcode(os.wait()[1]) for _ in range(4)]
if any(ends):
    raise RuntimeError(f"a worker died: {ends}")
"""


@pytest.mark.thorough
@pytest.mark.parametrize("sandbox", ["auto", "off"])
def test_memory_of_all_processes_together_has_a_limit(sandbox: str) -> None:
    """A guard ends all of it; a control group ends one that was in the way."""
    evidence = run("q1_a = 1", EATERS, "q2_b = 2", asks="q1_a q2_b", limits=SMALL, sandbox=sandbox)
    cell = evidence.cells[1]
    if cell.outcome is Outcome.FINISHED:
        assert "-9" in str(cell.error)
        assert LAYERS["cgroup"].present
    else:
        assert cell.outcome is Outcome.OUT_OF_MEMORY
        assert "limit: 0.6 GB of memory" in str(cell.error)
    assert [plain(evidence.answers[n].raw) for n in ("q1_a", "q2_b")] == ["1", "2"]


def test_memory_of_files_in_the_scratch_folder_counts() -> None:
    limits = Limits(cell_seconds=20, memory_bytes=300_000_000, scratch_bytes=200_000_000)
    source = (
        "import os\nopen('f', 'wb').write(bytes(190_000_000))\nq1_a = 1\n"
        "held = bytearray(b'x' * 150_000_000)\nimport time\ntime.sleep(60)"
    )
    evidence = run(source, asks="q1_a", limits=limits)
    if not LAYERS["files"].present:
        pytest.skip("files are on disk here")
    assert evidence.cells[0].outcome is Outcome.OUT_OF_MEMORY


# -- machines with less


@pytest.fixture
def pretended(own_nursery: KernelPool, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Makes this machine one that lacks something, as the survey tells it."""
    here = dict(linux._probe_features())

    def without(*missing: str) -> None:
        assert not set(missing) - set(here)
        found = {**here, **dict.fromkeys(missing, "not in this test")}
        monkeypatch.setattr(linux, "_probe_features", lambda: found)

    return without


@pytest.mark.thorough
@pytest.mark.parametrize(
    "missing",
    [
        (),
        NAMESPACES,
        ("filter",),
        ("landlock", "signals"),
        ("filter", "landlock", "signals"),
        (*NAMESPACES, "switch"),
        (*NAMESPACES, "filter"),
        (*NAMESPACES, "landlock", "signals"),
        (*NAMESPACES, "landlock", "signals", "filter", "switch"),
    ],
    ids=lambda missing: "-".join(missing) or "nothing",
)
def test_a_notebook_runs_on_machines_with_less(
    missing: tuple[str, ...], pretended: Callable[..., None], short: Path, own_nursery: KernelPool
) -> None:
    pretended(*missing)
    mark = Mark()
    evidence = run(
        f"import numpy as np, subprocess\n{mark.on_this_process}\nq1_a = float(np.ones(3).sum())",
        f"subprocess.Popen({mark.command}, start_new_session=True)\nprint('started')",
        "open('x.txt', 'w').write('x')\nimport os\nos._exit(1)",
        "q2_b = subprocess.run(['echo', 'y'], capture_output=True, text=True).stdout",
        "while True: pass",
        asks="q1_a q2_b",
        limits=Limits(cell_seconds=1.5, notebook_seconds=30),
        sandbox="wall",
    )
    assert [cell.outcome.value for cell in evidence.cells] == [
        *("finished", "finished", "crashed", "finished", "timeout")
    ], evidence.note
    assert [plain(evidence.answers[n].raw) for n in ("q1_a", "q2_b")] == ["3.0", "y\n"]
    told: Any = evidence.environment["sandbox"]
    assert set(told["layers"]) == present()
    own_nursery.close()
    assert mark.is_gone()
    assert list(short.iterdir()) == []


STAYS = """\
import os, time
for _ in range(200):
    if os.fork() == 0:
        time.sleep(20)
        os._exit(0)
time.sleep(10)
"""
HIDES = """\
import os, time
held = []
for n in range(6):
    held.append(open(str(n), "wb"))
    os.unlink(str(n))
    held[-1].write(bytes(4_000_000)), held[-1].flush()
time.sleep(5)
"""


@pytest.mark.thorough
@needs("processes")
@pytest.mark.parametrize(
    "source, error",
    [
        (STAYS, "64"),
        (EATERS, "limit: 0.6 GB of memory"),
        (HIDES, "limit: 10 MB for all files"),
    ],
    ids=["processes", "memory", "files"],
)
@pytest.mark.parametrize("missing", [(), NAMESPACES], ids="-".join)
def test_limits_hold_without_a_control_group(
    source: str,
    error: str,
    missing: tuple[str, ...],
    pretended: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The supervisor then counts memory, and without namespaces also processes and files."""
    monkeypatch.setattr(linux, "_find_tree", lambda: None)
    pretended(*missing, "switch")
    limits = Limits(
        cell_seconds=30,
        notebook_seconds=90,
        scratch_bytes=10_000_000,
        processes=64,
        memory_bytes=600_000_000,
    )
    sources = ("q1_a = 1", source, "q2_b = 2")
    evidence = run(*sources, asks="q1_a q2_b", limits=limits, sandbox="wall")
    assert [plain(evidence.answers[n].raw) for n in ("q1_a", "q2_b")] == ["1", "2"]
    if missing or error != "limit: 10 MB for all files":
        assert error in str(evidence.cells[1].error)
    else:  # a file system of its own
        assert "No space left on device" in str(evidence.cells[1].error)


WITHOUT_PIDFDS = """\
import errno, os, runpy, sys
def refuse(*_):
    raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
os.pidfd_open = refuse
runpy.run_module("grader.runtime.worker.fork_server", run_name="__main__", alter_sys=True)
"""


@pytest.mark.thorough
@needs("processes")
@pytest.mark.parametrize("missing", [(), NAMESPACES], ids="-".join)
def test_on_an_older_system_one_that_ends_leaves_the_others_alone(
    missing: tuple[str, ...], pretended: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before Linux 5.8 a kernel can't be forked into the pid namespace of its guard."""

    def old(_: object, command: list[str], __: object) -> list[str]:
        return [*command[:2], "-c", WITHOUT_PIDFDS, *command[4:]]

    monkeypatch.setattr(type(sandboxes.find("wall")), "wrap", old)
    monkeypatch.setattr(linux, "_find_tree", lambda: None)
    pretended(*missing)
    slow = "import os, time\nfor _ in range(20): time.sleep(0.1)\nq1_a = len(os.listdir('.'))"
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(run, slow, asks="q1_a", sandbox="wall")
        done = [run("q1_a = 0", asks="q1_a", sandbox="wall") for _ in range(3)]
        done.append(waiting.result())
    assert [plain(each.answers["q1_a"].raw) for each in done] == ["0"] * 4
    evidence = run(EATERS, "q1_a = 0", asks="q1_a", sandbox="wall", limits=SMALL)
    assert "limit: 0.6 GB of memory" in str(evidence.cells[0].error)
    assert plain(evidence.answers["q1_a"].raw) == "0"


@pytest.mark.thorough
@needs("files")
@pytest.mark.parametrize("missing", [(), NAMESPACES], ids="-".join)
def test_a_course_in_the_folder_of_the_environment_is_not_shown(
    secret: Path,
    missing: tuple[str, ...],
    pretended: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As after `python -m venv .` there."""
    pretended(*missing)
    course = secret.parent
    for name in ("bin", "submissions"):
        (course / name).mkdir()
        (course / name / "file").write_text("text")
    monkeypatch.setattr(sys, "prefix", str(course))
    source = f"""\
for name in ("bin/file", "release.json", "submissions/file"):
    with attempt(name): open({str(course)!r} + "/" + name).read()
for folder in ("/usr/src", "/usr/local/src"):
    with attempt(folder): os.listdir(folder)
"""
    assert what_got_through(source) == ["bin/file"]


@pytest.mark.thorough
@needs("landlock")
def test_landlock_alone_keeps_files(secret: Path, pretended: Callable[..., None]) -> None:
    pretended(*NAMESPACES, "filter")
    assert "files" in present()
    paths = [str(secret), str(secret.parent), str(ROOT / "problems"), "/etc/shadow"]
    source = READS.format(paths=paths, secret=str(secret))
    assert set(what_got_through(source)) <= {"saw that it is there"}  # which no Landlock hides
    source = WRITES.format(
        folders=["/etc", "/tmp", str(secret.parent)], name="x", secret=str(secret)
    )
    assert "changed" not in what_got_through(source)
    assert secret.read_text() == '{"key": "xyzzy"}'


@pytest.mark.thorough
@needs("system-calls")
def test_the_filter_alone_keeps_the_internet_out_of_reach(
    listeners: dict[str, Any], pretended: Callable[..., None]
) -> None:
    pretended(*NAMESPACES, "landlock", "signals")
    assert "network" not in present()  # sockets of other processes can still be reached
    got = what_got_through(CONNECTS.format(**listeners))
    assert not {"tcp", "udp", "ipv6", "raw", "packets", "the machine's host"} & set(got)


@pytest.mark.thorough
def test_without_any_layer_the_machine_is_as_open_as_it_is_said_to_be(
    secret: Path, pretended: Callable[..., None]
) -> None:
    pretended(*linux._probe_features())
    assert not present() & {"files", "network", "processes", "system-calls"}
    got = what_got_through(f"with attempt('read'): open({str(secret)!r}).read()", sandbox="wall")
    assert got == ["read"]


CHECK = """\
import json, os
from tests.helpers.isolation import *
from tests.helpers.notebooks import run
assert os.geteuid() == 1000
evidence = run(TRY, "got = [open('/proc/self/status').read(), os.getuid()]", "q1_a = 28",
               asks="got q1_a", limits=SMALL)
print(json.dumps([evidence.outcome.value, evidence.note, sorted(present()),
                  plain(evidence.answers["q1_a"].raw), plain(evidence.answers["got"].raw)]))
"""


@pytest.mark.thorough
def test_an_ordinary_user_has_the_same_wall(short: Path) -> None:
    """Root becomes one in a user namespace; where tests are run by one, they are all of this."""
    import json

    if os.geteuid() != 0:
        pytest.skip("the tests are run by an ordinary user")
    done = subprocess.run(
        [sys.executable, "-c", ORDINARY, CHECK],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(short)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    if "CLONE_NEWUSER" in done.stderr or "unshare:" in done.stderr:
        pytest.skip("no user namespaces: " + done.stderr.splitlines()[-1])
    assert done.returncode == 0, done.stderr
    outcome, note, layers, answer, (status, uid) = json.loads(done.stdout)
    assert (outcome, note, answer, uid) == ("finished", None, "28", "1000")
    assert set(layers) >= present() - {"cgroup"}
    assert "CapEff:\t0000000000000000" in status
    assert "Seccomp:\t2" in status or not LAYERS["system-calls"].present


HIDES_IN_A_THREAD = """\
import ctypes, os, threading, time
libc = ctypes.CDLL(None, use_errno=True)
def hold():
    assert libc.syscall(436, 1_000_000, 1_000_000, 2) == 0  # close_range: a table of its own
    for n in range(6):
        file = os.open(str(n), os.O_CREAT | os.O_WRONLY)
        os.unlink(str(n))
        os.write(file, bytes(4_000_000))
    time.sleep(8)
"""
IN_A_THREAD = (
    HIDES_IN_A_THREAD + "thread = threading.Thread(target=hold)\nthread.start(); thread.join()"
)
IN_THE_LAST_THREAD = (
    HIDES_IN_A_THREAD
    + """\
if os.fork() == 0:
    threading.Thread(target=hold).start()
    libc.syscall(60, 0)  # exit, of this thread alone
time.sleep(8)
"""
)


@pytest.mark.thorough
@needs("processes", "user")
@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the numbers are those of x86-64")
@pytest.mark.parametrize("source", [IN_A_THREAD, IN_THE_LAST_THREAD], ids=["beside", "last"])
def test_files_that_a_thread_alone_has_open_are_counted(
    source: str, pretended: Callable[..., None]
) -> None:
    pretended(*NAMESPACES)
    evidence = run("q1_a = 1", source, "q2_b = 2", asks="q1_a q2_b", limits=SMALL, sandbox="wall")
    assert "limit: 10 MB for all files" in str(evidence.cells[1].error)
    assert [plain(evidence.answers[n].raw) for n in ("q1_a", "q2_b")] == ["1", "2"]


CHAINS = """\
import os, time
{mark}
end = time.monotonic() + 60
for _ in range(20):
    if os.fork() == 0:
        os.setsid()
        while time.monotonic() < end:
            if os.fork(): os._exit(0)
        os._exit(0)
q1_a = 1
"""


@pytest.mark.thorough
@pytest.mark.parametrize(
    "missing", [NAMESPACES, (*NAMESPACES, "switch")], ids=["another user", "the same user"]
)
def test_processes_that_start_others_and_are_gone_end_with_their_notebook(
    missing: tuple[str, ...], pretended: Callable[..., None], own_nursery: KernelPool
) -> None:
    pretended(*missing)
    mark = Mark()
    source = CHAINS.format(mark=mark.on_this_process)
    began = time.monotonic()
    # More than there are at a time: those that have ended count until somebody takes leave of them.
    limits = Limits(cell_seconds=5, notebook_seconds=30, processes=20_000)
    evidence = run(source, asks="q1_a", limits=limits, sandbox="wall")
    own_nursery.close()
    assert plain(evidence.answers["q1_a"].raw) == "1"
    assert mark.is_gone(1)
    assert time.monotonic() - began < 30


@pytest.mark.thorough
def test_a_notebook_whose_folder_is_tidied_away_is_run_again(
    pretended: Callable[..., None], short: Path
) -> None:
    pretended(*NAMESPACES)
    short.chmod(0o711)  # so that another user can get to a folder in it

    def tidy() -> None:
        assert until(lambda: any(short.glob("grader-*/*/work/here")), 20)
        for folder in short.glob("grader-*"):
            shutil.rmtree(folder, ignore_errors=True)

    with ThreadPoolExecutor(1) as pool:
        tidied = pool.submit(tidy)
        limits = Limits(cell_seconds=20, notebook_seconds=60)
        evidence = run(
            "open('here', 'w').close()\nimport time; time.sleep(3)\nq1_a = 1",
            "q2_b = 2",
            asks="q1_a q2_b",
            limits=limits,
            sandbox="wall",
        )
        tidied.result()
    assert [plain(evidence.answers[n].raw) for n in ("q1_a", "q2_b")] == ["1", "2"]
    assert evidence.note is None


# -- choosing


def test_layers_that_are_insisted_on_are_named_after_a_colon(
    pretended: Callable[..., None],
) -> None:
    pretended(*NAMESPACES, "filter")
    lacking = {"network", "system-calls"} - present()
    assert "system-calls" in lacking
    chosen = (
        choose_sandbox("required:files, processes") if {"files", "processes"} <= present() else None
    )
    if chosen is not None:
        assert (chosen.name, chosen.mode) == ("wall", "required:files, processes")
    with pytest.raises(SetupError) as caught:
        choose_sandbox("required:files,system-calls")
    assert "missing: " in caught.value.what
    assert "system-calls (" in caught.value.what
    assert "network (" not in caught.value.what
    assert caught.value.fix is not None
    with pytest.raises(SetupError, match="system-calls"):
        choose_sandbox("required")


def test_what_is_no_layer_is_met_with_their_names() -> None:
    with pytest.raises(SetupError) as caught:
        choose_sandbox("required:files,firewall")
    assert caught.value.what == "'firewall' is not a sandbox layer"
    assert all(name in str(caught.value.fix) for name in WANTED)


def test_auto_takes_no_list() -> None:
    with pytest.raises(SetupError, match="auto:files"):
        choose_sandbox("auto:files")


def test_a_job_with_less_than_is_required_is_not_run(pretended: Callable[..., None]) -> None:
    pretended("filter")
    with pytest.raises(SetupError, match="system-calls"):
        run("q1_a = 1", asks="q1_a", sandbox="required:files,system-calls")


def test_less_than_all_is_said_and_nothing_is_said_of_all(pretended: Callable[..., None]) -> None:
    if set(WANTED) <= present():
        assert choose_sandbox("auto").warning is None
    pretended("filter", *NAMESPACES)
    assert "system-calls" in str(choose_sandbox("wall").warning)
    assert "without isolation" in str(choose_sandbox("off").warning)


@pytest.mark.thorough
@needs("system-calls")
def test_without_a_file_system_of_its_own_no_socket_in_it_is_reached(
    pretended: Callable[..., None],
) -> None:
    pretended(*NAMESPACES)
    with tempfile.TemporaryDirectory(prefix="t-") as folder:
        Path(folder).chmod(0o777)
        with (
            socket.socket(socket.AF_UNIX) as stream,
            socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as datagrams,
        ):
            for name, one in (("stream", stream), ("datagrams", datagrams)):
                one.bind(f"{folder}/{name}")
                Path(folder, name).chmod(0o777)
            stream.listen()
            source = f"""
import socket
with attempt('stream'): socket.socket(socket.AF_UNIX).connect({folder + "/stream"!r})
with attempt('datagram'):
    socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b'x', {folder + "/datagrams"!r})
with attempt('pair'):
    socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
with attempt('allowed'): socket.socketpair()
"""
            assert what_got_through(source, sandbox="wall") == ["allowed"]
