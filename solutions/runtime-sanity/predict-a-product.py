"""Sizes of arrays give the bytes, dot products the FLOPs, and times say what is the limit."""

import numpy as np


def solve(given):
    tokens, inputs, outputs = given["tokens"], given["inputs"], given["outputs"]
    projections = given["projections"]
    apart = [work(tokens, inputs, outputs) for _ in range(projections)]
    flops, moved = (sum(column) for column in zip(*apart, strict=True))
    flops_fused, moved_fused = work(tokens, inputs, projections * outputs)

    def limited_by_memory(flops, moved):
        return moved / (given["bandwidth"] * 1e9) > flops / (given["peak"] * 1e9)

    limits = {
        (True, True): "both-memory",
        (True, False): "crosses",
        (False, False): "both-compute",
        (False, True): "reverse",
    }
    found = (limited_by_memory(flops, moved), limited_by_memory(flops_fused, moved_fused))
    return {
        "flops": flops / 1e6,
        "moved": moved / 1e6,
        "intensity": flops_fused / moved_fused,
        "limits": limits[found],
    }


def work(rows, inner, columns):
    """FLOPs and bytes of a product of float32 matrices of these shapes."""
    shapes = ((rows, inner), (inner, columns), (rows, columns))
    arrays = [np.broadcast_to(np.float32(0), shape) for shape in shapes]
    return arrays[2].size * (inner + inner), sum(array.nbytes for array in arrays)
