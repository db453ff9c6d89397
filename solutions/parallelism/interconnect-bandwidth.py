"""Sends every chunk around its ring and adds up what leaves a GPU and what leaves a node."""


def solve(given):
    ports, gpus = given["ports"], 8 * given["nodes"]
    nvlink = given.fact(given["gpu"], "nvlink", "GB/s") / 2
    port = given["line"] / 8
    times = measured(given, nvlink, port)
    sent = [ring("all-reduce", 8), ring("all-gather", 8), ring("all-reduce", gpus)]
    found = [part * given["size"] / (time / 1e3) for part, time in zip(sent, times, strict=True)]
    limits = [nvlink, nvlink, ports * port]
    shares = [bandwidth / limit for bandwidth, limit in zip(found, limits, strict=True)]

    def gather(size, bandwidth):
        """The seconds of an all-gather of *size* GB, if nodes have this network bandwidth."""
        return ring("all-gather", gpus) * size / bandwidth

    # A layer of a hundred million parameters, or of any other number of them.
    compute = 2 * 1e8 * given["tokens"] / (given["rate"] * 1e12)
    low, high = 0.0, 1e5
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if gather(0.2, middle) > compute else (low, middle)
    return {
        "ratio": nvlink / (sum(port for _ in range(ports)) / 8),
        "bus": [[bandwidth] for bandwidth in found],
        "slowest": ["first", "second", "third"][shares.index(min(shares))],
        "least_time": 1e3 * gather(given["layer"] / 1e3, ports * port),
        "needed": high,
    }


def ring(collective, count):
    """The part of the buffer that each of *count* GPUs sends, step by step."""
    phases = {"all-gather": 1, "all-reduce": 2}[collective]
    return sum(1 / count for _ in range(phases) for _ in range(count - 1))


def measured(given, nvlink, port):
    """The milliseconds in the table of measurements, from the fractions that were reached."""
    gpus = 8 * given["nodes"]
    return [
        round(1e3 * ring("all-reduce", 8) * given["size"] / (given["share1"] * nvlink), 2),
        round(1e3 * ring("all-gather", 8) * given["size"] / (given["share2"] * nvlink), 2),
        round(
            1e3
            * ring("all-reduce", gpus)
            * given["size"]
            / (given["share3"] * given["ports"] * port),
            1,
        ),
    ]
