"""Counts the bytes one parameter block at a time, and times the reading of every block.

The second computation of a problem takes another road than the formula in the YAML: it simulates,
enumerates or measures. `grader verify` holds both against each other over many variants.
"""


def solve(given):
    """Part id to answer, in the part's unit; for a choice the id of the option."""
    parameters = round(given["billions"] * 1e9)
    # Parameters are dealt out one by one; the first GPUs get one more when it does not divide.
    shares = [parameters // given["gpus"]] * given["gpus"]
    for gpu in range(parameters % given["gpus"]):
        shares[gpu] += 1
    bytes_per_parameter = 16 // 8
    held = max(shares) * bytes_per_parameter
    seconds = sum(1e6 / (given["bandwidth"] * 1e12) for _ in range(held // 1_000_000))
    seconds += held % 1_000_000 / (given["bandwidth"] * 1e12)
    return {"share": held / 1e9, "time": seconds * 1e3, "bound": "memory"}
