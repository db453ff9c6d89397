"""Makes torch fast to start: what is slow the first time runs before the fork, or not at all.

Torch creates kernels, tables, and wrappers when an operator first runs; all kernels share what ran
before the fork. It leaves no thread behind and no random state: seeds are set afterward.
"""

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


def run_operators(device: str) -> None:
    """Runs a little of what notebooks do with torch, on the CPU; never raises.

    Does nothing if *device* is a GPU: autograd would start threads for it, and then nothing could
    be forked.
    """
    if device != "cpu" or "torch" not in sys.modules:
        return
    try:
        _run_examples(sys.modules["torch"])
    except Exception:  # noqa: BLE001  # another version of torch: only the start is slower
        return


def _run_examples(torch: Any) -> None:
    """Trains a small model, and runs other operators that notebooks often use."""
    nn, functional = torch.nn, torch.nn.functional
    model = nn.Sequential(nn.Linear(8, 8), nn.GELU(), nn.LayerNorm(8), nn.Linear(8, 4))
    labels = torch.zeros(4, dtype=torch.long)
    for optimizer in (torch.optim.SGD, torch.optim.AdamW):
        steps = optimizer(model.parameters(), lr=0.1)
        steps.zero_grad()
        functional.cross_entropy(model(torch.randn(4, 8)), labels).backward()
        steps.step()
    with torch.no_grad():
        nn.Conv2d(3, 4, 3, padding=1)(torch.randn(1, 3, 8, 8))
        q, k = torch.randn(2, 8, 8), torch.randn(2, 8, 8)
        scores = torch.softmax(q @ k.transpose(-1, -2), dim=-1)
        codes = (scores / scores.abs().amax()).round().clamp(-127, 127).to(torch.int8)
        for dtype in (torch.bfloat16, torch.float16, torch.float64):
            (scores.to(dtype) + 1).sum().item()
        torch.equal(codes, codes.clone())
        repr(scores)
