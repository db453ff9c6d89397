"""What can't be tried on this machine, and what keeps a notebook from suffering by that.

A machine may lack a GPU, or a package that a part needs. Then the part is put off. The rest of the
notebook must not pay for it: an `import` of the missing package at the top of a cell would end
the cell, and with it whatever else the cell defines.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from grader.model import Trial, packages


def waits_for(trial: Trial, device: str) -> str:
    """The device or the package that *trial* has to wait for; empty when it can be made here."""
    if trial.device not in ("cpu", device):
        return trial.device
    return next(iter(packages.missing(trial.needs)), "")


def standing_in(trials: Iterable[Trial]) -> Sequence[str]:
    """Sources to run before the first cell: imports of what is missing here no longer raise."""
    names = dict.fromkeys(name for trial in trials for name in packages.missing(trial.needs))
    modules = sorted(packages.PACKAGES[name].module for name in names)
    return [_STANDS_IN.format(modules=modules)] if modules else []


# Only what the notebook itself imports: torch asks for Triton too, and must not find it. What
# stands in has every attribute; kernels are decorated and annotated with it, to compute raises.
_STANDS_IN = """\
def _stands_in(modules):
    import builtins
    import types

    usual = builtins.__import__

    class MissingPackageError(ImportError):
        pass

    class Nothing:
        def __init__(self, name):
            self.__name__ = name

        def __getattr__(self, name):
            if name.startswith("__"):
                raise AttributeError(name)
            return Nothing(self.__name__ + "." + name)

        def __call__(self, *arguments, **named):
            if arguments and isinstance(arguments[0], types.FunctionType):
                return arguments[0]  # a decorator, such as triton.jit
            if self.__name__.split(".")[-1] in ("jit", "autotune", "heuristics", "Config"):
                return self
            raise MissingPackageError(self.__name__ + " can't run: it is not installed here")

        def __getitem__(self, key):
            return self

    class Module(types.ModuleType):
        def __getattr__(self, name):
            if name.startswith("__"):
                raise AttributeError(name)
            return Nothing(self.__name__ + "." + name)

    made = {{}}

    def module(name):
        if name not in made:
            made[name] = Module(name)
            if "." in name:
                above, _, last = name.rpartition(".")
                setattr(module(above), last, made[name])
        return made[name]

    def imported(name, globals=None, locals=None, fromlist=(), level=0):
        first = name.split(".")[0]
        if level or first not in modules or (globals or {{}}).get("__name__") != "__main__":
            return usual(name, globals, locals, fromlist, level)
        found = module(name)
        if fromlist and "*" in fromlist:
            found.__all__ = []
        return found if fromlist else module(first)

    builtins.__import__ = imported


_stands_in({modules!r})
del _stands_in
"""
