"""Runs kernels as two queues, of bytes and of FLOPs, that empty at their rates in small steps."""

import itertools


def solve(given):
    gpu = given["gpu"]
    bandwidth = given.fact(gpu, "memory_bandwidth", "B/s")
    peaks = {
        "fp32": given.fact(gpu, "fp32", "FLOP/s"),
        "TF32": given.fact(gpu, "tf32_dense", "FLOP/s"),
        "bf16": given.fact(gpu, "bf16_dense", "FLOP/s"),
    }
    sizes = given["tokens"], given["d_in"], given["d_out"]
    rows, bound = [], {}
    for name, peak in peaks.items():
        width = 2 if name == "bf16" else 4
        bytes_moved = sum(width * a * b for a, b in itertools.combinations(sizes, 2))
        flops = sum(2 * sizes[1] * sizes[2] for _ in range(sizes[0]))
        time, bound[name] = kernel(bytes_moved, bandwidth, flops, peak)
        rows.append([1e6 * time])
    limits = {
        ("flops", "flops", "flops"): "arithmetic",
        ("bytes", "bytes", "bytes"): "memory",
        ("flops", "bytes", "bytes"): "changes-early",
        ("flops", "flops", "bytes"): "changes-late",
    }[tuple(bound.values())]

    # A step of 100 s: seconds of each group, and what a second becomes.
    before = [given["products"], given["elementwise"]]
    before.append(100 - sum(before))
    after = [before[0] * rows[2][0] / rows[0][0], before[1] * 2 / 4, before[2]]

    def decode(weight_bits=4.25, cache_bits=16.0, peak=peaks["bf16"]):
        parameters = given["billions"] * 1e9
        caches = [given["cached"] * 1e6 * cache_bits / 16 for _ in range(given["batch"])]
        bytes_read = sum(caches) + parameters * weight_bits / 8
        return kernel(bytes_read, bandwidth, sum(2 * parameters for _ in caches), peak)[0]

    following = {
        "cache": decode(cache_bits=8.0),
        "weights": decode(weight_bits=3.25),
        "peak": decode(peak=2 * peaks["bf16"]),
        "graph": decode(),
    }
    return {
        "by_format": rows,
        "limits": limits,
        "step_gain": sum(before) / sum(after),
        "decode_gain": decode(weight_bits=16.0) / decode(),
        "next": min(following, key=following.get),
    }


def kernel(bytes_moved, bandwidth, flops, peak, steps=1000):
    """When both queues are empty, and which of them was the last."""
    left = {"bytes": bytes_moved, "flops": flops}
    rates = {"bytes": bandwidth, "flops": peak}
    time, last = 0.0, ""
    tick = min(bytes_moved / bandwidth, flops / peak) / steps
    while left:
        # Nothing happens between the ends of two queues, so long waits are one step.
        step = tick if len(left) == 2 else max(left[n] / rates[n] for n in left)
        for name in list(left):
            left[name] -= rates[name] * step
            if left[name] <= 1e-9 * rates[name] * tick:
                last = name
                del left[name]
        time += step
    return time, last
