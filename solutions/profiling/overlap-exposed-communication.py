"""Let backward and network run side by side on a clock, bucket by bucket.

The road differs from the formulas: a bucket's all-reduce starts when the bucket is complete and the
channel is free, chunk after chunk; exposed time is read off the two clocks, and every remedy is
simulated too.
"""

# When GPUs idle or only communicate, whether all of them do, and whether their kernels are slow.
TIMELINES = {
    "tail": ("after backward", "communicating", False),
    "edges": ("edges", "some", False),
    "slow": (None, None, True),
    "gaps": ("before forward", "all", False),
}


def limit(when, what, slow):
    """Return what limits a job, by elimination."""
    if slow:
        return "local"  # nothing is idle, so only the rate of the kernels is left
    if what == "communicating":
        return "communication"
    return "bubble" if what == "some" else "input"  # the input pipeline stops all GPUs alike


def all_reduce(size, ranks, bandwidth):
    """Return the time of a ring all-reduce, chunk by chunk."""
    clock = 0.0
    for _phase in range(2):
        for _step in range(ranks - 1):
            clock += size / ranks / bandwidth
    return clock


def exposed(buckets, produce, reduce_time):
    """Return how long the network is still busy when the backward has ended."""
    backward, channel = 0.0, 0.0
    for _bucket in range(buckets):
        backward += produce
        channel = max(channel, backward) + reduce_time
    return channel - backward


def solve(given):
    count, produce = given["buckets"], given["produce"]
    size = given["bucket_size"]  # MB; a bandwidth in GB/s is one in MB/ms
    ranks, bandwidth = given["gpus"], given["bandwidth"]
    one = all_reduce(size, ranks, bandwidth)
    now = exposed(count, produce, one)
    others = given["forward"] + given["update"] + sum(produce for _ in range(count))
    changes = {
        "split": exposed(2 * count, produce / 2, all_reduce(size / 2, ranks, bandwidth)),
        "link": exposed(count, produce, all_reduce(size, ranks, 1.25 * bandwidth)),
        "merge": exposed(1, count * produce, all_reduce(count * size, ranks, bandwidth)),
        "compute": exposed(count, produce / 2, one),
    }
    return {
        "bucket_time": one,
        "hidden": sum(one for _ in range(count)) - now,
        "best": (others + now) / others,
        "remedy": min(changes, key=changes.get),
        "signatures": {name: limit(*seen) for name, seen in TIMELINES.items()},
    }
