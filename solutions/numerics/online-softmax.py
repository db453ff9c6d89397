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


def solve(given):
    """Softmax over real scores with the table's statistics, and the recurrence itself on a masked row."""
    rng = np.random.default_rng(1)
    scores, values = [], []
    splits = (
        (given["first_max"], given["first_sum"], given["first_out"]),
        (given["first_max"] + given["gap"], given["second_sum"], given["second_out"]),
    )
    for top, total, out in splits:
        # Forty scores with this maximum whose exponentials add up to *total*, and values to match.
        below = rng.uniform(0.5, 1, size=39)
        below *= (total - 1) / below.sum()
        part = np.concatenate([[0.0], np.log(below)]) + top
        share = np.exp(part - part.max()) / np.exp(part - part.max()).sum()
        value = rng.normal(size=40)
        scores.append(part)
        values.append(value - (share * value).sum() + out)
    row, value = np.concatenate(scores), np.concatenate(values)
    weights = np.exp(row - row.max())

    masked = np.array([-np.inf, -np.inf, 0.5, 1.0])
    if given["masked_block"] == "last":
        masked = masked[::-1]
    with np.errstate(invalid="ignore"):
        _, total = row_stats(masked, 2)
    return {
        "merged_output": float((weights * value).sum() / weights.sum()),
        "masked": "nan"
        if np.isnan(total)
        else {"0": "zero", "inf": "infinity"}.get(f"{total:.0f}", "right"),
    }
