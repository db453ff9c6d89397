"""Simulates warps, blocks, sectors, and banks to check the facts."""

from __future__ import annotations

from collections import Counter

WARP = 32


def divergent(branch, threads=256):
    warps = [range(start, start + WARP) for start in range(0, threads, WARP)]
    return any(len({branch(t) for t in warp}) > 1 for warp in warps)


def finish_order(durations, slots):
    """Blocks in the order in which they end, on a GPU with room for *slots* at a time."""
    ends, free = [], [0] * slots
    for block, time in enumerate(durations):
        at = min(range(slots), key=lambda slot: free[slot])
        free[at] += time
        ends.append((free[at], block))
    return [block for _, block in sorted(ends)]


def sectors(addresses):
    return len({address // 32 for address in addresses})


def passes(stride):
    return max(Counter(stride * t % 32 for t in range(WARP)).values())


def runs_on(kind, built, device):
    """Compatibility of GPU code by capability, as pairs of major and minor version."""
    if kind == "ptx":
        return device >= built
    return device[0] == built[0] and device[1] >= built[1]


def share_of_h100_peak(*, matrices):
    """The share of the dense bf16 peak that the units for an operation have.

    Per clock, each SM of an H100 has four tensor cores with 512 bf16 multiply-adds each, and 128
    CUDA cores with 2 each. The tensor cores run at up to 1.83 GHz, and the CUDA cores at 1.98 GHz.
    """
    tensor_cores = 132 * 4 * 512 * 2 * 1.83e9
    cuda_cores = 132 * 128 * 2 * 2 * 1.98e9
    stated = 989.4e12
    assert abs(tensor_cores / stated - 1) < 0.01
    return (tensor_cores if matrices else cuda_cores) / stated


def claims(first):
    branch = (lambda t: t // 32 % 2) if first else (lambda t: t % 2)
    order = finish_order([9, 1, 1, 1], slots=2)
    overtakes = order.index(1) < order.index(0)
    row = sectors(4 * t for t in range(WARP))
    column = sectors(4 * 1024 * t for t in range(WARP))
    wanted = column < row if first else row < column
    return {
        "uniform_in_warp": [not divergent(branch), "same-side"],
        "order_of_blocks": [overtakes is first, "independent"],
        "block_barrier": [first, "not-resident"],
        "older_target": [runs_on("ptx" if first else "cubin", (8, 0), (9, 0)), "translated"],
        # Large products reach two thirds of the peak in practice, and no kernel exceeds its units.
        "share_of_peak": [share_of_h100_peak(matrices=first) * 2 / 3 > 1 / 3, "units"],
        "fewer_registers": [not first, "local"],
        "matrix_access": [wanted, "adjacent"],
        "timed_launch": [not first, "asynchronous"],
        "after_fork": [not first, "one-process"],
    }


def claims_as_worded(given):
    """The claims, each with the wording that was drawn for it."""
    both = {first: claims(first) for first in (True, False)}
    return {name: both[given[f"{name}_first"]][name] for name in both[True]}


def solve(given):
    stride = int(given["stride"])
    counts = {"divisor": 2 if stride % 4 else 4 if stride % 8 else 8}
    counts |= {"stride": stride, "serial": 32, "free": 1}
    return {
        **claims_as_worded(given),
        "two_streams": "full",
        "too_old": "driver",
        "in_the_executable": "both",
        "stride_in_shared_memory": next(n for n, c in counts.items() if c == passes(stride)),
        "combined_access": "coalescing",
        "resident_warps": "occupancy",
        "private_space": "local memory",
        "unit_of_the_gpu": "streaming multiprocessor",
    }
