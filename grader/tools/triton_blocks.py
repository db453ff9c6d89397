"""Triton kernels: on a GPU where there is one, and by Triton's own interpreter elsewhere.

`triton_launch(kernel, grid, x, y, n, BLOCK=64)` runs a plain function in Triton's language, with
`import triton.language as tl` above it and `BLOCK: tl.constexpr` among its arguments. Tensors stay
on the CPU for whoever calls it. The interpreter runs one program of the grid after the other.
"""

import importlib
import os
import sys


class TritonMissingError(Exception):
    """Triton can't be imported, or was imported in the other mode."""


def triton_module(torch):
    """The module `triton`: interpreted where torch finds no GPU. Raises TritonMissingError.

    Triton decides when a kernel is made, and some of it when it is first imported.
    """
    wanted = "0" if torch.cuda.is_available() else "1"
    if "triton" not in sys.modules:
        os.environ["TRITON_INTERPRET"] = wanted
    elif os.environ.get("TRITON_INTERPRET", "0") != wanted:
        raise TritonMissingError("triton was imported in the other mode: restart the kernel")
    try:
        return importlib.import_module("triton")
    except ImportError as error:
        missing = "Triton is missing: pip install triton"
        raise TritonMissingError(f"{missing} ({error})") from None


def triton_launch(kernel, grid, *args, **constants):
    """Runs `triton.jit(kernel)[grid](*args, **constants)`; tensors are copied there and back."""
    import torch

    triton = triton_module(torch)
    grid = grid if isinstance(grid, tuple) or callable(grid) else (grid,)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    there = [a.to(device) if isinstance(a, torch.Tensor) else a for a in args]
    triton.jit(kernel)[grid](*there, **constants)
    for mine, other in zip(args, there, strict=True):
        if isinstance(mine, torch.Tensor) and other is not mine:
            mine.copy_(other)
