"""Adds up tensor by tensor, fills the GPU clip by clip, and searches for the largest model."""

KINDS = {"weights": 2, "gradients": 2, "master": 4, "first": 4, "second": 4}
SHARDED = {
    0: set(),
    1: {"master", "first", "second"},
    3: set(KINDS),
}


def solve(given):
    total = given["total"] * 2**30
    state = sum(each * given["billions"] * 1e9 for each in KINDS.values())
    fixed = given["fixed"] * 1e9
    room = total - given["lost"] / 100 * total - fixed - state
    clip = sum(saved(given) for _ in range(given["layers"]))
    batch, taken = 0, clip
    while taken <= room:
        batch, taken = batch + 1, taken + clip
    before = state + fixed + given["clips"] * clip
    after = state + fixed + 2 * given["clips"] * clip
    budget = total - given["reserve"] * 1e9
    return {
        "headroom": room / 1e9,
        "per_clip": clip / 1e6,
        "largest_batch": batch,
        "growth": 100 * (after - before) / before,
        "largest_model": [[largest(budget, stage, given["ranks"]) / 1e9] for stage in (0, 1, 3)],
    }


def saved(given):
    """The bytes that one layer saves for one clip, tensor by tensor."""
    samples = range(given["seconds"] * 16000)
    frames = len(samples[::160])
    elements = frames // given["stride"] * given["hidden"]
    tensors = {
        "inputs of two layer norms": 2 * 2,
        "input of q, k, v": 2,
        "q, k, v": 3 * 2,
        "attention output": 2,
        "dropout mask": 1,
        "input of the MLP": 2,
        "input of the activation function": 4 * 2,
        "its output": 4 * 2,
        "dropout mask of the MLP": 1,
    }
    return elements * sum(tensors.values())


def largest(budget, stage, ranks):
    """The number of parameters whose state just fits into *budget* bytes, by bisection."""

    def state(count):
        return sum(
            count * each / (ranks if kind in SHARDED[stage] else 1) for kind, each in KINDS.items()
        )

    low, high = 0.0, budget * ranks
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if state(middle) <= budget else (low, middle)
    return low
