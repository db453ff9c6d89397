"""Computes errors from the samples themselves, and traces calls one by one in a program that fits."""

import statistics


def recording(samples, hits):
    """The samples of a recording: 1 in the function, 0 elsewhere."""
    return [1] * hits + [0] * (samples - hits)


def standard_error(samples):
    """The error of the mean, from the spread of the samples."""
    mean = statistics.fmean(samples)
    return statistics.fmean((one - mean) ** 2 for one in samples) ** 0.5 / len(samples) ** 0.5


def trace(duration, own, calls, others, cost):
    """The share of a function whose calls, and those of others, are played one after another."""
    inside = outside = 0.0
    groups = 10_000  # calls played at once
    for _ in range(calls // groups):
        inside += own / (calls / groups) + cost * groups
    for _ in range(others // groups):
        outside += (duration - own) / (others / groups) + cost * groups
    return inside / (inside + outside)


def solve(given):
    rate, duration = given["rate"], given["duration"]
    count = sum(rate for _ in range(duration))
    first = recording(count, round(count * given["true_share"]))
    second = recording(count, round(count * given["true_share"] * given["kept"]))

    errors = [standard_error(first), standard_error(second)]
    difference = statistics.fmean(first) - statistics.fmean(second)
    combined = abs(complex(*errors))  # the length of a right triangle's longest side

    # Twice the samples, again and again, and then the exact number by bisection.
    def error(size):
        return errors[0] * (count / size) ** 0.5

    high = float(count)
    while error(high) > given["wanted"] / 100:
        high *= 2
    low = high / 2
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if error(middle) > given["wanted"] / 100 else (low, middle)

    calls = round(duration * given["calls_rate"] / 10000) * 10000
    inside = round(calls * given["calls_share"] / 10000) * 10000
    spent = sum(first) * (1 / rate)
    return {
        "spent": spent,
        "error_of_share": 100 * errors[0],
        "distance": difference / combined,
        "needed_time": high / rate,
        "traced_share": 100 * trace(duration, spent, inside, calls - inside, given["cost"] * 1e-6),
        "claims": {"attach", "short", "cost"},
        "tools": {
            "mixed": "nvtop",
            "script": "gpustat",
            "intel": "gputop",
            "gil": "py-spy",
            "kernels": "torch",
        },
    }
