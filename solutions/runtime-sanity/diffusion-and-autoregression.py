"""Counts passes and positions one by one, and finds the average queue by playing the service."""


def solve(given):
    gpu = given["gpu"]
    peak = given["efficiency"] * given.fact(gpu, "bf16_dense", "FLOP/s")
    bandwidth = given["share"] * given.fact(gpu, "memory_bandwidth", "B/s")
    parameters, tokens = given["billions"] * 1e9, given["tokens"]

    def response(passes, positions, batch=1):
        time = flops = 0.0
        for _ in range(passes):
            work = 2 * parameters * positions * batch
            time += max(parameters * 2 / bandwidth, work / peak)
            flops += work
        return time, flops

    single = [response(tokens, 1), response(given["steps"], tokens)]
    allowed = 0
    while response(allowed + 1, tokens)[0] < single[0][0]:
        allowed += 1
    batch = 1
    while response(tokens, 1, batch)[0] >= response(given["steps"], tokens, batch)[0]:
        batch += 1
    duration = response(given["steps"], tokens, given["batch"])[0]
    # A hundred rounds of all replicas: each request is in the system from its arrival to its end.
    ends = [
        (number + 1) * duration
        for number in range(100)
        for _ in range(given["replicas"] * given["batch"])
    ]
    arrivals = [end - duration - given["queue"] for end in ends]
    request_seconds = sum(end - start for start, end in zip(arrivals, ends, strict=True))
    return {
        "single": [[1e3 * time, flops / 1e12] for time, flops in single],
        "allowed": allowed,
        "overtakes": batch,
        "throughput": len(ends) / ends[-1],
        "in_system": request_seconds / ends[-1],
    }
