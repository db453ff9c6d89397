"""Counts the FLOPs of every product with PyTorch, on tensors without data, and searches."""

from functools import cache

import torch
from torch.utils.flop_counter import FlopCounterMode


def solve(given):
    length = given["length"]
    now, twice = attention(given, length), attention(given, 2 * length)
    token = weights(given)
    high = 1
    while attention(given, high) < token * high:
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        if attention(given, middle) < token * middle:
            low = middle
        else:
            high = middle
    state = sum(given["width"] ** 2 * given["state_bytes"] for _ in range(given["heads"]))
    context, cache = 0, 0
    while cache <= state:
        context += 1
        cache += sum(given["width"] * 2 for _ in "kv" for _ in range(given["kv_heads"]))
    recurrent = length * linear(given)
    return {
        "attention_flops": now / 1e12,
        "equal_length": high,
        "doubled": (twice + 2 * length * token) / (now + length * token),
        "replaced": (now + length * token) / (recurrent + length * token),
        "overtakes": context,
        "growth": growth(given),
    }


def growth(given):
    factor = given["factor"]
    names = {1: "one", factor: "linear", factor**2: "square", factor**3: "cube"}
    short, long = 1024, 1024 * factor
    step = [sum(4 * given["width"] for _ in range(length)) for length in (short, long)]
    return {
        "flash": names[round(attention(given, long) / attention(given, short))],
        "statistics": names[len(range(long)) // len(range(short))],
        "mlp": names[long * weights(given) // (short * weights(given))],
        "decode": names[step[1] // step[0]],
        "recurrent": names[linear(given) // linear(given)],
    }


@cache
def counted(*products):
    """The FLOPs of matrix products of the given shapes."""
    with FlopCounterMode(display=False) as counter:
        for rows, inner, columns in products:
            left = torch.empty(rows, inner, device="meta")
            left @ torch.empty(inner, columns, device="meta")
    return counter.get_total_flops()


def attention(given, length):
    head = counted((length, given["width"], length), (length, length, given["width"]))
    return head * given["heads"] / (2 if given["causal"] == "yes" else 1)


def weights(given):
    """The FLOPs of all products with weights, for one token."""
    hidden, width = given["hidden"], given["width"]
    shapes = [(1, hidden, given["heads"] * width)]
    shapes += [(1, hidden, given["kv_heads"] * width)] * 2
    shapes += [(1, given["heads"] * width, hidden)]
    shapes += [(1, hidden, given["inner"])] * (given["matrices"] - 1)
    shapes += [(1, given["inner"], hidden)]
    return counted(*shapes)


def linear(given):
    """The FLOPs of one token: an outer product and a product with the state, for each head."""
    width = given["width"]
    return counted((width, 1, width), (1, width, width)) * given["heads"]
