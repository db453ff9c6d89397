"""Play host and GPU on a timeline, and sort the printed repeats."""

import statistics


def solve(given):
    """Simulate the two wrong protocols call by call; the median comes from the standard library."""
    kernel, launch, wait = given["kernel"], given["launch"], given["wait"]
    reps = given["reps"]
    # The repeats are what the prompt prints: milliseconds with three decimals.
    host = gpu = 0.0
    for _ in range(reps):
        host += launch
        gpu = max(gpu, host) + kernel
    unsynchronized = host
    shortest = gpu + wait
    repeats = [float(f"{given[f'f{i}'] * shortest / 1000:.3f}") for i in range(1, 8)]

    host = gpu = 0.0
    for _ in range(reps):
        host += launch
        gpu = max(gpu, host) + kernel
        host = max(host, gpu) + wait
    return {
        "protocol": ["inputs", "warm", "drain", "start", "calls", "finish", "stop", "divide"],
        "per_call": statistics.median(repeats) * 1000 / reps,
        "unsynchronized": unsynchronized / 1000,
        "every_call": host / reps,
        # Compilation, waiting and other kernels inside the timed span.
        "spoils": {"first-call", "small-copy", "random-inputs"},
    }
