"""Simulates an asynchronous server, and finds the stable learning rate from the modes of the recursion."""

import heapq
import math

import numpy


def solve(given):
    times = [int(given[f"t{k}"]) for k in (1, 2, 3, 4)]
    begin = staleness(times, 20 * max(times))
    many = staleness([997 + 13 * k for k in range(given["workers"])], 2_000_000)
    every = [each for worker in many for each in worker]
    limit = largest_stable_rate(given["delay"]) / given["curvature"]
    start = float(f"{2 * given['portion'] / given['curvature']:.3g}")
    divided = start / given["delay"]
    return {
        "simulated": [worker[1:3] for worker in begin],
        "slow_mean": long_run(times),
        "overall_mean": round(sum(every) / len(every)),
        "rates": [
            [scaled(given["alpha"], delay), bounded(given["constant"], given["cap"], moved)]
            for delay, moved in (
                (0, (0, 0, 0)),
                (given["one"], [given[f"x{k}"] for k in (1, 2, 3)]),
                (given["two"], [given[f"y{k}"] for k in (1, 2, 3)]),
            )
        ],
        "stable": limit,
        "rule": "both" if start < limit else "divided" if divided < limit else "neither",
        "practice": ["pipedream", "embeddings", "offload"],
    }


def staleness(times, end):
    """The staleness of every worker's gradients until a time, from the server's version."""
    version, read, found = 0, [0] * len(times), [[] for _ in times]
    arrivals = [(time, worker) for worker, time in enumerate(times)]
    heapq.heapify(arrivals)
    while arrivals[0][0] <= end:
        now, worker = arrivals[0]
        found[worker].append(version - read[worker])
        version += 1
        read[worker] = version
        heapq.heapreplace(arrivals, (now + times[worker], worker))
    return found


def scaled(alpha, delay):
    return alpha / max(1, delay)


def bounded(constant, cap, moved):
    return cap if not any(moved) else min(constant / math.hypot(*moved) ** 2, cap)


def long_run(times):
    """The mean staleness of the slowest worker's gradients, counted over a common period."""
    period = math.lcm(*times)
    applied = [len(range(time, period + 1, time)) for time in times]
    return (sum(applied) - min(applied)) / min(applied)


def largest_stable_rate(delay):
    """The rate up to which all modes of the recursion decay, for curvature 1, by bisection."""
    low, high = 0.0, 4.0
    for _ in range(50):
        rate = (low + high) / 2
        modes = numpy.roots([1, -1, *[0] * (delay - 1), rate])
        low, high = (rate, high) if max(abs(modes)) < 1 else (low, rate)
    return low
