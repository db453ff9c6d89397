"""Counts elements, bytes, and saved tensors to check the facts."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import torch
from torch import nn


def cache_elements(query_heads, kv_heads, width):
    """Elements of what attention to an earlier token needs, however many query heads there are."""
    token = {"query": (query_heads, width), "key": (kv_heads, width), "value": (kv_heads, width)}
    return sum(math.prod(token[name]) for name in ("key", "value"))


@cache
def attention_weights(heads):
    layer = nn.MultiheadAttention(256, heads, bias=False, device="meta")
    return sum(weight.numel() for weight in layer.parameters())


@cache
def held_at_once(schedule, stages=4, micro_batches=32):
    """Most micro-batches between forward and backward pass on the first stage."""
    warm_up = micro_batches if schedule == "gpipe" else stages
    events = ["F"] * warm_up
    left = micro_batches - warm_up
    events += ["B", "F"] * left + ["B"] * warm_up
    return int(np.cumsum([1 if event == "F" else -1 for event in events]).max())


@cache
def conv_weights():
    return sum(w.numel() for w in nn.Conv2d(3, 8, 3, device="meta").parameters())


@cache
def bytes_of_recipe(*tensors):
    return sum(torch.empty(1000, dtype=kind).nbytes for kind in tensors) / 1000


@cache
def sparse_is_larger(size=1000):
    flat = np.zeros(size, np.float16)
    flat[: int(0.4 * size)] = 1
    at = np.flatnonzero(flat).astype(np.int32)
    return flat[at].nbytes + at.nbytes > flat.nbytes


@cache
def operand_reads(tile, size=64):
    tiles = size // tile
    return sum(2 * tile * tile for _ in range(tiles**3))


def saves_input(operation, needs_weight_grad=True):
    """Whether autograd saves the input of an operation."""
    x = torch.randn(4, 4, requires_grad=True)
    saved = []
    with torch.autograd.graph.saved_tensors_hooks(
        lambda t: saved.append(t.data_ptr()) or t, lambda t: t
    ):
        operation(x, torch.randn(4, 4, requires_grad=needs_weight_grad))
    return x.data_ptr() in saved


@cache
def lora_memory(*, adapted):
    """Elements of Adam's moments, and of what a small network saves, with or without LoRA."""
    layers = [nn.Linear(256, 256) for _ in range(4)]
    factors = [(nn.Linear(256, 2), nn.Linear(2, 256)) for _ in layers]
    for layer in layers:
        layer.requires_grad_(not adapted)
    used = [f for pair in factors for f in pair] if adapted else layers
    optimizer = torch.optim.Adam([w for one in used for w in one.parameters()])
    saved = {}
    with torch.autograd.graph.saved_tensors_hooks(
        lambda t: saved.setdefault(t.data_ptr(), t.numel()) and t, lambda t: t
    ):
        x = torch.randn(64, 256)
        for layer, (down, up) in zip(layers, factors, strict=True):
            x = torch.nn.functional.gelu(layer(x) + (up(down(x)) if adapted else 0))
        loss = x.square().sum()
    loss.backward()
    optimizer.step()
    state = [t for one in optimizer.state.values() for t in one.values() if t.dim()]
    weights = {w.data_ptr() for one in (*layers, *sum(factors, ())) for w in one.parameters()}
    return sum(t.numel() for t in state), sum(n for at, n in saved.items() if at not in weights)


def peak_units(layers):
    """Largest number of units that are held while segments are computed again, last one first."""
    length = math.isqrt(layers)
    held = [(segment + 1) + length for segment in reversed(range(layers // length))]
    return max(held)


def claims(given, first):
    same_cache = cache_elements(32, 8, 128) == cache_elements(64, 8, 128)
    moments, saved = (lora_memory(adapted=True)[i] / lora_memory(adapted=False)[i] for i in (0, 1))
    same_weights = attention_weights(4) == attention_weights(given["heads"])
    gpipe, alternating = held_at_once("gpipe"), held_at_once("1f1b")
    half, full = torch.bfloat16, torch.float32
    mixed = bytes_of_recipe(half, half, full, full, full)
    plain = bytes_of_recipe(full, full, full, full)
    quotient = operand_reads(16) / operand_reads(8)
    weights = {size: conv_weights() for size in (32, 64)}
    return {
        "query_heads": [same_cache is first, "keys-values"],
        "lora_memory": [(moments if first else saved) < 0.1, "trainable"],
        "number_of_heads": [same_weights is first, "narrower"],
        "micro_batches_kept": [(gpipe if first else alternating) == 32, "all-forward"],
        "image_size": [(weights[64] == (4 if first else 1) * weights[32]), "same-kernel"],
        "bytes_of_state": [(mixed < plain if first else mixed == plain), "cancels"],
        "stored_indices": [sparse_is_larger() is not first, "six-bytes"],
        "tile_width": [quotient == (0.25 if first else 0.5), "reuse"],
    }


def choices(given):
    saving = {
        "trainable": saves_input(lambda x, w: x @ w),
        "frozen": saves_input(lambda x, w: x @ w, needs_weight_grad=False),
        "sum": saves_input(lambda x, w: x + w),
        "relu": saves_input(lambda x, w: torch.relu(x)),
    }
    layers, peak = given["layers"], peak_units(given["layers"])
    root = math.isqrt(layers)
    options = {"root": 2 * root, "checkpoints": root, "half": layers // 2, "all": layers + root}
    ranks, elements = 8, 8000
    held = np.zeros(ranks)
    for size, sharded in ((2, False), (2, True), (12, True)):
        held += size * elements / (ranks if sharded else 1)
    forms = {
        "two": 2 * elements + 14 * elements / ranks,
        "one": 4 * elements + 12 * elements / ranks,
        "three": 16 * elements / ranks,
        "weights": 14 * elements + 2 * elements / ranks,
    }
    return {
        "attention_backward": "statistic",
        "what_is_saved": next(name for name, saves in saving.items() if saves),
        "zero_stage": next(name for name, size in forms.items() if size == held[0]),
        "segments": next(name for name, units in options.items() if units == peak),
    }


TERMS = {
    "shared_keys": "grouped-query attention",
    "rerun_forward": "activation checkpointing",
    "moved_state": "offloading",
    "page_placement": "first touch",
}


def claims_as_worded(given):
    """The claims, each with the wording that was drawn for it."""
    both = {first: claims(given, first) for first in (True, False)}
    return {name: both[given[f"{name}_first"]][name] for name in both[True]}


def solve(given):
    return {**claims_as_worded(given), **choices(given), **TERMS}
