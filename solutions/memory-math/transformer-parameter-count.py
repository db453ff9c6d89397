"""Writes down the checkpoint entry by entry, name, shape and type, and counts what is in it."""

from math import prod


def state_dict(given):
    """Name and shape of every saved weight, in the order a framework would list them."""
    wide, inner = given["hidden"], given["inner"]
    kv = wide // given["heads"] * given["kv_heads"]
    yield "embed.weight", (given["vocabulary"], wide)
    for layer in range(given["layers"]):
        yield f"layers.{layer}.attention.q.weight", (wide, wide)
        yield f"layers.{layer}.attention.k.weight", (kv, wide)
        yield f"layers.{layer}.attention.v.weight", (kv, wide)
        yield f"layers.{layer}.attention.o.weight", (wide, wide)
        yield f"layers.{layer}.mlp.gate.weight", (inner, wide)
        yield f"layers.{layer}.mlp.up.weight", (inner, wide)
        yield f"layers.{layer}.mlp.down.weight", (wide, inner)
    if given["tied"] == "no":
        yield "head.weight", (given["vocabulary"], wide)


def solve(given):
    entries = {name: prod(shape) for name, shape in state_dict(given)}
    first = {name: count for name, count in entries.items() if name.startswith("layers.0.")}
    files = {"model.bf16": 2, "master.fp32": 4, "exp_avg.fp32": 4, "exp_avg_sq.fp32": 4}
    outside = sum(count for name, count in entries.items() if not name.startswith("layers."))
    inside = sum(entries.values()) - outside
    return {
        "attention_millions": sum(c for n, c in first.items() if ".attention." in n) / 1e6,
        "mlp_millions": sum(c for n, c in first.items() if ".mlp." in n) / 1e6,
        "total_billions": sum(entries.values()) / 1e9,
        "equal_split": 100 * outside / inside,
        "checkpoint": sum(c * width for c in entries.values() for width in files.values()) / 1e9,
    }
