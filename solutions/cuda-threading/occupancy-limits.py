"""Fills an SM block by block and watches which resource refuses the next one."""


def fill(capacity, demand):
    """Return how many blocks went in and the resources that refused the next one."""
    left = dict(capacity)
    blocks = 0
    while True:
        refused = [name for name in left if left[name] < demand[name]]
        if refused:
            return blocks, refused
        for name in left:
            left[name] -= demand[name]
        blocks += 1


def solve(given):
    """Return each part's answer, found by allocating blocks one at a time."""
    capacity = {
        "threads": given["max_threads"],
        "registers": given["register_file"],
        "shared": given["shared_memory"] * 1024,
        "slots": given["max_blocks"],
    }
    demand = {
        "threads": given["threads"],
        "registers": sum(given["registers"] for _ in range(given["threads"])),
        "shared": given["shared_block"] * 1024,
        "slots": 1,
    }
    register_limit, _ = fill(
        {"registers": capacity["registers"]}, {"registers": demand["registers"]}
    )
    resident, refused = fill(capacity, demand)
    rewritten = {"registers": demand["registers"] // 2, "shared": 2 * demand["shared"]}
    after, _ = fill(capacity, {**demand, **rewritten})
    resident_warps = resident * len(range(0, given["threads"], 32))
    most_warps = len(range(0, given["max_threads"], 32))
    (limiter,) = refused
    return {
        "register_limit": register_limit,
        "resident": resident,
        "limiter": limiter,
        "occupancy": 100 * resident_warps / most_warps,
        "after_rewrite": after,
    }
