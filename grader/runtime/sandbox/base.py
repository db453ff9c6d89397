"""The base class of sandboxes, and how one is chosen for this machine."""

from __future__ import annotations

import math
import os
import site
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.errors import SetupError
from grader.model import Limits
from grader.registry import Registry, suggest
from grader.runtime.sandbox.cgroups import ControlGroup
from grader.runtime.worker.plan import SandboxPlan

# The layers that `required` insists on, and what they provide.
WANTED: Mapping[str, str] = {
    "files": "a view of the file system without other people's files",
    "network": "a separate network without access to the outside",
    "processes": "separate process ids, so that no process can be signaled or left behind",
    "system-calls": "a filter that refuses system calls that notebooks do not need",
}


THREADS = 1
"""Threads of numerical libraries in one kernel; fixed, so that sums round the same everywhere."""

GIB = 2**30
WATCHED = (
    "a supervisor measures them at least ten times a second and ends a notebook that exceeds the "
    "limit; until then it can write more than the limit"
)
_THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)
# If core dumps are piped to a program, as on most desktops, Linux ignores every size limit, even 0.
# But 1 marks a crash of that program itself, and then nothing is started. A core file of at most
# one byte is too small to be written, so that none appears either.
_CORE = 1 if sys.platform == "linux" else 0
# Variables that an interpreter may need to find its libraries and devices; none of them contains a
# person's name, a token, or a folder of the grader.
_KEPT = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "CUDA_HOME", "CUDA_VISIBLE_DEVICES", "SYSTEMROOT")


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
class ScratchFolder:
    """The private folder of one kernel, removed after the kernel ends."""

    root: Path

    @property
    def home(self) -> Path:
        """The folder that is the kernel's HOME."""
        return self.root / "home"

    @property
    def work(self) -> Path:
        """The kernel's working folder."""
        return self.root / "work"

    @property
    def temporary(self) -> Path:
        """The folder for temporary files, the kernel's TMPDIR."""
        return self.root / "tmp"

    @property
    def subfolders(self) -> tuple[Path, ...]:
        """The folders to create before the kernel starts."""
        return (self.home, self.work, self.temporary, self.wire)

    @property
    def wire(self) -> Path:
        """The folder of the sockets between kernel and grader, and of the connection file."""
        return self.root / "wire"


class Sandbox:
    """Runs kernels as the grader's own user, in the same file system; the base of all sandboxes.

    A subclass of a plug-in overrides `layers` and `wrap`. The other methods serve the built-in
    Linux sandbox, whose fork server restricts itself and its kernels. Stateless: one object serves
    many kernels at the same time.
    """

    def layers(self) -> tuple[Layer, ...]:
        """Returns every layer, whether present on this machine or not; fast.

        Here: the layers that exist on every system, and all layers in WANTED as missing.
        """
        limited = sys.platform != "win32"
        watched = f" and removed afterward; {WATCHED}" if self.has_disk_quota else " and removed"
        return (
            Layer("environment", True, "no variable of the grader's environment is inherited"),
            Layer("scratch", True, f"home, working, and temporary folders are private{watched}"),
            Layer("rlimits", limited, "CPU time, memory, file size and open files are limited"),
            *(Layer(name, False, f"not available: {what}") for name, what in WANTED.items()),
        )

    def wrap(self, command: Sequence[str], place: ScratchFolder) -> list[str]:
        """Returns the command that starts *command* inside the sandbox.

        Inside, open files must be inherited, and the interpreter and the folder *place* must be at
        the same paths, the folder writable.
        """
        del place
        return list(command)

    def plan(self, device: str = "cpu", *, loopback: bool = False) -> SandboxPlan:
        """Returns the restrictions that a fork server and its kernels apply; here none."""
        del device, loopback
        return SandboxPlan(view=None, landlock=None, filter=None, drop=False, loopback=False)

    def uid_of(self, slot: int) -> int | None:
        """Returns the user id of the kernel in *slot*; None if it runs as the grader's user."""
        del slot
        return None

    def inner_folder(self, place: ScratchFolder) -> ScratchFolder:
        """Returns *place* by the path at which the kernel sees it."""
        return place

    def make_group(self, name: str, limits: Limits) -> ControlGroup | None:
        """Returns a control group with *limits*; None if the kernel's supervisor counts instead."""
        del name, limits
        return None

    @property
    def has_disk_quota(self) -> bool:
        """Whether the total size of a kernel's files is limited; here a supervisor measures it."""
        return sys.platform == "linux"

    @property
    def has_shared_memory(self) -> bool:
        """Whether kernels can create shared memory, which the locks of multiprocessing need."""
        return True

    def rlimits(self, limits: Limits, device: str = "cpu") -> Mapping[str, int]:
        """Returns resource limits by name in the module `resource`; the kernel sets them first.

        Among them CPU time, as a backstop for the wall clock, and memory if it is limited.
        Processes are not limited, since the system counts them per user, not per notebook.
        """
        resource_limits = {
            "RLIMIT_CORE": _CORE,
            "RLIMIT_CPU": math.ceil(limits.notebook_seconds) * (os.cpu_count() or 1) + 60,
            "RLIMIT_FSIZE": min(GIB, limits.scratch_bytes),
            "RLIMIT_NOFILE": 1024,
        }
        if limits.memory_bytes is not None and device == "cpu":
            # Not RLIMIT_AS: torch reserves far more addresses than it ever uses, and CUDA even
            # more.
            resource_limits["RLIMIT_DATA"] = limits.memory_bytes
        return resource_limits

    def environment(self, place: ScratchFolder) -> Mapping[str, str]:
        """Returns the kernel's complete environment; nothing else is inherited."""
        kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
        if site.ENABLE_USER_SITE:  # a new HOME would hide packages installed with --user
            kept["PYTHONUSERBASE"] = site.getuserbase()
        windows = sys.platform == "win32"
        return {
            **kept,
            **dict.fromkeys(_THREAD_VARIABLES, str(THREADS)),
            "PATH": os.pathsep.join((str(Path(sys.executable).parent), os.defpath)),
            **dict.fromkeys(("USERPROFILE", "APPDATA") if windows else ("HOME",), str(place.home)),
            **dict.fromkeys(("TEMP", "TMP") if windows else ("TMPDIR",), str(place.temporary)),
            "IPYTHONDIR": str(place.home / ".ipython"),
            "LANG": "C.UTF-8",
            "TZ": "UTC",
            "PYTHONHASHSEED": "0",
            "MPLBACKEND": "module://matplotlib_inline.backend_inline",
            "PYDEVD_DISABLE_FILE_VALIDATION": "1",
        }


