"""Deals the parameters to the GPUs, and adds up the time to read each megabyte.

A solution computes the keys by a different method than the formulas in the YAML: it simulates,
enumerates, or measures. `grader verify` compares the two over many variants.
"""


def solve(given):
    """Return each part's answer in the part's unit; for a choice, the option's id.

    `given["bandwidth"]` is a plain number in the unit of the parameter, and
    `given.fact("h100-sxm", "memory_bandwidth", "GB/s")` is a fact in that unit.
    """
    parameters = round(given["billions"] * 1e9)
    # If the parameters don't divide evenly, the first GPUs get one more.
    shares = [parameters // given["gpus"]] * given["gpus"]
    for gpu in range(parameters % given["gpus"]):
        shares[gpu] += 1
    bytes_per_parameter = 16 // 8
    held = max(shares) * bytes_per_parameter
    seconds = sum(1e6 / (given["bandwidth"] * 1e12) for _ in range(held // 1_000_000))
    seconds += held % 1_000_000 / (given["bandwidth"] * 1e12)
    return {"share": held / 1e9, "time": seconds * 1e3, "bound": "memory"}
