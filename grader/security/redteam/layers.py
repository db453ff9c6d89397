"""Tests each sandbox layer with a real notebook that tries to break through it."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from grader.model import Evidence, Job, Limits, Outcome, Submission
from grader.notebook import Cell, write
from grader.runtime.execute import execute
from grader.runtime.sandbox import SandboxChoice

_LIMITS = Limits(cell_seconds=20, notebook_seconds=60, scratch_bytes=20_000_000)
_SECRET = "GRADER_DOCTOR_SECRET"  # noqa: S105  # a name

# What each layer must prevent. A cell lists in `got` what it achieved, which should be nothing.
# `SEEN` is a file of the grader's user, `GRADER` its process id.
_ATTEMPTS: Mapping[str, str] = {
    "environment": "got = [name for name in os.environ if 'SECRET' in name]",
    # Each file is within the limit for one file, and none has a name.
    "scratch": """\
kept = []
try:
    for number in range(6):
        kept.append(open("fill", "wb"))
        os.remove("fill")
        kept[-1].write(bytes(10_000_000))
        kept[-1].flush()
    got = ["wrote 60 MB of files, more than the limit of 20 MB"]
    time.sleep(2)  # if a supervisor checks the folder, it ends this kernel
except OSError:
    got = []
for file in kept:
    try:
        file.close()
    except OSError:
        pass
""",
    "rlimits": """\
import resource
names = ("RLIMIT_CPU", "RLIMIT_FSIZE", "RLIMIT_NOFILE", "RLIMIT_CORE")
got = [n for n in names if resource.getrlimit(getattr(resource, n))[1] == resource.RLIM_INFINITY]
""",
    "user": "got = ['runs as root'] if os.stat(SEEN if os.path.exists(SEEN) else '/').st_uid == "
    "os.getuid() and not os.getuid() else []",
    "files": """\
got = []
for path in (SEEN, os.path.dirname(SEEN), "/etc/shadow"):
    try:
        got += [path] if (os.listdir(path) if os.path.isdir(path) else open(path).read()) else []
    except OSError:
        pass
for path in ("/usr/planted", os.path.dirname(os.__file__) + "/planted.py", SEEN + ".planted"):
    try:
        open(path, "w").close()
        got.append("wrote " + path)
        os.remove(path)
    except OSError:
        pass
""",
    # Changes to the present values, so that nothing is lost; the time of the last change shows it.
    "metadata": """\
got = []
for path in (SEEN, os.__file__):
    try:
        before = os.stat(path)
    except OSError:
        continue
    mode = before.st_mode & 0o777
    for name, change in (("mode", lambda: os.chmod(path, mode)),
                         ("mode", lambda: os.fchmod(os.open(path, os.O_RDONLY), mode)),
                         ("owner", lambda: os.chown(path, os.getuid(), -1)),
                         ("times", lambda: os.utime(path, (1, 1)) if path == SEEN else None)):
        try:
            change()
            if os.stat(path).st_ctime_ns != before.st_ctime_ns:
                got.append(f"changed the {name} of {path}")
        except OSError:
            pass
""",
    "network": """\
import socket
got = []
for family, where in ((socket.AF_INET, ("127.0.0.1", PORT)), (socket.AF_UNIX, "\\0" + ABSTRACT)):
    try:
        with socket.socket(family, socket.SOCK_STREAM) as line:
            line.settimeout(2)
            line.connect(where)
            got.append(f"connected to {where!r}")
    except OSError:
        pass
""",
    "processes": """\
got = []
try:
    os.kill(GRADER, 0)
    with open(f"/proc/{GRADER}/environ", "rb") as file:
        mine = open("/proc/self/environ", "rb").read()
        got = [f"could signal process {GRADER}"] if file.read() != mine else []
except OSError:
    pass
""",
    "ipc": "got = [] if os.readlink('/proc/self/ns/ipc') != IPC else ['the same ipc namespace']",
    "hostname": "got = [] if os.uname().nodename != HOST else [HOST]",
    "landlock": """\
got = []
try:
    os.link(os.__file__, "linked.py")
    got.append("made a link to a file of the interpreter's")
except OSError:
    pass
""",
    # With invalid arguments, so that a call that is not refused does nothing.
    "system-calls": """\
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
got = []
calls = {"unshare": (0,), "ptrace": (-1, 0, None, None), "setns": (-1, 0),
         "mount": (b"", b"/no/such/folder", b"", 0, None)}
