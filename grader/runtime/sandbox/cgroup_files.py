"""Locates the control groups of this process and accesses their files; nothing here raises."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

PROCESSES = "cgroup.procs"
SHARED = "cgroup.subtree_control"


def find_own_folder(controller: str) -> tuple[Path, Path] | None:
    """Returns a hierarchy's mount point and this process's folder; "" means version 2."""
    inside = None
    for line in read_text(Path("/proc/self/cgroup")).splitlines():
        _, names, path = line.split(":", 2)
        if controller in names.split(","):
            inside = Path(path)
    if inside is not None:
        for root, mount in _iter_mounts(controller):
            if inside.is_relative_to(root):
                return mount, mount / inside.relative_to(root)
    return None


def _iter_mounts(controller: str) -> Iterator[tuple[Path, Path]]:
    """Yields each mounted part of a hierarchy with its mount point."""
    for line in read_text(Path("/proc/self/mountinfo")).splitlines():
        left, _, right = line.partition(" - ")
        root, mount = (_unescape(word) for word in left.split()[3:5])
        kind, _, options = right.split()[:3]
        old = kind == "cgroup" and controller in options.split(",")
        if old if controller else kind == "cgroup2":
            yield Path(root), Path(mount)


def _unescape(word: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), word)


def name_prefix() -> str:
    """Returns the prefix of this process's groups: pid namespace, process id, start time."""
    fields = read_stat(os.getpid())
    return f"grader-{_namespace_id()}-{os.getpid()}-{fields[19] if fields else 0}-"


def is_abandoned(name: str) -> bool:
    """Returns whether *name* is that of a group whose grader has ended."""
    found = re.match(r"grader-(\d+)-(\d+)-(\d+)-", name)
    if found is None or int(found[1]) != _namespace_id():
        return False
    fields = read_stat(int(found[2]))
    if fields:
        return fields[19] != found[3]
    try:
        os.kill(int(found[2]), 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        pass
    return False  # its process is hidden from this user


def _namespace_id() -> int:
    try:
        return Path("/proc/self/ns/pid").stat().st_ino
    except OSError:
        return 0


def read_stat(pid: int) -> list[str]:
    """Returns the fields of /proc/PID/stat from the state on; empty if there is no such process."""
    return read_text(Path(f"/proc/{pid}/stat")).rpartition(")")[2].split()


def list_groups(folder: Path) -> list[Path]:
    """Returns the groups below a group."""
    try:
        return [path for path in folder.iterdir() if path.is_dir()]
    except OSError:
        return []


def list_processes(folder: Path) -> list[int]:
    """Returns the process ids in a group; 0 for processes outside of this pid namespace."""
    return [int(word) for word in read_words(folder / PROCESSES)]


def read_words(path: Path) -> list[str]:
    """Returns the words in a file."""
    return read_text(path).split()


def read_text(path: Path) -> str:
    """Returns the text of a file; empty if there is none."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def write_value(path: Path, value: int | str) -> bool:
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


def remove_group(folder: Path) -> bool:
    """Tries to remove a group, which fails while its processes end; returns whether it is gone."""
    try:
        folder.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True
