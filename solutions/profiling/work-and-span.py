"""Follows all chains of the graph, plays schedules on a clock, and tries all placements."""

import itertools
import random

TASKS = ("image", "words", "vision", "text", "detect", "fuse", "search", "rank", "answer")
INPUTS = {
    "image": (),
    "words": (),
    "vision": ("image",),
    "text": ("words",),
    "detect": ("image",),
    "fuse": ("vision", "text"),
    "search": ("text",),
    "rank": ("detect", "fuse"),
    "answer": ("search", "rank"),
}
ORDERS = {
    "text-first": "words text search image detect vision fuse rank answer",
    "detect-first": "image detect words vision text fuse search rank answer",
    "image-first": "image vision detect words text fuse rank search answer",
    "detect-late": "words image vision text fuse search detect rank answer",
    "fuse-early": "image vision words fuse detect text search rank answer",
}


def chains(inputs, task):
    """All chains of tasks that end with this one."""
    if not inputs[task]:
        return [[task]]
    return [[*chain, task] for one in inputs[task] for chain in chains(inputs, one)]


def span(inputs, times):
    """The time of the longest chain."""
    return max(sum(times[t] for t in chain) for task in inputs for chain in chains(inputs, task))


def greedy(inputs, times, workers, priority):
    """The time of a greedy schedule that prefers tasks with a low number."""
    done, running, now = {}, {}, 0
    while len(done) < len(inputs):
        ready = [t for t in inputs if t not in done and t not in running]
        ready = [t for t in ready if all(i in done for i in inputs[t])]
        for task in sorted(ready, key=priority.get)[: workers - len(running)]:
            running[task] = now + times[task]
        now = min(running.values())
        for task in [t for t, end in running.items() if end == now]:
            done[task] = running.pop(task)
    return now


def placed(inputs, times, place, copy):
    """The time of a request, with a list of tasks for each GPU and copies between them."""
    arrived, free = {}, {1: 0, 2: 0}
    for task in TASKS:
        gpu = place[task]
        start = max([free[gpu], *(arrived[one, gpu] for one in inputs[task])])
        free[gpu] = start + times[task]
        arrived[task, gpu], arrived[task, 3 - gpu] = free[gpu], free[gpu] + copy
    return free[place["answer"]]


def solve(given):
    times = {task: given[f"t_{task}"] for task in TASKS}
    first, second = given["extra"].split(" to ")
    inputs = INPUTS | {second: (*INPUTS[second], first)}
    longest = span(inputs, times)
    work = sum(times.values())

    bounds = []
    for workers in (2, 3):
        lower = max(sum(times[t] / workers for t in TASKS), longest)
        rest = work - longest
        upper = longest + sum(rest / workers for _worker in range(1))
        order = random.Random(1)
        for _ in range(30):
            priority = {task: order.random() for task in TASKS}
            assert lower <= greedy(inputs, times, workers, priority) + 1e-9
            assert greedy(inputs, times, workers, priority) <= upper + 1e-9
        bounds.append([lower, upper])

    halved = {
        task: span(inputs, times | {task: times[task] / 2})
        for task in ("vision", "text", "detect", "fuse", "search")
    }
    pairs = ["search-rank", "detect-fuse", "image-search", "words-vision", "text-rank"]
    ancestors = {t: {one for chain in chains(inputs, t) for one in chain} for t in TASKS}
    together = set()
    for pair in [*pairs, "words-answer"]:
        one, other = pair.split("-")
        if one not in ancestors[other] and other not in ancestors[one]:
            together.add(pair)
    legal = set()
    for name, order in ORDERS.items():
        seen = set()
        for task in order.split():
            if any(one not in seen for one in inputs[task]):
                break
            seen.add(task)
        else:
            legal.add(name)

    best = min(
        (dict(zip(TASKS, gpus, strict=True)) for gpus in itertools.product((1, 2), repeat=9)),
        key=lambda place: placed(inputs, times, place, given["copy"]),
    )
    return {
        "span_time": longest,
        "bounds": bounds,
        "shorten": min(halved, key=halved.get),
        "pairs": together,
        "orders": legal,
        "placement": best | {"cost": placed(inputs, times, best, given["copy"])},
        "lazy": "whole-graph",
    }
