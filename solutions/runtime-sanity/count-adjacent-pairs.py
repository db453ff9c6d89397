"""Cycles and misses are added up slice by slice; the code counts numbers of pairs."""

from collections import Counter

import numpy as np


def solve(given):
    def microseconds(instructions, ipc):
        cycles = 0.0
        for _ in range(given["thousands"]):
            cycles += 1000 * instructions / ipc
        cycles -= instructions / ipc  # there is one pair less than there are tokens
        return cycles / (given["clock"] * 1e3)

    loop = microseconds(given["per_step"], given["ipc"])
    fast = microseconds(given["fast_step"], given["fast_ipc"])
    # The lists of hardware and of software events in the manual page of perf-list.
    hardware = {"cycles", "branches", "misses"}
    software = {"faults", "switches", "migrations"}
    slices, seen = 1000, given["raw"] / (1000 * given["active"])
    return {
        "time": loop / 1e3,
        "gain": loop / fast,
        "counters": hardware if given["hardware"] else software,
        "scaled": sum(seen for _ in range(slices)),
    }


def pairs(tokens, size):
    numbers = tokens[:-1] * size + tokens[1:]
    return np.bincount(numbers, minlength=size * size).reshape(size, size)


def pairs_right_unique(tokens, size):
    counts = np.zeros(size * size, dtype=np.int64)
    numbers, found = np.unique(tokens[:-1] * size + tokens[1:], return_counts=True)
    counts[numbers] = found
    return counts.reshape(size, size)


def pairs_right_add_at(tokens, size):
    counts = np.zeros((size, size), dtype=np.int64)
    np.add.at(counts, (tokens[:-1], tokens[1:]), 1)
    return counts


def pairs_slow_counter(tokens, size):
    counts = np.zeros((size, size), dtype=np.int64)
    known = tokens.tolist()
    for (a, b), found in Counter(zip(known, known[1:], strict=False)).items():
        counts[a, b] = found
    return counts


def pairs_slow_as_given(tokens, size):
    counts = np.zeros((size, size), dtype=np.int64)
    for i in range(len(tokens) - 1):
        counts[tokens[i], tokens[i + 1]] += 1
    return counts


def pairs_expected(tokens, size):
    counts = np.zeros((size, size), dtype=np.int64)
    known = tokens.tolist()
    for a in range(size):
        places = [i + 1 for i, one in enumerate(known[:-1]) if one == a]
        for place in places:
            counts[a, known[place]] += 1
    return counts


def pairs_cases(rng, given):
    yield "edge", {"tokens": np.zeros(0, dtype=np.int64), "size": 3}
    yield "edge", {"tokens": np.array([2]), "size": 3}
    yield "edge", {"tokens": np.array([1, 1, 1, 1]), "size": 2}
    yield "edge", {"tokens": np.array([0, 3]), "size": 6}
    for length in (20, 200, 200, 500):
        size = int(rng.integers(3, 9))
        yield "random", {"tokens": rng.integers(0, size, size=length), "size": size}


def pairs_wrong_transposed(tokens, size):
    return pairs(tokens, size).T


def pairs_wrong_once(tokens, size):
    counts = np.zeros((size, size), dtype=np.int64)
    counts[tokens[:-1], tokens[1:]] += 1  # repeated places are written once
    return counts


def pairs_wrong_length(tokens, size):
    numbers = tokens[:-1] * size + tokens[1:]
    return np.bincount(numbers)


def pairs_wrong_without_overlap(tokens, size):
    numbers = tokens[:-1:2] * size + tokens[1::2]
    return np.bincount(numbers, minlength=size * size).reshape(size, size)


def pairs_wrong_float(tokens, size):
    return pairs(tokens, size).astype(float)


def pairs_wrong_wraps(tokens, size):
    numbers = tokens * size + np.roll(tokens, -1)
    return np.bincount(numbers, minlength=size * size).reshape(size, size)
