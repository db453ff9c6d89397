"""Runs the block under autocast on tensors without data, and reads types and copies from it."""

import functools

import torch
import torch.nn.functional as F
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode

LINES = {
    "b": (F.relu, F.gelu, F.silu),
    "c": (
        lambda b: F.layer_norm(b, b.shape[-1:]),
        torch.exp,
        lambda b: b.pow(3),
        torch.tanh,
        lambda b: F.relu(-b),
    ),
    "d": (lambda v: v["b"] + v["c"], lambda v: v["x"] + v["b"], lambda v: v["a"] * v["b"]),
    "e": (lambda v: v["c"], lambda v: v["d"]),
    "f": (
        lambda v: v["e"] + v["d"],
        lambda v: F.silu(v["e"]),
        lambda v: v["x"] + v["e"],
        lambda v: v["c"] * v["e"],
    ),
    "g": (
        lambda v: F.mse_loss(v["f"], v["target"]),
        lambda v: -v["f"],
        lambda v: F.softplus(v["f"]),
    ),
}


def solve(given):
    lines = tuple(given[f"line_{name}"] for name in "bcdefg")
    sizes = given["rows_of_x"], given["width"]
    here = given["device"]
    there = "cpu" if here == "cuda" else "cuda"
    types, written = run(here, lines, *sizes)
    others, _ = run(there, lines, *sizes)
    billions = given["total"]
    rows = [
        [billions * persistent(half), given["linear"] * cached(half) if autocast else 0.0]
        for half, autocast in [(False, False), (False, True), (True, False)]
    ]
    return {
        "wide": {name for name, found in types.items() if found == torch.float32},
        "copies": written / 1e6,
        "other_device": {name for name in types if types[name] != others[name]},
        "memory": rows,
    }


class Copies(TorchDispatchMode):
    """Adds up the bytes of converted tensors, except weights."""

    def __init__(self, weights):
        super().__init__()
        self.weights, self.written = weights, 0

    def __torch_dispatch__(self, operator, types, arguments=(), keywords=None):
        result = operator(*arguments, **(keywords or {}))
        if operator is torch.ops.aten._to_copy.default and arguments[0].shape != self.weights:
            self.written += result.nbytes
        return result


@functools.cache
def run(device, lines, rows, width):
    """The type of each result, and the bytes of the copies."""
    b, c, d, e, f, g = (LINES[name][line - 1] for name, line in zip("bcdefg", lines, strict=True))
    before = torch.is_autocast_enabled(device), torch.get_autocast_dtype(device)
    with FakeTensorMode(), Copies((width, width)) as copies:
        v = {name: torch.empty(rows, width, device=device) for name in ("x", "target")}
        first, second = (torch.empty(width, width, device=device) for _ in range(2))
        torch.set_autocast_enabled(device, True)  # which torch.autocast refuses without a GPU
        torch.set_autocast_dtype(device, torch.bfloat16)
        try:
            v["a"] = F.linear(v["x"], first)
            v["b"] = b(v["a"])
            v["c"] = c(v["b"])
            v["d"] = d(v)
            v["e"] = F.linear(e(v), second)
            v["f"] = f(v)
            v["g"] = g(v)
        finally:
            torch.set_autocast_enabled(device, before[0])
            torch.set_autocast_dtype(device, before[1])
    return {name: v[name].dtype for name in "abcdefg"}, copies.written


@functools.cache
def persistent(half):
    """Bytes per parameter after a step with Adam, under autocast unless the model is bf16."""
    model = torch.nn.Linear(64, 64)
    if half:
        model.bfloat16()
    optimizer = torch.optim.Adam(model.parameters())
    x = torch.ones(2, 64, dtype=model.weight.dtype)
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=not half):
        loss = model(x).sum()
    loss.backward()
    optimizer.step()
    tensors = [t for p in model.parameters() for t in (p, p.grad)]
    tensors += [t for s in optimizer.state.values() for k, t in s.items() if k != "step"]
    return sum(t.nbytes for t in tensors) / sum(p.numel() for p in model.parameters())


@functools.cache
def cached(half):
    """Bytes per weight of what autocast converts."""
    copies = Copies(weights=None)
    weight = torch.nn.Parameter(torch.ones(64, 64))
    with torch.autocast("cpu", dtype=torch.bfloat16), copies:
        F.linear(torch.ones(1, 64, dtype=torch.bfloat16), weight)
    return copies.written / weight.numel()
