"""Simulates rings, pipelines, and threads to check the facts."""

from __future__ import annotations

from functools import cache

import numpy as np
import torch
from torch import nn
from torch.nn.functional import linear
from torch.utils.flop_counter import FlopCounterMode


@cache
def ring_all_reduce(ranks, size):
    """Elements that a rank sends in each phase, while it moves chunks around a ring."""
    buffers = [np.arange(size, dtype=float) + rank for rank in range(ranks)]
    want = sum(buffers)
    chunks = [np.array_split(b.copy(), ranks) for b in buffers]
    sent = [0, 0]
    for phase in (0, 1):
        for step in range(ranks - 1):
            moved = [(r, (r + phase - step) % ranks) for r in range(ranks)]
            data = [chunks[r][c].copy() for r, c in moved]
            sent[phase] += data[0].size
            for (r, c), piece in zip(moved, data, strict=True):
                to = (r + 1) % ranks
                chunks[to][c] = chunks[to][c] + piece if phase == 0 else piece
    assert all(np.allclose(np.concatenate(mine), want) for mine in chunks)
    return sent


@cache
def idle_share(stages, micro_batches):
    """Idle share of a forward pipeline, simulated slot by slot."""
    ends = np.zeros((stages, micro_batches))
    for j in range(micro_batches):
        for i in range(stages):
            ready = max(ends[i - 1, j] if i else 0, ends[i, j - 1] if j else 0)
            ends[i, j] = ready + 1
    return 1 - micro_batches / ends.max()


@cache
def mlp_needs_sum_between():
    dice = np.random.default_rng(0)
    x, a, b = (dice.normal(size=s) for s in ((3, 8), (8, 16), (16, 8)))
    want = np.maximum(x @ a, 0) @ b
    parts = [np.maximum(x @ a[:, s], 0) @ b[s] for s in (slice(0, 8), slice(8, 16))]
    return not np.allclose(sum(parts), want)


@cache
def lost_update():
    """Whether some interleaving of two increments loses one of them."""
    totals = set()
    for order in ("1122", "1212", "1221", "2112", "2121", "2211"):
        memory, register, seen = 0, {}, set()
        for thread in order:
            if thread in seen:
                memory = register[thread] + 1
            else:
                register[thread] = memory
                seen.add(thread)
        totals.add(memory)
    return totals != {2}


@cache
def shard_shapes(gpus, *, column):
    """Weight and bias of the shards with which a layer gives the right output."""
    torch.manual_seed(0)
    layer = nn.Linear(3072, 8192)
    x = torch.randn(2, 3072)
    want, weight, bias = layer(x).detach(), layer.weight.detach(), layer.bias.detach()
    if column:  # All GPUs have the whole input, and their outputs are concatenated.
        weights, biases = weight.chunk(gpus, 0), bias.chunk(gpus)
        parts = [linear(x, w, b) for w, b in zip(weights, biases, strict=True)]
        got = torch.cat(parts, -1)
    else:  # The input arrives in slices, and the outputs are added up.
        weights, biases = weight.chunk(gpus, 1), [bias] * gpus
        slices = x.chunk(gpus, -1)
        got = sum(linear(a, w) for a, w in zip(slices, weights, strict=True)) + biases[0]
    assert torch.allclose(got, want, atol=1e-4)
    return tuple(weights[0].shape), tuple(biases[0].shape)


@cache
def flops_per_gpu(gpus, *, sharded_data):
    """FLOPs of an MLP, forward and backward, on one GPU, as PyTorch counts them."""
    batch, width, hidden = 64, 64, 256
    rows = batch // gpus if sharded_data else batch
    inner = hidden if sharded_data else hidden // gpus
    x = torch.zeros(rows, width, requires_grad=True)
    up, down = nn.Linear(width, inner), nn.Linear(inner, width)
    with FlopCounterMode(display=False) as counter:
        down(up(x).relu()).sum().backward()
    return counter.get_total_flops()


@cache
def slot_of(stage, micro_batch, stages=4, micro_batches=8):
    """Runs slots until a stage has processed a micro-batch."""
    arrived = [list(range(micro_batches))] + [[] for _ in range(stages)]
    slot = 0
    while True:
        moved = [(s, arrived[s].pop(0)) for s in range(stages) if arrived[s]]
        if (stage, micro_batch) in moved:
            return slot
        for s, one in moved:
            arrived[s + 1].append(one)
        slot += 1


