"""Asks torch for the limits of its own formats, and decodes every code of the smallest format."""

import numpy as np
import torch

INTEGERS = {8: torch.uint8, 16: torch.int16, 32: torch.int32}
FORMATS = {
    "fp16": torch.float16,
    "bf16": torch.bfloat16,
    "fp32": torch.float32,
    "E5M2": torch.float8_e5m2,
    "E4M3FN": torch.float8_e4m3fn,
    "E4M3FNUZ": torch.float8_e4m3fnuz,
    "E5M2FNUZ": torch.float8_e5m2fnuz,
}


def smallest(dtype):
    """Return the number whose code is 1."""
    code = torch.tensor([1], dtype=INTEGERS[torch.finfo(dtype).bits])
    return float(code.view(dtype).to(torch.float64))


def overflow(dtype):
    """Return the smallest number that becomes infinity, by bisection."""
    low, high = torch.finfo(dtype).max, 2 * torch.finfo(dtype).max
    for _ in range(60):
        middle = (low + high) / 2
        if torch.isinf(torch.tensor(middle, dtype=torch.float32).to(dtype).float()):
            high = middle
        else:
            low = middle
    return high


def by_fields(given):
    """Return the numbers of all codes of the smallest format, sign included, from their fields."""
    fraction_bits, numbers = given["f_bits"], []
    bits = 1 + given["e_bits"] + fraction_bits
    for code in range(1 << bits):
        text = format(code, f"0{bits}b")
        negative, field, fraction = (
            text[0] == "1",
            text[1 : -given["f_bits"]],
            text[-given["f_bits"] :],
        )
        if given["nan_codes"] == 2 and "0" not in field + fraction:
            continue
        if given["nan_codes"] == 1 and negative and "1" not in field + fraction:
            continue
        normal = "1" in field
        significand = int(normal) + int(fraction, 2) / 2**fraction_bits
        exponent = max(int(field, 2), 1) - given["tiny_bias"]
        numbers.append((-1 if negative else 1) * significand * 2.0**exponent)
    return numbers


def by_torch(name):
    """Return the numbers of all codes of a format with eight bits that torch knows."""
    codes = torch.arange(256, dtype=torch.int32).to(torch.uint8)
    numbers = codes.view(FORMATS[name]).to(torch.float64)
    return numbers[torch.isfinite(numbers)].tolist()


def solve(given):
    """Return each part's answer, found by conversion and enumeration."""
    narrow, broad = FORMATS[given["narrow_name"]], FORMATS[given["broad_name"]]
    limits = []
    for dtype in (narrow, broad):
        info = torch.finfo(dtype)
        limits.append([np.log2(v) for v in (info.smallest_normal, smallest(dtype), info.eps)])

    numbers = by_fields(given)
    if given["tiny_name"] in FORMATS and sorted(numbers) != sorted(by_torch(given["tiny_name"])):
        raise ValueError("torch decodes this format differently")

    # A gradient that the first format loses, and that a scale above or below 1 would save.
    lost = smallest(narrow) / 4 if given["above"] else 4 * torch.finfo(narrow).max
    seen = [torch.tensor(lost).to(dtype).float().item() for dtype in (narrow, broad)]
    saved = [0 < value < float("inf") for value in seen]
    reason = "reaches-down" if given["above"] else "reaches-up"
    return {
        "limits": [[float(v) for v in row] for row in limits],
        "overflow": overflow(narrow),
        "loss_scale_reason": reason if saved == [False, True] else "finer",
        "tiny_max": max(numbers),
        "tiny_count": len(set(numbers)),
    }
