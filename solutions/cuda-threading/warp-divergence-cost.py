"""Runs the branch warp by warp with an explicit mask of active lanes."""


def run(block_size, takes_a, costs):
    """Return the issue cycles of every warp and the active lane-cycles of the block."""
    cycles, active = [], 0
    for first in range(0, block_size, 32):
        lanes = range(first, first + 32)
        spent = 0
        masks = (
            (costs["common"], [True for _ in lanes]),
            (costs["a"], [takes_a(thread) for thread in lanes]),
            (costs["b"], [not takes_a(thread) for thread in lanes]),
        )
        for cost, mask in masks:
            if any(mask):
                spent += cost
                active += cost * sum(mask)
        cycles.append(spent)
    return cycles, active


def uniform(condition):
    """Return whether the lanes of every warp of some blocks agree on the condition."""
    return all(
        len({condition(block, thread) for thread in range(first, first + 32)}) == 1
        for block in range(2)
        for first in range(0, 512, 32)
    )


def solve(given):
    """Return each part's answer, found by executing masks."""
    costs = {"common": given["common"], "a": given["path_a"], "b": given["path_b"]}
    block_size, period, taken = given["block_size"], given["period"], given["taken"]

    mixed, active = run(block_size, lambda thread: thread % period < taken, costs)
    cut, _ = run(block_size, lambda thread: thread < given["cut"], costs)

    # Sorting the flags of a few blocks gives warps of one path only.
    flags = sorted(thread % period < taken for thread in range(block_size))
    sorted_cycles, _ = run(block_size, lambda thread: flags[thread], costs)

    noise = [thread * 7 % 5 > 1 for thread in range(1024)]
    conditions = {
        "block-parity": lambda block, _: block % 2 == 0,
        "warp-quotient": lambda _, thread: (thread // 32) % period < taken,
        "group-parity": lambda _, thread: (thread // given["group"]) % 2 == 0,
        "own-limit": lambda _, thread: thread < given["cut"] - 8,
        "half-warps": lambda _, thread: (thread // 16) % 2 == 0,
        "data": lambda block, thread: noise[block * 512 + thread],
    }
    (warp_cycles,) = set(mixed)
    return {
        "warp_cycles": warp_cycles,
        "active_share": 100 * active / (32 * sum(mixed)),
        "block_cycles": sum(cut),
        "speedup": sum(mixed) / sum(sorted_cycles),
        "uniform_conditions": {name for name, test in conditions.items() if uniform(test)},
    }
