"""A stand-in for `torch._dynamo`, for notebooks and solutions that do not use torch's compiler."""

from __future__ import annotations

import importlib
import sys
import types
from typing import Any

_DYNAMO = "torch._dynamo"


class _DeferredDynamo(types.ModuleType):
    """Stands in for `torch._dynamo`, whose import takes longer than that of torch itself.

    Optimizers and process groups import it for a few functions that do nothing unless code is being
    compiled. Anything else that is looked up here, including a submodule, imports the real module.
    """

    def __init__(self, name: str):
        super().__init__(name)
        self.trace_rules = _DeferredTraceRules()

    def graph_break(self, msg: str = "") -> None:
        """Does nothing, as outside of compiled code."""

    def disable(self, fn: Any = None, *_: Any, **__: Any) -> Any:
        """Returns *fn*, or a decorator that returns its function."""
        return (lambda function: function) if fn is None else fn

    def __getattr__(self, name: str) -> Any:
        if name in ("__file__", "__wrapped__", "__warningregistry__"):  # for inspection only
            raise AttributeError(name)
        return getattr(import_dynamo(), name)


class _DeferredTraceRules:
    """Stands in for `torch._dynamo.trace_rules`, whose cache every new process group clears."""

    def clear_lru_cache(self) -> None:
        """Does nothing, since nothing has been compiled."""

    def __getattr__(self, name: str) -> Any:
        return getattr(import_dynamo().trace_rules, name)


def import_dynamo() -> types.ModuleType:
    """Imports `torch._dynamo`, in place of its stand-in if there is one, and returns it."""
    if isinstance(sys.modules.get(_DYNAMO), _DeferredDynamo):
        del sys.modules[_DYNAMO]
        vars(sys.modules["torch"]).pop("_dynamo", None)
    return importlib.import_module(_DYNAMO)


def defer_dynamo() -> None:
    """Lets torch's optimizers run without importing `torch._dynamo`, unless it is loaded."""
    if "torch" in sys.modules and _DYNAMO not in sys.modules:
        stand_in = _DeferredDynamo(_DYNAMO)
        sys.modules[_DYNAMO] = stand_in
        vars(sys.modules["torch"])["_dynamo"] = stand_in
