"""Control groups: memory and processes of a submission, limited and counted by the kernel.

Version 2 where a subtree is this grader's to divide, version 1 where its folders can be written;
otherwise there is none, `missing` says why, and nothing here raises.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from grader.sandbox.hierarchies import (
    PROCESSES,
    SHARED,
    abandoned,
    children,
    own_folder,
    pids,
    prefix,
    read,
    removed,
    stat,
    words,
    write,
)

_WANTED = ("memory", "pids")
_NUMBERS = itertools.count()
_ADVICE = "start the grader by: systemd-run --user --scope -p Delegate=yes grader …"


@dataclass(frozen=True, slots=True)
class Group:
    """The processes of one submission, with a limit on all of them together."""

    version: int
    folders: Mapping[str, Path]
    """By controller; the same folder for all of them in version 2."""

    def add(self, pid: int) -> bool:
        """Moves a process in, with all that it will start; 0 is the caller."""
        return all(write(Path(path), pid) for path in self.paths())

    def paths(self) -> list[str]:
        """The files into which a process writes 0 to enter by itself."""
        return [str(folder / PROCESSES) for folder in self._once()]

    def descriptors(self) -> list[int]:
        """Those files opened, for a process that can't see them; whoever asks closes them."""
        found: list[int] = []
        try:
            for path in self.paths():
                found.append(os.open(path, os.O_WRONLY | os.O_CLOEXEC))  # noqa: PERF401
        except OSError:
            for descriptor in found:
                os.close(descriptor)
            return []
        return found

    def hit(self) -> str | None:
        """The limit that a process was killed for or could not be started for, if any."""
        killed = "memory.events" if self.version == 2 else "memory.oom_control"
        if self._count("memory", killed, "oom_kill"):
            return "memory"
        return "processes" if self._count("pids", "pids.events", "max") else None

    def peak(self) -> int | None:
        """The most memory it ever used, in bytes, where the kernel keeps that."""
        name = "memory.peak" if self.version == 2 else "memory.max_usage_in_bytes"
        text = read(self.folders["memory"] / name).strip()
        return int(text) if text.isdigit() else None

    def kill(self) -> None:
        """Ends every process in it, also those that start others as fast as they can."""
        self._write("pids", "pids.max", 0)
        if not (self.version == 2 and self._write("memory", "cgroup.kill", 1)):
            for _ in range(10):
                if not self._kill_once():
                    break

    def remove(self, seconds: float = 2.0) -> bool:
        """Removes it, once its processes have ended; False leaves it to a later sweep."""
        end = time.monotonic() + seconds
        left = self._once()
        while left := [folder for folder in left if not removed(folder)]:
            if time.monotonic() > end:
                return False
            time.sleep(0.005)
        return True

    def _limit(self, memory_bytes: int | None, processes: int | None) -> bool:
        if memory_bytes is not None and not self._limit_memory(memory_bytes):
            return False
        return processes is None or "pids" not in self.folders or self._processes(processes)

    def _limit_memory(self, amount: int) -> bool:
        if self.version == 2:
            self._write("memory", "memory.swap.max", 0)  # not there without swap
            return self._write("memory", "memory.max", amount)
        held = self._write("memory", "memory.limit_in_bytes", amount)
        if not self._write("memory", "memory.memsw.limit_in_bytes", amount):
            self._write("memory", "memory.swappiness", 0)
        return held

    def _processes(self, most: int) -> bool:
        return self._write("pids", "pids.max", most)

    def write(self, controller: str, name: str, value: int) -> bool:
        folder = self.folders.get(controller)
        return folder is not None and write(folder / name, value)

    def _count(self, controller: str, name: str, key: str) -> int:
        folder = self.folders.get(controller)
        lines = read(folder / name).splitlines() if folder else []
        found = dict(line.split(maxsplit=1) for line in lines if " " in line)
        return int(found.get(key, "0"))

    def _once(self) -> list[Path]:
        return list(dict.fromkeys(self.folders.values()))

    def pids(self) -> set[int]:
        return {pid for folder in self._once() for pid in pids(folder)}

    def _kill_once(self) -> bool:
        """Whether there was anything to kill. A number given to another process is let alone."""
        handles = {}
        for pid in self._pids():
            with contextlib.suppress(OSError):
                handles[pid] = os.pidfd_open(pid)
        still = self._pids()
        for pid, handle in handles.items():
            with contextlib.suppress(OSError):
                if pid in still:
                    signal.pidfd_send_signal(handle, signal.SIGKILL)
            os.close(handle)
        return bool(handles)


