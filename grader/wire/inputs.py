"""Computes a mark of a timed run's inputs; the text of this module is sent to the kernel.

Like `grader.wire.trial`, it imports nothing from `grader`. In the kernel it shares a namespace
with a driver.
"""

from __future__ import annotations

import hashlib
import json
import sys
from typing import Any


def checksum_of(inputs: Any) -> str:
    """A checksum of *inputs*, which takes little time compared to creating them."""
    try:
        return _hash_of_inputs(
            json.dumps(inputs, default=_summary_of_input, skipkeys=True).encode()
        )
    except (TypeError, ValueError, RecursionError):
        return _hash_of_inputs(b"inputs that are no data")


def _summary_of_input(value: Any) -> Any:
    """A stand-in for values that `json` can't encode: for arrays, the sum of their bits."""
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        flat = value.detach().contiguous().reshape(-1)
        bits = (flat.clone() if flat.numel() < 2 else flat).view(torch.uint8)
        whole = bits.numel() % 8 == 0 == bits.storage_offset() % 8
        bits = bits.view(torch.int64) if whole and bits.numel() else bits
        return [str(value.dtype), list(value.shape), int(bits.sum())]
    if numpy is not None and isinstance(value, numpy.ndarray) and value.dtype.kind != "O":
        bits = numpy.ascontiguousarray(value).reshape(-1).view(numpy.uint8)
        bits = bits.view(numpy.uint64) if bits.size % 8 == 0 else bits
        return [str(value.dtype), list(value.shape), int(bits.sum(dtype=numpy.uint64))]
    if numpy is not None and isinstance(value, (numpy.ndarray, numpy.generic)):
        return value.tolist()
    if isinstance(value, (complex, bytes, set, frozenset)):
        return repr(sorted(value, key=repr) if isinstance(value, (set, frozenset)) else value)
    parts = getattr(value, "state_dict", None)
    return parts() if callable(parts) else type(value).__qualname__


def _hash_of_inputs(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()
