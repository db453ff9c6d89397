"""Runs every schedule layer by layer, with a set of what is in memory."""

import functools
import math


def solve(given):
    layers, inner = given["layers"], given["inner"]
    runs = [one, segments, segments_of_inputs, from_start]
    rows = [list(run(layers, given["segment"], inner)) for run in runs]
    plain = layers * given["time"] + sum(given["backward"] * given["time"] for _ in range(layers))
    passes = [("forward", n) for n in range(1, layers + 1)]
    passes += [("backward", n) for n in range(layers, 0, -1)]
    between = passes.index(("backward", given["layer"])) - passes.index(("forward", given["layer"]))
    budget = given["percent"] * layers * (1 + inner) // 100
    first = 0
    while partly(layers, first, inner) > budget:
        first += 1
    factor = 4 if given["segment"] < 6 else 9
    root = round(factor**0.5)
    short, long = (100, 10, inner), (100 * factor, 10 * root, inner)
    names = {1: "one", root: "root", factor: "linear", factor**2: "square"}
    grown = {
        "memory-one": one(*long)[1] / one(*short)[1],
        "memory-two": segments(*long)[1] / segments(*short)[1],
        "memory-four": from_start(*long)[1] / from_start(*short)[1],
        "extra-two": segments(*long)[0] / segments(*short)[0],
        "extra-four": from_start(*long)[0] / from_start(*short)[0],
    }
    nearest = {
        name: names[min(names, key=lambda n: abs(math.log(value / n)))]
        for name, value in grown.items()
    }
    return {
        "schedules": rows,
        "slowest": plain + rows[3][0] * given["time"],
        "waiting": between - 1,
        "fewest": first,
        "overhead": 100 * first * given["time"] / plain,
        "growth": nearest,
    }


@functools.cache
def one(layers, segment, inner):
    extra = peak = 0
    kept = {("input", n) for n in range(layers)}
    for n in reversed(range(layers)):
        extra += 1
        peak = max(peak, size(kept | {("inner", n)}, inner))
    return extra, peak


@functools.cache
def segments(layers, segment, inner):
    extra = peak = 0
    kept = {("input", n) for n in range(0, layers, segment)}
    for start in reversed(range(0, layers, segment)):
        now = set(kept)
        for n in range(start, start + segment):
            extra += 1
            now |= {("input", n), ("inner", n)}
        peak = max(peak, size(now, inner))
    return extra, peak


def segments_of_inputs(layers, segment, inner):
    extra = peak = 0
    kept = {("input", n) for n in range(0, layers, segment)}
    for start in reversed(range(0, layers, segment)):
        now = set(kept)
        for n in range(start, start + segment):
            extra += 1
            now.add(("input", n))
        for n in reversed(range(start, start + segment)):
            extra += 1
            peak = max(peak, size(now | {("inner", n)}, inner))
    return extra, peak


@functools.cache
def from_start(layers, segment, inner):
    extra = peak = 0
    for n in reversed(range(layers)):
        extra += len(range(n))
        extra += 1
        peak = max(peak, size({("input", 0), ("input", n), ("inner", n)}, inner))
    return extra, peak


def partly(layers, first, inner):
    """The peak if the first layers keep their input, and all others everything."""
    held = {("input", n) for n in range(layers)} | {("inner", n) for n in range(first, layers)}
    peak = size(held, inner)
    for n in reversed(range(layers)):
        now = held if n >= first else held | {("inner", n)}
        peak = max(peak, size(now, inner))
        held.discard(("inner", n))
        if n >= first:
            held.discard(("input", n))
    return peak


def size(held, inner):
    return sum(1 if kind == "input" else inner for kind, _ in held)
