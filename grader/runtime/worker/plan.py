"""The restrictions on a fork server and its kernels, as plain JSON from the grader."""

from __future__ import annotations

from typing import TypedDict


class FileView(TypedDict):
    """The visible file system, which contains only what is listed."""

    read: list[str]
    """Folders and files, shown read-only at their own paths; links stay links."""
    hide: list[str]
    """Folders below those that appear empty."""
    devices: list[str]
    texts: dict[str, str]
    """Small generated files, such as /etc/passwd."""


class LandlockRules(TypedDict):
    """The Landlock rules: what they allow."""

    read: list[str]
    names: list[str]
    """Folders that may be listed although only parts of their contents may be read."""
    write: list[str]
    devices: list[str]


class SandboxPlan(TypedDict):
    """The layers to apply; None or an empty value applies nothing."""

    view: FileView | None
    """If set, the fork server and each kernel also enter new namespaces."""
    landlock: LandlockRules | None
    filter: str | None
    """The seccomp program, in base64."""
    drop: bool
    """Whether to drop capabilities and prevent new privileges."""
    loopback: bool


class KernelStart(TypedDict):
    """The settings of one kernel to start."""

    name: str
    root: str
    """The folder of the kernel as it sees it, with home, work, and tmp in it."""
    uid: int | None
    """The user id to switch to if the fork server is root."""
    scratch_bytes: int
    memory_bytes: int | None
    """Memory limit for the supervisor to watch; None if the system enforces it."""
    processes: int | None
    """Process limit for the supervisor to watch; None if the system enforces it."""
    rlimits: dict[str, int]
    environment: dict[str, str]
    seed: int
