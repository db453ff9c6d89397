"""Detects what attacks leave behind or reach: processes, files, shared memory, sockets."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import selectors
import shutil
import signal
import socket
import stat
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from grader.runtime.worker.syscalls import PR_SET_CHILD_SUBREAPER, prctl

_LONGEST = 200
SEGMENT_BYTES = 1_000_003
"""A size of shared memory that no other program is likely to use."""
_TOKEN = re.compile(r"hx[0-9a-f]{6}n\d{3}")


def token_in(text: str) -> str:
    """Returns the token of the student whose code wrote *text*; empty if it has none."""
    match = _TOKEN.search(text)
    return match[0] if match else ""


class DecoySockets:
    """Sockets on this machine that no notebook should reach; records who did."""

    def __init__(self, folder: Path):
        self.heard: set[str] = set()
        # Not in *folder*: the path of a socket may have about a hundred characters.
        short = "/tmp" if os.name == "posix" else None  # noqa: S108
        self._folder = tempfile.TemporaryDirectory(prefix="attack-", dir=short)
        self._path = Path(self._folder.name, "outside.sock")
        self._abstract = f"{folder.name}-outside"
        self._stop = threading.Event()
        self._selector = selectors.DefaultSelector()
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self.port = self._open()

    def _open(self) -> int:
        """Opens TCP, UDP, and Unix sockets that nothing should reach, and returns the port."""
        tcp = socket.create_server(("127.0.0.1", 0))
        port: int = tcp.getsockname()[1]
        udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        with contextlib.suppress(OSError):
            udp.bind(("127.0.0.1", port))
        servers = [tcp, udp]
        names = [str(self._path)]
        if sys.platform == "linux":
            names.append(f"\0{self._abstract}")
        for name in names if hasattr(socket, "AF_UNIX") else []:
            unix = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            unix.bind(name)
            unix.listen()
            servers.append(unix)
        for server in servers:
            server.settimeout(1)
            self._selector.register(server, selectors.EVENT_READ)
        return port

    @property
    def words(self) -> Mapping[str, object]:
        """The variables that tell an attack's cells how to reach these sockets."""
        return {"PORT": self.port, "ABSTRACT": f"\0{self._abstract}", "SOCKET": str(self._path)}

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        for key in list(self._selector.get_map().values()):
            key.fileobj.close()  # type: ignore[union-attr]
        self._selector.close()
        self._folder.cleanup()

    def _listen(self) -> None:
        """Records every message to the sockets until the block ends."""
        while not self._stop.is_set():
            for key, _ in self._selector.select(0.2):
                try:
                    self.heard.add(_receive_message(key.fileobj))  # type: ignore[arg-type]
                except OSError:
                    self.heard.add("")  # a connection without a message


def _receive_message(server: socket.socket) -> str:
    """Returns the beginning of the message that has arrived at *server*."""
    if server.type == socket.SOCK_DGRAM:
        return server.recv(_LONGEST).decode("utf-8", "replace")
    connection, _ = server.accept()
    with connection:
        connection.settimeout(1)
        return connection.recv(_LONGEST).decode("utf-8", "replace")


# -- processes


@dataclass(frozen=True, slots=True)
class Leftover:
    """Something that still existed after grading had ended."""

    token: str
    """The student's token; empty if unknown."""
    what: str


class OrphanReaper:
    """Makes this process adopt all orphaned descendants for a while, so that none escapes."""

    def __enter__(self) -> Self:
        self._before = set(_iter_children())
        if sys.platform == "linux":
            prctl(PR_SET_CHILD_SUBREAPER, 1)
        return self

    def __exit__(self, *_: object) -> None:
        self.kill_all()
        if sys.platform == "linux":
            prctl(PR_SET_CHILD_SUBREAPER, 0)

    def wait_for_remaining(self, seconds: float = 2.0) -> tuple[Leftover, ...]:
        """Returns the remaining processes, after those that are ending had time to do so."""
        end = time.monotonic() + seconds
        while (running := self._reap_and_list()) and time.monotonic() < end:
            time.sleep(0.05)
        return tuple(Leftover(*_describe_process(pid)) for pid in running)

    def kill_all(self) -> None:
        """Kills the remaining processes, and those that they leave behind."""
        for _ in range(200):
            running = self._reap_and_list()
            if not running:
                return
            for pid in running:
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.01)

    def _reap_and_list(self) -> list[int]:
        """Reaps adopted children that have ended, and returns the ids of those that still run."""
        running = []
        for pid in set(_iter_children()) - self._before:
            with contextlib.suppress(ChildProcessError):
                if os.waitpid(pid, os.WNOHANG)[0] == 0:
                    running.append(pid)
        return running


