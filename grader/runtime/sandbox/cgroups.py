"""Control groups: memory and processes of a submission, limited and counted by the kernel.

If the `cpu` controller is available, each submission also gets an equal share of the processors,
however many processes it starts, since every group has the same weight.

Uses version 2 if a subtree is delegated to the grader, or version 1 if its folders are writable.
Otherwise there are no groups, and `find_tree` says why.
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

from grader.runtime.worker.process_tree import read_system_file

_WANTED = ("memory", "pids", "cpu")
_PROCESSES = "cgroup.procs"
_SHARED = "cgroup.subtree_control"
_LARGEST_PAGE = 4 * 2**20
"""Within this distance of a limit, the next page may no longer fit."""
_NUMBERS = itertools.count()
_ADVICE = "start the grader as `systemd-run --user --scope -p Delegate=yes grader …`"


@dataclass(frozen=True, slots=True)
class ControlGroup:
    """The processes of one submission, with a limit on their total use."""

    version: int
    folders: Mapping[str, Path]
    """Folder by controller; in version 2 all controllers have the same folder."""

    def process_files(self) -> list[Path]:
        """Returns the files into which a process writes 0 to enter the group."""
        return [folder / _PROCESSES for folder in self._all_folders()]

    def open_process_files(self) -> list[int]:
        """Opens `process_files` for a process that can't see them. Raises OSError."""
        return [os.open(path, os.O_WRONLY | os.O_CLOEXEC) for path in self.process_files()]

    def find_exceeded_limit(self) -> str | None:
        """Returns the limit that was reached: "memory", "processes", "machine", or None.

        "machine" means that the system killed a process for lack of memory although this group
        had not reached its own limit.
        """
        if self._read_count(
            "memory", self._memory_file("memory.events", "oom_control"), "oom_kill"
        ):
            if self.version == 2:
                reached = self._read_count("memory", "memory.events", "oom")
            else:
                limit = self._read_number("memory", "memory.limit_in_bytes")
                peak = self._read_number("memory", "memory.max_usage_in_bytes")
                reached = peak + _LARGEST_PAGE >= limit
            return "memory" if reached else "machine"
        return "processes" if self._read_count("pids", "pids.events", "max") else None

    def cpu_seconds(self) -> float | None:
        """Returns the processor time of the group, including ended processes; None if unknown."""
        if self.version == 2:
            used = self._read_count("memory", "cpu.stat", "usage_usec") / 1e6
        else:  # usually mounted together with cpuacct
            used = self._read_number("cpu", "cpuacct.usage") / 1e9
        return used or None

    def kill(self) -> None:
        """Kills every process in the group, even if they keep starting others."""
        self._write_limit("pids", "pids.max", 0)
        if self.version == 2 and self._write_limit("memory", "cgroup.kill", 1):
            return
        end = time.monotonic() + 1
        while (pids := self._processes()) and time.monotonic() < end:
            for pid in pids:
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.001)

    def remove(self, seconds: float = 2.0) -> bool:
        """Removes the group once its processes have ended; if that fails, a later sweep does."""
        end = time.monotonic() + seconds
        while not all(map(_remove_group, self._all_folders())):
            if time.monotonic() > end:
                return False
            time.sleep(0.005)
        return True

    def limit(self, *, memory_bytes: int | None, processes: int | None) -> bool:
        """Sets these limits, where None is no limit; returns whether the kernel accepted them."""
        accepted = True
        if memory_bytes is not None:
            name = self._memory_file("memory.max", "limit_in_bytes")
            accepted = self._write_limit("memory", name, memory_bytes)
            if self.version == 2:
                self._write_limit("memory", "memory.swap.max", 0)  # missing without swap
            elif not self._write_limit("memory", "memory.memsw.limit_in_bytes", memory_bytes):
                self._write_limit("memory", "memory.swappiness", 0)
        if processes is not None and "pids" in self.folders:
            accepted = self._write_limit("pids", "pids.max", processes) and accepted
        return accepted

    def _memory_file(self, name: str, older: str) -> str:
        """Returns the file *name*, or its *older* name in version 1 of control groups."""
        return name if self.version == 2 else f"memory.{older}"

    def _write_limit(self, controller: str, name: str, value: int) -> bool:
        folder = self.folders.get(controller)
        return folder is not None and _write_value(folder / name, value)

    def _read_count(self, controller: str, name: str, key: str) -> int:
        """Returns the number after *key* in a file of the group; 0 if there is none."""
        folder = self.folders.get(controller)
        words = _read_words(folder / name) if folder else []
        return dict(zip(words[::2], map(int, words[1::2]), strict=False)).get(key, 0)

    def _read_number(self, controller: str, name: str) -> int:
        folder = self.folders.get(controller)
        words = _read_words(folder / name) if folder else []
        return int(words[0]) if words else 0

    def _all_folders(self) -> list[Path]:
        return list(dict.fromkeys(self.folders.values()))

    def _processes(self) -> set[int]:
        """Returns the group's processes except 0, for those outside of this pid namespace."""
        return {int(pid) for path in self.process_files() for pid in _read_words(path)} - {0}


