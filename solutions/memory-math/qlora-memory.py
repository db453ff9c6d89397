"""Packs one group of blocks into real bytes, weighs it, and stacks groups and adapters."""

import torch


def group_bytes(block, group, double):
    """What one group of blocks occupies: packed codes, then what is stored for the scales."""
    codes = bytearray(block * group // 2)  # two 4-bit codes in a byte
    if double:
        scales = bytearray(group) + bytearray(4)
    else:
        scales = b"".join(bytearray(4) for _ in range(group))
    return len(codes), len(scales)


def solve(given):
    block, group = given["block"], given["group"]
    weights = block * group
    groups = given["billions"] * 1e9 / weights

    codes, scales = group_bytes(block, group, double=True)
    _, plain_scales = group_bytes(block, group, double=False)
    base = groups * (codes + scales)

    adapters = 0
    for _tensor in ("weight", "gradient", "mean", "variance"):
        adapters += 4 * given["adapter_millions"] * 10**6
    other = sum(2 * 10**6 for _ in range(given["other_millions"]))  # bf16, by millions
    wanted = {"4 bits": 4, "bf16": 16, "fp32": 32}[given["precision"]]
    need = base + other + adapters + given["activations"] * 1e9
    sizes = {16: "gpu_16", 24: "gpu_24", 48: "gpu_48", 80: "gpu_80"}
    fitting = [name for size, name in sorted(sizes.items()) if size * 1e9 >= need]
    return {
        "overhead": scales * 8 / weights,
        "base_size": base / 1e9,
        "saved": groups * (plain_scales - scales) / 1e9,
        "state": (base + other + adapters) / 1e9,
        "smallest_gpu": fitting[0] if fitting else "none_of_them",
        "formats": {name for name, bits in widths().items() if bits == wanted},
    }


def widths(size=64, rank=4):
    """The bits per number of everything in one training step of a small layer, as PyTorch has it."""
    levels = torch.linspace(-1, 1, 16)
    codes = torch.arange(size * size) % 16
    packed = (codes[0::2] + 16 * codes[1::2]).to(torch.uint8)
    base = levels[torch.stack([packed % 16, packed // 16], dim=1).long()].reshape(size, size)
    base = base.bfloat16()  # needs no gradient, because it is frozen
    embedding = torch.nn.Embedding(size, size, dtype=torch.bfloat16)
    adapters = [torch.nn.Parameter(torch.full(s, 0.1)) for s in ((rank, size), (size, rank))]
    optimizer = torch.optim.Adam(adapters)
    x = embedding(torch.arange(2))
    product = x @ base.T
    down = x @ adapters[0].bfloat16().T
    (product + down @ adapters[1].bfloat16().T).float().square().mean().backward()
    optimizer.step()

    def bits(tensor):
        return None if tensor is None else 8 * tensor.element_size()

    return {
        "storage": 8 * packed.nbytes / base.numel(),
        "products": bits(product),
        "embedding": bits(embedding.weight),
        "adapter_gradients": bits(adapters[0].grad),
        "moments": bits(optimizer.state[adapters[0]]["exp_avg"]),
        "gradients": bits(base.grad),
    }
