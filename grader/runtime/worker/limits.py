"""Resource limits, random seeds, and a description of this process.

The text of this module is also part of a cold kernel's command line: standard library only.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Mapping
from typing import Any

if sys.platform != "win32":
    import resource

_SLACK_SECONDS = 5


def set_limits(rlimits: Mapping[str, int]) -> None:
    """Sets the resource limits that the system supports on this process."""
    if sys.platform == "win32":
        return
    for name, wanted in rlimits.items():
        kind = getattr(resource, name, None)
        if kind is None:
            continue
        hard = resource.getrlimit(kind)[1]
        # At the soft CPU limit the process gets SIGXCPU, which names the cause; at the hard limit
        # it is killed.
        hard_wanted = wanted + (_SLACK_SECONDS if name == "RLIMIT_CPU" else 0)
        hard_limit = hard_wanted if hard == resource.RLIM_INFINITY else min(hard_wanted, hard)
        resource.setrlimit(kind, (min(wanted, hard_limit), hard_limit))


def raise_file_limit() -> None:
    """Raises the limit on open files of this process as far as allowed.

    Linux compares this limit with the number of a user's files that are being sent between
    processes. A notebook may keep as many there as its own limit allows, which must not prevent
    the grader from sending files.
    """
    if sys.platform == "win32":
        return
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def describe_environment() -> dict[str, object]:
    """Returns interpreter, platform, and packages. Its text is also run in cold kernels."""
    import contextlib
    import importlib.metadata
    import platform
    import sys

    packages = {}
    for name in ("ipykernel", "ipython", "numpy", "torch"):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            packages[name] = importlib.metadata.version(name)
    return {
        "python": platform.python_version(),
        "packages": packages,
        "platform": f"{sys.platform}-{platform.machine()}",
    }


# Maps a module to the name of its function that seeds it.
_SEEDED = {"random": "seed", "numpy.random": "seed", "torch": "manual_seed"}


def seed_all(seed: int) -> None:
    """Seeds random, numpy, and torch: now if they are loaded, else when they are imported."""
    waiting = set()
    for name, function in _SEEDED.items():
        if name in sys.modules:
            # Seeding torch's other devices takes milliseconds; the fork server has done it.
            module = getattr(sys.modules[name], "default_generator", sys.modules[name])
            getattr(module, function)(seed % 2**32)
        else:
            waiting.add(name)
    if waiting:
        sys.meta_path.insert(0, _SeedOnImport(waiting, seed % 2**32))


class _SeedOnImport:
    """Seeds modules when they are first imported."""

    def __init__(self, waiting: set[str], seed: int):
        self._seed = seed
        self._waiting = waiting

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Returns the spec of the other finders, with seeding added after loading."""
        if name not in self._waiting:
            return None
        others = (finder for finder in sys.meta_path if finder is not self)
        specs = (finder.find_spec(name, path, target) for finder in others)
        spec = next((spec for spec in specs if spec is not None), None)
        if spec is not None and spec.loader is not None:
            self._seed_after_loading(spec.loader, name)
        return spec

    def _seed_after_loading(self, loader: Any, name: str) -> None:
        """Makes *loader* seed the module *name* once it has first loaded it."""
        load = loader.exec_module

        def exec_module(module: Any) -> None:
            load(module)
            if name in self._waiting:  # before this, the module may only have been searched for
                self._waiting.discard(name)
                getattr(module, _SEEDED[name])(self._seed)

        loader.exec_module = exec_module