sandboxes: Registry[Sandbox] = Registry("sandbox", "grader.sandboxes")
sandboxes.add("off")(Sandbox())


@dataclass(frozen=True, slots=True)
class SandboxChoice:
    """A sandbox, and the mode by which it was chosen."""

    mode: str
    name: str
    sandbox: Sandbox

    @property
    def warning(self) -> str | None:
        """What student code can do here because layers are missing; None if none is."""
        missing = [layer for layer in WANTED if layer not in _present_layers(self.sandbox)]
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

    def describe(self) -> dict[str, object]:
        """Returns the entry for the evidence: present and missing layers."""
        layers = self.sandbox.layers()
        return {
            "mode": self.mode,
            "name": self.name,
            "layers": [layer.name for layer in layers if layer.present],
            "missing": [layer.name for layer in layers if not layer.present],
        }


def choose_sandbox(mode: str) -> SandboxChoice:
    """Returns the sandbox for *mode*: `off`, `auto` (the strongest), `required`, or a name.

    `required` insists on every layer in WANTED, `required:files,network` on those two. Raises
    SetupError if no sandbox on this machine has them.
    """
    word, _, listed = mode.partition(":")
    if word not in ("auto", "required") or (listed and word == "auto"):
        if mode not in sandboxes:
            modes = ("auto", "required", *sandboxes)
            fix = suggest(
                word, modes, "use auto, required, off, or the name of a plug-in's sandbox"
            )
            raise SetupError(f"'{mode}' is not a mode of --sandbox", fix=fix)
        return SandboxChoice(mode, mode, sandboxes.find(mode))
    name = max(sandboxes, key=lambda name: _count_layers(sandboxes.find(name)))
    sandbox = sandboxes.find(name)
    layers = {layer.name: layer for layer in sandbox.layers()}
    requested = [each.strip() for each in listed.split(",")] if listed else list(WANTED)
    unknown = [each for each in requested if each not in layers]
    if word == "required" and unknown:
        raise SetupError(
            f"'{unknown[0]}' is not a sandbox layer",
            fix=suggest(unknown[0], layers, "use one of: " + ", ".join(layers)),
        )
    missing = [each for each in requested if not layers[each].present]
    if word == "required" and missing:
        whys = "; ".join(f"{each} ({layers[each].detail})" for each in missing)
        raise SetupError(
            "no sandbox on this machine has all the requested layers; missing: " + whys,
            fix="`grader doctor` says how to enable them; --sandbox auto uses what is available",
        )
    return SandboxChoice(mode, name, sandbox)


def _count_layers(sandbox: Sandbox) -> tuple[int, int]:
    """Returns the number of present layers in WANTED, then of all, as a key to compare."""
    present = _present_layers(sandbox)
    return len(present & WANTED.keys()), len(present)


def _present_layers(sandbox: Sandbox) -> set[str]:
    return {layer.name for layer in sandbox.layers() if layer.present}
