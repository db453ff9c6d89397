"""Fits a line to the squared norms, searches batch sizes, and adds up an epoch update by update."""

import math

import numpy


def solve(given):
    few, many = given["local"], given["local"] * given["gpus"]
    small, big = (measured(given["signal"], given["scale"], n) for n in (few, many))
    # The squared norm is linear in the inverse batch size: slope V, intercept G.
    variance, signal = numpy.polyfit([1 / few, 1 / many], [small, big], 1)
    noise = [variance, signal]
    growth = given["growth"]
    before = epoch(1, 1, growth)
    after = [epoch(f, growth, growth) for f in (1, math.sqrt(growth), growth)]
    return {
        "signal_norm": signal,
        "noise_scale": batch_for(noise, 1),
        "larger_batch": numpy.polyval(noise, 1 / (many * growth)),
        "needed_batch": batch_for(noise, given["target"] / 100),
        "learning_rate": learning_rate(
            given["lr"], given["old"], given["new"], many, many * growth
        ),
        "rules": [[x / y for x, y in zip(new, before, strict=True)] for new in after],
        "established": ["unbiased", "reparametrization", "diminishing"],
    }


def measured(signal, scale, batch):
    """The squared norm of a batch's mean gradient, to five digits."""
    return float(f"{signal * (1 + scale / batch):.5g}")


def batch_for(noise, share):
    """The batch size at which the noise is this share of the gradient's norm, by bisection."""
    variance, signal = noise
    low, high = 1e-3, 1e12
    for _ in range(200):
        middle = math.sqrt(low * high)
        if math.sqrt(variance / middle) > share * math.sqrt(signal):
            low = middle
        else:
            high = middle
    return high


def learning_rate(rate, old, new, batch, larger):
    """The learning rate that brings the noise scale back, by raising and lowering it."""
    wanted = rate * old * 1e6 / batch
    low, high = 0.0, 1e6
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if middle * new * 1e6 / larger < wanted else (low, middle)
    return high


def epoch(rate, batch, samples):
    """Deviation of an update, and mean and deviation of an epoch's sum, for unit gradients."""
    mean, variance, one = 0.0, 0.0, 0.0
    for start in range(0, samples, batch):
        weights = [rate / batch] * len(range(start, start + batch))  # of each sample's gradient
        mean += sum(weights)
        one = sum(w * w for w in weights)
        variance += one
    return math.sqrt(one), mean, math.sqrt(variance)
