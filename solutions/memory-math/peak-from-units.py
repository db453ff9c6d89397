"""Counts the elements that finish in a microsecond, unit by unit, and times a kernel both ways."""

from itertools import product


def solve(given):
    cycles = given["clock"] * 1e3  # in a microsecond
    units = list(product(range(given["cores"]), range(given["units_per_core"])))
    elements = len(range(0, given["vector"], 32))
    peak = sum(cycles * len(("multiply", "add")) * elements for _ in units) * 1e6
    scalar = sum(cycles * len(("multiply", "add")) for _ in units) * 1e6

    chip = list(product(range(given["gpcs"]), range(given["tpcs"]), range(given["tpc_sms"])))
    used = chip[given["disabled"] :]
    gpu = given["gpu_clock"] * 1e9

    def rate(each):
        return sum(gpu * len(("multiply", "add")) * each for _ in used)

    def times(degree, peak, count=1e9):
        """The time of the arithmetic and of the memory traffic for *count* elements."""
        flops = sum(2 for _ in range(degree)) * count
        return flops / peak, 2 * 4 * count / (given["bandwidth"] * 1e9)

    before, after = times(given["degree"], scalar), times(given["degree"], peak)
    low, high = 0.0, 1e6  # the intensity at which scalar arithmetic and traffic take the same time
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (
            (low, middle) if middle / scalar > 1 / given["bandwidth"] / 1e9 else (middle, high)
        )
    plot = ["flat" if after[0] > after[1] else "slope"]
    if max(after) < max(before):
        plot.append("up")
    return {
        "cpu_peak": peak / 1e9,
        "sm_count": len(used),
        "gpu_peaks": [[rate(given["lanes"]) / 1e12], [rate(given["doubles"]) / 1e12]],
        "vector_gain": max(before) / max(after),
        "no_gain_below": high,
        "plot": plot,
    }
