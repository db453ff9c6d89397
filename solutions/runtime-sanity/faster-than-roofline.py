"""Count the operation from its shapes, and test each explanation against the reported time."""


def solve(given):
    """Work and traffic row by row; the cause is the correction that makes the time possible."""
    gpu, scenario, n = given["gpu"], given["scenario"], given["n"]
    half = given.fact(gpu, "bf16_dense", "FLOP/s")
    tf32 = given.fact(gpu, "tf32_dense", "FLOP/s")
    single = given.fact(gpu, "fp32", "FLOP/s")
    bandwidth = given.fact(gpu, "memory_bandwidth", "B/s")
    cache = given.fact(gpu, "l2_cache", "B")

    flops = moved = 0
    if scenario == "cached":
        cells = float(f"{cache * 0.4 / 12:.1e}")
        flops, moved, peak = cells, sum(cells * 4 for _ in ("x", "y", "z")), single
    elif scenario == "causal":
        for _ in range(given["heads"]):
            flops += 2 * n * 128 * n + 2 * n * n * 128  # scores, then their sum over the values
            moved += sum(n * 128 * 2 for _ in ("q", "k", "v", "out"))
        peak = half
    else:
        size = 4 if scenario == "tf32" else 2
        for _ in range(n):  # one row of the result
            flops += n * (n + n)
            moved += 3 * n * size
        peak = single if scenario == "tf32" else half

    floors = flops / peak, moved / bandwidth
    bound = floors[0] if floors[0] > floors[1] else floors[1]
    reported = time_of(given, scenario, flops, tf32, bound)
    over_arithmetic, over_memory = reported < floors[0], reported < floors[1]
    roofs = {
        (True, False): "arithmetic",
        (False, True): "memory",
        (True, True): "both",
        (False, False): "neither",
    }
    return {
        "bound": bound * 1e6,
        "factor": reported / bound,
        "implied": flops / reported / 1e12,
        "roof": roofs[over_arithmetic, over_memory],
        "cause": cause_of(scenario, reported, flops, moved, (half, tf32, bandwidth, cache)),
    }


def time_of(given, scenario, flops, tf32, bound):
    """The reported time in seconds, with the three digits that are printed."""
    gain, loss = given["gain"], given["loss"]
    raw = {
        "clock": given["queueing"] * 1e-6,
        "tf32": flops / tf32 * loss,
        "cached": bound / gain / 1.2,
        "honest": bound * loss,
    }.get(scenario, bound / gain)
    return float(f"{raw * 1e6:.2e}") / 1e6


def cause_of(scenario, reported, flops, moved, chip):
    """The explanation that the numbers allow; those that halve the FLOPs differ in the code."""
    half, tf32, bandwidth, cache = chip
    if moved < cache:
        return "cached"
    if reported < moved / bandwidth:
        return "clock"  # not even the bytes could have moved
    if flops / 2 / half < reported < flops / half:
        return scenario  # half of the FLOPs explains it
    if scenario != "tf32" and reported >= flops / half:
        return "nothing"
    return "tf32" if reported > flops / tf32 else "nothing"
