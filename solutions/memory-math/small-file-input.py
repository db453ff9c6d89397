"""Sends a sample of files through every stage, and plays the double buffer step by step."""


def solve(given):
    size, batch = given["size"] * 1e3, given["gpus"] * given["batch"]

    def seconds(**changes):
        """The time of each stage for one batch of all GPUs."""
        now = {"requests": given["requests"], "size": size, "speed": 1, "workers": 1, **changes}
        asked = sum(now["requests"] for _ in range(batch))
        moved = sum(now["size"] for _ in range(batch))
        workers = given["gpus"] * given["loaders"] * now["workers"]
        busy = sum(given["preparing"] / 1e3 for _ in range(batch))
        cached = now.get("cached", False)
        return {
            "requests": 0 if cached else asked / given["iops"],
            "bytes": 0 if cached else moved / (given["bandwidth"] * 1e9),
            "workers": busy / workers,
            "gpus": given["step"] / 1e3 / now["speed"],
        }

    now = seconds()
    loading, step = max(now["requests"], now["bytes"], now["workers"]), now["gpus"]
    loaded, ended = loading, 0.0
    for _ in range(given["first"]):
        begun = max(loaded, ended)
        loaded = max(loaded, begun) + loading  # into the buffer that this step has released
        ended = begun + step

    workers = 1
    while workers * (step / batch) < given["preparing"] / 1e3:
        workers += 1

    low, high = 0.0, 1e9
    for _ in range(200):
        middle = (low + high) / 2
        bound_by_bytes = middle / (given["bandwidth"] * 1e9) > given["requests"] / given["iops"]
        low, high = (low, middle) if bound_by_bytes else (middle, high)

    changed = {
        "shards": seconds(requests=size / 1e9 * given["requests"]),
        "smaller": seconds(size=size / 2),
        "local-cache": seconds(cached=True),
        "more-workers": seconds(workers=2),
        "faster-gpus": seconds(speed=2),
    }
    seen = [0] * 3  # of a dataset with three samples
    for _ in range(given["gpus"]):
        for _ in range(given["loaders"]):
            seen = [count + 1 for count in seen]
    return {
        "read_all": max(now["requests"], now["bytes"]) / batch * given["files"] / 60,
        "balance": high / 1e3,
        "workers_needed": workers,
        "throughput": batch / max(now.values()),
        "first_steps": ended,
        "copies": max(seen),
        "changes": [k for k, v in changed.items() if max(v.values()) < 0.999 * max(now.values())],
    }
