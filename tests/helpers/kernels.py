"""Processes and folders of kernels, looked at from outside of the wall."""

from __future__ import annotations

import contextlib
import secrets
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from grader.model import Limits

Started = Callable[[str], "subprocess.Popen[str]"]
"""Starts a process that runs some code; see the fixture `started`."""
WAIT = """
print("ready", flush=True)
sys.stdin.read()
"""
"""End of the code of such a process: it says that it is ready and waits to be ended."""
LONG = Limits(cell_seconds=60, notebook_seconds=60)
WAYS: dict[str, dict[str, Any]] = {
    "wall": {},
    "fork": {"sandbox": "off"},
    "cold": {"sandbox": "off", "kernel": "cold"},
}
"""How a notebook may be run here, as keyword arguments of `notebooks.run`."""
if sys.platform != "linux":
    WAYS = {"cold": WAYS["cold"]}

# A cold kernel costs a second or two, and where there are warm ones it is seldom used.
_COLD = pytest.mark.slow if sys.platform == "linux" else ()
EVERY_WAY = pytest.mark.parametrize(
    "way",
    [
        pytest.param(way, id=name, marks=_COLD if name == "cold" else ())
        for name, way in WAYS.items()
    ],
)
EVERY_KERNEL = pytest.mark.parametrize(
    "kernel",
    [*(["warm"] if sys.platform == "linux" else []), pytest.param("cold", marks=_COLD)],
)

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="other systems don't tell enough")


def until(holds: Callable[[], bool], seconds: float = 5.0) -> bool:
    """Whether *holds* comes true in time."""
    end = time.monotonic() + seconds
    while not (held := holds()) and time.monotonic() < end:
        time.sleep(0.02)
    return held


class Mark:
    """What no other process of this machine has in its command line or as its name.

    Numbers of processes mean nothing on the other side of a wall, but these can be seen.
    """

    def __init__(self) -> None:
        self.name = "t" + secrets.token_hex(6)  # the system keeps 15 characters
        self.argument = f"4711.{secrets.randbelow(10**9):09}"

    @property
    def command(self) -> str:
        """Source of a command that does nothing for more than an hour."""
        return f"['sleep', '{self.argument}']"

    @property
    def on_this_process(self) -> str:
        """Source of a statement that gives the mark to the process that runs it."""
        return f"import ctypes; ctypes.CDLL(None).prctl(15, b'{self.name}', 0, 0, 0)"

    def processes(self) -> list[int]:
        """The numbers, out here, of those that have the mark and are no zombies."""
        return [int(path.name) for path in Path("/proc").glob("[0-9]*") if self._on(path)]

    def _on(self, process: Path) -> bool:
        try:
            command = (process / "cmdline").read_bytes().decode("utf-8", "replace")
            status = (process / "stat").read_text(errors="replace")
        except OSError:  # it has ended meanwhile
            return False
        name, _, rest = status.partition("(")[2].rpartition(")")
        named = name == self.name or self.argument in command.split("\0")
        return named and rest.split()[0] != "Z"

    def is_gone(self, seconds: float = 5.0) -> bool:
        """Whether no process has the mark any more, or soon has not."""
        return until(lambda: not self.processes(), seconds)


def with_children(pids: Iterable[int]) -> list[int]:
    """Processes, and all that they have started, as far as it still runs."""
    found = list(pids)
    for pid in found:
        for path in Path(f"/proc/{pid}/task").glob("*/children"):
            with contextlib.suppress(OSError):  # it has just ended
                found += map(int, path.read_text().split())
    return found