def _iter_children() -> Iterator[int]:
    """Yields the ids of this process's children; only on Linux."""
    if sys.platform != "linux":
        return
    for task in Path("/proc/self/task").iterdir():
        with contextlib.suppress(OSError):
            yield from map(int, (task / "children").read_text().split())


def _describe_process(pid: int) -> tuple[str, str]:
    """Returns the token in a process's command or environment, and a sentence about it."""
    texts = []
    for name in ("comm", "cmdline", "environ"):
        with contextlib.suppress(OSError):
            data = Path(f"/proc/{pid}/{name}").read_bytes()
            texts.append(data.replace(b"\0", b" ").decode("utf-8", "replace"))
    command = " ".join(texts[1].split()) if len(texts) > 1 else ""
    return token_in(" ".join(texts)), f"the process {command[:80]!r} is still running"


# -- files and shared memory


def find_planted(run: str, homes: Mapping[Path, bool]) -> Iterator[tuple[Path, Leftover]]:
    """Yields files and folders named *run*...; *homes* maps each folder to whether to recurse."""
    for home, deep in homes.items():
        for folder, folders, files in os.walk(home):
            for name in (*folders, *files):
                if run in name:
                    path = Path(folder, name)
                    yield path, Leftover(token_in(name), f"{path} was written")
            folders[:] = [n for n in folders if run not in n] if deep else []


def watched_folders() -> dict[Path, bool]:
    """Returns folders outside of the made-up course into which an attack may write."""
    user, places = Path.home(), {Path(entry) for entry in sys.path if entry}
    names = ("/", "/etc", "/etc/profile.d", "/etc/cron.d", "/run", "/tmp", "/var/tmp", "/dev/shm")  # noqa: S108
    places |= {Path(name) for name in names}
    places |= {user, Path.cwd(), Path(tempfile.gettempdir()), Path(sys.executable).parent}
    places |= {Path(sys.executable).resolve().parent, Path(__file__).resolve().parents[2]}
    places |= {user / ".ipython/profile_default/startup", user / ".config", user / ".ssh"}
    return {place: False for place in places if place.is_dir()}


def remove_path(path: Path) -> None:
    """Removes a file or folder that an attack created."""
    with contextlib.suppress(OSError):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


def shared_memory_ids() -> set[str]:
    """Returns ids of System V shared memory segments with the size that attacks use."""
    with contextlib.suppress(OSError):
        lines = Path("/proc/sysvipc/shm").read_text().splitlines()[1:]
        return {line.split()[1] for line in lines if line.split()[3] == str(SEGMENT_BYTES)}
    return set()


def remove_shared_memory(number: str) -> None:
    """Removes the segment with the id *number*."""
    import ctypes

    with contextlib.suppress(AttributeError, ValueError):
        ctypes.CDLL(None).shmctl(int(number), 0, None)


def snapshot(folder: Path, without: Path) -> dict[str, str]:
    """Returns mode, size, and content digest of every file under *folder*, except under
    *without*."""
    states = {}
    for path in sorted(folder.rglob("*")):
        if not path.is_relative_to(without):
            states[str(path.relative_to(folder))] = _file_state(path)
    return states


def _file_state(path: Path) -> str:
    """Returns mode, size, and digest of a file as text; the error's name if it can't be read."""
    try:
        status = path.lstat()
        data = path.read_bytes() if stat.S_ISREG(status.st_mode) else b""
    except OSError as error:
        return type(error).__name__
    digest = hashlib.sha256(data).hexdigest()[:16]
    return f"{status.st_mode:o} {status.st_size if data else 0} {digest}"
