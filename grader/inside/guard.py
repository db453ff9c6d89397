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

from grader.inside import linux, memory, talk, view
from grader.inside.confine import confine, flags
from grader.inside.plan import Plan, Start

Kernel = Callable[[Start, int, Sequence[int]], None]
"""Called with its start, a descriptor to write a byte to when it is ready, and its sockets."""

_LOOK_SECONDS = 0.1
_SHARE = 20
"""Of its time, at most one part in so many is spent on looking at the files."""
_MOST_ENTRIES = 200_000
_ENDING_SECONDS = 5.0
_STOPPING = 50
"""Looks for processes that have come since the last look, before they are ended anyway."""
_TEXT = 400
_OUT_OF_THE_WAY = 100
# To interrupt and to end a kernel that is another user, and to see how much memory it uses.
_KEPT = 1 << linux.CAP_KILL | 1 << linux.CAP_SYS_PTRACE
_FIRST_IN_NAMESPACE = 2
"""The number of the kernel where the guard is number 1 and starts nothing itself."""


SOCKETS = 2
"""What a kernel listens at: made by the grader, in a folder that no kernel sees."""
OWN = 1 + SOCKETS
"""Open files of a kernel: where it says that it is ready, and its sockets."""


def serve(
    plan: Plan, start: Start, line: socket.socket, files: Sequence[int], kernel: Kernel
) -> None:
    """Starts *kernel* behind the wall, and serves *line* until the kernel is to end.

    Never returns. *files* are the sockets, and then open `cgroup.procs` files.
    """
    with _to_the_end(plan, line):
        _isolate(plan, start, files[SOCKETS:])
        ready, tell = os.pipe()
        pid = os.fork()
        if pid == 0:
            become(plan, start, (tell, *files[:SOCKETS]), kernel)
        _close([tell, *files])
        if plan["drop"]:
            linux.keep_capabilities(_KEPT)
        _Watch(plan, start, line, pid, ready).all()


def stand(
    plan: Plan, start: Start, line: socket.socket, files: Sequence[int], births: socket.socket
) -> None:
    """The same for a kernel that is forked elsewhere, into the namespaces that are made here.

    *births* is told of them, as a descriptor of this process, along with the line and *files*.
    """
    with _to_the_end(plan, line):
        _isolate(plan, start, files[SOCKETS:])
        me = os.pidfd_open(os.getpid())
        ready, tell = os.pipe()
        talk.say(births, {"start": start}, [me, line.fileno(), tell, *files])
        births.close()
        _close([me, tell, *files])
        if plan["drop"]:
            linux.keep_capabilities(_KEPT)
        _Watch(plan, start, line, _FIRST_IN_NAMESPACE, ready).all()


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
        _end_all("pid" in plan["namespaces"])
        os._exit(status)


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
    the kernel can be talked to, and the sockets.
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
        confine(plan, start)
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
        self._looks = self._next_size = 0
        self._next = time.monotonic() + _LOOK_SECONDS
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
            sources = {source for source, _ in self._poll.poll(self._pause())}
            if self._wake in sources:
                os.read(self._wake, 512)
            if self._ready is not None and self._ready in sources:
                self._poll.unregister(self._ready)
                # Not sooner: whoever forks the kernel into our namespaces must see us.
                linux.prctl(linux.PR_SET_DUMPABLE, 0)
                tell_ready(self._line, self._ready)
                self._ready = None
            if self._line.fileno() in sources and not self._obeyed():
                return
            hit = self._too_much() if self._due() else None
            if hit is not None:
                tell_of(self._line, {"is": "ended", "status": -signal.SIGKILL, "hit": hit})
                return

    def _pause(self) -> int | None:
        watched = self._start["memory_bytes"] or self._start["processes"] or not self._own_files
        return int(1000 * _LOOK_SECONDS) if watched else None

    def _due(self) -> bool:
        """Whether it is time to look; not only in quiet moments, which a kernel could prevent."""
        now = time.monotonic()
        if now < self._next or self._pause() is None:
            return False
        self._next = now + _LOOK_SECONDS
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
        start = self._start
        self._looks += 1
        mine, threads = (None, 0) if self._namespace else _descendants()
        if start["processes"] and threads > start["processes"]:
            return "processes"
        scratch = (start["root"],) if self._own_files else ()
        limit = start["memory_bytes"]
        if limit is not None and memory.over(limit, pids=mine, scratch=scratch):
            return "memory"
        if not self._own_files and self._looks >= self._next_size:
            began = time.monotonic()
            size = _size(start["root"])
            # A folder of many files takes long to look at, and is looked at more rarely.
            pause = (time.monotonic() - began) * _SHARE / _LOOK_SECONDS
            self._next_size = self._looks + max(1, int(pause))
            return "files" if size > start["scratch_bytes"] else None
        return None


def tell_ready(line: socket.socket, ready: int) -> None:
    """Passes on what a kernel has written when it was ready, or why it never will be."""
    text = os.read(ready, 4096)
    os.close(ready)
    if text[:1] == b"!":
        tell_of(line, {"is": "failed", "what": text[1:].decode("utf-8", "replace")})
    elif text:
        tell_of(line, {"is": "ready", "key": text[1:].decode()})


def tell_of(line: socket.socket, message: dict[str, object]) -> None:
    """Says *message*, if the grader still listens."""
    with contextlib.suppress(OSError):
        talk.say(line, message)


def _end_all(namespace: bool) -> None:
    """Ends every process of the submission, and returns when they are gone."""
    end = time.monotonic() + _ENDING_SECONDS
    while time.monotonic() < end:
        with contextlib.suppress(OSError):
            if namespace:
                os.kill(-1, signal.SIGKILL)  # all that there are, as far as number 1 can see
        if not namespace:
            _end_descendants()
        try:
            while os.waitpid(-1, 0)[0]:
                pass
        except ChildProcessError:
            return
        except OSError:
            time.sleep(0.005)


def _has_proc(plan: Plan) -> bool:
    return plan["view"] is not None and plan["view"]["proc"]


def _size(root: str) -> int:
    """Bytes on disk in a folder, as far as a look goes that doesn't take long."""
    total = seen = 0
    waiting = [root]
    while waiting and seen < _MOST_ENTRIES:
        with contextlib.suppress(OSError), os.scandir(waiting.pop()) as entries:
            for entry in entries:
                seen += 1
                with contextlib.suppress(OSError):
                    total += 512 * entry.stat(follow_symlinks=False).st_blocks
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
    return total + seen * 512


def _end_descendants() -> None:
    """Stops them all before any is ended: what goes on could start others faster than they end."""
    known: list[int] = []
    for _ in range(_STOPPING):
        before, (known, _) = known, _descendants()
        for pid in known:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGSTOP)
        if known == before:
            break
    for pid in known:
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)


def _descendants() -> tuple[list[int], int]:
    """All processes below this one, parents first, and how many threads they have together.

    By the numbers that /proc shows, which are others than ours where it is that of the machine.
    """
    found: list[int] = []
    threads = 0
    with contextlib.suppress(OSError):
        found.append(int(os.readlink("/proc/self")))  # noqa: PTH115
    for pid in found:
        with contextlib.suppress(OSError):
            tasks = os.listdir(f"/proc/{pid}/task")  # noqa: PTH208
            threads += len(tasks)
            for task in tasks:
                children = Path(f"/proc/{pid}/task/{task}/children").read_text()
                found += [int(child) for child in children.split()]
    return found[1:], threads - 1


if sys.platform != "linux":  # pragma: no cover
    raise ImportError("guards are for Linux")
