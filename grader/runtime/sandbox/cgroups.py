"""Control groups: memory and processes of a submission, limited and counted by the kernel.

If the `cpu` controller is available, each submission also gets an equal share of the processors,
however many processes it starts, since every group has the same weight.

Uses version 2 if a subtree is delegated to the grader, or version 1 if its folders are writable.
Otherwise there are no groups, and `missing_reason` says why; nothing here raises.
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

from grader.runtime.sandbox import cgroup_files
from grader.runtime.sandbox.cgroup_files import (
    PROCESSES,
    SHARED,
    read_text,
    read_words,
    write_value,
)

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
        moved = [write_value(folder / PROCESSES, pid) for folder in self._all_folders()]
        return all(moved)

    def process_files(self) -> list[str]:
        """Returns the files into which a process writes 0 to enter the group."""
        return [str(folder / PROCESSES) for folder in self._all_folders()]

    def open_process_files(self) -> list[int]:
        """Descriptors of those files, for a process that can't see them; the caller closes them."""
        found: list[int] = []
        with contextlib.suppress(OSError):
            for path in self.process_files():
                found.append(os.open(path, os.O_WRONLY | os.O_CLOEXEC))  # noqa: PERF401
            return found
        for descriptor in found:
            os.close(descriptor)
        return []

    def find_exceeded_limit(self) -> str | None:
        """Returns the limit that was reached: "memory", "processes", "machine", or None.

        "machine" means that the system killed a process for lack of memory although this group
        had not reached its own limit.
        """
        killed = "memory.events" if self.version == 2 else "memory.oom_control"
        if self._read_count("memory", killed, "oom_kill"):
            return "memory" if self._has_reached_own_limit() else "machine"
        return "processes" if self._read_count("pids", "pids.events", "max") else None

    def _has_reached_own_limit(self) -> bool:
        """Returns whether the group reached its own memory limit."""
        if self.version == 2:
            return self._read_count("memory", "memory.events", "oom") > 0
        most, limit = (
            self.peak_bytes(),
            read_text(self.folders["memory"] / "memory.limit_in_bytes").strip(),
        )
        return most is None or not limit.isdigit() or most + _LARGEST_PAGE >= int(limit)

    def peak_bytes(self) -> int | None:
        """Returns the peak memory in bytes; None if the kernel does not record it."""
        name = "memory.peak" if self.version == 2 else "memory.max_usage_in_bytes"
        text = read_text(self.folders["memory"] / name).strip()
        return int(text) if text.isdigit() else None

    def cpu_seconds(self) -> float | None:
        """Returns the processor time of all its processes, ended ones too; None if unknown."""
        if self.version == 2:
            used = self._read_count("memory", "cpu.stat", "usage_usec")
            return used / 1e6 if used else None
        folder = self.folders.get("cpu")  # usually mounted together with cpuacct
        text = read_text(folder / "cpuacct.usage").strip() if folder else ""
        return int(text) / 1e9 if text.isdigit() else None

    def kill(self) -> None:
        """Kills every process in the group, even if they keep starting others."""
        self._write_limit("pids", "pids.max", 0)
        if self.version == 2 and self._write_limit("memory", "cgroup.kill", 1):
            return
        end = time.monotonic() + 1
        while self._kill_all() and time.monotonic() < end:
            time.sleep(0.001)

    def remove(self, seconds: float = 2.0) -> bool:
        """Removes the group once its processes have ended; if that fails, a later sweep does."""
        end = time.monotonic() + seconds
        left = self._all_folders()
        while left := [folder for folder in left if not cgroup_files.remove_group(folder)]:
            if time.monotonic() > end:
                return False
            time.sleep(0.005)
        return True

    def limit(self, *, memory_bytes: int | None, processes: int | None) -> bool:
        """Sets these limits, where None is no limit; returns whether the kernel accepted them."""
        held = memory_bytes is None or self._limit_memory(memory_bytes)
        if processes is not None and "pids" in self.folders:
            held = self._write_limit("pids", "pids.max", processes) and held
        return held

    def _limit_memory(self, amount: int) -> bool:
        if self.version == 2:
            self._write_limit("memory", "memory.swap.max", 0)  # missing on systems without swap
            return self._write_limit("memory", "memory.max", amount)
        held = self._write_limit("memory", "memory.limit_in_bytes", amount)
        if not self._write_limit("memory", "memory.memsw.limit_in_bytes", amount):
            self._write_limit("memory", "memory.swappiness", 0)
        return held

    def _write_limit(self, controller: str, name: str, value: int) -> bool:
        folder = self.folders.get(controller)
        return folder is not None and write_value(folder / name, value)

    def _read_count(self, controller: str, name: str, key: str) -> int:
        folder = self.folders.get(controller)
        lines = read_text(folder / name).splitlines() if folder else []
        found = dict(line.split(" ", 1) for line in lines if " " in line)
        return int(found.get(key, "0"))

    def _all_folders(self) -> list[Path]:
        return list(dict.fromkeys(self.folders.values()))

    def _members(self) -> set[int]:
        return {
            pid
            for folder in self._all_folders()
            for pid in cgroup_files.list_processes(folder)
            if pid
        }

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
class GroupTree:
    """The folders in which this grader may create groups."""

    version: int
    folders: Mapping[str, Path]

    def make_group(
        self, name: str, *, memory_bytes: int | None, processes: int | None
    ) -> Group | None:
        """Creates a group with these limits; None if the kernel refuses."""
        plain = re.sub(r"[^A-Za-z0-9_-]", "_", name)[:60]
        whole = f"{cgroup_files.name_prefix()}{next(_NUMBERS)}-{plain}"
        made = Group(self.version, {key: folder / whole for key, folder in self.folders.items()})
        with contextlib.suppress(OSError):
            for folder in made._all_folders():
                folder.mkdir()
            if made.limit(memory_bytes=memory_bytes, processes=processes):
                return made
        made.remove(0)
        return None

    def remove_abandoned(self) -> int:
        """Ends and removes groups that killed graders have left; returns how many."""
        left: dict[str, dict[str, Path]] = {}
        for controller, folder in self.folders.items():
            for path in cgroup_files.list_groups(folder):
                if cgroup_files.is_abandoned(path.name):
                    left.setdefault(path.name, {})[controller] = path
        gone = 0
        for folders in left.values():
            group = Group(self.version, folders)
            group.kill()
            gone += group.remove()
        return gone


