"""Trying layers of this machine in a process of its own; see `grader.runtime.worker.feature_probe`.

That a layer is missing is what such a process finds. When it fails itself, nothing is known of any
layer, and nobody is to run student code as if none were there.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping

from grader.errors import SetupError
from grader.files import PACKAGE

MODULE = "grader.runtime.worker.feature_probe"
SECONDS = (30.0, 120.0)
"""For the first time that it is tried, and for another, when the machine had stood still."""

_END = 300
"""Characters of what was printed last."""
_FIX = "see what `{command}` says; --sandbox off grades without a wall, for what you trust only"
_FIX_LATE = "try again when less runs here; --sandbox off grades without a wall, for what you trust"


def surveyed(asked: Mapping[str, object]) -> Mapping[str, str | None]:
    """What is missing of what is asked for, with the reason; None for what is there.

    Raises SetupError when that can't be found out.
    """
    data = json.dumps(asked).encode()
    for seconds in SECONDS:
        try:
            return _said(data, seconds)
        except subprocess.TimeoutExpired:
            continue
        except subprocess.CalledProcessError as error:
            raise _untried(f"{_how(error.returncode)}{_end(error.stderr)}", _FIX) from error
        except (OSError, ValueError) as error:
            raise _untried(str(error) or type(error).__name__, _FIX) from error
    raise _untried(f"it took longer than {SECONDS[-1]:g} s", _FIX_LATE)


def on_path() -> dict[str, str]:
    """Where a new interpreter finds this package when it is not installed but lies on the path."""
    root = str(PACKAGE.parent)
    return {"PYTHONPATH": root} if root in map(os.path.abspath, sys.path) else {}


def _said(data: bytes, seconds: float) -> Mapping[str, str | None]:
    environment = {**os.environ, **on_path()}
    if "PYTHONPATH" in os.environ and on_path():
        environment["PYTHONPATH"] += os.pathsep + os.environ["PYTHONPATH"]
    done = subprocess.run(  # noqa: S603
        _command(), input=data, capture_output=True, timeout=seconds, check=True, env=environment
    )
    found = json.loads(done.stdout)
    if not isinstance(found, dict):
        raise ValueError("it said nothing of any layer")
    return found


def _command() -> list[str]:
    return [sys.executable, "-P", "-m", MODULE]


def _untried(why: str, fix: str) -> SetupError:
    return SetupError(
        f"the layers of the sandbox could not be tried: {why}",
        where=MODULE,
        fix=fix.format(command=" ".join([*_command(), "< /dev/null"])),
    )


def _how(status: int) -> str:
    return f"exit status {status}" if status >= 0 else f"signal {-status}"


def _end(printed: bytes | None) -> str:
    """The last line of what was printed, where Python says what is wrong."""
    lines = (printed or b"").decode("utf-8", "replace").split("\n")
    last = next((line.strip() for line in reversed(lines) if line.strip()), "")
    return f", {last[-_END:]}" if last else ""
