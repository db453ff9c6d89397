"""Pickles real objects, and plays the start of the workers through."""

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


def solve(given):
    """Try what can be tried; step through the rest."""
    sending = given["argument"] / given["pickling"]
    clock, ready = 0.0, []
    for _ in range(given["workers"]):
        imported = clock + given["imports"]
        clock += sending
        ready.append(max(imported, clock) + sending)

    page = 4096
    pages = given["millions"] * 1_000_000 * given["object_size"] / page
    return {
        "through_pickle": [name for name, value in samples().items() if sendable(value)],
        "after_fork": ["modules", "lambdas", "held_locks"],
        "ready_time": max(ready),
        "copied": sum(pages * page for _ in range(given["workers"])) / 1e6,
    }
