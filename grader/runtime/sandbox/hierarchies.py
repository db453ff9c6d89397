"""Locates the control groups of this process and accesses their files; nothing here raises."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

PROCESSES = "cgroup.procs"
SHARED = "cgroup.subtree_control"


def own_folder(controller: str) -> tuple[Path, Path] | None:
    """The mount point of a hierarchy and this process's folder in it; "" stands for version 2."""
    inside = None
    for line in read(Path("/proc/self/cgroup")).splitlines():
        _, names, path = line.split(":", 2)
        if controller in names.split(","):
            inside = Path(path)
    if inside is not None:
        for root, mount in _mounts(controller):
            if inside.is_relative_to(root):
                return mount, mount / inside.relative_to(root)
    return None


def _mounts(controller: str) -> Iterator[tuple[Path, Path]]:
    """Each mounted part of a hierarchy, and its mount point."""
    for line in read(Path("/proc/self/mountinfo")).splitlines():
        left, _, right = line.partition(" - ")
        root, mount = (_unescaped(word) for word in left.split()[3:5])
        kind, _, options = right.split()[:3]
        old = kind == "cgroup" and controller in options.split(",")
        if old if controller else kind == "cgroup2":
            yield Path(root), Path(mount)


def _unescaped(word: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), word)


def prefix() -> str:
    """The prefix of this process's group names: pid namespace, process id and start time."""
    fields = about(os.getpid())
    return f"grader-{_namespace()}-{os.getpid()}-{fields[19] if fields else 0}-"


def abandoned(name: str) -> bool:
    """Whether *name* is that of a group whose grader has ended."""
    found = re.match(r"grader-(\d+)-(\d+)-(\d+)-", name)
    if found is None or int(found[1]) != _namespace():
        return False
    fields = about(int(found[2]))
    if fields:
        return fields[19] != found[3]
    try:
        os.kill(int(found[2]), 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        pass
    return False  # its process is hidden from this user


def _namespace() -> int:
    try:
        return Path("/proc/self/ns/pid").stat().st_ino
    except OSError:
        return 0


def about(pid: int) -> list[str]:
    """The fields of /proc/PID/stat from the state on; empty if there is no such process."""
    return read(Path(f"/proc/{pid}/stat")).rpartition(")")[2].split()


def children(folder: Path) -> list[Path]:
    """The groups below a group."""
    try:
        return [path for path in folder.iterdir() if path.is_dir()]
    except OSError:
        return []


def members(folder: Path) -> list[int]:
    """The process ids in a group; 0 for processes outside of this pid namespace."""
    return [int(word) for word in words(folder / PROCESSES)]


def words(path: Path) -> list[str]:
    """The words in a file."""
    return read(path).split()


def read(path: Path) -> str:
    """The text of a file; empty if there is none."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def write(path: Path, value: int | str) -> bool:
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


def removed(folder: Path) -> bool:
    """Tries to remove a group, which fails while its processes end; returns whether it is gone."""
    try:
        folder.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True
