"""Counts multiplications, additions, and bytes of the measured programs, and compares times."""


def product_flops(size):
    """Counts row by row: each entry is a sum of `size` products, started from zero."""
    return sum(size * (size + size) for _row in range(size))


def time_of(work, rate):
    return work / rate


def solve(given):
    gpu = given["gpu"]
    sheet_peak = given.fact(gpu, "fp32", "TFLOP/s") * 1e12
    sheet_bandwidth = given.fact(gpu, "memory_bandwidth", "TB/s") * 1e12
    gib = 1 << 30

    # The times as they are printed.
    flops = product_flops(given["size"])
    large = rounded(1e3 * flops / (sheet_peak * given["peak_part"]), 4) / 1e3
    moved = given["copied"] * gib + given["copied"] * gib
    copy = rounded(1e3 * moved / (sheet_bandwidth * given["copy_part"]), 4) / 1e3
    streams = [given["axpy"] * gib for _ in ("read x", "read y", "write y")]
    reachable = sheet_bandwidth * given["copy_part"] * given["axpy_part"]
    vector = rounded(1e3 * sum(streams) / reachable, 4) / 1e3
    peak, bandwidth = flops / large, moved / copy

    # For every level, the time that the kernel spends there if nothing else limits it.
    done = given["flops"] * 1e12
    rates = [given["l1"] * 1e12, given["l2"] * 1e12, bandwidth]
    nominal = [given["l1"], given["l2"], sheet_bandwidth / 1e12 * 0.88]
    counts = [
        1e9 * rounded(given["flops"] * 1e3 * rate / (sheet_peak / 1e12 * 0.8 * given[low]), 3)
        for rate, low in zip(nominal, ("low1", "low2", "low3"), strict=True)
    ]
    spent = [time_of(count, rate) for count, rate in zip(counts, rates, strict=True)]
    times = dict(zip(("registers", "blocks", "order"), spent, strict=True))
    times["instructions"] = time_of(done, peak)
    now = max(times.values())
    (change,) = [
        name for name in times if max((times | {name: times[name] / 2}).values()) < now / 1.01
    ]
    return {
        "roofs": [[peak / 1e12], [bandwidth / 1e12]],
        "ridge_point": peak / bandwidth,
        "reached": 100 * (sum(streams) / bandwidth) / vector,
        "levels": [
            [done / count, done / time / 1e12] for count, time in zip(counts, spent, strict=True)
        ],
        "limit": done / now / 1e12,
        "change": change,
        "classes": {name: name for name in ("micro", "kernel", "application", "workflow")},
    }


def rounded(number, digits):
    return float(f"{number:.{digits}g}")
