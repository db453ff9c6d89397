"""Counts the operations of one element of C, and the elements of the three matrices."""


def solve(given):
    m, k, n = given["m"], given["k"], given["n"]
    flop = sum(len(("multiply", "add")) for _ in range(k)) * m * n
    traffic = sum(rows * columns * 4 for rows, columns in ((m, k), (k, n), (m, n)))
    return {"work": flop / 1e6, "intensity": flop / traffic}