@dataclass(frozen=True, slots=True)
class GroupTree:
    """The folders in which this grader may create groups."""

    version: int
    folders: Mapping[str, Path]

    def make_group(
        self, name: str, *, memory_bytes: int | None, processes: int | None
    ) -> ControlGroup | None:
        """Creates a group with these limits; None if the kernel refuses."""
        plain = re.sub(r"[^A-Za-z0-9_-]", "_", name)[:60]
        # Not the number first: a grader of version 0.1 would take it for a time, and end the group.
        group_name = f"{_name_prefix()}{plain}-{next(_NUMBERS)}"
        group = ControlGroup(
            self.version, {key: folder / group_name for key, folder in self.folders.items()}
        )
        with contextlib.suppress(OSError):
            for folder in group._all_folders():
                folder.mkdir()
            if group.limit(memory_bytes=memory_bytes, processes=processes):
                return group
        group.remove(0)
        return None

    def remove_abandoned(self) -> int:
        """Ends and removes groups that killed graders have left; returns how many."""
        names = {path.name for folder in self.folders.values() for path in folder.glob("grader-*")}
        stale = filter(_is_abandoned, names)
        groups = [
            ControlGroup(self.version, {c: f / n for c, f in self.folders.items()}) for n in stale
        ]
        for group in groups:
            group.kill()
        return sum(group.remove() for group in groups)


@cache
def find_tree() -> GroupTree | str:
    """Returns where groups can be created on this machine, or why they can't; tried once.

    In version 2 this may move the grader and its children into a new group below their current
    one, since a group that contains processes can't have subgroups with controllers.
    """
    reasons = []
    for find_version in (_find_version_2, _find_version_1):
        try:
            tree = find_version()
        except (OSError, ValueError, IndexError) as error:  # unexpected contents
            tree = f"control groups can't be read: {error}"
        if isinstance(tree, GroupTree):
            return tree
        reasons.append(tree)
    return "; ".join(reasons)


def _find_version_2() -> GroupTree | str:
    """Returns the tree of version 2, or why there is none; may enable controllers."""
    place = _find_own_folder("")
    if place is None:
        return "cgroup version 2 is not mounted here"
    mount, own = place
    if "memory" not in _read_words(own / "cgroup.controllers"):
        return "cgroup version 2 has no memory controller for the grader"
    if "memory" not in _read_words(own / _SHARED):
        _enable_controllers(own)
    # The nearest comes first, so that a limit on the grader applies to its students too.
    for folder in (own, *own.parents):
        if not folder.is_relative_to(mount):
            break
        shared = _read_words(folder / _SHARED)
        if "memory" in shared and os.access(folder / _PROCESSES, os.W_OK):
            tree = GroupTree(2, {name: folder for name in _WANTED if name in shared})
            if _try_creating_group(tree):
                return tree
        if _read_words(folder / "memory.max") not in ([], ["max"]):
            return f"the grader's cgroup has a memory limit and no delegated subtree: {_ADVICE}"
    return f"the grader's cgroup is not delegated to it: {_ADVICE}"


