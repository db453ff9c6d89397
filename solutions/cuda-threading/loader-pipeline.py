"""The pipeline by its recurrences; the other road lets workers and loop run as processes."""

import functools

import numpy as np


def epoch_time(loads, workers, prefetch, copy, step, pinned):
    loaded, taken, begun, ended, copied = [], [], [], [], 0
    for i, load in enumerate(loads):
        start = loaded[i - workers] if i >= workers else 0
        if i >= prefetch * workers:
            start = max(start, taken[i - prefetch * workers])
        loaded.append(start + load)
        before = 0 if i == 0 else max(begun[-1], copied) if pinned else ended[-1]
        taken.append(max(loaded[i], before))
        copied = taken[i] + copy
        begun.append(max(copied, ended[-1] if ended else 0))
        ended.append(begun[i] + step)
    return ended[-1] if ended else 0


def epoch_time_right_by_workers(loads, workers, prefetch, copy, step, pinned):
    # Each worker has its own clock, and a window of batches that the loop has not taken.
    clock = [0.0] * workers
    taken = {}
    begun = ended = copied = 0.0
    for i, load in enumerate(loads):
        worker = i % workers
        clock[worker] = max(clock[worker], taken.get(i - prefetch * workers, 0.0)) + load
        ready = clock[worker]
        free = max(begun, copied) if pinned else ended
        taken[i] = max(ready, free) if i else ready
        copied = taken[i] + copy
        begun = max(copied, ended)
        ended = begun + step
    return ended


def epoch_time_expected(loads, workers, prefetch, copy, step, pinned):
    # Workers, copies and steps as processes that sleep, or wait for what others have done.
    n, done = len(loads), set()

    def worker(w):
        for i in range(w, n, workers):
            ahead = i - prefetch * workers
            yield lambda ahead=ahead: ahead < 0 or ("taken", ahead) in done
            yield loads[i]
            done.add(("loaded", i))

    def copies():
        for i in range(n):
            before = ("begun" if pinned else "ended", i - 1)
            yield lambda i=i, before=before: ("loaded", i) in done and (i == 0 or before in done)
            done.add(("taken", i))
            yield copy
            done.add(("copied", i))

    def steps():
        for i in range(n):
            yield lambda i=i: ("copied", i) in done
            done.add(("begun", i))
            yield step
            done.add(("ended", i))

    now, last = 0, 0
    waits = dict.fromkeys((*map(worker, range(workers)), copies(), steps()), 0)
    while waits:
        for process in [p for p, until in waits.items() if not callable(until) and until <= now]:
            wanted = next(process, None)
            if wanted is None:
                del waits[process]
                last = max(last, now) if n else 0
            else:
                waits[process] = wanted if callable(wanted) else now + wanted
        for process in [p for p, until in waits.items() if callable(until) and until()]:
            waits[process] = now
        times = [until for until in waits.values() if not callable(until)]
        now = max(now, min(times)) if times else now
    return last


def epoch_time_cases(rng, given):
    def case(loads, workers, prefetch, copy, step, pinned):
        return {
            "loads": [int(t) for t in loads],
            "workers": int(workers),
            "prefetch": int(prefetch),
            "copy": int(copy),
            "step": int(step),
            "pinned": pinned,
        }

    def some(pinned, prefetch=None):
        loads = rng.integers(5, 90, int(rng.integers(6, 14)))
        ahead = int(rng.integers(2, 4)) if prefetch is None else prefetch
        times = rng.integers(2, 12), rng.integers(12, 30)
        return case(loads, rng.integers(1, 5), ahead, *times, pinned)

    for pinned, group in ((False, "pageable"), (True, "pinned")):
        yield group, case([], 2, 2, 3, 5, pinned)
        yield group, case([7], 3, 2, 3, 5, pinned)
        yield group, case([1] * 6, 2, 4, 9, 4, pinned)
        yield group, case([40, 5, 5, 5, 40, 5, 5, 5], 2, 3, 4, 10, pinned)
        for _ in range(3):
            yield group, some(pinned)
    yield "limited prefetch", case([2, 2, 2, 60, 2, 2, 2, 60, 2], 1, 1, 5, 20, False)
    yield "limited prefetch", case([2, 2, 2, 60, 2, 2, 2, 60, 2], 1, 1, 5, 20, True)
    yield "limited prefetch", case([3, 30, 3, 30, 3, 30, 3, 30], 2, 1, 6, 25, True)
    for pinned in (False, True):
        yield "limited prefetch", case([2] * 5 + [70] + [2] * 5, 1, 2, 4, 25, pinned)
        yield "limited prefetch", some(pinned, prefetch=1)


def epoch_time_wrong_no_overlap(loads, workers, prefetch, copy, step, pinned):
    return sum(load + copy + step for load in loads)


def epoch_time_wrong_slowest_part(loads, workers, prefetch, copy, step, pinned):
    loop = max(copy, step) if pinned else copy + step
    return max(sum(loads) / workers, loop * len(loads))


def epoch_time_wrong_never_full(loads, workers, prefetch, copy, step, pinned):
    return epoch_time(loads, workers, len(loads) + 1, copy, step, pinned)


def epoch_time_wrong_always_pageable(loads, workers, prefetch, copy, step, pinned):
    return epoch_time(loads, workers, prefetch, copy, step, False)


def epoch_time_wrong_free_worker_takes_next(loads, workers, prefetch, copy, step, pinned):
    free, loaded = [0] * workers, []
    for load in loads:
        worker = free.index(min(free))
        free[worker] += load
        loaded.append(free[worker])
    ended = begun = copied = 0
    for i, ready in enumerate(loaded):
        taken = max(ready, max(begun, copied) if pinned else ended) if i else ready
        copied = taken + copy
        begun = max(copied, ended)
        ended = begun + step
    return ended


def epoch_time_wrong_copies_run_ahead(loads, workers, prefetch, copy, step, pinned):
    # The next copy does not wait for the step before to begin.
    loaded, taken, ended, copied = [], [], 0, 0
    for i, load in enumerate(loads):
        start = loaded[i - workers] if i >= workers else 0
        if i >= prefetch * workers:
            start = max(start, taken[i - prefetch * workers])
        loaded.append(start + load)
        taken.append(max(loaded[i], copied if pinned else ended))
        copied = taken[i] + copy
        ended = max(copied, ended) + step
    return ended


def solve(given):
    """Run long epochs and look at their second halves; count what a full loader holds."""

    times = given["copy"], given["step"]
    load = sum(given["per_image"] for _ in range(given["images"]))

    @functools.cache
    def each(workers, pinned, prefetch=given["prefetch"]):
        short, long = (
            epoch_time([load] * n, workers, prefetch, *times, pinned) for n in (480, 1440)
        )
        return (long - short) / 960

    workers = 1
    while each(workers, True) > given["step"] * 1.0001:
        workers += 1
    mine = given["workers"]
    changed = {
        "worker": each(mine + 1, False),
        "pinned": each(mine, True),
        "ahead": each(mine, False, given["prefetch"] + 1),
        "neither": each(mine // 2, False, 2 * given["prefetch"]),
    }
    (shorter,) = [name for name, time in changed.items() if time < 0.999 * each(mine, False)]
    # Nothing is taken, so every worker stops when it has loaded as many batches as it may.
    loaded = [i for i in range(10 * mine * given["prefetch"]) if i - given["prefetch"] * mine < 0]
    return {
        "steady": each(mine, False),
        "change": shorter,
        "workers_needed": workers,
        "host_memory": len(loaded) * np.zeros((given["images"], 3, 224, 224), "f4").nbytes / 1e9,
    }
