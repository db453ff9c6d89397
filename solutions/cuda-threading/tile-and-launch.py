"""Packs blocks onto SMs one by one, and counts the waves by running the grid down."""

import itertools

SIZES = (16, 32, 64, 128, 256)


def solve(given):
    best = None
    for rows, columns, threads in itertools.product(SIZES, SIZES, (64, 128, 256, 512)):
        seconds = run(given, rows, columns, threads)
        if seconds is not None and (best is None or seconds < best[0] * (1 - 1e-9)):
            best = seconds, {"rows": rows, "columns": columns, "threads": threads}
    seconds, plan = best
    read = sum(4 * size for _ in range(given["k"]) for size in (plan["rows"], plan["columns"]))
    return {"launch": {**plan, "cost": seconds * 1e6}, "bytes_per_block": read / 1e3}


def run(given, rows, columns, threads):
    """The seconds of the kernel; None if it can't be launched."""
    gpu = given["gpu"]

    def fact(name, unit=""):
        return given.fact(gpu, name, unit)

    each, rest = divmod(rows * columns, threads)
    shared = sum(16 * size * 4 for size in (rows, columns) for _ in ("now", "next"))
    if each < 1 or rest or each + 40 > 255 or shared > given["shared_limit"] * 1024:
        return None
    free = {
        "registers": fact("registers_per_sm"),
        "shared": fact("shared_memory_per_sm", "B"),
        "threads": 2048,
        "blocks": 32,
    }
    need = {"registers": (each + 40) * threads, "shared": shared, "threads": threads, "blocks": 1}
    resident = 0
    while all(free[name] >= need[name] for name in need):
        free = {name: free[name] - need[name] for name in need}
        resident += 1
    if not resident:
        return None
    sms = int(fact("sms"))
    bandwidth = float(f"{fact('memory_bandwidth', 'GB/s') * given['reach'] * 2:.1e}") * 1e9
    busy = min(16, resident * threads / 32) / 16
    flops = resident * rows * columns * given["k"] * 2
    wave = max(
        flops / (fact("fp32", "FLOP/s") / sms * busy),
        sms * resident * (rows + columns) * given["k"] * 4 / bandwidth,
    )
    left = len(range(0, given["m"], rows)) * len(range(0, given["n"], columns))
    seconds = 0.0
    while left > 0:
        left -= sms * resident
        seconds += wave
    return seconds
