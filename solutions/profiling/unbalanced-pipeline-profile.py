"""Plays the stages as a flow shop, and finds limits by playing very many micro-batches."""


def solve(given):
    times = stages(given)
    slow = times.index(max(times))
    micro = given["micro"]
    step = flow(times, micro)
    moved = list(times)
    moved[slow] -= given["layer_time"] * (4 / 3 if given["slow"] == 1 else 1)
    moved[1] += given["layer_time"]
    fixed = list(times)
    if given["slow"] == 1:
        fixed[0] -= sum(given["layer_time"] / 3 for _ in range(given["spared"]))
    else:
        fixed[3] -= head(given) - 0.7 * head(given)
    faster = [time * (0.8 if stage in (1, 2) else 1) for stage, time in enumerate(times)]
    changes = {
        "move": flow(moved, micro),
        "halves": flow([time / 2 for time in times], 2 * micro),
        "fix": flow(fixed, micro),
        "others": flow(faster, micro),
    }
    return {
        "step_time": step,
        "efficiency_now": 100 * busy(times, micro) / step,
        "efficiency_limit": 100 * busy(times, 1) / (flow(times, 100) - flow(times, 99)),
        "idle_share": 100 * (step - sum(times[1] for _ in range(micro))) / step,
        "best_change": min(changes, key=changes.get),
        "inferred": 100 * from_steps(given),
    }


def head(given):
    if given["slow"] == 1:
        return given["small_head"]
    return round(given["large_head"] * given["layer_time"], 1)


def stages(given):
    layers = given["layers"] * given["layer_time"]
    times = [layers, layers, layers, layers + head(given)]
    if given["slow"] == 1:
        times[0] += layers / 3
    times[0] += given["embedding"]
    return [round(time, 1) for time in times]


def flow(times, count):
    """The time until *count* micro-batches have passed."""
    ends = [0.0] * len(times)
    for _ in range(count):
        ready = 0.0
        for stage, time in enumerate(times):
            ready = ends[stage] = max(ready, ends[stage]) + time
    return ends[-1]


def busy(times, count):
    return count * sum(times) / len(times)


def from_steps(given):
    """The limit for a pipeline of which two steps are known; one stage is slower than the others."""
    count, pace = given["others"], given["pace"]
    known = {m: round(pace * count / given["ratio"]) + (m - 1) * pace for m in (8, 24)}
    slowest = (known[24] - known[8]) / 16
    low, high = 0.0, slowest  # the time of each other stage, by bisection
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (
            (middle, high)
            if flow([slowest] + [middle] * (count - 1), 8) < known[8]
            else (low, middle)
        )
    times = [slowest] + [low] * (count - 1)
    return busy(times, 1) / slowest
