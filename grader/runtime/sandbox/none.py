"""No wall: a clean environment, a private folder and resource limits, for notebooks you trust."""

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
"""Of numerical libraries in one kernel; fixed, so that sums round the same way everywhere."""

GIB = 2**30
WATCHED = (
    "a guard measures them ten times a second or more, and ends a notebook that holds more than "
    "the limit; what it writes before that comes on top"
)
_THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)
# Where memory of the dead goes to a program, as on most desktops, Linux heeds no limit on its size,
# not even 0; but 1 is how it knows such a program's own crash, and then nothing is started. Of a
# file one byte is less than the least there is to write, so there is none either.
_CORE = 1 if sys.platform == "linux" else 0
# What an interpreter may need to find its libraries and its devices, and nothing that names a
# person, a token or a folder of the grader.
_KEPT = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "CUDA_HOME", "CUDA_VISIBLE_DEVICES", "SYSTEMROOT")


class Bare:
    """The same user and the same file system as the grader's own."""

    def layers(self) -> tuple[Layer, ...]:
        """What is here everywhere, and all that is wanted and missing."""
        limited = sys.platform != "win32"
        watched = f" and removed; {WATCHED}" if self.bounded else " and removed"
        return (
            Layer("environment", True, "no variable of the grader's environment is inherited"),
            Layer("scratch", True, f"home, working and temporary folder are private{watched}"),
            Layer("rlimits", limited, "CPU time, memory, file size and open files are limited"),
            *(Layer(name, False, f"not there: {what}") for name, what in WANTED.items()),
        )

    def plan(self, device: str = "cpu", *, loopback: bool = False) -> Plan:
        """Nothing."""
        del device, loopback
        return Plan(
            namespaces=[], view=None, fence=None, filter=None, asked={}, drop=False, loopback=False
        )

    def uid(self, slot: int) -> int | None:
        """The grader's own user."""
        del slot
        return None

    def inner(self, place: Place) -> Place:
        """The same."""
        return place

    def group(self, name: str, limits: Limits) -> Group | None:
        """None; the guard counts."""
        del name, limits
        return None

    @property
    def bounded(self) -> bool:
        """Where a guard looks after them."""
        return sys.platform == "linux"

    def rlimits(self, limits: Limits, device: str = "cpu") -> Mapping[str, int]:
        """CPU time as a last resort behind the wall clock; memory where a limit is given.

        Processes are not limited: the system counts them by user, not by notebook.
        """
        found = {
            "RLIMIT_CORE": _CORE,
            "RLIMIT_CPU": math.ceil(limits.notebook_seconds) * (os.cpu_count() or 1) + 60,
            "RLIMIT_FSIZE": min(GIB, limits.scratch_bytes),
            "RLIMIT_NOFILE": 1024,
        }
        if limits.memory_bytes is not None and device == "cpu":
            # Not RLIMIT_AS: torch reserves far more addresses than it ever uses, and CUDA more
            # of both.
            found["RLIMIT_DATA"] = limits.memory_bytes
        return found

    def wrap(self, command: Sequence[str], place: Place) -> list[str]:
        """The command as it is."""
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
    """Where home and temporary files are, in the variables that this system looks at."""
    home, temporary = str(place.home), str(place.temporary)
    if sys.platform == "win32":
        return {"USERPROFILE": home, "APPDATA": home, "TEMP": temporary, "TMP": temporary}
    return {"HOME": home, "TMPDIR": temporary}


sandboxes.add("off")(Bare())
