"""Decodes every bit pattern of each format and looks for the extremes among the values."""

import numpy as np


def decode(total_bits, exponent_bits):
    """Return the exponent fields and the values of all patterns with sign bit 0, as if finite."""
    fraction_bits = total_bits - 1 - exponent_bits
    code = np.arange(1 << (total_bits - 1))
    field = code >> fraction_bits
    fraction = code & ((1 << fraction_bits) - 1)
    bias = (1 << (exponent_bits - 1)) - 1
    hidden = np.where(field == 0, 0, 1 << fraction_bits)
    exponent = np.where(field == 0, 1, field) - bias - fraction_bits
    return field, np.ldexp((hidden + fraction).astype(float), exponent)


def power(value):
    """Return the exponent of a value that is a power of two."""
    significand, exponent = np.frexp(value)
    if significand != 0.5:
        raise ValueError(f"{value} is not a power of two")
    return int(exponent) - 1


def solve(given):
    """Return each part's answer, found by enumeration."""
    limits, largest = [], []
    for exponent_bits in (given["narrow"], given["middle"], given["broad"]):
        field, value = decode(given["total_bits"], exponent_bits)
        finite = field != field.max()
        above_one = value[finite & (value > 1)].min()
        limits.append(
            [
                power(value[finite & (field > 0)].min()),
                power(value[value > 0].min()),
                power(above_one - 1),
            ]
        )
        largest.append((value[finite].max(), value[value > 0].min()))

    tiny_bits = 1 + given["e_bits"] + given["f_bits"]
    _, value = decode(tiny_bits, given["e_bits"])
    numbers = value[: len(value) - given["nan_codes"] // 2]
    reaches_down = largest[2][1] < largest[0][1] / 2
    return {
        "limits": limits,
        "largest": float(largest[0][0]),
        "loss_scale_reason": "reaches-down" if reaches_down else "no property",
        "tiny_max": float(numbers.max()),
        "tiny_count": len({*numbers.tolist(), *(-numbers).tolist()}),
    }
