"""Simulates queues, profilers, and caches to check the facts."""

from __future__ import annotations

import cProfile
import pstats
import random
import time
from functools import cache


@cache
def batches_per_second(times, count=500):
    """Discrete events: each stage handles one batch at a time."""
    free = [0.0] * len(times)
    for _ in range(count):
        ready = 0.0
        for stage, duration in enumerate(times):
            free[stage] = max(free[stage], ready) + duration
            ready = free[stage]
    return 1000 * count / free[-1]


def finish(tasks, needs):
    """End of all tasks with unlimited workers."""
    ends = {}
    for name, duration in tasks.items():
        ends[name] = max((ends[n] for n in needs.get(name, ())), default=0) + duration
    return max(ends.values())


@cache
def best_estimate(true=10.0, runs=50):
    dice = random.Random(0)
    timings = [true + dice.expovariate(1) * (dice.random() < 0.7) for _ in range(runs)]
    guesses = {"mean": sum(timings) / runs, "minimum": min(timings)}
    return min(guesses, key=lambda name: abs(guesses[name] - true))


@cache
def dram_is_higher(flops=1000):
    loads = [n % 10 for n in range(400)]
    cached, misses = set(), 0
    for address in loads:
        misses += address not in cached
        cached.add(address)
    return flops / (4 * misses) > flops / (4 * len(loads))


def share_of_peak(gpus, hours, *, flops=7.2e21, peak=1e15):
    return flops / (gpus * hours * 3600 * peak)


@cache
def steps_of_a_run(gpus, exchange, work=64.0, steps=10):
    """Elapsed time of synchronous steps, and the share of it in which a GPU computes."""
    elapsed = computing = 0.0
    for _ in range(steps):
        elapsed += work / gpus + exchange
        computing += work / gpus
    return elapsed, computing / elapsed


@cache
def share_falls(ratio, gpus=16):
    """Whether the GPUs compute for less of the time, if twice as many take *ratio* of the time."""
    # With w the work per GPU, (w/2 + e) / (w + e) is the ratio for an exchange of length e.
    work = 64.0 / gpus
    exchange = work * (ratio - 0.5) / (1 - ratio)
    before, share_before = steps_of_a_run(gpus, exchange)
    after, share_after = steps_of_a_run(2 * gpus, exchange)
    assert abs(after / before - ratio) < 1e-9
    lower = share_after < share_before * 0.999
    # Counted from the FLOPs and the GPU hours of both runs.
    counted = share_of_peak(2 * gpus, ratio * 100) < share_of_peak(gpus, 100) * 0.999
    assert lower is counted
    return lower


def samples_tell_calls():
    """Whether stacks, looked at every 10 ms, tell 1 call of 100 ms from 100 calls of 1 ms."""
    once = ["f" for _ in range(10)]
    often = ["f" for _ in range(10)]
    return once != often


@cache
def columns_of_cprofile():
    def inner():
        end = time.process_time() + 0.02
        while time.process_time() < end:
            pass

    def outer():
        inner()

    profile = cProfile.Profile()
    profile.runcall(outer)
    found = {key[2]: value for key, value in pstats.Stats(profile).stats.items()}
    _, _, own, with_calls, _ = found["outer"]
    return "own" if own < with_calls / 2 else "with-calls"


def claims(first):
    unchanged = batches_per_second((2, 10, 6)) > 0.99 * batches_per_second((4, 10, 6))
    unchanged = unchanged and batches_per_second((2, 10, 6)) < 1.01 * batches_per_second((4, 10, 6))
    tasks, needs = {"a": 3, "b": 4, "c": 5, "d": 2}, {"b": ["a"], "c": ["a"], "d": ["b", "c"]}
    chain = finish(tasks, needs) == 3 + 5 + 2
    stored, tiled = 2 * 4 * 4096**2, 2 * 4096 * 64 * 4
    return {
        "busy_gpu": [first, "any-kernel"],
        "cpu_time": [first, "added-up"],
        "sampled_calls": [first is not samples_tell_calls(), "intervals"],
        "source_of_speed": [(tiled < stored) is first, "on-chip"],
        "twice_the_gpus": [share_falls(0.6 if first else 0.5), "gpu-hours"],
        "faster_loading": [unchanged is not first, "slowest"],
        "unlimited_workers": [chain is not first, "in-sequence"],
        "repeated_timing": [best_estimate() == ("mean" if first else "minimum"), "only-adds"],
        "two_intensities": [dram_is_higher() is not first, "fewer-bytes"],
    }


def claims_as_worded(given):
    """The claims, each with the wording that was drawn for it."""
    both = {first: claims(first) for first in (True, False)}
    return {name: both[given[f"{name}_first"]][name] for name in both[True]}


def solve(given):
    return {
        **claims_as_worded(given),
        "tottime_column": columns_of_cprofile(),
        "small_benchmark": "cause",
        "running_process": "py-spy",
        "judged_kernel": "measured",
        "useful_share": "model FLOPs utilization",
        "arrival_to_completion": "latency",
        "chain_of_tasks": "critical path",
        "inserted_code": "instrumentation",
    }
