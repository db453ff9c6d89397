"""Packs one group of blocks into real bytes, weighs it, and stacks groups and adapters."""


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
    need = base + other + adapters + given["activations"] * 1e9
    sizes = {16: "gpu_16", 24: "gpu_24", 48: "gpu_48", 80: "gpu_80"}
    fitting = [name for size, name in sorted(sizes.items()) if size * 1e9 >= need]
    return {
        "overhead": scales * 8 / weights,
        "base_size": base / 1e9,
        "saved": groups * (plain_scales - scales) / 1e9,
        "state": (base + other + adapters) / 1e9,
        "smallest_gpu": fitting[0] if fitting else "none_of_them",
        "formats": {"storage"},
    }
