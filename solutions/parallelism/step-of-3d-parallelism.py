"""Plays a step of one GPU of a middle stage event by event, and adds up what it sends."""


def solve(given):
    now = step(given)
    then = step(changed(given))
    arithmetic = now["flops"] / (given["rate"] * 1e12)
    over_nvlink = now["volume"] / (given.fact("nvlink4", "per_direction", "GB/s") * 1e9)
    return {
        "events": [
            "receive",
            "forward",
            "send",
            "gradient",
            "backward",
            "back",
            "reduce",
            "update",
            "gather",
        ],
        "inside": [
            [now["reductions"], now["volume"] / 1e9],
            [now["messages"], now["boundary"] / 1e9],
        ],
        "data_axis": now["replicas"] / 1e9,
        "tensor_share": 100 * over_nvlink / arithmetic,
        "doubled": {
            {"flops": "arithmetic"}.get(name, name)
            for name in now
            if abs(then[name] / now[name] - 2) < 1e-6
        },
    }


def changed(given):
    """The same numbers after the change of the last part."""
    found = {name: given[name] for name in ("layers", "hidden", "billions", "length")}
    found |= {name: given[name] for name in ("tp", "pp", "dp", "micro", "sequences")}
    if given["change"] == 1:
        found["micro"] *= 2
        found["sequences"] /= 2
    elif given["change"] == 2:
        found["micro"] *= 2
    elif given["change"] == 3:
        total = found["dp"] * found["micro"]
        found["pp"] *= 2
        found["dp"] //= 2
        found["micro"] = total // found["dp"]
    else:
        found["sequences"] *= 2
    return found


def step(given):
    """What a GPU of a middle stage does in one step, by looping over micro-batches and layers."""
    weights = given["billions"] * 1e9 / given["tp"] / given["pp"]
    tokens = given["sequences"] * given["length"]
    activation = 2 * tokens * given["hidden"]
    done = dict.fromkeys(("reductions", "volume", "messages", "boundary", "replicas", "flops"), 0.0)
    for flops_per_weight in (2, 4):  # the forward passes, then the backward passes
        for _ in range(given["micro"]):
            for _ in range(given["layers"] // given["pp"]):
                for _ in ("attention", "mlp"):
                    done["reductions"] += 1
                    done["volume"] += 2 * passed_on(activation, given["tp"])
            done["flops"] += flops_per_weight * weights * tokens
            done["messages"] += 1
            done["boundary"] += activation
    for buffer in (2 * weights, 2 * weights):  # gradients, then updated weights
        done["replicas"] += passed_on(buffer, given["dp"])
    return done


def passed_on(buffer, ranks):
    """What a rank sends around a ring, one of *ranks* chunks in each step."""
    return sum(buffer / ranks for _ in range(ranks - 1))