for name, arguments in calls.items():
    if getattr(libc, name)(*arguments) >= 0 or ctypes.get_errno() not in (1, 38):
        got.append(name)
try:
    socket.socket(socket.AF_INET, socket.SOCK_RAW, 1).close()
    got.append("a raw socket")
except OSError:
    pass
""",
    "privileges": """\
with open("/proc/self/status") as file:
    status = dict(line.split(":", 1) for line in file if ":" in line)
got = [k for k in ("CapEff", "CapPrm", "CapInh") if int(status[k], 16)]
got += [] if status["NoNewPrivs"].strip() == "1" else ["new privileges"]
""",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerTest:
    """The result of an attempt to break through one layer."""

    layer: str
    present: bool
    """Whether the sandbox claims the layer."""
    has_held: bool | None
    """None if it could not be tested."""
    got: str
    """What the notebook achieved, or why it could not try."""
    detail: str
    fix: str


def attack_layers(chosen: SandboxChoice) -> tuple[LayerTest, ...]:
    """Attacks every layer of the sandbox, present or not, with one notebook."""
    layers = chosen.sandbox.layers()
    with _open_targets() as targets:
        evidence = _run_attempts(chosen, targets)
    tried = []
    for layer in layers:
        held, got = _layer_outcome(layer.name, evidence)
        tried.append(
            LayerTest(
                layer=layer.name,
                present=layer.present,
                has_held=held,
                got=got,
                detail=layer.detail,
                fix=layer.fix,
            )
        )
    return tuple(tried)


def _layer_outcome(layer: str, evidence: Evidence) -> tuple[bool | None, str]:
    if layer not in _ATTEMPTS:
        return None, "it can only be seen in use"
    if evidence.outcome is Outcome.REFUSED:
        return None, evidence.note or "no kernel"
    run = evidence.cells[1 + list(_ATTEMPTS).index(layer)]
    if layer == "scratch" and "more files" in (run.error or ""):
        return True, "ended by the supervisor"
    got = run.output.partition("GOT:")[2].strip()
    if run.has_failed or not got:
        return None, run.error or "it printed nothing"
    return got == "nothing", got


@contextlib.contextmanager
def _open_targets() -> Iterator[Mapping[str, object]]:
    """Resources of the grader that a notebook must not reach."""
    import socket

    abstract = f"grader-doctor-{os.getpid()}"
    os.environ[_SECRET] = "seen"
    try:
        with (
            tempfile.TemporaryDirectory(prefix="doctor-") as folder,
            socket.socket(socket.AF_INET) as inet,
        ):
            seen = Path(folder, "secret")
            seen.write_text("seen", encoding="utf-8")
            inet.bind(("127.0.0.1", 0))
            inet.listen()
            targets: dict[str, object] = {
                "SEEN": str(seen),
                "GRADER": os.getpid(),
                "PORT": inet.getsockname()[1],
                "ABSTRACT": abstract,
                "HOST": os.uname().nodename if hasattr(os, "uname") else "",
                "IPC": _ipc_namespace(),
            }
            with socket.socket(getattr(socket, "AF_UNIX", socket.AF_INET)) as unix:
                with contextlib.suppress(OSError, TypeError):
                    unix.bind("\0" + abstract)
                    unix.listen()
                yield targets
    finally:
        os.environ.pop(_SECRET, None)


def _ipc_namespace() -> str:
    path = Path("/proc/self/ns/ipc")
    return str(path.readlink()) if path.is_symlink() else ""


def _run_attempts(chosen: SandboxChoice, targets: Mapping[str, object]) -> Evidence:
    setup = "import os, socket, time\n" + "\n".join(f"{k} = {v!r}" for k, v in targets.items())
    said = "\nprint('GOT:', '; '.join(map(str, got)) or 'nothing')"
    sources = [setup, *(source + said for source in _ATTEMPTS.values())]
    cells = [Cell(type="code", id=f"c{i}", source=s) for i, s in enumerate(sources)]
    data = write(cells, {})
    submission = Submission(
        student="doctor", path="doctor.ipynb", sha256=hashlib.sha256(data).hexdigest()
    )
    job = Job(submission=submission, names=(), limits=_LIMITS, sandbox=chosen.mode)
    return execute(job, data)
