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
SECONDS = 120.0

_END = 300
"""Characters kept of the last printed line."""


def probe_features(settings: Mapping[str, object]) -> Mapping[str, str | None]:
    """Returns why each feature is missing, tested with *settings*; None for those available.

    Raises SetupError if that can't be determined.
    """
    command = [sys.executable, "-P", "-m", MODULE]
    environment = {**os.environ, **package_path_variables()}
    if "PYTHONPATH" in os.environ and package_path_variables():
        environment["PYTHONPATH"] += os.pathsep + os.environ["PYTHONPATH"]
    try:
        process = subprocess.run(  # noqa: S603
            command,
            check=False,
            input=json.dumps(settings).encode(),
            capture_output=True,
            timeout=SECONDS,
            env=environment,
        )
        reasons = json.loads(process.stdout) if process.returncode == 0 else None
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        raise _probe_error(str(error), command) from error
    if not isinstance(reasons, dict):
        printed = process.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise _probe_error(f"exit status {process.returncode}, {printed[-_END:]}", command)
    return reasons


def package_path_variables() -> dict[str, str]:
    """Returns variables with which a new interpreter finds this package if not installed."""
    root = str(PACKAGE.parent)
    return {"PYTHONPATH": root} if root in map(os.path.abspath, sys.path) else {}


def _probe_error(why: str, command: list[str]) -> SetupError:
    return SetupError(
        f"the sandbox layers could not be tested: {why}",
        where=MODULE,
        fix=f"run `{' '.join(command)} < /dev/null` to see the error; "
        "--sandbox off grades without isolation (only for notebooks that you trust)",
    )
