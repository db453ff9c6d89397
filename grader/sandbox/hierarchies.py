"""Where the control groups of this process are, and what their files say; nothing here raises."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

PROCESSES = "cgroup.procs"
SHARED = "cgroup.subtree_control"


def own_folder(controller: str) -> tuple[Path, Path] | None:
    """Where a hierarchy is mounted, and the folder of this process in it; "" is version 2."""
    inside = None
    for line in read(Path("/proc/self/cgroup")).splitlines():
        _, names, path = line.split(":", 2)
        if controller in names.split(","):
            inside = path
    for root, mount in _mounts(controller) if inside is not None else ():
        if Path(inside or "/").is_relative_to(root):
            return mount, mount / Path(inside or "/").relative_to(root)
    return None


def _mounts(controller: str) -> Iterator[tuple[Path, Path]]:
    """The part of a hierarchy that is mounted, and where."""
    for line in read(Path("/proc/self/mountinfo")).splitlines():
        left, _, right = line.partition(" - ")
        root, mount = (_unescaped(word) for word in left.split()[3:5])
        kind, _, options = right.split()[:3]
        if (kind == "cgroup2") if not controller else (kind == "cgroup" and controller in options):
            yield Path(root), Path(mount)


def _unescaped(word: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), word)


def prefix() -> str:
    """Begins the name of every group of this process: its numbers' namespace, number and start."""
    fields = stat(os.getpid())
    return f"grader-{_namespace()}-{os.getpid()}-{fields[19] if fields else 0}-"


def _namespace() -> int:
    try:
        return Path("/proc/self/ns/pid").stat().st_ino
    except OSError:
        return 0


def abandoned(name: str) -> bool:
    """Whether this is the name of a group whose grader is no more."""
    found = re.match(r"grader-(\d+)-(\d+)-(\d+)-", name)
    if found is None or int(found[1]) != _namespace():
        return False
    fields = stat(int(found[2]))
    return not fields or fields[19] != found[3]


def stat(pid: int) -> list[str]:
    """What the kernel says of a process, from its state on; empty when there is none."""
    return read(Path(f"/proc/{pid}/stat")).rpartition(")")[2].split()


def children(folder: Path) -> list[Path]:
    try:
        return [path for path in folder.iterdir() if path.is_dir()]
    except OSError:
        return []


def pids(folder: Path) -> list[int]:
    return [int(word) for word in words(folder / PROCESSES)]


def words(path: Path) -> list[str]:
    return read(path).split()


def read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def write(path: Path, value: int | str) -> bool:
    """Without creating it: a file that is not there is a controller that is not there."""
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
    try:
        folder.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True
