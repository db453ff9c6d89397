"""Fills an SM block by block, and lets a scheduler issue cycle by cycle."""


def fill(capacity, demand):
    """Return how many blocks fit and the resources that refused the next one."""
    left = dict(capacity)
    blocks = 0
    while True:
        refused = [name for name in left if left[name] < demand[name]]
        if refused:
            return blocks, refused
        for name in left:
            left[name] -= demand[name]
        blocks += 1


def idle_cycles(warps, chains, latency):
    """Return how many cycles of a long run one scheduler with these warps can't issue."""
    ready = [[0] * chains for _ in range(warps)]  # when each chain can go on
    idle = 0
    for cycle in range(20 * latency):
        first = [(min(chain), warp) for warp, chain in enumerate(ready)]
        earliest, warp = min(first)
        if earliest > cycle:
            idle += 1
            continue
        ready[warp].remove(earliest)
        ready[warp].append(cycle + latency)
    return idle


def solve(given):
    """Return each part's answer, found by allocating blocks one at a time."""
    gpu = given["gpu"]
    capacity = {
        "threads": given.fact(gpu, "threads_per_sm"),
        "registers": given.fact(gpu, "registers_per_sm"),
        "shared": given.fact(gpu, "shared_memory_per_sm", "KiB") * 1024,
        "slots": given.fact(gpu, "blocks_per_sm"),
    }
    demand = {
        "threads": given["threads"],
        "registers": sum(given["registers"] for _ in range(given["threads"])),
        "shared": given["shared_block"] * 1024,
        "slots": 1,
    }
    resident, refused = fill(capacity, demand)
    rewritten = {"registers": demand["registers"] // 2, "shared": 2 * demand["shared"]}
    after, _ = fill(capacity, {**demand, **rewritten})
    resident_warps = resident * len(range(0, given["threads"], 32))
    most_warps = len(range(0, int(capacity["threads"]), 32))
    chains = 1
    while idle_cycles(resident_warps // 4, chains, given["latency"]):
        chains += 1
    (limiter,) = refused
    return {
        "resident": resident,
        "limiter": limiter,
        "occupancy": 100 * resident_warps / most_warps,
        "hidden_latency": chains,
        "after_rewrite": after,
    }
