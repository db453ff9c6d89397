"""Runs the chain in PyTorch, records what autograd saves, and follows the kernels one by one."""

import torch

OPERATIONS = {
    "silu": torch.nn.functional.silu,
    "sin": torch.sin,
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "exp": torch.exp,
    "neg": torch.neg,
}


def solve(given):
    chain = [OPERATIONS[given[f"op{i}"]] for i in range(1, 7)]
    tensor = 2 * given["tokens"] * given["width"] / 1e6
    saved, reads = recorded(chain)
    eager = {
        "forward": sum(1 + 1 for _ in chain),
        "backward": sum(1 + read + 1 for read in reads),
    }
    compiled = {"forward": len(["t0"]) + len(["t6"]), "backward": len(["g6", "t0"]) + len(["g0"])}
    faster = sum(eager.values()) / sum(compiled.values())
    step = 1000.0
    chains = given["share"] * step
    rest = step - chains
    true = {"ahead": given["s1"] == 1, "agree": given["s2"] == 1, "shapes": given["s3"] == 1}
    return {
        "saved": saved * tensor,
        "traffic": [[eager[name] * tensor, compiled[name] * tensor] for name in eager],
        "chain_speedup": faster,
        "step_speedup": step / (rest + chains / faster),
        "statements": {"overhead", *(name for name, holds in true.items() if holds)},
    }


def recorded(chain):
    """How many different tensors autograd saves, and how many each operation saves."""
    storages, per_operation = set(), []
    kept = []  # so that no address is used twice

    def pack(x):
        kept.append(x)
        if x.numel() > 1:
            storages.add(x.untyped_storage().data_ptr())
            per_operation[-1] += 1
        return x

    x = torch.randn(4, requires_grad=True)
    kept.append(x)
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda x: x):
        for operation in chain:
            per_operation.append(0)
            x = operation(x)
            kept.append(x)
    return len(storages), per_operation
