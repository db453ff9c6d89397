"""Lets images pass through the stages one after another on a clock, and tries all machines."""

import itertools

PIXELS = 3 * 224 * 224


def throughput(times, images=400):
    """Images per second in steady state, from the seconds per image of each stage."""
    free = [0.0] * len(times)
    half = 0.0
    for image in range(images):
        ready = 0.0
        for stage, time in enumerate(times):
            free[stage] = max(free[stage], ready) + time
            ready = free[stage]
        if image == images // 2 - 1:
            half = free[-1]
    return (images - images // 2) / (free[-1] - half)


def solve(given):
    storage = given["file"] * 1e3 / (given["volume"] * 1e9)
    core = given["decode"] * 1e-3
    copy = 4 * PIXELS / (given["link"] * 1e9)
    step = round(given["batch"] * given["per_image"]) * 1e-3 / given["batch"]
    times = {
        "storage": storage,
        "workers": core / given["workers"],
        "copies": copy,
        "gpu": step,
    }
    now = throughput(times.values())
    limit = max(times, key=times.get)
    faster = times | {limit: times[limit] / given["gain"]}
    after = throughput(faster.values())
    changes = {"gpu": "gpu", "storage": "storage", "workers": "workers", "uint8": "copies"}
    further = [
        change
        for change, stage in changes.items()
        if throughput((faster | {stage: faster[stage] / 2}).values()) > 1.001 * after
    ]
    (further,) = further

    best, found = 0.0, None
    for volumes, cores, gpus in itertools.product(
        [1, 2, 3, 4, 5, 6, 8, 10], [8, 12, 16, 24, 32, 40, 48, 64], [1, 2, 3, 4, 5]
    ):
        price = (
            volumes * given["volume_price"]
            + cores * given["core_price"]
            + gpus * given["gpu_price"]
        )
        # What all of them finish in an hour.
        images = min(3600 / storage * volumes, 3600 / core * cores, 3600 / max(step, copy) * gpus)
        if price <= given["budget"] + 1e-7 and images > best * (1 + 1e-12):
            best, found = images, {"volumes": volumes, "cores": cores, "gpus": gpus}
    return {
        "rates": [[1 / time] for time in times.values()],
        "busy": 100 * now * step,
        "speedup": after / now,
        "further": further,
        "machine": found | {"gain": best / 3600},
    }
