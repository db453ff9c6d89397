"""What torch's compiler is replaced by until something is compiled."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("torch")

CODE = """
import sys, torch
from grader.runtime.worker.dynamo import defer_dynamo
defer_dynamo()
import torch.distributed as dist
dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
x = torch.ones(3, requires_grad=True)
dist.all_reduce(x.detach())
optimizer = torch.optim.AdamW([x], lr=0.1)
x.sum().backward()
optimizer.step()
dist.destroy_process_group()
print("torch._dynamo.symbolic_convert" in sys.modules)
print(torch._dynamo.trace_rules.LEGACY_MOD_INLINELIST is not None)
print("torch._dynamo.symbolic_convert" in sys.modules)
"""


@pytest.mark.thorough
def test_process_groups_and_optimizers_do_not_import_the_compiler() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, timeout=120)
    assert done.stdout.split() == ["False", "True", "True"], done.stderr
