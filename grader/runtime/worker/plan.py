"""What a parent and its kernels are locked in with: plain JSON, made left of the wall."""

from __future__ import annotations

from typing import TypedDict


class View(TypedDict):
    """The file system that is to be seen: nothing but what is listed."""

    read: list[str]
    """Folders and files, read-only, at their own paths; links are made again as links."""
    hide: list[str]
    """Folders below those that are to look empty."""
    devices: list[str]
    texts: dict[str, str]
    """Small files made up for the purpose, such as /etc/passwd."""
    proc: bool
    """Whether a new /proc may be mounted; else there is none."""


class Fence(TypedDict):
    """What Landlock lets through."""

    read: list[str]
    names: list[str]
    """Folders that may be listed, while only some of what is in them may be read."""
    write: list[str]
    devices: list[str]


class Plan(TypedDict):
    """The layers that are wanted; what is None or absent stays as it is."""

    namespaces: list[str]
    """Of user, mount, pid, net, ipc and uts."""
    view: View | None
    fence: Fence | None
    filter: str | None
    """The seccomp program, in base64."""
    asked: dict[str, int]
    """Calls, with their numbers, of which the filter asks the guard."""
    drop: bool
    """Give up capabilities and the way to new privileges."""
    loopback: bool


class Start(TypedDict):
    """One kernel to start."""

    name: str
    root: str
    """The folder of the kernel as it sees it, with home, work and tmp in it."""
    uid: int | None
    """Whom to become, when the parent is root."""
    scratch_bytes: int
    memory_bytes: int | None
    """For the guard to watch; None where the system does."""
    processes: int | None
    """The same for the number of processes."""
    rlimits: dict[str, int]
    environment: dict[str, str]
    seed: int
