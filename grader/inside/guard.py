"""The first process of a submission: it starts the kernel, and all of it ends with the guard.

Where there are pid namespaces it is number 1 of a new one, so that the system itself ends every
process when the guard ends. Elsewhere it adopts what its descendants leave behind, and ends it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import signal
import socket
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from grader.inside import kin, linux, memory, talk, view
from grader.inside.confine import confine, flags
from grader.inside.deputy import Deputy
from grader.inside.plan import Plan, Start
from grader.inside.space import Space

Kernel = Callable[[Start, int, Sequence[int]], None]
"""Called with its start, a descriptor to write a byte to when it is ready, and its sockets."""

_HERE = "."
"""The /proc of a guard in whose view there is none; see `_keep_in_sight`."""
_LOOK_SECONDS = 0.1
_MOSTLY = 0.9
"""Of that, what must have passed between two counts, since no pause is exact."""
_TEXT = 400
_OUT_OF_THE_WAY = 100
# To interrupt and to end a kernel that is another user, and to see how much memory it uses.
_KEPT = 1 << linux.CAP_KILL | 1 << linux.CAP_SYS_PTRACE
# To look into its folder, which is that user's alone.
_KEPT_TO_LOOK = 1 << linux.CAP_SETGID | 1 << linux.CAP_SETUID
_FIRST_IN_NAMESPACE = 2
"""The number of the kernel where the guard is number 1 and starts nothing itself."""


SOCKETS = 1
"""The wire to the grader, which made it: nobody else can connect to it."""
OWN = 1 + SOCKETS
"""Open files of a kernel: where it says that it is ready, and its wire."""


def serve(
    plan: Plan, start: Start, line: socket.socket, files: Sequence[int], kernel: Kernel, proc: int
) -> None:
    """Starts *kernel* behind the wall, and serves *line* until the kernel is to end.

    Never returns. *files* are the wire, and then open `cgroup.procs` files. *proc* is a /proc that
    shows this process, open: there may be none in what it sees.
    """
    with _to_the_end(plan, line):
        _keep_in_sight(plan, proc)
        _isolate(plan, start, files[SOCKETS:])
        ready, tell = _to_hear(plan)
        pid = os.fork()
        if pid == 0:
            become(plan, start, (tell, *files[:SOCKETS]), kernel)
        _close([proc, tell, *files])
        _give_up(plan, start)
        _Watch(plan, start, line, pid, ready).all()


def stand(
    plan: Plan,
    start: Start,
    line: socket.socket,
    files: Sequence[int],
    births: socket.socket,
    proc: int,
) -> None:
    """The same for a kernel that is forked elsewhere, into the namespaces that are made here.

    *births* is told of them, as a descriptor of this process, along with the line and *files*.
    """
    with _to_the_end(plan, line):
        _keep_in_sight(plan, proc)
        _isolate(plan, start, files[SOCKETS:])
        me = os.pidfd_open(os.getpid())
        ready, tell = _to_hear(plan)
        talk.say(births, {"start": start}, [me, line.fileno(), tell, *files])
        births.close()
        _close([proc, me, tell, *files])
        _give_up(plan, start)
        _Watch(plan, start, line, _FIRST_IN_NAMESPACE, ready).all()


def _keep_in_sight(plan: Plan, proc: int) -> None:
    """Stands in *proc*, where the view will have none that shows what the guard has to count."""
    if _proc_of(plan) == _HERE:
        os.fchdir(proc)


@contextlib.contextmanager
def _to_the_end(plan: Plan, line: socket.socket) -> Iterator[None]:
    """Leads a guard's life: at its end everything that came of the submission has ended."""
    status = 1
    try:
        os.setsid()
        yield
        status = 0
    except OSError as error:
        tell_of(line, {"is": "failed", "what": str(error)})
    except BaseException:  # noqa: BLE001  # told, since nobody sees what this process prints
        tell_of(line, {"is": "failed", "what": traceback.format_exc()[-_TEXT:]})
    finally:
        kin.end_all("pid" in plan["namespaces"])
        os._exit(status)


def _to_hear(plan: Plan) -> tuple[int, int]:
    """Two ends: where the guard hears that its kernel is ready, and where the kernel says it.

    A socket where a descriptor has to come the same way.
    """
    if not plan["asked"]:
        return os.pipe()
    ours, theirs = socket.socketpair()
    return ours.detach(), theirs.detach()