def _find_version_1() -> GroupTree | str:
    """Returns the tree of version 1, or why there is none."""
    places = {name: _find_own_folder(name) for name in _WANTED}
    folders = {n: place[1] for n, place in places.items() if place and os.access(place[1], os.W_OK)}
    tree = GroupTree(1, folders)
    if "memory" not in folders or not _try_creating_group(tree):
        return "cgroup version 1 has no memory controller in which this user may create groups"
    return tree


def _try_creating_group(tree: GroupTree) -> bool:
    """Returns whether a group with limits can be created in *tree* and removed again."""
    group = tree.make_group("trial", memory_bytes=2**30, processes=100)
    return group is not None and group.remove()


def _enable_controllers(folder: Path) -> None:
    """Enables controllers for subgroups of *folder*, if only this grader is in it.

    The grader first moves one level down, except in the root group, where it may stay.
    """
    if not os.access(folder / _SHARED, os.W_OK):
        return
    if (folder / "cgroup.type").exists():  # missing only in the root group
        if not all(map(_is_own_process, map(int, _read_words(folder / _PROCESSES)))):
            return
        room = folder / f"{_name_prefix()}self"
        room.mkdir(exist_ok=True)
        for _ in range(10):  # new processes may start in the meantime
            for pid in _read_words(folder / _PROCESSES):
                _write_value(room / _PROCESSES, pid)
    for name in _WANTED:
        _write_value(folder / _SHARED, f"+{name}")


def _is_own_process(pid: int) -> bool:
    """Returns whether a process is this one or was started by it."""
    while pid not in (0, os.getpid()):
        fields = " ".join(_read_words(Path(f"/proc/{pid}/stat"))).rpartition(")")[2].split()
        pid = int(fields[1]) if fields else 0
    return pid > 0


def _find_own_folder(controller: str) -> tuple[Path, Path] | None:
    """Returns the mount point of the hierarchy of *controller* (of version 2 if empty) and this
    process's folder in it; None if there is none."""
    inside = None
    for line in Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines():
        _, names, path = line.split(":", 2)
        if controller in names.split(","):
            inside = Path(path)
    for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines():
        mount_fields, _, type_fields = line.partition(" - ")
        root, mount = mount_fields.split()[3:5]
        kind, _, options = type_fields.split()[:3]
        is_named = not controller or controller in options.split(",")
        is_kind = kind == ("cgroup" if controller else "cgroup2")
        if is_kind and is_named and inside and inside.is_relative_to(root):
            return Path(mount), Path(mount, inside.relative_to(root))
    return None


def _name_prefix() -> str:
    """Returns the prefix of this process's groups: pid namespace and process id."""
    return f"grader-{Path('/proc/self/ns/pid').stat().st_ino}-{os.getpid()}-"


def _is_abandoned(name: str) -> bool:
    """Returns whether *name* is that of a group whose grader has ended."""
    match = re.match(r"(grader-\d+-)(\d+)-", name)
    if match is None or not _name_prefix().startswith(match[1]):
        return False
    try:
        os.kill(int(match[2]), 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        pass
    return False


def _read_words(path: Path) -> list[str]:
    """Returns the words in a file; none if it is missing."""
    return read_system_file(path).split()


def _write_value(path: Path, value: int | str) -> bool:
    """Writes to an existing file; returns whether the kernel accepted the value."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.write(descriptor, str(value).encode())
        finally:
            os.close(descriptor)
    except OSError:
        return False
    return True


def _remove_group(folder: Path) -> bool:
    """Tries to remove a group, which fails while its processes end; returns whether it is gone."""
    try:
        folder.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True
