"""Slides the kernel over one padded row and counts its places."""


def solve(given):
    padded = given["size"] + 2
    side = sum(1 for left in range(0, padded, 2) if left + 3 <= padded)
    count = given["images"] * given["channels"] * side**2
    return {"elements": count, "memory": 4 * count / 1e3}
