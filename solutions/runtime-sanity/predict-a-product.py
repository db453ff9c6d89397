"""Add up entry by entry."""


def solve(given):
    total = 0
    for _ in range(given["layers"]):
        for _ in range(given["m"]):
            total += given["n"] * (given["k"] + given["k"])
    return {"flops": total / 1e6}
