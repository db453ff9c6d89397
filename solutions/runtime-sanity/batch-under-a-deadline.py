"""Plays the server request by request, and tries batch sizes one after the other."""


def solve(given):
    gpu, interval = given["gpu"], 1 / given["arrivals"]
    peak = 0.7 * given.fact(gpu, "bf16_dense", "FLOP/s")
    bandwidth = 0.85 * given.fact(gpu, "memory_bandwidth", "B/s")

    def network(parameters):
        def call(batch):
            work = sum(2 * parameters for _ in range(batch)) / peak
            return max(work, parameters * given["wbytes"] / bandwidth)

        return call

    parameters = given["billions"] * 1e9
    original, student = network(parameters), network(parameters / given["shrink"])

    ridge = next(b for b in range(1, 10_000) if original(b) > 1.0000001 * original(1))

    def least(call):
        return next(b for b in range(1, 10_000) if responses(call, b, interval)[1])

    sustains = least(original)
    largest = sustains
    while responses(original, largest + 1, interval)[0] <= given["deadline"] / 1e3:
        largest += 1

    before, after = original(given["before"]), original(given["after"])
    faster = after < 0.999 * before
    fewer = given["after"] / after < 0.999 * given["before"] / before
    smaller = {(True, False): "free", (False, True): "useless", (True, True): "trade"}

    usual = 10_000 if given["regime"] == 1 else 20

    def per_second(share=1.0, peak=1.0, bandwidth=1 / 250, gpus=1, bits=16, batch=usual):
        """Requests per second at 95% of both peaks, in units of one parameter's FLOPs."""
        work = batch * 2 * share / (0.95 * peak)
        return gpus * batch / max(work, share * bits / 8 / (0.95 * bandwidth))

    changes = {
        "fp8": per_second(peak=2.0),
        "pruning": per_second(share=0.25),  # half the inputs and half the outputs of a layer
        "gpus": per_second(gpus=2),
        "bandwidth": per_second(bandwidth=2 / 250),
        "larger": per_second(batch=2 * usual),
        "weight-only": per_second(bits=4),
        "kernels": per_second() / 0.95,
    }
    return {
        "ridge": ridge,
        "smaller": smaller[faster, fewer],
        "sustains": sustains,
        "largest": largest,
        "at_the_roof": {name for name, found in changes.items() if found > 1.25 * per_second()},
        "student": 1e6 * responses(student, least(student), interval)[0],
    }


def responses(call, batch, interval, batches=6):
    """The longest response time, and whether every batch starts as soon as it is complete."""
    time, free, longest, prompt = call(batch), 0.0, 0.0, True
    for number in range(batches):
        first = number * batch * interval
        complete = first + (batch - 1) * interval
        start = max(free, complete)
        prompt = prompt and start <= complete + 1e-12
        free = start + time
        longest = max(longest, free - first)
    return longest, prompt
