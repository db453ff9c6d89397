"""Send real chunks around a simulated ring, and queue every message at the server's link.

The road differs from the formulas: each rank owns an array of chunk sums, every step really passes
one chunk to the neighbor, and bytes and time are added up message by message.
"""

import numpy as np


def ring(ranks, size, bandwidth=float("inf"), latency=0.0):
    """Return the bytes that each rank sends, and the time, once every rank holds every sum."""
    chunks = np.arange(1.0, ranks + 1)[:, None] * np.ones((ranks, ranks))
    expected = chunks.sum(axis=0)
    me = np.arange(ranks)
    sent, clock = 0.0, 0.0
    for phase in ("reduce", "gather"):
        for step in range(ranks - 1):
            which = (me - step + (phase == "gather")) % ranks
            message = chunks[me, which].copy()
            to = (me + 1) % ranks
            if phase == "reduce":
                chunks[to, which] += message
            else:
                chunks[to, which] = message
            sent += size / ranks
            clock += latency + size / ranks / bandwidth
    assert np.array_equal(chunks, np.tile(expected, (ranks, 1)))
    return sent, clock


def server(workers, size, bandwidth):
    """Return how long the server's link is busy, and the bytes that cross it."""
    clock, moved = 0.0, 0.0
    for _push in range(workers):
        clock += size / bandwidth
        moved += size
    for _pull in range(workers):
        clock += size / bandwidth
        moved += size
    return clock, moved


def remedy(ranks, small, bandwidth, latency):
    """Return the change after which the simulated all-reduce of a small tensor is shortest."""
    times = {
        "fuse": ring(ranks, 16 * small, bandwidth, latency)[1] / 16,
        "faster_link": ring(ranks, small, 2 * bandwidth, latency)[1],
        "quicker_link": ring(ranks, small, bandwidth, latency / 2)[1],
        # The second half is sent after the first one, with a latency of its own.
        "split": 2 * ring(ranks, small / 2, bandwidth, latency)[1],
    }
    return min(times, key=times.get)


def gain(ranks):
    """Return the statement about ring and server that the simulated bytes bear out."""
    in_ring, _ = ring(ranks, 1.0)
    _, at_server = server(ranks, 1.0, 1.0)
    alike = ranks * in_ring > 0.7 * at_server
    return "spread" if alike and in_ring < 2.0 else "less_total"


def solve(given):
    ranks = given["gpus"]
    size = given["billions"] * given["width"]  # GB
    bandwidth = given.fact(given["link"], "per_direction", "GB/s")
    latency, small = given["latency"] * 1e-6, given["small"] * 1e-3  # s, GB
    return {
        "sent": ring(ranks, size)[0],
        "small_time": 1e6 * ring(ranks, small, bandwidth, latency)[1],
        "server_time": server(ranks, size, bandwidth)[0],
        "remedy": remedy(ranks, small, bandwidth, latency),
        "gain": gain(ranks),
    }
