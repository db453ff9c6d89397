"""Deals every tensor of the training state out to the ranks and adds up what rank 0 owns."""

TENSORS = (("weight", 3), ("gradient", 2), ("master", 1), ("mean", 1), ("variance", 1))
OPTIONS = ("ddp", "zero_1", "zero_2", "zero_3")


def owned(parameters, ranks, stage, widths):
    """The bytes on the rank with the most, each tensor cut into contiguous slices where sharded."""
    held = 0
    for name, sharded_from in TENSORS:
        slices = ranks if stage >= sharded_from else 1
        whole, rest = divmod(parameters, slices)
        held += (whole + (rest > 0)) * widths[name]
    return held


def solve(given):
    parameters = round(given["billions"] * 1e9)
    widths = {
        "weight": 2,
        "gradient": given["gradient_bytes"],
        "master": 4,
        "mean": 4,
        "variance": 4,
    }
    room = (given["memory"] - given["other"]) * 10**9

    stages = [owned(parameters, given["gpus"], stage, widths) for stage in range(4)]
    fitting = [name for name, held in zip(OPTIONS, stages, strict=True) if held <= room]

    needed = 1
    while owned(parameters, needed, 3, widths) > room:
        needed += 1
    many = [owned(parameters, 10**12, stage, widths) <= room for stage in (1, 2, 3)]
    plans = {3: "from_zero_1", 2: "from_zero_2", 1: "only_zero_3", 0: "no_stage"}
    return {
        "states": [[held / 1e9] for held in stages],
        "first_fit": fitting[0] if fitting else "none_fits",
        "limit_stage2": owned(parameters, 10**12, 2, widths) / 1e9,
        "gpus_needed": needed,
        "many_gpus": plans[sum(many)],
    }
