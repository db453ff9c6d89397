"""Add up entry by entry, and array by array."""


def solve(given):
    total = moved = 0
    for _ in range(given["layers"]):
        for _ in range(given["m"]):
            total += given["n"] * (given["k"] + given["k"])
        for rows, columns in (("m", "k"), ("k", "n"), ("m", "n")):
            moved += 4 * given[rows] * given[columns]
    return {"flops": total / 1e6, "moved": moved / 1e3, "intensity": total / moved}
