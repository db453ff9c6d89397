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


def dealt(batch, data):
    """Return how many sequences the first pipeline gets when they are dealt out in turn."""
    return np.bincount(np.arange(batch) % data, minlength=data)[0]


def inside_a_node(tensor):
    """Whether the ranks of the first tensor-parallel group, numbered in a row, share a node."""
    return len({rank // NODE for rank in range(tensor)}) == 1


def bubble(stages, micro_batches):
    slots = np.add.outer(np.arange(stages), np.arange(micro_batches))
    cells = stages * (slots.max() + 1)
    return 1 - slots.size / cells


def valid(given, tensor, pipeline, data):
    """Whether a plan uses every GPU, splits evenly, stays inside nodes, and fits."""
    layers = np.arange(given["layers"]) % pipeline
    return (
        len(np.arange(given["gpus"])) == tensor * pipeline * data
        and len(set(np.bincount(layers, minlength=pipeline))) == 1
        and inside_a_node(tensor)
        and state(given["billions"], given["layers"], tensor, pipeline)
        <= given["capacity"] - given["reserve"]
    )


def idle(given, plan):
    return bubble(plan[1], int(dealt(given["batch"], plan[2])))


def best(given):
    """Return the best of all plans whose tensor-parallel degree is at least a node."""
    gpus = given["gpus"]
    plans = [(t, p, gpus // (t * p)) for t in (8, 16) for p in range(1, 17) if t * p <= gpus]
    return min((p for p in plans if valid(given, *p)), key=lambda plan: idle(given, plan))


def chosen(given):
    """Return the option that is valid and idles least; the options are those of the problem."""
    gpus, fit = given["gpus"], best(given)[1]
    assert fit in (2, 4, 8)
    assert not valid(given, 8, fit // 2, gpus // (8 * (fit // 2)))
    listed = {
        "fewest": (8, fit),
        "deeper": (8, 2 * fit),
        "too_large": (8, fit // 2),
        "uneven": (8, 6 if fit == 8 else 3),
        "two_nodes": (16, fit // 2),
    }
    plans = {name: (t, p, gpus // (t * p)) for name, (t, p) in listed.items()}
    fine = [name for name, plan in plans.items() if valid(given, *plan)]
    return min(fine, key=lambda name: idle(given, plans[name]))


def solve(given):
    size = given["billions"], given["layers"]
    tensor, pipeline = 4, given["pipeline"]
    ranks = np.arange(given["gpus"]).reshape(-1, tensor * pipeline)
    data = len(ranks)
    return {
        "state": state(*size, tensor, pipeline),
        "state_zero1": state(*size, tensor, pipeline, data),
        "micro_batches": int(dealt(given["batch"], data)),
        "plan": chosen(given),
        "axes": {
            "tensor_axis": "activations",
            "pipeline_axis": "boundary",
            "data_axis": "gradients",
        },
    }
