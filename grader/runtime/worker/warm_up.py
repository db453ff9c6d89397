"""Makes torch fast to start: what is slow the first time runs before the fork.

Torch creates kernels, tables, and wrappers when an operator first runs; all kernels share what ran
before the fork. It leaves no thread behind and no random state: seeds are set afterward.
"""

from __future__ import annotations

import sys
from typing import Any


def run_operators(device: str) -> None:
    """Runs a little of what notebooks do with torch, on the CPU; never raises.

    Does nothing if *device* is a GPU: autograd would start threads for it, and then nothing could
    be forked.
    """
    if device != "cpu" or "torch" not in sys.modules:
        return
    try:
        _run_examples(sys.modules["torch"])
    except Exception:  # noqa: BLE001  # another version of torch: only the start is slower
        return


def _run_examples(torch: Any) -> None:
    """Trains a small model, and runs other operators that notebooks often use."""
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
