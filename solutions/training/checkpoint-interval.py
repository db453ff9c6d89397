"""Adds up failure rates, and finds the best interval by searching instead of by a formula."""

import math


def solve(given):
    rate = sum(1 / (given["mtbf_gpu"] * 3600) for _ in range(given["gpus"]))  # failures per second
    restart = given["restart"] * 60
    write = sum(given["billions"] * each for each in (2, 4, 4, 4)) / given["storage"]
    best, lost = search(write, rate, restart)
    changes = {
        "asynchronous": search(write / 10, rate, restart)[1],
        "restart": search(write, rate, restart / 2)[1],
        "bandwidth": search(write / 2, rate, restart)[1],
        "twice-as-often": share(best / 2, write, rate, restart),
    }
    return {
        "job_mtbf": 1 / rate / 3600,
        "write_time": write,
        "best_interval": best / 60,
        "lost_share": 100 * lost,
        "improvement": min(changes, key=changes.get),
    }


def share(interval, write, rate, restart):
    """The lost share: writing per interval, and half an interval and a restart per failure."""
    return write / interval + rate * (interval / 2 + restart)


def search(write, rate, restart):
    """The interval with the least loss, and that loss, by golden-section search on a log scale."""
    low, high = math.log(write), math.log(1 / rate)
    ratio = (math.sqrt(5) - 1) / 2
    for _ in range(200):
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        if share(math.exp(left), write, rate, restart) < share(
            math.exp(right), write, rate, restart
        ):
            high = right
        else:
            low = left
    best = math.exp((low + high) / 2)
    return best, share(best, write, rate, restart)
