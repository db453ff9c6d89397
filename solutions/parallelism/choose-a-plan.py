"""Place every layer's shards on a grid of ranks, weigh one GPU, and try out every plan.

The road differs from the formulas: bytes are added up tensor by tensor for the rank with number 0,
sequences are dealt out one by one, tensor-parallel groups are looked up in the numbering of the
ranks, and the bubble is counted in a schedule.
"""

import numpy as np

NODE = 8


def state(billions, layers, tensor, pipeline, shards=1):
    """Return the GB that rank 0 holds: weight, gradient, and its share of the optimizer state."""
    held = 0.0
    for number in range(layers):
        stage = number * pipeline // layers
        if stage != 0:
            continue
        elements = billions / layers / tensor
        for bytes_each, shared in ((2, 1), (4, 1), (4, shards), (4, shards), (4, shards)):
            held += elements * bytes_each / shared
    return held


def first_share(batch, data):
    """Return how many sequences the first pipeline gets in round-robin order."""
    return np.bincount(np.arange(batch) % data, minlength=data)[0]


def inside_a_node(tensor):
    """Whether the ranks of the first tensor-parallel group, numbered in a row, share a node."""
    return len({rank // NODE for rank in range(tensor)}) == 1


def bubble(stages, micro_batches):
    slots = np.add.outer(np.arange(stages), np.arange(micro_batches))
    cells = stages * (slots.max() + 1)
    return 1 - slots.size / cells


def valid(given, tensor, pipeline, data, zero1=False):
    """Whether a plan uses every GPU, splits evenly, stays inside nodes, and fits."""
    layers = np.arange(given["layers"]) % pipeline
    memory = given.fact(given["gpu"], "memory", "GB")
    held = state(given["billions"], given["layers"], tensor, pipeline, data if zero1 else 1)
    return (
        len(np.arange(given["gpus"])) == tensor * pipeline * data
        and len(set(np.bincount(layers, minlength=pipeline))) == 1
        and inside_a_node(tensor)
        and held <= memory - given["reserve"]
    )


def listed(given):
    """Return the plans of the options, around the fewest stages that fit without ZeRO."""
    gpus = given["gpus"]
    fit = next(p for p in range(1, 33) if valid(given, 8, p, gpus // (8 * p)))
    assert fit in (4, 8)
    shapes = {
        "fits": (8, fit),
        "too_large": (8, fit // 2),
        "zero1": (8, fit // 2),
        "narrow": (4, fit // 2),
        "uneven": (8, 6 if fit == 8 else 3),
        "two_nodes": (16, fit // 2),
    }
    return {name: (t, p, gpus // (t * p)) for name, (t, p) in shapes.items()}


def solve(given):
    size = given["billions"], given["layers"]
    tensor, pipeline = 4, given["pipeline"]
    ranks = np.arange(given["gpus"]).reshape(-1, tensor * pipeline)
    data = len(ranks)
    plans, sharded = listed(given), ("zero1", "narrow")
    fine = {name for name, plan in plans.items() if valid(given, *plan, zero1=name in sharded)}
    bubbles = [
        bubble(plans[name][1], int(first_share(given["batch"], plans[name][2]))) for name in fine
    ]
    return {
        "state": state(*size, tensor, pipeline),
        "state_zero1": state(*size, tensor, pipeline, data),
        "micro_batches": int(first_share(given["batch"], data)),
        "valid": fine,
        "least_bubble": 100 * min(bubbles),
        "axes": {
            "tensor_axis": "activations",
            "pipeline_axis": "boundary",
            "data_axis": "gradients",
        },
    }
