"""Plays the exchange for a billion parameters message by message, and tries one number of GPUs after another."""


def solve(given):
    room = given["memory"] - given["activations"]
    state = [2, given["grad_bytes"], 4, 4, 4]
    gradients = given["grad_bytes"]  # GB, for a billion parameters
    tokens = given["batch"] * 1e6

    def hidden(gpus):
        return ring(given, gradients, gpus) <= computing(given, 4, tokens / gpus)

    most = 8
    while hidden(most + 8):
        most += 8
    rows = []
    for gpus in (8, 64, 512):
        forward, backward = (computing(given, flops, given["local"]) for flops in (2, 4))
        exchanges = ring(given, gradients, gpus), server(given, gradients, gpus)
        rows.append([100 * (forward + backward) / step(forward, backward, t) for t in exchanges])
    if given["billions"] > room / sum(state):
        plan = "too-large"
    else:
        plan = "hidden" if hidden(given["planned"]) else "waits"
    return {
        "largest": room / sum(state),
        "smaller": smaller(given["decrease"]),
        "most_gpus": most,
        "efficiency": rows,
        "plan": plan,
    }


def computing(given, flops, tokens):
    """The seconds that a GPU needs for a billion parameters."""
    return flops * 1e9 * tokens / (given["rate"] * 1e12)


def ring(given, buffer, gpus):
    steps = [buffer / gpus / given["bandwidth"] for _ in range(gpus - 1)]
    return sum(steps) + sum(steps)


def server(given, buffer, gpus):
    received = [buffer / given["bandwidth"] for _ in range(gpus)]
    return sum(received)


def step(forward, backward, exchange):
    """When both the backward pass and the exchange, which starts with it, have ended."""
    return max(forward + backward, forward + exchange)


def smaller(decrease):
    """Which decrease or stay of what a GPU has with 8 and with 16 GPUs, for a model of 100 parameters and a batch of 64."""

    def has(gpus):
        batch = 64 // gpus
        return {
            "state": 100 * (2 + 12),
            "gradients": 100 * 2,
            "activations": batch * 10,
            "compute": 4 * 100 * batch,
            "sent": 2 * (gpus - 1) * 100 * 2 / gpus,
            "optimizer": 100,
        }

    before, after = has(8), has(16)
    return [
        name
        for name in before
        if (after[name] < before[name] if decrease else after[name] == before[name])
    ]