def find_tree() -> GroupTree | None:
    """Returns where groups can be created on this machine, tried once; None if nowhere.

    In version 2 this may move the grader and its children into a new group below their current
    one, since a group that contains processes can't have subgroups with controllers.
    """
    return _find_tree()[0]


def shares_processors() -> bool:
    """Returns whether each group gets an equal share of the processors."""
    found = find_tree()
    return found is not None and "cpu" in found.folders


def missing_reason() -> str:
    """Returns why no groups can be created, and what to do; empty if they can."""
    return _find_tree()[1]


@cache
def _find_tree() -> tuple[GroupTree | None, str]:
    reasons = []
    for look in (_find_version_2, _find_version_1):
        try:
            found = look()
        except (OSError, ValueError, IndexError) as error:  # unexpected contents
            found = f"control groups can't be read: {error}"
        if isinstance(found, GroupTree):
            return found, ""
        reasons.append(found)
    return None, "; ".join(reasons)


def _find_version_2() -> GroupTree | str:
    place = cgroup_files.find_own_folder("")
    if place is None:
        return "cgroup version 2 is not mounted here"
    mount, own = place
    if "memory" not in read_words(own / "cgroup.controllers"):
        return "cgroup version 2 has no memory controller for the grader"
    if not _has_memory_controller(own):
        _enable_controllers(own)
    # The nearest comes first, so that a limit on the grader applies to its students too.
    for folder in (own, *own.parents):
        if not folder.is_relative_to(mount):
            break
        if _has_memory_controller(folder) and os.access(folder / PROCESSES, os.W_OK):
            shared = read_words(folder / SHARED)
            tree = GroupTree(2, {name: folder for name in _WANTED if name in shared})
            if _can_create_groups(tree):
                return tree
        if read_text(folder / "memory.max").strip() not in {"", "max"}:
            return f"the grader's cgroup has a memory limit and no delegated subtree: {_ADVICE}"
    return f"the grader's cgroup is not delegated to it: {_ADVICE}"


def _find_version_1() -> GroupTree | str:
    folders = {}
    for name in _WANTED:
        place = cgroup_files.find_own_folder(name)
        if place is not None and os.access(place[1], os.W_OK):
            folders[name] = place[1]
    if "memory" not in folders:
        return "cgroup version 1 has no memory controller that this user may write to"
    without_cpu = {name: folder for name, folder in folders.items() if name != "cpu"}
    for tried in (folders, without_cpu, {"memory": folders["memory"]}):
        if _can_create_groups(GroupTree(1, tried)):
            return GroupTree(1, tried)
    return "no group can be created in the memory controller of cgroup version 1"


def _can_create_groups(tree: GroupTree) -> bool:
    group = tree.make_group("trial", memory_bytes=2**30, processes=100)
    return group is not None and group.remove()


def _has_memory_controller(folder: Path) -> bool:
    return "memory" in read_words(folder / SHARED)


def _enable_controllers(folder: Path) -> None:
    """Enables controllers for subgroups of *folder*, if only this grader is in it.

    The grader first moves one level down, except in the root group, where it may stay.
    """
    pids = cgroup_files.list_processes(folder)
    if not os.access(folder / SHARED, os.W_OK):
        return
    if not (folder / "cgroup.type").exists():  # missing only in the root group
        _write_controllers(folder)
    elif all(map(_is_own_process, pids)):
        room = folder / f"{cgroup_files.name_prefix()}self"
        room.mkdir(exist_ok=True)
        _move_processes(folder, room)
        _write_controllers(folder)
        if not _has_memory_controller(folder):  # restore the previous state
            _move_processes(room, folder)
            cgroup_files.remove_group(room)


def _write_controllers(folder: Path) -> None:
    for name in _WANTED:
        write_value(folder / SHARED, f"+{name}")


def _move_processes(source: Path, target: Path) -> None:
    for _ in range(10):  # new processes may start in the meantime
        pids = cgroup_files.list_processes(source)
        if not pids:
            break
        for pid in pids:
            write_value(target / PROCESSES, pid)


def _is_own_process(pid: int) -> bool:
    """Returns whether a process is this one or was started by it."""
    while pid > 0:
        if pid == os.getpid():
            return True
        fields = cgroup_files.read_stat(pid)
        pid = int(fields[1]) if fields else 0
    return False
