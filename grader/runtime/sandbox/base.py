"""The interface of a sandbox, and how one is chosen for this machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from grader.errors import SetupError
from grader.model import Limits
from grader.registry import Registry
from grader.runtime.sandbox.cgroups import Group
from grader.runtime.worker.plan import Plan

# The layers that `required` insists on, and what they provide.
WANTED: Mapping[str, str] = {
    "files": "a view of the file system without other people's files",
    "network": "a separate network without access to the outside",
    "processes": "separate process ids, so that no process can be signaled or left behind",
    "system-calls": "a filter that refuses system calls that notebooks do not need",
}


@dataclass(frozen=True, slots=True)
class Layer:
    """One protection, and whether this machine offers it."""

    name: str
    present: bool
    detail: str
    """What it does; if absent, why it is not available."""
    fix: str = ""
    """How to enable it, if known."""


@dataclass(frozen=True, slots=True)
class Place:
    """The private folder of one kernel, removed after the kernel ends."""

    root: Path

    @property
    def home(self) -> Path:
        """The kernel's HOME."""
        return self.root / "home"

    @property
    def work(self) -> Path:
        """The kernel's working folder."""
        return self.root / "work"

    @property
    def temporary(self) -> Path:
        """The kernel's TMPDIR."""
        return self.root / "tmp"

    @property
    def parts(self) -> tuple[Path, ...]:
        """All its subfolders."""
        return (self.home, self.work, self.temporary, self.wire)

    @property
    def wire(self) -> Path:
        """The folder of the sockets between kernel and grader, and of the connection file."""
        return self.root / "wire"


class Sandbox(Protocol):
    """Isolates kernels. Stateless: one object serves many kernels at the same time."""

    def layers(self) -> tuple[Layer, ...]:
        """Every layer of this sandbox, whether present on this machine or not; fast."""

    def plan(self, device: str = "cpu", *, loopback: bool = False) -> Plan:
        """The restrictions that a fork server and its kernels apply to themselves."""

    def uid(self, slot: int) -> int | None:
        """The user id of the kernel in *slot*; None if it keeps the grader's."""

    def inner(self, place: Place) -> Place:
        """*place* by the path at which the kernel sees it."""

    def group(self, name: str, limits: Limits) -> Group | None:
        """A control group with the limits for one kernel; None if unavailable."""

    @property
    def bounded(self) -> bool:
        """Whether the total size of a kernel's files is limited."""

    def rlimits(self, limits: Limits, device: str = "cpu") -> Mapping[str, int]:
        """Resource limits by name in the module `resource`; the kernel sets them first."""

    def wrap(self, command: Sequence[str], place: Place) -> list[str]:
        """The command that starts *command* inside the sandbox."""

    def environment(self, place: Place) -> Mapping[str, str]:
        """The kernel's complete environment; nothing else is inherited."""


sandboxes: Registry[Sandbox] = Registry("sandbox", "grader.sandboxes")


@dataclass(frozen=True, slots=True)
class Chosen:
    """A sandbox, and the mode by which it was chosen."""

    mode: str
    name: str
    sandbox: Sandbox

    @property
    def warning(self) -> str | None:
        """What student code can do here because layers are missing; None if none is."""
        missing = [layer for layer in WANTED if layer not in _present(self.sandbox)]
        if not missing:
            return None
        if len(missing) == len(WANTED):
            return (
                "student code runs without isolation and with your permissions: it can read and "
                "change your files, other submissions and the grades, and use the network; do "
                "this only with notebooks that you trust"
            )
        return (
            f"the sandbox lacks these layers here: {', '.join(missing)}; `grader doctor` explains "
            "what that means and how to enable them"
        )

    @property
    def bounded(self) -> bool:
        """Whether the size of the scratch folder is limited."""
        return self.sandbox.bounded

    def describe(self) -> dict[str, object]:
        """The entry for the evidence: present and missing layers."""
        layers = self.sandbox.layers()
        return {
            "mode": self.mode,
            "name": self.name,
            "layers": [layer.name for layer in layers if layer.present],
            "missing": [layer.name for layer in layers if not layer.present],
        }


def choose(mode: str) -> Chosen:
    """The sandbox for *mode*: `off`, `auto` (the strongest available), `required`, or a name.

    `required` insists on every layer in WANTED, `required:files,network` on those two. Raises
    SetupError if no sandbox on this machine has them.
    """
    word, _, listed = mode.partition(":")
    if word not in ("auto", "required") or (listed and word == "auto"):
        return Chosen(mode, mode, sandboxes.find(mode))
    name = max(sandboxes, key=lambda name: _strength(sandboxes.find(name)))
    sandbox = sandboxes.find(name)
    layers = {layer.name: layer for layer in sandbox.layers()}
    asked = [each.strip() for each in listed.split(",")] if listed else list(WANTED)
    unknown = [each for each in asked if each not in layers]
    if word == "required" and unknown:
        raise SetupError(
            f"'{unknown[0]}' is not a sandbox layer", fix="use one of: " + ", ".join(layers)
        )
    missing = [each for each in asked if not layers[each].present]
    if word == "required" and missing:
        whys = "; ".join(f"{each} ({layers[each].detail})" for each in missing)
        raise SetupError(
            "no sandbox on this machine has all the requested layers; missing: " + whys,
            fix="`grader doctor` says how to enable them; --sandbox auto uses what is available",
        )
    return Chosen(mode, name, sandbox)


def _strength(sandbox: Sandbox) -> tuple[int, int]:
    """The number of WANTED layers, then of all; no number of others makes up for one of those."""
    present = _present(sandbox)
    return len(present & WANTED.keys()), len(present)


def _present(sandbox: Sandbox) -> set[str]:
    return {layer.name for layer in sandbox.layers() if layer.present}
