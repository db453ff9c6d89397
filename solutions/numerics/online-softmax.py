"""One pass with a running maximum; the second road is the whole row at once, in float64."""

import numpy as np


def row_stats(x, block):
    m, total = -np.inf, 0.0
    for start in range(0, len(x), block):
        part = x[start : start + block]
        new = max(m, part.max())
        total = total * np.exp(m - new) + np.exp(part - new).sum()
        m = new
    return m, total


def row_stats_right_at_once(x, block):
    m = x.max()
    return m, np.exp(x - m).sum()


def row_stats_expected(x, block):
    wide = x.astype(np.float64)
    return float(wide.max()), float(np.exp(wide - wide.max()).sum())


def row_stats_holds(inputs, result):
    for number in result:
        found = np.asarray(number).dtype
        if found != inputs["x"].dtype:
            yield f"a number is of type {found}, not {inputs['x'].dtype}"
            return


def row_stats_cases(rng, given):
    yield "short", {"x": np.array([-3.0]), "block": given["block"]}
    yield "short", {"x": rng.normal(size=5).astype(np.float32), "block": given["block"]}
    yield "large", {"x": rng.normal(size=300) + 2000.0, "block": given["block"]}
    yield "large", {"x": np.linspace(-900, 900, 400).astype(np.float32), "block": 32}
    for _ in range(6):
        size = int(rng.integers(2, 5) * given["block"] + rng.integers(1, given["block"]))
        x = rng.normal(size=size) * rng.uniform(1, 8)
        yield "random", {"x": x.astype(np.float32), "block": given["block"]}


def row_stats_wrong_no_maximum(x, block):
    total = 0.0
    for start in range(0, len(x), block):
        total += np.exp(x[start : start + block]).sum()
    return x.max(), total / np.exp(x.max())


def row_stats_wrong_not_rescaled(x, block):
    m, total = -np.inf, 0.0
    for start in range(0, len(x), block):
        part = x[start : start + block]
        m = max(m, part.max())
        total += np.exp(part - m).sum()
    return m, total


def row_stats_wrong_in_a_wider_type(x, block):
    return row_stats(x.astype(np.float64), block)


def row_stats_wrong_drops_the_rest(x, block):
    m, total = -np.inf, 0.0
    for start in range(0, len(x) - block + 1, block):
        part = x[start : start + block]
        new = max(m, part.max())
        total = total * np.exp(m - new) + np.exp(part - new).sum()
        m = new
    return m, total