@cache
def gigabytes_sent(billions, dtype, ranks=32):
    elements = sum(ring_all_reduce(ranks, 100 * ranks)) / (100 * ranks)
    return elements * billions * torch.empty((), dtype=dtype).element_size()


def fsdp_over_ddp(ranks=8, size=800):
    scatter, gather = ring_all_reduce(ranks, size)
    return 2 * gather + scatter, scatter + gather


def claims(given, first):
    gpus = int(given["gpus"])
    size = 100 * gpus
    scatter, gather = ring_all_reduce(gpus, size)
    sharded, plain = fsdp_over_ddp()
    server = [sum(2 * size for _ in range(workers)) for workers in (4, 8)]
    shrinks = bool(idle_share(4, 16) < idle_share(4, 8))
    rates = [1.0, 1.0, 0.5, 1.0]
    together = 1 / max(1 / rate for rate in rates)
    return {
        "ring_volume": [(scatter + gather < 2 * size) is first, "two-phases"],
        "central_server": [(server[1] > server[0]) is first, "every-worker"],
        "fsdp_volume": [(sharded > plain) is first, "three-collectives"],
        "assembled_buffer": [(2 * gather == scatter + gather) is first, "composition"],
        "product_flops": [
            flops_per_gpu(gpus, sharded_data=True)
            == flops_per_gpu(gpus, sharded_data=False) * (1 if first else gpus),
            "what-is-split",
        ],
        "more_micro_batches": [shrinks is not first, "constant-fill"],
        "split_mlp": [mlp_needs_sum_between() is first, "complete-columns"],
        "slow_worker": [(together == min(rates)) is not first, "all-needed"],
        "shared_counter": [lost_update() is not first, "interleaved"],
    }


def world_size(tensor, pipeline, data):
    return len({(t, p, d) for t in range(tensor) for p in range(pipeline) for d in range(data)})


def claims_as_worded(given):
    """The claims, each with the wording that was drawn for it."""
    both = {first: claims(given, first) for first in (True, False)}
    return {name: both[given[f"{name}_first"]][name] for name in both[True]}


def solve(given):
    gpus = int(given["gpus"])
    sizes = {"product": 8 * gpus, "with-zero": 8 * gpus**2, "sum": 6 + gpus, "without-data": 8}
    used = world_size(4, 2, gpus)
    shapes = {
        "outputs": ((8192 // gpus, 3072), (8192 // gpus,)),
        "inputs": ((8192, 3072 // gpus), (8192,)),
        "outputs-last": ((3072, 8192 // gpus), (8192 // gpus,)),
        "inputs-first": ((3072 // gpus, 8192), (8192,)),
        "inputs-and-bias": ((8192, 3072 // gpus), (8192 // gpus,)),
    }
    shards = shard_shapes(gpus, column=bool(given["column"]))
    billions = int(given["billions"])
    sent = gigabytes_sent(billions, torch.float32 if given["sends_fp32"] else torch.bfloat16)
    volumes = {"one-byte": 2, "two-bytes": 4, "four-bytes": 8, "model-state": 16}
    stage, one = int(given["stage"]), int(given["micro_batch"])
    slots = {"sum": stage + one, "by-stage": 8 * stage + one, "by-batch": 4 * one + stage}
    slots["from-one"] = stage + one + 1
    slot = slot_of(stage, one)
    return {
        **claims_as_worded(given),
        "fastest_links": "tensor",
        "world_size": next(name for name, size in sizes.items() if size == used),
        "same_global_batch": "state",
        "sharded_linear": next(name for name, pair in shapes.items() if pair == shards),
        "stated_volume": min(volumes, key=lambda name: abs(volumes[name] * billions - sent)),
        "forward_slot": next(name for name, number in slots.items() if number == slot),
        "across_nodes": "gradient-shards",
        "slice_of_the_sum": "reduce-scatter",
        "serial_share": "Amdahl",
        "idle_stages": "bubble",
        "one_cache_line": "false sharing",
    }