def _give_up(plan: Plan, start: Start) -> None:
    """The guard's own rights, but those that it needs."""
    if plan["drop"]:
        looks = plan["view"] is None and start["uid"] is not None
        linux.keep_capabilities(_KEPT | (_KEPT_TO_LOOK if looks else 0))


def _close(files: Sequence[int]) -> None:
    for file in files:
        os.close(file)


def _isolate(plan: Plan, start: Start, groups: Sequence[int]) -> None:
    for file in groups:
        os.write(file, b"0")
    own = flags(plan, "user", "pid")
    if own:
        linux.unshare(own)
    if plan["view"] is not None:
        proc = plan["view"]["proc"]
        view.furnish(start["uid"], start["scratch_bytes"], proc=proc)
    elif start["uid"] is not None:
        _give(start["root"], start["uid"])
    if "uts" in plan["namespaces"]:
        with contextlib.suppress(OSError):
            view.name_the_host()
    if plan["loopback"] and "net" in plan["namespaces"]:
        linux.loopback_up()
    if "pid" not in plan["namespaces"]:
        linux.prctl(linux.PR_SET_CHILD_SUBREAPER, 1)


def _give(folder: str, uid: int) -> None:
    for name in ("", "home", "work", "tmp"):
        os.chown(os.path.join(folder, name), uid, uid)  # noqa: PTH118


def become(plan: Plan, start: Start, files: Sequence[int], kernel: Kernel) -> None:
    """Is the kernel's own process, from here to its end.

    Of all open files only *files* are left, numbered from 3: one to write a byte to as soon as
    the kernel can be talked to, and the wire.
    """
    tell = files[0]
    try:
        os.setsid()
        linux.prctl(linux.PR_SET_PDEATHSIG, signal.SIGKILL)
        linux.prctl(linux.PR_SET_DUMPABLE, 1)
        os.umask(0o077)
        with contextlib.suppress(OSError):  # who is to go first when the machine is out of memory
            Path("/proc/self/oom_score_adj").write_text("800")
        os.environ.clear()
        os.environ.update(start["environment"])
        os.chdir(start["root"] + "/work")
        listener = confine(plan, start)
        if listener is not None:
            with socket.socket(fileno=os.dup(tell)) as told:
                socket.send_fds(told, [b"?"], [listener])
        tell, *sockets = _only(files)
        kernel(start, tell, sockets)
    except BaseException:  # noqa: BLE001
        with contextlib.suppress(OSError):
            os.write(tell, b"!" + traceback.format_exc()[-_TEXT:].encode("utf-8", "replace"))
    finally:
        os._exit(1)


def _only(files: Sequence[int]) -> list[int]:
    """Closes everything but the standard three and *files*, which get the next numbers."""
    high = [fcntl.fcntl(file, fcntl.F_DUPFD, _OUT_OF_THE_WAY) for file in files]
    kept = [os.dup2(file, 3 + n, inheritable=False) for n, file in enumerate(high)]
    os.closerange(3 + len(files), 2**20)
    return kept


