"""Runs the function on small tensors, and observes operators and memory below autograd."""

import functools
import weakref

import torch
from torch.utils._python_dispatch import TorchDispatchMode

VIEWS = {"transpose", "split", "split_with_sizes", "expand", "view", "_unsafe_view", "detach"}
HEADS, TOKENS, CHUNKS = 3, 240, 6


def solve(given):
    operators, _ = watch(given["body"])
    each = (operators - 1) // CHUNKS
    live = matrices(given["body"])
    whole = 4 * given["heads"] * given["length"] * given["length"]
    most = 0
    while (1 + sum(each for _ in range(most + 1))) * given["launch"] <= given["kernels"] * 1e3:
        most += 1
    scores = 2 * given["all_heads"] * given["tokens"] ** 2
    fewest = 1
    while live * scores / fewest > given["free"] * 1e9:
        fewest += 1
    changes = {
        "delete": matrices(given["body"], "delete"),
        "early": matrices(given["body"], "early"),
    }
    return {
        "launched_kernels": each * given["chunks"] + 1,
        "peak": live * whole / given["chunks"] / 1e6,
        "most_chunks": most,
        "fewest_chunks": fewest,
        "lower": {name for name, found in changes.items() if found <= 0.8 * live},
    }


def matrices(body, change=None):
    """The largest number of matrices of the size of a chunk's scores that are alive."""
    return watch(body, change)[1]


@functools.cache
def watch(body, change=None):
    q, k, v = (torch.randn(HEADS, TOKENS, 4) for _ in "qkv")
    with Watch(HEADS * TOKENS * TOKENS // CHUNKS) as seen:
        attend(q, k, v, body, change)
    return seen.operators, seen.most


class Watch(TorchDispatchMode):
    def __init__(self, size):
        super().__init__()
        self.size, self.alive, self.most, self.operators = size, {}, 0, 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        name = function.overloadpacket.__name__
        if name in VIEWS:
            return result
        self.operators += 1
        if result.numel() == self.size:
            storage = result.untyped_storage()
            key = storage._cdata
            if key not in self.alive:
                self.alive[key] = weakref.ref(storage, lambda _: self.alive.pop(key))
                self.most = max(self.most, len(self.alive))
        return result


def attend(q, k, v, body, change):
    keys, parts, scale, bias = k.transpose(1, 2), [], 0.5, torch.zeros(())
    early = change == "early"
    scores = weights = x = None
    for rows in q.chunk(CHUNKS, dim=1):
        if body == "out-of-place":
            scores = rows @ keys if early else rows @ keys * scale
            weights = scores.softmax(dim=-1)
            parts.append(weights @ v)
        elif body == "padded":
            scores = rows @ keys + bias if early else rows @ keys * scale + bias
            weights = scores.softmax(dim=-1)
            parts.append(weights @ v)
        elif body == "in-place":
            scores = rows @ keys
            if not early:
                scores.mul_(scale)
            weights = scores.softmax(dim=-1)
            parts.append(weights @ v)
        elif body == "one-line":
            parts.append(((rows if early else rows * scale) @ keys).softmax(dim=-1) @ v)
        elif body == "same-name":
            x = rows @ keys
            x = x if early else x * scale
            x = x.softmax(dim=-1)
            parts.append(x @ v)
        else:
            scores = (rows if early else rows * scale) @ keys
            scores -= scores.amax(dim=-1, keepdim=True)
            scores.exp_()
            scores /= scores.sum(dim=-1, keepdim=True)
            parts.append(scores @ v)
        if change == "delete":
            scores = weights = x = None
    return torch.cat(parts, dim=1)
