"""Sends the rings step by step, and searches for the limits instead of solving for them."""


def solve(given):
    gpus, width, inner = given["gpus"], given["hidden"], given["ffn"]
    rate, bandwidth = given["rate"] * 1e12, given["bandwidth"] * 1e9
    weights = sum(2 * rows * columns for rows, columns in [(width, inner), (inner, width)])
    gather = sum(weights / gpus / bandwidth for _ in range(gpus - 1))

    def forward(tokens, columns=inner):
        return sum(2 * tokens * rows * n for rows, n in [(width, columns), (columns, width)]) / rate

    low, high = 0.0, 1.0
    while forward(high) < gather:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if forward(middle) < gather else (low, middle)

    degree = 1
    while exchange(degree + 1, 4096 * width * 2, bandwidth) <= forward(4096, inner / (degree + 1)):
        degree += 1

    def limit(weights=weights, bandwidth=bandwidth, rate=rate, flops=4 * width * inner, gpus=gpus):
        return sum(weights / gpus / bandwidth for _ in range(gpus - 1)) * rate / flops

    goal = limit() * (0.5 if given["halved"] else 2)
    lower = {
        "bandwidth": limit(bandwidth=2 * bandwidth),
        "eight-bits": limit(weights=weights / 2),
        "wider": limit(weights=2 * weights, flops=8 * width * inner),
        "larger-model": limit(weights=2 * weights, flops=8 * width * inner),
        "faster": limit(rate=2 * rate),
        "more-gpus": limit(gpus=2 * gpus),
    }
    return {
        "gather_time": 1e3 * gather,
        "tokens_needed": high,
        "is_hidden": "compute" if forward(given["tokens"]) > gather else "network",
        "largest_degree": degree,
        "lower": {name for name, found in lower.items() if abs(found / goal - 1) < 1e-6},
    }


def exchange(degree, buffer, bandwidth):
    """The time of an all-gather and a reduce-scatter of a buffer."""
    return sum(
        buffer / degree / bandwidth for _ in ("gather", "scatter") for _ in range(degree - 1)
    )
