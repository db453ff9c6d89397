"""What is slow the first time, done once before the fork so that it is not in any kernel.

Torch makes kernels, tables and wrappers when an operator first runs; what has run here is shared
by all kernels. It leaves no thread behind and no random state: seeds are set afterwards.
"""

from __future__ import annotations

import sys
from typing import Any


def torch(device: str) -> None:
    """Runs a little of what notebooks do with torch, on the CPU; never raises.

    Nothing of it when *device* is a GPU: autograd would start threads for it, and after that
    nothing can be forked.
    """
    if device != "cpu":
        return
    try:
        _usual(sys.modules["torch"])
    except Exception:  # noqa: BLE001  # another release: what it was to save is spent later
        return


def _usual(torch: Any) -> None:
    nn, functional = torch.nn, torch.nn.functional
    model = nn.Sequential(nn.Linear(8, 8), nn.GELU(), nn.LayerNorm(8), nn.Linear(8, 4))
    labels = torch.zeros(4, dtype=torch.long)
    for optimizer in (torch.optim.SGD, torch.optim.AdamW):
        steps = optimizer(model.parameters(), lr=0.1)
        steps.zero_grad()
        functional.cross_entropy(model(torch.randn(4, 8)), labels).backward()
        steps.step()
    with torch.no_grad():
        nn.Conv2d(3, 4, 3, padding=1)(torch.randn(1, 3, 8, 8))
        q, k = torch.randn(2, 8, 8), torch.randn(2, 8, 8)
        scores = torch.softmax(q @ k.transpose(-1, -2), dim=-1)
        codes = (scores / scores.abs().amax()).round().clamp(-127, 127).to(torch.int8)
        for dtype in (torch.bfloat16, torch.float16, torch.float64):
            (scores.to(dtype) + 1).sum().item()
        torch.equal(codes, codes.clone())
        repr(scores)