@dataclass(frozen=True, slots=True)
class Tree:
    """Where this grader may make groups."""

    version: int
    folders: Mapping[str, Path]

    def group(self, name: str, *, memory_bytes: int | None, processes: int | None) -> Group | None:
        """A new group with these limits; None when the kernel does not make it."""
        plain = re.sub(r"[^A-Za-z0-9_-]", "_", name)[:60]
        whole = f"{prefix()}{next(_NUMBERS)}-{plain}"
        made = Group(self.version, {key: folder / whole for key, folder in self.folders.items()})
        try:
            for folder in made._once():
                folder.mkdir()
        except OSError:
            made.remove(0)
            return None
        if made._limit(memory_bytes, processes):
            return made
        made.remove(0)
        return None

    def sweep(self) -> int:
        """Ends and removes what graders left that were killed; how many groups that was."""
        left: dict[str, dict[str, Path]] = {}
        for controller, folder in self.folders.items():
            for path in children(folder):
                if abandoned(path.name):
                    left.setdefault(path.name, {})[controller] = path
        gone = 0
        for folders in left.values():
            group = Group(self.version, folders)
            group.kill()
            gone += group.remove()
        return gone


def find() -> Tree | None:
    """Where groups can be made on this machine, tried out once; None when nowhere.

    In version 2 this may move the grader and what it has started into a group of their own, since
    a group with processes can't be divided.
    """
    return _found()[0]


def missing() -> str:
    """Why there is no tree, and what to do; empty when there is one."""
    return _found()[1]


@cache
def _found() -> tuple[Tree | None, str]:
    reasons = []
    for look in (_version_2, _version_1):
        try:
            found = look()
        except OSError as error:
            found = f"{error.strerror}: {error.filename}"
        if isinstance(found, Tree):
            return found, ""
        reasons.append(found)
    return None, "; ".join(reasons)


def _version_2() -> Tree | str:
    place = own_folder("")
    if place is None:
        return "cgroup version 2 is not mounted here"
    mount, own = place
    if "memory" not in words(own / "cgroup.controllers"):
        return "its group has no memory controller in cgroup version 2"
    # The nearest comes first, so that a limit set on the grader holds for its students too.
    if not _divided(own) and _alone(own):
        _make_room(own)
    for folder in (own, *own.parents):
        if not folder.is_relative_to(mount):
            break
        if _divided(folder) and os.access(folder / PROCESSES, os.W_OK):
            shared = words(folder / SHARED)
            tree = Tree(2, {name: folder for name in _WANTED if name in shared})
            if _works(tree):
                return tree
        if read(folder / "memory.max").strip() not in {"", "max"}:
            return f"a memory limit is set on the grader, and {own} can't be divided: {_ADVICE}"
    return f"{own} is not this user's to divide: {_ADVICE}"


def _version_1() -> Tree | str:
    folders = {}
    for name in _WANTED:
        place = own_folder(name)
        if place is not None and os.access(place[1], os.W_OK):
            folders[name] = place[1]
    if "memory" not in folders:
        return "cgroup version 1 has no memory controller that this user may write"
    for tried in (folders, {"memory": folders["memory"]}):
        if _works(Tree(1, tried)):
            return Tree(1, tried)
    return f"no group can be made in {folders['memory']}"


def _works(tree: Tree) -> bool:
    group = tree.group("trial", memory_bytes=2**30, processes=100)
    return group is not None and group.remove()


def _divided(folder: Path) -> bool:
    return "memory" in words(folder / SHARED)


def _alone(folder: Path) -> bool:
    """Whether only this process and what it has started are in a group."""
    pids = pids(folder)
    return bool(pids) and os.access(folder / SHARED, os.W_OK) and all(map(_ours, pids))


def _ours(pid: int) -> bool:
    while pid > 0:
        if pid == os.getpid():
            return True
        fields = stat(pid)
        pid = int(fields[1]) if fields else 0
    return False


def _make_room(folder: Path) -> None:
    """Moves this grader down one level, and shares the controllers between the groups there."""
    room = folder / f"{prefix()}self"
    room.mkdir(exist_ok=True)
    for _ in range(10):
        moved = [write(room / PROCESSES, pid) for pid in pids(folder)]
        if not moved:
            break
    for name in _WANTED:
        write(folder / SHARED, f"+{name}")
    if not _divided(folder):  # as it was
        for pid in pids(room):
            write(folder / PROCESSES, pid)
        removed(room)
