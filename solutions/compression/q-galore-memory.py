"""Lays every tensor out in groups, and follows the distribution of a weight over its levels."""

from math import ceil


def packed(elements, bits, group, extra):
    """Bytes of *elements* of *bits*, with *extra* bits for each group."""
    return (elements * bits + sum(extra) * ceil(elements / group)) / 8


def solve(given):
    width, rank = given["hidden"], given["rank"]

    def tensors(n, rank=rank):
        return {
            "weights": packed(width * n, 8, given["group"], (16, 16)),
            "projector": packed(width * rank, 4, given["group"], (16, 16)),
            "moments": 2 * packed(rank * n, 8, given["block"], (32,)),
            "gradient": 2 * rank * n,
        }

    matrices = ([width] * 4 + [given["ffn"]] * 3) * given["layers"]
    stored = {n: tensors(n) for n in set(matrices)}
    total = sum(stored[n][name] for n in matrices for name in ("weights", "projector", "moments"))
    plain = sum((2 + 2 + 2) * width * n for n in matrices)

    per_element = 8 + 32 / given["block"]
    full = 2 * width * width * per_element
    low, high = 0.0, float(width)
    for _ in range(100):
        middle = (low + high) / 2
        bits = width * middle * (4 + 32 / given["group"]) + 2 * middle * width * per_element
        low, high = (middle, high) if bits < full else (low, middle)

    levels = {0: 1.0}  # a weight is always at a level, so that every update has the same chance
    for _ in range(given["updates"]):
        after = {}
        for level, likely in levels.items():
            for step, chance in ((0, 1 - given["share"]), (1, given["share"])):
                after[level + step] = after.get(level + step, 0) + likely * chance
        levels = after
    return {
        "tensors": [[each / 1e6 for each in stored[n].values()] for n in (width, given["ffn"])],
        "all_layers": total / 1e9,
        "reduction": plain / total,
        "rank_limit": high,
        "unmoved": 100 * levels[0],
        "steps": ["weights", "gradient", "project", "adam", "back", "round"],
    }
