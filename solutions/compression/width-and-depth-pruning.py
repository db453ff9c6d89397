"""Builds the models without memory and counts their tensors, and searches for the depth."""

import torch

HEAD = 128
PRUNED = {
    "MLP width": ("ffn",),
    "heads": ("heads", "kv_heads"),
    "hidden width": ("hidden",),
    "layers": ("layers",),
    "all widths": ("ffn", "heads", "kv_heads", "hidden"),
}


def model(shape):
    """Return the tensors of a model by what they are for."""
    width, ffn = shape["hidden"], shape["ffn"]
    queries, pairs = HEAD * shape["heads"], HEAD * shape["kv_heads"]
    with torch.device("meta"):
        sides = [(width, queries), (queries, width), (width, pairs), (width, pairs)]
        sides += [(width, ffn), (width, ffn), (ffn, width)]
        layer = [torch.empty(*side, dtype=torch.bfloat16) for side in sides]
        vocabulary = [
            torch.empty(shape["vocabulary"], width, dtype=torch.bfloat16) for _ in range(2)
        ]
        cache = [torch.empty(shape["kv_heads"], HEAD, dtype=torch.bfloat16) for _ in "kv"]
    return vocabulary, [layer] * shape["layers"], [cache] * shape["layers"]


def parameters(shape):
    vocabulary, layers, _ = model(shape)
    return sum(t.numel() for t in vocabulary) + sum(t.numel() for each in layers for t in each)


def cache_of_a_token(shape):
    return sum(t.nbytes for each in model(shape)[2] for t in each)


def read(shape, tokens):
    """Return the bytes that a decode step reads."""
    vocabulary, layers, _ = model(shape)
    weights = vocabulary[1].nbytes + sum(t.nbytes for each in layers for t in each)
    return weights + tokens * cache_of_a_token(shape)


def reduced(shape, by_bytes):
    """Return the elements that a token all-reduces, what attention and MLP add to its stream, or
    how many all-reduces there are."""
    streams = [range(shape["hidden"]) for _ in range(shape["layers"]) for _ in ("attention", "MLP")]
    return sum(map(len, streams)) if by_bytes else len(streams)


def solve(given):
    names = ("layers", "hidden", "ffn", "heads", "kv_heads", "vocabulary")
    shape = {name: given[name] for name in names}
    versions = {
        name: {**shape, **{each: round(given["kept"] * shape[each]) for each in what}}
        for name, what in PRUNED.items()
    }
    tokens = given["requests"] * given["context"]
    goal = read(versions["all widths"], tokens)
    depth = 0
    while read({**shape, "layers": depth + 1}, tokens) <= goal:
        depth += 1
    short = {"mlp": "MLP width", "heads": "heads", "hidden": "hidden width", "layers": "layers"}
    by_bytes = given["by_bytes"]
    before = reduced(shape, by_bytes)
    bandwidth = given.fact(given["gpu"], "memory_bandwidth", "B/s")
    return {
        "sizes": [[parameters(v) / 1e9, cache_of_a_token(v) / 1e3] for v in versions.values()],
        "step_time": 1e3 * goal / bandwidth,
        "as_fast": depth,
        "messages": {k for k, name in short.items() if reduced(versions[name], by_bytes) < before},
    }
