"""Counts clocks tile by tile, and plays tensor cores and exponential units side by side."""

TILE = 128  # queries and keys of a tile


def tile_clocks(width, rate, reach):
    """The clocks of an SM for the two products of a tile, and for its exponentials."""
    scores = 2 * TILE * width * TILE  # FLOPs
    values = 2 * TILE * TILE * width
    return (scores + values) / (rate * reach), sum(TILE / 16 for _row in range(TILE))


def overlapped(product, exponential, tiles=400):
    """The clocks per tile of two warpgroups that alternate, each with one tile after another."""
    cores = units = 0.0
    group = [0.0, 0.0]
    half = 0.0
    for tile in range(tiles):
        start = max(cores, group[tile % 2])
        cores = start + product
        units = max(units, cores) + exponential
        group[tile % 2] = units
        if tile == tiles // 2 - 1:
            half = units
    return (units - half) / (tiles - tiles // 2)


def changing(given):
    """The changes that move the share of the exponentials in the wanted direction."""

    def share(width=given["width"], heads=given["heads"], rate=4096, length=1, batch=1, speed=1):
        product, exponential = (
            heads * batch * length**2 * clocks / speed for clocks in tile_clocks(width, rate, 1)
        )
        return exponential / (product + exponential)

    width, heads = given["width"], given["heads"]
    changed = {
        "narrow": share(width / 2, 2 * heads) if given["more"] else share(2 * width, heads / 2),
        "fp8": share(rate=8192),
        "long": share(length=2),
        "batch": share(batch=2),
        "sms": share(speed=1.2),
        "clock": share(speed=1.1),
    }
    sign = 1 if given["more"] else -1
    return {name for name, value in changed.items() if sign * (value - share()) > 1e-9}


def solve(given):
    tiles = given["heads"] * given["batch"] * (given["length"] // TILE) ** 2
    sms = given.fact(given["gpu"], "sms")
    second = tiles / sms / (given["clock"] * 1e9)  # seconds for every clock of a tile
    times, overlap = [], []
    for rate in (4096, 8192):
        product, exponential = tile_clocks(given["width"], rate, given["reach"])
        times.append([1e3 * product * second, 1e3 * exponential * second])
        both = product + exponential
        overlap.append([100 * exponential / both, both / overlapped(product, exponential)])

    # Version 1 on the A100, for a million FLOPs.
    fast = given.fact("a100-sxm-80", "fp16_dense", "TFLOP/s")
    slow = given.fact("a100-sxm-80", "fp32", "TFLOP/s")
    other = 1e4 * given["other_percent"]
    product, rest = (1e6 - other) / fast, other / slow
    later = product + (other - other * given["saved_percent"] / 100) / slow

    # The times that the table prints, and the least time for as many FLOPs at the peak.
    limits = [sum(times[0]), max(times[0]), max(times[1])]
    printed = [
        float(f"{limit / given[part]:.3g}")
        for limit, part in zip(limits, ("part2", "part3", "part8"), strict=True)
    ]
    least = [1e3 * tile_clocks(given["width"], rate, 1)[0] * second for rate in (4096, 4096, 8192)]
    measured = [[100 * one / time] for one, time in zip(least, printed, strict=True)]
    return {
        "times": times,
        "overlap": overlap,
        "more_overlap": changing(given),
        "rescaling": [[100 * rest / (product + rest)], [(product + rest) / later]],
        "utilization": measured,
        "versions": {
            "first": "one",
            "second": "two",
            "second-again": "two",
            "third": "three",
            "third-again": "three",
            "never": "none",
        },
        "incoherent": "error",
    }
