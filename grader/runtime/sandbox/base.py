"""What a sandbox must be able to do, and how one is chosen by what the machine offers."""

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

# What `required` insists on, and what it means.
WANTED: Mapping[str, str] = {
    "files": "a view of the file system without other people's files",
    "network": "a network of its own, without the outside",
    "processes": "process numbers of its own, so that none can be signalled or left behind",
    "system-calls": "a filter that refuses system calls a notebook has no use for",
}


@dataclass(frozen=True, slots=True)
class Layer:
    """One protection, and whether this machine offers it."""

    name: str
    present: bool
    detail: str
    """What it does; or, when it is absent, why it is not there."""
    fix: str = ""
    """How to get it, where that is known."""


@dataclass(frozen=True, slots=True)
class Place:
    """The private folder of one kernel, removed when it has ended."""

    root: Path

    @property
    def home(self) -> Path:
        """HOME of the kernel."""
        return self.root / "home"

    @property
    def work(self) -> Path:
        """Where the notebook runs, and where relative paths lead."""
        return self.root / "work"

    @property
    def temporary(self) -> Path:
        """TMPDIR of the kernel."""
        return self.root / "tmp"

    @property
    def parts(self) -> tuple[Path, ...]:
        """Every folder in it."""
        return (self.home, self.work, self.temporary, self.wire)

    @property
    def wire(self) -> Path:
        """The sockets between kernel and grader, and the file that says where they are."""
        return self.root / "wire"


class Sandbox(Protocol):
    """One way to lock a kernel in. Stateless; the same object serves many kernels at once."""

    def layers(self) -> tuple[Layer, ...]:
        """Every layer this sandbox knows, present or not on this machine; quick to ask."""

    def plan(self, device: str = "cpu", *, loopback: bool = False) -> Plan:
        """What a parent of kernels and each of its kernels lock themselves in with."""

    def uid(self, slot: int) -> int | None:
        """Whom the kernel in *slot* becomes; None when it stays who the grader is."""

    def inner(self, place: Place) -> Place:
        """The same folder at the path by which a kernel sees it."""

    def group(self, name: str, limits: Limits) -> Group | None:
        """A control group with the limits for one kernel; None where there are none."""

    @property
    def bounded(self) -> bool:
        """Whether all files of a kernel together have a limit."""

    def rlimits(self, limits: Limits, device: str = "cpu") -> Mapping[str, int]:
        """Resource limits by their name in `resource`, set in the kernel before anything else."""

    def wrap(self, command: Sequence[str], place: Place) -> list[str]:
        """The command to run instead of *command*, so that it starts inside."""

    def environment(self, place: Place) -> Mapping[str, str]:
        """The whole environment of the kernel: nothing else is inherited."""


sandboxes: Registry[Sandbox] = Registry("sandbox", "grader.sandboxes")


@dataclass(frozen=True, slots=True)
class Chosen:
    """A sandbox, and how it came to be chosen."""

    mode: str
    name: str
    sandbox: Sandbox

    @property
    def warning(self) -> str | None:
        """What the person who runs it must know: what student code can do here, if anything."""
        missing = [layer for layer in WANTED if layer not in _present(self.sandbox)]
        if not missing:
            return None
        if len(missing) == len(WANTED):
            return (
                "student code runs without a wall, with your rights: it can read and change your "
                "files, other submissions and the grades, and reach the network; for notebooks "
                "that you trust only"
            )
        return (
            f"the wall lacks {', '.join(missing)} here; `grader doctor` says what that means and "
            "how to get it"
        )

    @property
    def bounded(self) -> bool:
        """Whether the scratch folder holds no more than its limit."""
        return self.sandbox.bounded

    def describe(self) -> dict[str, object]:
        """What goes into the evidence: the layers that were there, and those that were not."""
        layers = self.sandbox.layers()
        return {
            "mode": self.mode,
            "name": self.name,
            "layers": [layer.name for layer in layers if layer.present],
            "missing": [layer.name for layer in layers if not layer.present],
        }


def choose(mode: str) -> Chosen:
    """The sandbox for *mode*: `off`, `auto` (the strongest there is), `required`, or a name.

    `required` insists on every wanted layer, and `required:files,network` on those. Raises
    SetupError when no sandbox of this machine has them.
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
            f"'{unknown[0]}' is not a layer of a sandbox", fix="the layers: " + ", ".join(layers)
        )
    missing = [each for each in asked if not layers[each].present]
    if word == "required" and missing:
        whys = "; ".join(f"{each} ({layers[each].detail})" for each in missing)
        raise SetupError(
            "no sandbox on this machine has all layers that are asked for; missing: " + whys,
            fix="`grader doctor` says how to get them; --sandbox auto takes the strongest there is",
        )
    return Chosen(mode, name, sandbox)


def _strength(sandbox: Sandbox) -> tuple[int, int]:
    """The number of wanted layers, and then of all: a hundred others don't make up for one."""
    present = _present(sandbox)
    return len(present & WANTED.keys()), len(present)


def _present(sandbox: Sandbox) -> set[str]:
    return {layer.name for layer in sandbox.layers() if layer.present}
