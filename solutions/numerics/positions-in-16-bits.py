"""Converts all positions and all bit patterns with PyTorch, and counts."""

import torch

FORMATS = {"bf16": torch.bfloat16, "fp16": torch.float16}


def solve(given):
    kind = FORMATS[given["name"]]
    positions = torch.arange(given["context"], dtype=torch.float32)
    integers = torch.arange(5000, dtype=torch.float32)
    wrong = (integers.to(kind).float() != integers).nonzero()
    return {
        "converted": [
            [float(torch.tensor(float(given[name])).to(each)) for each in FORMATS.values()]
            for name in ("near", "far")
        ],
        "first_wrong": int(wrong[0]),
        "different": positions.bfloat16().unique().numel(),
        "patterns": [[int(patterns(kind).isfinite().sum()), int(patterns(kind).isnan().sum())]],
        "statements": statements(),
    }


def patterns(kind):
    """All bit patterns of a 16-bit format."""
    return torch.arange(2**16, dtype=torch.int32).to(torch.int16).view(kind)


def statements():
    def contained(kind, other):
        numbers = patterns(kind)
        numbers = numbers[numbers.isfinite()].double()
        return bool((numbers.to(other).double() == numbers).all())

    largest = torch.tensor(torch.finfo(torch.float32).max)
    numbers = torch.linspace(1, 2, 1001)
    held = {
        "bf16-in-fp32": contained(torch.bfloat16, torch.float32),
        "fp16-in-fp32": contained(torch.float16, torch.float32),
        "overflow": bool(largest.bfloat16().isinf()),
        "fp16-in-bf16": contained(torch.float16, torch.bfloat16),
        "same-values": bool((numbers.bfloat16().float() == numbers).all()),
        "memory": torch.bfloat16.itemsize < torch.float16.itemsize,
    }
    return [name for name, holds in held.items() if holds]
