"""Pickles real objects, and sends an argument through a pipe piece by piece."""

import functools
import io
import math
import pickle
import threading

import numpy as np


def sendable(value):
    """Whether the standard pickle takes it, and gives something back."""
    try:
        pickle.loads(pickle.dumps(value))  # noqa: S301  # of our own making
    except (TypeError, AttributeError, pickle.PicklingError):
        return False
    return True


def samples():
    """One object of each kind that is asked about."""

    def inner():
        return 1

    class Local:
        pass

    counting = iter(n * n for n in range(9))
    next(counting)
    return {
        "function_by_name": math.gcd,
        "nested_function": inner,
        "expression": lambda x: x,
        "partial": functools.partial(math.gcd, 12),
        "arrays": {"a": np.arange(3), "b": np.ones((2, 2))},
        "open_file": io.BufferedReader(io.FileIO(0, closefd=False)),
        "generator": counting,
        "thread_lock": threading.Lock(),
        "local_class": Local(),
    }


def start_all(workers, megabytes, pickling, imports, unpickling):
    """Return when the last worker is ready; the argument crosses the pipe piece by piece."""
    buffer = 65536 / 1e6
    left, crossing = megabytes, 0.0
    while left > 0:
        piece = min(buffer, left)
        left -= piece
        crossing += piece / unpickling
    clock, ready = 0.0, 0.0
    for _ in range(workers):
        clock += megabytes / pickling
        reader = clock + imports + crossing  # the worker imports before it reads
        if megabytes > buffer:
            clock = reader  # what the buffer still holds by then is negligible
        ready = max(ready, reader)
    return ready


def copied(workers, objects, size):
    """Return the bytes of the pages to which the workers write, found on some of the objects."""
    page, sample = 4096, 4096
    place, pages = 0, set()
    for _ in range(sample):
        pages.add(place // page)  # the reference count is the first field
        place += size + -size % 16
    return workers * len(pages) * page * objects / sample


def solve(given):
    """Try what can be tried; step through the rest."""
    rates = given["pickling"], given["imports"], given["unpickling"]
    large = start_all(given["workers"], given["argument"], *rates)
    small = start_all(given["workers"], 0, *rates)  # a name takes no time
    return {
        "through_pickle": [name for name, value in samples().items() if sendable(value)],
        "after_fork": ["modules", "lambdas", "held_locks"],
        "ready_time": large,
        "shared_name": large / small,
        "copied": copied(given["workers"], given["millions"] * 1e6, given["reported"]) / 1e9,
        "fewer_copies": "array",
        "forkserver": "pickled",
    }
