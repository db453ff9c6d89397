"""Adds numbers one at a time and rounds every result to the 16-bit format."""

import math

import numpy as np


def fp16(value):
    """Return the nearest fp16 number."""
    return float(np.float16(value))


def bf16(value):
    """Return the nearest number with eight significant bits, ties to even."""
    significand, exponent = math.frexp(value)
    return math.ldexp(round(math.ldexp(significand, 8)), exponent - 8)


def total(addends, rounded):
    """Return the running sum; stops as soon as equal addends no longer change it."""
    partial = 0.0
    for addend in addends:
        after = rounded(partial + addend)
        if after == partial:
            break
        partial = after
    return partial


def solve(given):
    """Return each part's answer, found by rounding."""
    rounded = {"fp16": fp16, "bf16": bf16}[given["format_name"]]
    addend, weight = given["addend"], given["weight"]
    count = given["fold"] * (2048 if rounded is fp16 else 256)
    exact = count * addend
    stalled = total((addend for _ in range(count)), rounded)

    # The size from which on an update moves the weight, by bisection.
    lost, moves = 0.0, 1.0
    for _ in range(60):
        middle = (lost + moves) / 2
        if rounded(weight + middle) == weight:
            lost = middle
        else:
            moves = middle

    power = 1.0
    while rounded(weight + power) != weight:
        power /= 2
    # Half a spacing is the largest power of two that does not move the weight.
    update = given["update_units"] * power / 512
    if rounded(update) != update or rounded(weight + update) != weight:
        raise ValueError("the update moves the weight, so the question makes no sense")
    master, updates = np.float32(weight), 0
    while rounded(float(master)) == weight:
        master, updates = master + np.float32(update), updates + 1

    block = total((addend for _ in range(64)), rounded)
    sums = {
        "fp32-sum": total((addend for _ in range(count)), lambda value: value),
        "blocks": total((block for _ in range(count // 64)), rounded),
        "halves": 2 * total((addend for _ in range(count // 2)), rounded),
        "scaled-up": total((2 * addend for _ in range(count)), rounded) / 2,
        "pairs": total((rounded(addend + addend) for _ in range(count // 2)), rounded),
    }
    return {
        "stalled_sum": stalled,
        "missing_share": 100 * (exact - stalled) / exact,
        "largest_lost": moves,
        "first_step": updates,
        "remedies": {name for name, value in sums.items() if abs(value - exact) <= 0.01 * exact},
    }
