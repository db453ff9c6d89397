"""The supervisor: the first process of a submission, which starts the kernel and ends with it.

With pid namespaces it is process 1 of a new one, so that the system ends every process when the
supervisor ends. Otherwise it adopts the orphans of its descendants, and ends them.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import signal
import socket
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from grader.runtime.worker import ipc, process_tree, syscalls, view
from grader.runtime.worker.confine import confine, flags, limit_files
from grader.runtime.worker.plan import Plan, Start
from grader.runtime.worker.watch import HERE, Watch, proc_of, tell_of

Kernel = Callable[[Start, int, Sequence[int]], None]
"""Called with its start, a descriptor to write a byte to when it is ready, and its sockets."""

_NICE = 5
"""By this a kernel, and all that it starts, comes after the grader and its guards."""
_HEARING_MILLISECONDS = 2_000
_OUT_OF_THE_WAY = 100
# To interrupt and to end a kernel that is another user, and to see how much memory it uses.
_KEPT = 1 << syscalls.CAP_KILL | 1 << syscalls.CAP_SYS_PTRACE
# To look into its folder and at what it has open, which is that user's alone.
_KEPT_TO_LOOK = 1 << syscalls.CAP_SETGID | 1 << syscalls.CAP_SETUID
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
    with _to_the_end(plan, start, line):
        _keep_in_sight(plan, proc)
        _isolate(plan, start, files[SOCKETS:])
        ready, tell = _to_hear(plan)
        pid = os.fork()
        if pid == 0:
            become(plan, start, (tell, *files[:SOCKETS]), kernel)
        _close([proc, tell, *files])
        _give_up(plan, start)
        Watch(plan, start, line, pid, ready).all()


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
    with _to_the_end(plan, start, line):
        _keep_in_sight(plan, proc)
        _isolate(plan, start, files[SOCKETS:])
        me = os.pidfd_open(os.getpid())
        ready, tell = _to_hear(plan)
        ipc.say(births, {"start": start}, [me, line.fileno(), tell, *files])
        births.close()
        _close([proc, me, tell, *files])
        _give_up(plan, start)
        Watch(plan, start, line, _FIRST_IN_NAMESPACE, ready).all()


def _keep_in_sight(plan: Plan, proc: int) -> None:
    """Stands in *proc*, where the view will have none that shows what the guard has to count."""
    if proc_of(plan) == HERE:
        os.fchdir(proc)


@contextlib.contextmanager
def _to_the_end(plan: Plan, start: Start, line: socket.socket) -> Iterator[None]:
    """Leads a guard's life: at its end everything that came of the submission has ended."""
    status = 1
    try:
        os.setsid()
        yield
        status = 0
    except BaseException as error:  # noqa: BLE001  # told, since nobody sees what is printed here
        tell_of(line, {"is": "failed", "what": ipc.failure(error)})
    finally:
        process_tree.end_all("pid" in plan["namespaces"], start["uid"])
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
        looks = plan["view"] is None or start["memory_bytes"] is not None
        known = start["uid"] is None or not looks
        syscalls.keep_capabilities(_KEPT | (0 if known else _KEPT_TO_LOOK))


def _close(files: Sequence[int]) -> None:
    for file in files:
        os.close(file)


def _isolate(plan: Plan, start: Start, groups: Sequence[int]) -> None:
    for file in groups:
        os.write(file, b"0")
    own = flags(plan, "user", "pid")
    if own:
        syscalls.unshare(own)
    if plan["view"] is not None:
        proc = plan["view"]["proc"]
        view.furnish(start["uid"], start["scratch_bytes"], proc=proc)
    elif start["uid"] is not None:
        _give(start["root"], start["uid"])
    if "uts" in plan["namespaces"]:
        with contextlib.suppress(OSError):
            view.name_the_host()
    if plan["loopback"] and "net" in plan["namespaces"]:
        syscalls.loopback_up()
    if "pid" not in plan["namespaces"]:
        syscalls.prctl(syscalls.PR_SET_CHILD_SUBREAPER, 1)


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
        syscalls.prctl(syscalls.PR_SET_PDEATHSIG, signal.SIGKILL)
        syscalls.prctl(syscalls.PR_SET_DUMPABLE, 1)
        os.umask(0o077)
        os.nice(_NICE)
        with contextlib.suppress(OSError):  # who is to go first when the machine is out of memory
            Path("/proc/self/oom_score_adj").write_text("800")
        os.environ.clear()
        os.environ.update(start["environment"])
        os.chdir(start["root"] + "/work")
        listener = confine(plan, start)
        if listener is not None:
            with socket.socket(fileno=os.dup(tell)) as told:
                socket.send_fds(told, [b"?"], [listener])
        limit_files(start)
        tell, *sockets = _only(files)
        kernel(start, tell, sockets)
    except BaseException as error:  # noqa: BLE001
        with contextlib.suppress(OSError):
            os.write(tell, b"!" + ipc.failure(error).encode("utf-8", "replace"))
            _wait_for(tell)
    finally:
        os._exit(1)


def _wait_for(tell: int) -> None:
    """Until what was written is told, or the end of this process would be told before it."""
    gone = select.poll()
    gone.register(_only([tell])[0], 0)
    gone.poll(_HEARING_MILLISECONDS)


def _only(files: Sequence[int]) -> list[int]:
    """Closes everything but the standard three and *files*, which get the next numbers."""
    high = [fcntl.fcntl(file, fcntl.F_DUPFD, _OUT_OF_THE_WAY) for file in files]
    kept = [os.dup2(file, 3 + n, inheritable=False) for n, file in enumerate(high)]
    os.closerange(3 + len(files), 2**20)
    return kept


if sys.platform != "linux":  # pragma: no cover
    raise ImportError("supervisors run on Linux only")
