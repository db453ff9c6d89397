"""Resource limits of this process, and the seeds of what it calls random."""

from __future__ import annotations

import contextlib
import resource
import sys
from collections.abc import Callable, Mapping
from typing import Any

FILES = "RLIMIT_NOFILE"
_SLACK_SECONDS = 5


def limit(rlimits: Mapping[str, int]) -> None:
    """Sets resource limits on this process, as far as the system knows them."""
    for name, wanted in rlimits.items():
        kind = getattr(resource, name, None)
        if kind is None:
            continue
        hard = resource.getrlimit(kind)[1]
        # The CPU limit warns at the soft limit, which names the signal, and kills at the hard one.
        last = wanted + (_SLACK_SECONDS if name == "RLIMIT_CPU" else 0)
        most = last if hard == resource.RLIM_INFINITY else min(last, hard)
        resource.setrlimit(kind, (min(wanted, most), most))


def raise_files() -> None:
    """Lets this process have as many open files as it may have at all.

    Where somebody sends an open file to another process, Linux holds this limit against all files
    of the same user that are on their way. A notebook may keep as many there as its own limit
    allows, which must not keep ours from being sent.
    """
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


# Module to what seeds it.
_SEEDED: dict[str, Callable[[Any, int], Any]] = {
    "random": lambda module, seed: module.seed(seed),
    "numpy.random": lambda module, seed: module.seed(seed),
    "torch": lambda module, seed: module.manual_seed(seed),
}


def seed_all(seed: int) -> None:
    """Seeds random, numpy and torch: now where they are loaded, else when they are imported."""
    waiting = set(_SEEDED)
    for name, plant in _SEEDED.items():
        if name in sys.modules:
            waiting.discard(name)
            module = sys.modules[name]
            # What torch does for other devices takes milliseconds, and a parent has done it.
            plant(getattr(module, "default_generator", module), seed % 2**32)
    if waiting:
        sys.meta_path.insert(0, _SeedOnImport(waiting, seed % 2**32))


class _SeedOnImport:
    """Finds what is to be seeded when it is first imported, and seeds it then."""

    def __init__(self, waiting: set[str], seed: int):
        self._seed = seed
        self._waiting = waiting

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """The spec that the other finders give, with the seeding after it has loaded."""
        if name not in self._waiting:
            return None
        others = (finder for finder in sys.meta_path if finder is not self)
        for finder in others:
            spec = finder.find_spec(name, path, target)
            if spec is not None and spec.loader is not None:
                self._after(spec.loader, name)
                return spec
        return None

    def _after(self, loader: Any, name: str) -> None:
        load = loader.exec_module

        def exec_module(module: Any) -> None:
            load(module)
            if name in self._waiting:  # until here it may only have been looked for
                self._waiting.discard(name)
                _SEEDED[name](module, self._seed)

        loader.exec_module = exec_module
