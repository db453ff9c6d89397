"""Says whether a measurement is clear, may end, or must be repeated."""

from __future__ import annotations

from grader.kinds import ratios
from grader.model import Answer, Benchmark, CallPlan, Raw

ATTEMPTS = 3
"""Measurements made in one run as long as none gives a clear result."""
FAR = 2.0
"""Stop early if being this many times faster would still not reach the next mark."""


def reason_to_repeat(call_plan: CallPlan, answer: Answer) -> str | None:
    """Returns why to measure again with nothing else running; None if that would not help."""
    benchmark, measured = call_plan.benchmark, (answer.raw or {}).get("race")
    if benchmark is None or not isinstance(measured, dict) or "disturbed" in measured:
        return None
    if is_clear(benchmark, measured):
        return None
    return f"{ATTEMPTS} measurements of {call_plan.name} did not give a clear result"


def is_clear(benchmark: Benchmark, measured: Raw) -> bool:
    """Returns whether *measured* shows on which side of every mark the ratio lies."""
    if benchmark.alone:
        return True
    if "late" in measured:
        return False  # the machine may have stalled for a moment
    try:
        ratio = ratios.measured_ratio(measured)
    except ratios.RanWrongError:
        return True
    except ratios.NotMeasuredError:
        return False
    return all(ratio.is_at_least(mark) is not None for mark in benchmark.marks)


def is_decided(benchmark: Benchmark, measured: Raw) -> bool:
    """Returns whether every mark is clearly decided, so that no more rounds are needed.

    Being slow needs more evidence than being fast, since a busy machine makes nothing faster.
    """
    if "counts" in measured:
        return is_clear(benchmark, measured)
    ratio = ratios.time_ratio(measured)
    return all(ratio.low >= mark or FAR * ratio.high < mark for mark in benchmark.marks)
