"""The first process of a submission: it starts the kernel, and all of it ends with the guard.

Where there are pid namespaces it is number 1 of a new one, so that the system itself ends every
process when the guard ends. Elsewhere it adopts what its descendants leave behind, and ends it.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path

from grader.inside import linux, memory, talk, view
from grader.inside.confine import confine, flags
from grader.inside.plan import Plan, Start

_LOOK_SECONDS = 0.1
_RARELY = 5
"""Looks at memory for one at the files."""
_MOST_ENTRIES = 200_000
_ENDING_SECONDS = 5.0
_TEXT = 400


def serve(
    plan: Plan,
    start: Start,
    line: socket.socket,
    groups: Sequence[int],
    kernel: Callable[[Start, int], None],
) -> None:
    """Starts *kernel* behind the wall, and serves *line* until the kernel is to end.

    Never returns. *groups* are open `cgroup.procs` files. The kernel is called with its start
    and with a descriptor to write a byte to as soon as it can be talked to.
    """
    status = 1
    try:
        os.setsid()
        _isolate(plan, start, groups)
        ready, tell = os.pipe()
        pid = os.fork()
        if pid == 0:
            _become(plan, start, tell, kernel)
        os.close(tell)
        for file in groups:
            os.close(file)
        if plan["drop"]:
            linux.keep_capabilities(1 << linux.CAP_KILL)
        status = _Watch(plan, start, line, ready, pid).all()
    except OSError as error:
        _tell(line, {"is": "failed", "what": str(error)})
    except BaseException:  # noqa: BLE001  # told, since nobody sees what this process prints
        _tell(line, {"is": "failed", "what": traceback.format_exc()[-_TEXT:]})
    finally:
        _end_all("pid" in plan["namespaces"])
        os._exit(status)


def _isolate(plan: Plan, start: Start, groups: Sequence[int]) -> None:
    for file in groups:
        os.write(file, b"0")
    linux.prctl(linux.PR_SET_DUMPABLE, 0)
    own = flags(plan, "user", "pid")
    if own:
        linux.unshare(own)
    if plan["view"] is not None:
        proc = plan["view"]["proc"]
        view.furnish(start["source"], start["uid"], start["scratch_bytes"], proc=proc)
    elif start["uid"] is not None:
        _give(start["source"], start["uid"])
    if plan["loopback"] and "net" in plan["namespaces"]:
        linux.loopback_up()
    if "pid" not in plan["namespaces"]:
        linux.prctl(linux.PR_SET_CHILD_SUBREAPER, 1)


def _give(folder: str, uid: int) -> None:
    for name in ("", "home", "work", "tmp", "wire"):
        os.chown(os.path.join(folder, name), uid, uid)  # noqa: PTH118


def _become(
    plan: Plan,
    start: Start,
    tell: int,
    kernel: Callable[[Start, int], None],
) -> None:
    """The kernel's own process, from here to its end."""
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
        os.closerange(3, tell)
        os.closerange(tell + 1, 2**20)
        kernel(start, tell)
    except BaseException:  # noqa: BLE001
        with contextlib.suppress(OSError):
            os.write(tell, b"!" + traceback.format_exc()[-_TEXT:].encode("utf-8", "replace"))
    finally:
        os._exit(1)


class _Watch:
    """One kernel, watched from its start to its end."""

    def __init__(self, plan: Plan, start: Start, line: socket.socket, ready: int, pid: int):
        self._start = start
        self._namespace = "pid" in plan["namespaces"] and _has_proc(plan)
        self._own_files = plan["view"] is not None
        self._looks = 0
        self._line = line
        self._ready = ready
        self._pid = pid
        self._wake, poke = os.pipe()
        os.set_blocking(poke, False)
        signal.set_wakeup_fd(poke, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self._poll = select.poll()
        for source in (line, ready, self._wake):
            self._poll.register(source, select.POLLIN)

    def all(self) -> int:
        """Returns when the kernel has ended, or is to."""
        while True:
            status = self._ended()
            if status is not None:
                _tell(self._line, {"is": "ended", "status": status})
                return 0
            sources = {source for source, _ in self._poll.poll(self._pause())}
            if self._wake in sources:
                os.read(self._wake, 512)
            if self._ready in sources:
                self._say_ready()
            if self._line.fileno() in sources and not self._obeyed():
                return 0
            hit = self._too_much() if not sources else None
            if hit is not None:
                _tell(self._line, {"is": "ended", "status": -signal.SIGKILL, "hit": hit})
                return 0

    def _pause(self) -> int | None:
        watched = self._start["memory_bytes"] or self._start["processes"] or not self._own_files
        return int(1000 * _LOOK_SECONDS) if watched else None

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

    def _say_ready(self) -> None:
        text = os.read(self._ready, 4096)
        self._poll.unregister(self._ready)
        if text[:1] == b"!":
            _tell(self._line, {"is": "failed", "what": text[1:].decode("utf-8", "replace")})
        elif text:
            _tell(self._line, {"is": "ready"})

    def _obeyed(self) -> bool:
        message, _ = talk.hear(self._line)
        if message is None or message.get("do") != "interrupt":
            return False
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGINT)
        _tell(self._line, {"is": "interrupted"})
        return True

    def _too_much(self) -> str | None:
        """The limit that is passed, if one is."""
        start = self._start
        self._looks += 1
        mine = None if self._namespace else _descendants()
        if start["processes"] and mine is not None and len(mine) > start["processes"]:
            return "processes"
        scratch = (start["root"],) if self._own_files else ()
        limit = start["memory_bytes"]
        if limit is not None and memory.over(limit, pids=mine, scratch=scratch):
            return "memory"
        if not self._own_files and self._looks % _RARELY == 0:
            return "files" if _size(start["root"]) > start["scratch_bytes"] else None
        return None


def _tell(line: socket.socket, message: dict[str, object]) -> None:
    with contextlib.suppress(OSError):
        talk.say(line, message)


def _end_all(namespace: bool) -> None:
    """Ends every process of the submission, and returns when they are gone."""
    end = time.monotonic() + _ENDING_SECONDS
    while time.monotonic() < end:
        with contextlib.suppress(OSError):
            if namespace:
                os.kill(-1, signal.SIGKILL)  # all that there are, as far as number 1 can see
        for pid in () if namespace else _descendants():
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
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


def _descendants() -> list[int]:
    """All processes below this one, parents first."""
    found = [os.getpid()]
    for pid in found:
        with contextlib.suppress(OSError):
            for task in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208
                children = Path(f"/proc/{pid}/task/{task}/children").read_text()
                found += [int(child) for child in children.split()]
    return found[1:]


if sys.platform != "linux":  # pragma: no cover
    raise ImportError("guards are for Linux")