class _Watch:
    """One kernel, watched from its start to its end."""

    def __init__(self, plan: Plan, start: Start, line: socket.socket, pid: int, ready: int):
        self._start = start
        self._namespace = "pid" in plan["namespaces"] and _has_proc(plan)
        self._own_files = plan["view"] is not None
        self._counts = bool(start["memory_bytes"] or start["processes"])
        self._space: Space | None = None
        if not self._own_files:
            self._space = Space(start["root"], start["scratch_bytes"], start["uid"])
        self._asked = plan["asked"]
        self._deputy: Deputy | None = None
        self._next = self._next_count = time.monotonic() + _LOOK_SECONDS
        self._proc = _proc_of(plan)
        self._number: int | None = None
        self._line = line
        self._ready: int | None = ready
        self._pid = pid
        self._wake, poke = os.pipe()
        os.set_blocking(poke, False)
        signal.set_wakeup_fd(poke, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self._poll = select.poll()
        for source in (line, self._wake, ready):
            self._poll.register(source, select.POLLIN)

    def all(self) -> None:
        """Returns when the kernel has ended, or is to."""
        while True:
            status = self._ended()
            if status is not None:
                tell_of(self._line, {"is": "ended", "status": status})
                return
            heard = self._poll.poll(self._pause())
            sources = {source for source, _ in heard}
            if self._wake in sources:
                os.read(self._wake, 512)
            if self._deputy is not None and self._deputy.listener in sources:
                self._help(self._deputy, dict(heard)[self._deputy.listener])
            if self._ready is not None and self._ready in sources and not self._made_deputy():
                self._poll.unregister(self._ready)
                self._number = kin.number_in(self._proc, self._pid)
                # Not sooner: whoever forks the kernel into our namespaces must see us.
                linux.prctl(linux.PR_SET_DUMPABLE, 0)
                tell_ready(self._line, self._ready, self._pid)
                self._ready = None
            if self._line.fileno() in sources and not self._obeyed():
                return
            hit = self._too_much() if self._due() else None
            if hit is not None:
                tell_of(self._line, {"is": "ended", "status": -signal.SIGKILL, "hit": hit})
                return

    def _pause(self) -> int | None:
        if self._space is None:
            return int(1000 * _LOOK_SECONDS) if self._counts else None
        return int(1000 * self._space.pause)

    def _made_deputy(self) -> bool:
        """Takes the listener of the filter, which comes before anything else does."""
        if not self._asked or self._deputy is not None or self._ready is None:
            return False
        with socket.socket(fileno=os.dup(self._ready)) as told:
            if told.recv(1, socket.MSG_PEEK) != b"?":
                return False
            _, files, _, _ = socket.recv_fds(told, 1, 1)
        self._deputy = Deputy(files[0], self._start["root"], self._asked)
        self._poll.register(self._deputy.listener, select.POLLIN)
        return True

    def _help(self, deputy: Deputy, said: int) -> None:
        if said & select.POLLIN:
            deputy.serve()
            return
        self._poll.unregister(deputy.listener)  # nobody is left who could ask
        deputy.close()
        self._deputy, self._asked = None, {}

    def _due(self) -> bool:
        """Whether it is time to look; not only in quiet moments, which a kernel could prevent."""
        now, pause = time.monotonic(), self._pause()
        if now < self._next or pause is None:
            return False
        self._next = now + pause / 1000
        return True

    def _ended(self) -> int | None:
        """The status of the kernel, if it has ended; also reaps what else has."""
        with contextlib.suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    return None
                if pid == self._pid:
                    return os.waitstatus_to_exitcode(status)
        return None

    def _obeyed(self) -> bool:
        message, _ = talk.hear(self._line)
        if message is None or message.get("do") != "interrupt":
            return False
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGINT)
        tell_of(self._line, {"is": "interrupted"})
        return True

    def _too_much(self) -> str | None:
        """The limit that is passed, if one is."""
        # Before it is ready nothing of the student's has run.
        if self._space is not None and self._ready is None and self._space.over(self._processes):
            return "files"
        now = time.monotonic()
        if not self._counts or now < self._next_count:
            return None
        self._next_count = now + _MOSTLY * _LOOK_SECONDS
        start = self._start
        mine, threads = (None, 0) if self._namespace else self._kin()
        if start["processes"] and threads > start["processes"]:
            return "processes"
        scratch = (start["root"],) if self._own_files else ()
        limit = start["memory_bytes"]
        if limit is not None and memory.over(limit, pids=mine, scratch=scratch, root=self._proc):
            return "memory"
        return None

    def _processes(self) -> list[int]:
        return self._kin()[0]

    def _kin(self) -> tuple[list[int], int]:
        """The processes of the submission and how many threads they have; the kernel among them,
        who is no child of this one where the parent forked it into our namespaces.
        """
        return kin.descendants(self._proc, also=self._number)


def tell_ready(line: socket.socket, ready: int, pid: int) -> None:
    """Passes on what a kernel has written when it was ready, or why it never will be.

    With the first goes a descriptor of the process: its number here says nothing outside.
    """
    text = os.read(ready, 4096)
    os.close(ready)
    if text[:1] == b"!":
        tell_of(line, {"is": "failed", "what": text[1:].decode("utf-8", "replace")})
    elif text:
        itself: list[int] = []
        with contextlib.suppress(OSError):  # Linux 5.3
            itself.append(os.pidfd_open(pid))
        tell_of(line, {"is": "ready", "key": text[1:].decode()}, itself)
        _close(itself)


def tell_of(line: socket.socket, message: dict[str, object], files: Sequence[int] = ()) -> None:
    """Says *message*, if the grader still listens."""
    with contextlib.suppress(OSError):
        talk.say(line, message, files)


def _has_proc(plan: Plan) -> bool:
    return plan["view"] is not None and plan["view"]["proc"]


def _proc_of(plan: Plan) -> str:
    return _HERE if "pid" in plan["namespaces"] and not _has_proc(plan) else kin.PROC


if sys.platform != "linux":  # pragma: no cover
    raise ImportError("guards are for Linux")
