"""Control groups: memory and processes of a submission, limited and counted by the kernel.

If the `cpu` controller is available, each submission also gets an equal share of the processors,
however many processes it starts, since every group has the same weight.

Uses version 2 if a subtree is delegated to the grader, or version 1 if its folders are writable.
Otherwise there are no groups, and `missing` says why; nothing here raises.
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

from grader.runtime.sandbox import hierarchies
from grader.runtime.sandbox.hierarchies import PROCESSES, SHARED, read, words, write

_WANTED = ("memory", "pids", "cpu")
_LARGEST_PAGE = 4 * 2**20
"""Within this distance of a limit, the next page may no longer fit."""
_NUMBERS = itertools.count()
_ADVICE = "start the grader as `systemd-run --user --scope -p Delegate=yes grader …`"


@dataclass(frozen=True, slots=True)
class Group:
    """The processes of one submission, with a limit on their total use."""

    version: int
    folders: Mapping[str, Path]
    """Folder by controller; in version 2 all controllers have the same folder."""

    def add(self, pid: int) -> bool:
        """Moves a process into the group, with all its future children; 0 is the caller."""
        moved = [write(folder / PROCESSES, pid) for folder in self._all()]
        return all(moved)

    def paths(self) -> list[str]:
        """The files into which a process writes 0 to enter the group."""
        return [str(folder / PROCESSES) for folder in self._all()]

    def descriptors(self) -> list[int]:
        """Descriptors of those files, for a process that can't see them; the caller closes them."""
        found: list[int] = []
        with contextlib.suppress(OSError):
            for path in self.paths():
                found.append(os.open(path, os.O_WRONLY | os.O_CLOEXEC))  # noqa: PERF401
            return found
        for descriptor in found:
            os.close(descriptor)
        return []

    def limit_exceeded(self) -> str | None:
        """The limit that was reached: "memory", "processes", "machine", or None.

        "machine" means that the system killed a process for lack of memory although this group
        had not reached its own limit.
        """
        killed = "memory.events" if self.version == 2 else "memory.oom_control"
        if self._count("memory", killed, "oom_kill"):
            return "memory" if self._reached() else "machine"
        return "processes" if self._count("pids", "pids.events", "max") else None

    def _reached(self) -> bool:
        """Whether the group reached its own memory limit."""
        if self.version == 2:
            return self._count("memory", "memory.events", "oom") > 0
        most, limit = self.peak(), read(self.folders["memory"] / "memory.limit_in_bytes").strip()
        return most is None or not limit.isdigit() or most + _LARGEST_PAGE >= int(limit)

    def peak(self) -> int | None:
        """Peak memory in bytes; None if the kernel does not record it."""
        name = "memory.peak" if self.version == 2 else "memory.max_usage_in_bytes"
        text = read(self.folders["memory"] / name).strip()
        return int(text) if text.isdigit() else None

    def cpu_seconds(self) -> float | None:
        """Processor time of all its processes, including ended ones; None if unknown."""
        if self.version == 2:
            used = self._count("memory", "cpu.stat", "usage_usec")
            return used / 1e6 if used else None
        folder = self.folders.get("cpu")  # usually mounted together with cpuacct
        text = read(folder / "cpuacct.usage").strip() if folder else ""
        return int(text) / 1e9 if text.isdigit() else None

    def kill(self) -> None:
        """Kills every process in the group, even if they keep starting others."""
        self._set("pids", "pids.max", 0)
        if self.version == 2 and self._set("memory", "cgroup.kill", 1):
            return
        end = time.monotonic() + 1
        while self._kill_all() and time.monotonic() < end:
            time.sleep(0.001)

    def remove(self, seconds: float = 2.0) -> bool:
        """Removes the group once its processes have ended; if that fails, a later sweep does."""
        end = time.monotonic() + seconds
        left = self._all()
        while left := [folder for folder in left if not hierarchies.removed(folder)]:
            if time.monotonic() > end:
                return False
            time.sleep(0.005)
        return True

    def limit(self, *, memory_bytes: int | None, processes: int | None) -> bool:
        """Sets these limits, where None is no limit; returns whether the kernel accepted them."""
        held = memory_bytes is None or self._limit_memory(memory_bytes)
        if processes is not None and "pids" in self.folders:
            held = self._set("pids", "pids.max", processes) and held
        return held

    def _limit_memory(self, amount: int) -> bool:
        if self.version == 2:
            self._set("memory", "memory.swap.max", 0)  # missing on systems without swap
            return self._set("memory", "memory.max", amount)
        held = self._set("memory", "memory.limit_in_bytes", amount)
        if not self._set("memory", "memory.memsw.limit_in_bytes", amount):
            self._set("memory", "memory.swappiness", 0)
        return held

    def _set(self, controller: str, name: str, value: int) -> bool:
        folder = self.folders.get(controller)
        return folder is not None and write(folder / name, value)

    def _count(self, controller: str, name: str, key: str) -> int:
        folder = self.folders.get(controller)
        lines = read(folder / name).splitlines() if folder else []
        found = dict(line.split(" ", 1) for line in lines if " " in line)
        return int(found.get(key, "0"))

    def _all(self) -> list[Path]:
        return list(dict.fromkeys(self.folders.values()))

    def _members(self) -> set[int]:
        return {pid for folder in self._all() for pid in hierarchies.members(folder) if pid}

    def _kill_all(self) -> bool:
        """Kills all members; returns whether there were any. Spares reused process ids."""
        handles = {}
        for pid in self._members():
            with contextlib.suppress(OSError):
                handles[pid] = os.pidfd_open(pid)
        still = self._members()
        for pid, handle in handles.items():
            with contextlib.suppress(OSError):
                if pid in still:
                    signal.pidfd_send_signal(handle, signal.SIGKILL)
            os.close(handle)
        return bool(handles)


