"""Compares the environments of a cluster's workers with this one."""

from __future__ import annotations

import platform
from importlib import metadata
from typing import Any

from grader.errors import SetupError

_COMPARED = ("systems-grader", "numpy", "torch")


def describe_environment() -> dict[str, str]:
    """Returns the versions on which the evidence of a notebook may depend; "" for what is missing.

    A worker's release of Python counts without its last number, since a task can't be sent from
    one minor version to another.
    """
    found = {"Python": ".".join(platform.python_version_tuple()[:2])}
    for name in _COMPARED:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = ""
    return found


_wanted_environment = describe_environment


def check_workers(client: Any) -> None:
    """Raises SetupError if a worker has other versions than this process, and names them all."""
    wanted = _wanted_environment()
    lines = []
    for address, found in sorted(client.run(describe_environment, on_error="return").items()):
        if not isinstance(found, dict):
            lines.append(f"  {address}: can't import the grader ({type(found).__name__})")
            continue
        differing = [
            f"{name} {found.get(name) or 'missing'} instead of {version or 'none'}"
            for name, version in wanted.items()
            if found.get(name, "") != version
        ]
        if differing:
            lines.append(f"  {address}: {', '.join(differing)}")
    if lines:
        raise SetupError(
            "the cluster's workers differ from this machine:\n" + "\n".join(lines),
            fix="install the same versions everywhere, and start the workers again",
        )
