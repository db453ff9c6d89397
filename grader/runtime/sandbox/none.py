"""No isolation: only a clean environment, a private folder and resource limits."""

from __future__ import annotations

import math
import os
import site
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from grader.model import Limits
from grader.runtime.sandbox.base import WANTED, Layer, Place, sandboxes
from grader.runtime.sandbox.cgroups import Group
from grader.runtime.worker.plan import Plan

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
# Variables that an interpreter may need to find its libraries and devices; none of them names a
# person, a token or a folder of the grader.
_KEPT = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "CUDA_HOME", "CUDA_VISIBLE_DEVICES", "SYSTEMROOT")


class NoSandbox:
    """Runs kernels as the grader's own user, in the same file system."""

    def layers(self) -> tuple[Layer, ...]:
        """The layers that exist on every system, and all layers in WANTED as missing."""
        limited = sys.platform != "win32"
        watched = f" and removed afterwards; {WATCHED}" if self.bounded else " and removed"
        return (
            Layer("environment", True, "no variable of the grader's environment is inherited"),
            Layer("scratch", True, f"home, working and temporary folders are private{watched}"),
            Layer("rlimits", limited, "CPU time, memory, file size and open files are limited"),
            *(Layer(name, False, f"not available: {what}") for name, what in WANTED.items()),
        )

    def plan(self, device: str = "cpu", *, loopback: bool = False) -> Plan:
        """A plan without any layer."""
        del device, loopback
        return Plan(
            namespaces=[], view=None, fence=None, filter=None, asked={}, drop=False, loopback=False
        )

    def uid(self, slot: int) -> int | None:
        """None: the kernel runs as the grader's user."""
        del slot
        return None

    def inner(self, place: Place) -> Place:
        """*place* unchanged."""
        return place

    def group(self, name: str, limits: Limits) -> Group | None:
        """None: the supervisor counts instead."""
        del name, limits
        return None

    @property
    def bounded(self) -> bool:
        """Whether kernels have a supervisor, which measures their files."""
        return sys.platform == "linux"

    def rlimits(self, limits: Limits, device: str = "cpu") -> Mapping[str, int]:
        """CPU time, as a backstop for the wall clock, and memory if it is limited.

        Processes are not limited, since the system counts them per user, not per notebook.
        """
        found = {
            "RLIMIT_CORE": _CORE,
            "RLIMIT_CPU": math.ceil(limits.notebook_seconds) * (os.cpu_count() or 1) + 60,
            "RLIMIT_FSIZE": min(GIB, limits.scratch_bytes),
            "RLIMIT_NOFILE": 1024,
        }
        if limits.memory_bytes is not None and device == "cpu":
            # Not RLIMIT_AS: torch reserves far more addresses than it ever uses, and CUDA even
            # more.
            found["RLIMIT_DATA"] = limits.memory_bytes
        return found

    def wrap(self, command: Sequence[str], place: Place) -> list[str]:
        """*command* unchanged."""
        del place
        return list(command)

    def environment(self, place: Place) -> Mapping[str, str]:
        """Paths inside *place*, a fixed hash seed, fixed threads, UTC and UTF-8."""
        kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
        if site.ENABLE_USER_SITE:  # a new HOME would hide packages installed with --user
            kept["PYTHONUSERBASE"] = site.getuserbase()
        return {
            **kept,
            **dict.fromkeys(_THREAD_VARIABLES, str(THREADS)),
            "PATH": os.pathsep.join((str(Path(sys.executable).parent), os.defpath)),
            **_folders(place),
            "IPYTHONDIR": str(place.home / ".ipython"),
            "LANG": "C.UTF-8",
            "TZ": "UTC",
            "PYTHONHASHSEED": "0",
            "MPLBACKEND": "module://matplotlib_inline.backend_inline",
            "PYDEVD_DISABLE_FILE_VALIDATION": "1",
        }


def _folders(place: Place) -> dict[str, str]:
    """The environment variables of this system for the home and temporary folders."""
    home, temporary = str(place.home), str(place.temporary)
    if sys.platform == "win32":
        return {"USERPROFILE": home, "APPDATA": home, "TEMP": temporary, "TMP": temporary}
    return {"HOME": home, "TMPDIR": temporary}


sandboxes.add("off")(NoSandbox())
