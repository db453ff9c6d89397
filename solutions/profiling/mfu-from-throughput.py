"""Compare times instead of rates: how long the work would take at peak, and how long it takes."""

# Products per weight matrix and token, each one multiplication and one addition per parameter.
MODEL = ("forward", "gradient of the input", "gradient of the weight")
HARDWARE = (*MODEL, "forward again")


def solve(given):
    """Let one second of tokens pass through every product at peak speed."""
    peak = given.fact(given["gpu"], "bf16_dense", "FLOP/s")
    parameters = given["billions"] * 1e9
    rate = logged(given, peak, parameters)
    cluster = sum(peak for _ in range(given["gpus"]))

    def ideal_seconds(products):
        seconds = 0.0
        for _ in products:
            seconds += rate * parameters / cluster  # multiplications
            seconds += rate * parameters / cluster  # additions
        return seconds

    needed, done = ideal_seconds(MODEL), ideal_seconds(HARDWARE)
    chunks = [MODEL] * 100 + [("forward again",)] * given["repeated"]  # each of 1 % of the layers
    selective = sum(ideal_seconds(products) / 100 for products in chunks)
    tokens = given["tokens"] * 1e12
    return {
        "mfu": needed * 100,  # of the one second that really passed
        "hfu": done * 100,
        "selective": rate / (selective / done),
        "gpu_hours": tokens / (rate / given["gpus"]) / 60 / 60,
        "monitor": "busy",
    }


def logged(given, peak, parameters):
    """The throughput that the prompt prints, with three digits."""
    raw = given["target"] * given["gpus"] * peak / (6 * parameters)
    return float(f"{raw:.2e}")
