"""Start of a cold kernel's process: sets resource limits and seeds, then runs ipykernel.

The text of this module is the kernel's command line, so it imports nothing from `grader`. The first
argument is JSON: `{"rlimits": {"RLIMIT_CPU": 660}, "seed": 0}`; the rest is for ipykernel.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any

# Maps a module to the function that seeds it.
_SEEDED: dict[str, Callable[[Any, int], Any]] = {
    "numpy.random": lambda module, seed: module.seed(seed),
    "torch": lambda module, seed: module.manual_seed(seed),
}


class SeedOnImport:
    """Seeds numpy.random and torch when they are first imported.

    Importing them here would cost every notebook a second that most don't need.
    """

    def __init__(self, seed: int):
        self._seed = seed % 2**32
        self._waiting = set(_SEEDED)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """The spec that the other finders return, with seeding added after loading."""
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
            if name in self._waiting:  # before this, the module may only have been searched for
                self._waiting.discard(name)
                _SEEDED[name](module, self._seed)

        loader.exec_module = exec_module


def limit(rlimits: Mapping[str, int]) -> None:
    """Sets the resource limits that the system supports on this process."""
    if sys.platform == "win32":
        return
    import resource

    for name, wanted in rlimits.items():
        kind = getattr(resource, name, None)
        if kind is None:
            continue
        hard = resource.getrlimit(kind)[1]
        # At the soft CPU limit the process gets SIGXCPU, which names the cause; at the hard limit
        # it is killed.
        last = wanted + (5 if name == "RLIMIT_CPU" else 0)
        most = last if hard == resource.RLIM_INFINITY else min(last, hard)
        resource.setrlimit(kind, (min(wanted, most), most))


def main() -> None:
    """Becomes an ipykernel."""
    settings = json.loads(sys.argv[1])
    os.umask(0o077)
    limit(settings["rlimits"])
    sys.meta_path.insert(0, SeedOnImport(settings["seed"]))
    sys.argv = ["ipykernel_launcher", *sys.argv[2:]]
    if sys.path[0] == "":  # so that a student's file can't shadow a library
        del sys.path[0]
    from ipykernel import kernelapp

    kernelapp.launch_new_instance()


if __name__ == "__main__":
    main()
