"""Tests sandbox layers in a separate process; see `grader.runtime.worker.feature_probe`.

That process reports which layers are missing. If it fails itself, nothing is known about any layer,
and student code must not run as if none were available.
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
"""For the first attempt, and for a second one in case the machine had stalled."""

_END = 300
"""Characters kept of the last printed line."""
_OFF = "--sandbox off grades without isolation (only for notebooks that you trust)"
_FIX = f"run `{{command}}` to see the error; {_OFF}"
_FIX_LATE = f"try again when the machine is less busy; {_OFF}"


def probe_features(asked: Mapping[str, object]) -> Mapping[str, str | None]:
    """Returns why each of the *asked* features is missing; None if it is available.

    Raises SetupError if that can't be determined.
    """
    data = json.dumps(asked).encode()
    for seconds in SECONDS:
        try:
            return _run_probe(data, seconds)
        except subprocess.TimeoutExpired:
            continue
        except subprocess.CalledProcessError as error:
            raise _probe_error(
                f"{_describe_status(error.returncode)}{_last_line(error.stderr)}", _FIX
            ) from error
        except (OSError, ValueError) as error:
            raise _probe_error(str(error) or type(error).__name__, _FIX) from error
    raise _probe_error(f"it took longer than {SECONDS[-1]:g} s", _FIX_LATE)


def package_path_variables() -> dict[str, str]:
    """Returns variables with which a new interpreter finds this package if not installed."""
    root = str(PACKAGE.parent)
    return {"PYTHONPATH": root} if root in map(os.path.abspath, sys.path) else {}


def _run_probe(data: bytes, seconds: float) -> Mapping[str, str | None]:
    environment = {**os.environ, **package_path_variables()}
    if "PYTHONPATH" in os.environ and package_path_variables():
        environment["PYTHONPATH"] += os.pathsep + os.environ["PYTHONPATH"]
    done = subprocess.run(  # noqa: S603
        _command(), input=data, capture_output=True, timeout=seconds, check=True, env=environment
    )
    found = json.loads(done.stdout)
    if not isinstance(found, dict):
        raise ValueError("it reported no layer")
    return found


def _command() -> list[str]:
    return [sys.executable, "-P", "-m", MODULE]


def _probe_error(why: str, fix: str) -> SetupError:
    return SetupError(
        f"the sandbox layers could not be tested: {why}",
        where=MODULE,
        fix=fix.format(command=" ".join([*_command(), "< /dev/null"])),
    )


def _describe_status(status: int) -> str:
    return f"exit status {status}" if status >= 0 else f"signal {-status}"


def _last_line(printed: bytes | None) -> str:
    """Returns the last printed line, which holds Python's error message."""
    lines = (printed or b"").decode("utf-8", "replace").split("\n")
    last = next((line.strip() for line in reversed(lines) if line.strip()), "")
    return f", {last[-_END:]}" if last else ""
