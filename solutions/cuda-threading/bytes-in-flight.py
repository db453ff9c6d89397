"""Simulates loads one by one: how many are in flight, and when each of them arrives."""

WORDS = {
    "What law": "Little's law",
    "in advance": "prefetch_factor",
    "places batches": "pin_memory",
    "before it is complete": "non_blocking",
}


def solve(given):
    def rate(kilobytes):
        # kB / (GB/s) are microseconds, and kB / us are GB/s.
        microseconds = given["start"] + kilobytes / given["link"]
        return kilobytes / microseconds

    wanted = given["target"] / 100 * given["link"]
    low, high = 0.0, 1.0
    while rate(high) < wanted:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        if rate(middle) < wanted:
            low = middle
        else:
            high = middle

    full = given.fact(given["gpu"], "memory_bandwidth", "B/s")
    sms = int(given.fact(given["gpu"], "sms", ""))
    warps, reached = 0, 0.0
    while reached < full:
        warps += 1
        reached = (
            sms * warps * given["loads"] * given["bytes_load"] / (given["memory_latency"] * 1e-9)
        )

    ahead = 0
    while ahead * given["work"] < given["cpu_latency"]:
        ahead += 1
    return {
        "copies": [[rate(given["small"])], [rate(given["large"] * 1e3)]],
        "piece_size": high,
        "warps": warps,
        "walk_time": given["nodes"] * walk(given),
        "ahead": ahead,
        "helps": ["known", "evicted", "loader"],
        "term": next(word for text, word in WORDS.items() if text in given["question"]),
    }


def walk(given):
    """The ns per node if a line starts when its chain's last one has arrived and the bus is free."""
    chains, rounds = given["chains"], 400
    line = 64 / given["cpu_bandwidth"]
    arrived = [0.0] * chains
    free, ends = 0.0, []
    for _ in range(2 * rounds):
        for chain in range(chains):
            begin = max(arrived[chain], free)
            free = begin + line
            arrived[chain] = begin + given["cpu_latency"]
        ends.append(max(arrived))
    return (ends[-1] - ends[rounds - 1]) / (rounds * chains)