@dataclass(frozen=True, slots=True)
class Tree:
    """The folders in which this grader may create groups."""

    version: int
    folders: Mapping[str, Path]

    def group(self, name: str, *, memory_bytes: int | None, processes: int | None) -> Group | None:
        """Creates a group with these limits; None if the kernel refuses."""
        plain = re.sub(r"[^A-Za-z0-9_-]", "_", name)[:60]
        whole = f"{hierarchies.prefix()}{next(_NUMBERS)}-{plain}"
        made = Group(self.version, {key: folder / whole for key, folder in self.folders.items()})
        with contextlib.suppress(OSError):
            for folder in made._all():
                folder.mkdir()
            if made.limit(memory_bytes=memory_bytes, processes=processes):
                return made
        made.remove(0)
        return None

    def sweep(self) -> int:
        """Ends and removes groups that killed graders have left; returns how many."""
        left: dict[str, dict[str, Path]] = {}
        for controller, folder in self.folders.items():
            for path in hierarchies.children(folder):
                if hierarchies.abandoned(path.name):
                    left.setdefault(path.name, {})[controller] = path
        gone = 0
        for folders in left.values():
            group = Group(self.version, folders)
            group.kill()
            gone += group.remove()
        return gone


def find() -> Tree | None:
    """Where groups can be created on this machine, tried once; None if nowhere.

    In version 2 this may move the grader and its children into a new group below their current
    one, since a group that contains processes can't have subgroups with controllers.
    """
    return _found()[0]


def shares_processors() -> bool:
    """Whether each group gets an equal share of the processors."""
    found = find()
    return found is not None and "cpu" in found.folders


def missing() -> str:
    """Why no groups can be created, and what to do; empty if they can."""
    return _found()[1]


@cache
def _found() -> tuple[Tree | None, str]:
    reasons = []
    for look in (_version_2, _version_1):
        try:
            found = look()
        except (OSError, ValueError, IndexError) as error:  # unexpected contents
            found = f"control groups can't be read: {error}"
        if isinstance(found, Tree):
            return found, ""
        reasons.append(found)
    return None, "; ".join(reasons)


def _version_2() -> Tree | str:
    place = hierarchies.own_folder("")
    if place is None:
        return "cgroup version 2 is not mounted here"
    mount, own = place
    if "memory" not in words(own / "cgroup.controllers"):
        return "cgroup version 2 has no memory controller for the grader"
    if not _divided(own):
        _divide(own)
    # The nearest comes first, so that a limit on the grader applies to its students too.
    for folder in (own, *own.parents):
        if not folder.is_relative_to(mount):
            break
        if _divided(folder) and os.access(folder / PROCESSES, os.W_OK):
            shared = words(folder / SHARED)
            tree = Tree(2, {name: folder for name in _WANTED if name in shared})
            if _works(tree):
                return tree
        if read(folder / "memory.max").strip() not in {"", "max"}:
            return f"the grader's cgroup has a memory limit and no delegated subtree: {_ADVICE}"
    return f"the grader's cgroup is not delegated to it: {_ADVICE}"


def _version_1() -> Tree | str:
    folders = {}
    for name in _WANTED:
        place = hierarchies.own_folder(name)
        if place is not None and os.access(place[1], os.W_OK):
            folders[name] = place[1]
    if "memory" not in folders:
        return "cgroup version 1 has no memory controller that this user may write to"
    without_cpu = {name: folder for name, folder in folders.items() if name != "cpu"}
    for tried in (folders, without_cpu, {"memory": folders["memory"]}):
        if _works(Tree(1, tried)):
            return Tree(1, tried)
    return "no group can be created in the memory controller of cgroup version 1"


def _works(tree: Tree) -> bool:
    group = tree.group("trial", memory_bytes=2**30, processes=100)
    return group is not None and group.remove()


def _divided(folder: Path) -> bool:
    return "memory" in words(folder / SHARED)


def _divide(folder: Path) -> None:
    """Enables controllers for subgroups of *folder*, if only this grader is in it.

    The grader first moves one level down, except in the root group, where it may stay.
    """
    pids = hierarchies.members(folder)
    if not os.access(folder / SHARED, os.W_OK):
        return
    if not (folder / "cgroup.type").exists():  # missing only in the root group
        _share(folder)
    elif all(map(_ours, pids)):
        room = folder / f"{hierarchies.prefix()}self"
        room.mkdir(exist_ok=True)
        _move(folder, room)
        _share(folder)
        if not _divided(folder):  # restore the previous state
            _move(room, folder)
            hierarchies.removed(room)


def _share(folder: Path) -> None:
    for name in _WANTED:
        write(folder / SHARED, f"+{name}")


def _move(source: Path, target: Path) -> None:
    for _ in range(10):  # new processes may start in the meantime
        pids = hierarchies.members(source)
        if not pids:
            break
        for pid in pids:
            write(target / PROCESSES, pid)


def _ours(pid: int) -> bool:
    """Whether a process is this one or was started by it."""
    while pid > 0:
        if pid == os.getpid():
            return True
        fields = hierarchies.about(pid)
        pid = int(fields[1]) if fields else 0
    return False
