"""Judged by properties: neighbors on the grid, and averages within six standard errors."""

import numpy as np

MANY = 1000
"""Repetitions from which averages are looked at; below, chance alone could move them too far."""


def round_to_grid(x, step, rng):
    return np.floor(x / step + rng.random(x.shape)) * step


def round_to_grid_right_by_probabilities(x, step, rng):
    lower = np.floor(x / step)
    up = rng.uniform(size=x.shape) < x / step - lower
    return step * (lower + up)


def round_to_grid_right_one_by_one(x, step, rng):
    found = []
    for q in (x / step).ravel().tolist():
        low = q // 1
        found.append((low + (rng.random() < q - low)) * step)
    return np.array(found).reshape(x.shape)


def round_to_grid_expected(x, step, seed, repeats):
    return ...


def round_to_grid_holds(inputs, result):
    x, step = inputs["x"], inputs["step"]
    yield from _faults(result, x, inputs["repeats"], np.floor(x / step) * step, step)


def _faults(result, x, repeats, lower, step):
    """What does not hold, where *lower* and *lower* + *step* are the neighbors of *x*."""
    rounded = result["rounded"]
    if rounded.shape != (repeats, *x.shape) or rounded.dtype != x.dtype:
        yield "the result has another shape or dtype than the input"
        return
    # All of these numbers are exact in binary.
    rounded, x = rounded.astype(np.float64), x.astype(np.float64)
    on_grid = x == lower
    if not (rounded[:, on_grid] == x[on_grid]).all():
        yield "a number that can stay does not"
    elif not ((rounded == lower) | (rounded == lower + step)).all():
        yield "a number goes elsewhere than to its neighbors"
    elif result["the_same_generator_gives_the_same"] is not True:
        yield "the same generator gives another result"
    elif result["the_input_is_kept"] is not True:
        yield "the input was changed in place"
    if repeats < MANY:
        return
    share = (x - lower) / step
    error = np.abs(rounded.mean(axis=0) - x) / step
    if (error > 6 * np.sqrt(share * (1 - share) / repeats) + 1e-9).any():
        yield "the average is not the number that was rounded"
    near = np.abs(share - 0.5) < 0.4
    if near.sum() > 2:
        ups = (rounded > lower)[:, near].astype(float)
        ups = (ups - ups.mean(axis=0)) / (ups.std(axis=0) + 1e-30)
        together = np.abs((ups[:, 1:] * ups[:, :-1]).mean(axis=0))
        if (together > 6 / np.sqrt(repeats)).any():
            yield "the entries are not rounded independently"


def round_to_grid_cases(rng, given):
    def seeded(x, step, repeats):
        x = np.asarray(x, dtype=np.float64)
        return {"x": x, "step": step, "seed": int(rng.integers(2**31)), "repeats": repeats}

    def shares(size, step):
        """Numbers of which the shares above their grid points are whole parts of 64."""
        return (rng.integers(-20, 20, size=size) + rng.integers(1, 64, size=size) / 64) * step

    step = given["step"]
    yield "grid", seeded(shares((7,), step), step, 50)
    yield "grid", seeded(shares((3, 5), 2.0), 2.0, 20)
    yield "grid", seeded(-np.abs(shares((9,), step)), step, 50)
    yield "exact", seeded(rng.integers(-50, 50, size=30) * step, step, 40)
    yield "exact", seeded([0.0, -0.0, 4.0], 2.0, 10)
    yield "exact", seeded(np.zeros((0, 3)), step, 3)
    # Beside those that stay, some that can't.
    yield "exact", seeded([-3 * step, 2.25 * step, 0.0, -0.5 * step, 7 * step], step, 40)
    yield "average", seeded([step / 64, -step / 64, 63 * step / 64, step / 2], step, 8000)
    yield "average", seeded(shares((6,), step), step, 6000)
    yield "average", seeded(np.full(8, 5.25 * step), step, 4000)
    yield "average", seeded(-np.abs(shares((2, 3), 1.0)), 1.0, 6000)


def round_to_grid_wrong_to_nearest(x, step, rng):
    return np.round(x / step) * step


def round_to_grid_wrong_fair_coin(x, step, rng):
    q = x / step
    lower = np.floor(q)
    return np.where(q == lower, q, lower + rng.integers(0, 2, size=x.shape)) * step


def round_to_grid_wrong_truncated(x, step, rng):
    q = x / step
    lower = np.trunc(q)
    return (lower + (rng.random(x.shape) < np.abs(q - lower))) * step


def round_to_grid_wrong_one_number_for_all(x, step, rng):
    return np.floor(x / step + rng.random()) * step


def round_to_grid_wrong_one_number_for_a_row(x, step, rng):
    numbers = rng.random(x.shape[:1]).reshape(-1, *[1] * (x.ndim - 1))
    return np.floor(x / step + numbers) * step


def round_to_grid_wrong_noise_then_nearest(x, step, rng):
    return np.round(x / step + rng.random(x.shape)) * step


def round_to_grid_wrong_in_place(x, step, rng):
    x /= step
    x += rng.random(x.shape)
    np.floor(x, out=x)
    x *= step
    return x


def round_to_grid_wrong_whole_numbers(x, step, rng):
    return np.floor(x + rng.random(x.shape))


def round_to_grid_wrong_generator_ignored(x, step, rng):
    return np.floor(x / step + np.random.random(x.shape)) * step


def to_bf16(x, rng):
    bits = x.view(np.uint32) + rng.integers(0, 1 << 16, size=x.shape, dtype=np.uint32)
    return (bits & np.uint32(0xFFFF0000)).view(np.float32)


def to_bf16_right_by_neighbors(x, rng):
    bits = x.view(np.uint32).astype(np.int64)
    lower = bits // 65536
    up = rng.random(x.shape) * 65536 < bits % 65536
    return ((lower + up) * 65536).astype(np.uint32).view(np.float32)


def to_bf16_right_by_spacing(x, rng):
    _, exponent = np.frexp(x)
    spacing = np.ldexp(1.0, np.maximum(exponent, -125) - 8)
    q = x.astype(np.float64) / spacing
    lower = np.floor(q)
    return ((lower + (rng.random(x.shape) < q - lower)) * spacing).astype(np.float32)


def to_bf16_expected(x, seed, repeats):
    return ...


def to_bf16_holds(inputs, result):
    x = inputs["x"]
    bits = x.view(np.uint32) & np.uint32(0xFFFF0000)
    inner = bits.view(np.float32).astype(np.float64)
    outer = (bits + np.uint32(0x10000)).view(np.float32).astype(np.float64)
    lower = np.where(x < 0, np.where(inner == x, inner, outer), inner)
    yield from _faults(result, x, inputs["repeats"], lower, np.abs(outer - inner))


def to_bf16_cases(rng, given):
    def seeded(x, repeats):
        x = np.asarray(x, dtype=np.float32)
        return {"x": x, "seed": int(rng.integers(2**31)), "repeats": repeats}

    def between(size):
        """Numbers of many sizes, between two of bfloat16."""
        upper = rng.integers(0x3000, 0x4800, size=size).astype(np.uint32) << 16
        signs = rng.integers(0, 2, size=size).astype(np.uint32) << 31
        lower = (rng.integers(1, 64, size=size).astype(np.uint32)) << 10
        return (upper | signs | lower).view(np.float32)

    yield "grid", seeded(between((8,)), 40)
    yield "grid", seeded(between((3, 6)), 30)
    yield "grid", seeded(-np.abs(between((9,))), 40)
    whole = (between((20,)).view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)
    yield "exact", seeded(whole, 40)
    yield "exact", seeded([0.0, 1.0, -1.0, 256.0, -3.0], 40)
    yield "exact", seeded(np.zeros((2, 0)), 3)
    # Beside those that stay, some that can't.
    yield "exact", seeded(np.concatenate([whole[:4], between((3,)), whole[4:8]]), 40)
    # A weight of 1 and an update of a thirty-second of the spacing, 2 to the -7.
    yield "average", seeded([1 + 2.0**-12, 1 - 2.0**-13, 3.14, -0.1, 300.7], 8000)
    for _ in range(3):
        yield "average", seeded(between((6,)), 6000)


def to_bf16_wrong_to_nearest(x, rng):
    bits = x.view(np.uint32)
    rounded = bits + np.uint32(0x7FFF) + ((bits >> 16) & 1)
    return (rounded & np.uint32(0xFFFF0000)).view(np.float32)


def to_bf16_wrong_fair_coin(x, rng):
    bits = x.view(np.uint32)
    up = rng.integers(0, 2, size=x.shape).astype(np.uint32) << 16
    moved = np.where(bits & 0xFFFF, bits + up, bits)
    return (moved & np.uint32(0xFFFF0000)).view(np.float32)


def to_bf16_wrong_always_up(x, rng):
    bits = x.view(np.uint32) + np.uint32(0xFFFF)
    return (bits & np.uint32(0xFFFF0000)).view(np.float32)


def to_bf16_wrong_fifteen_bits(x, rng):
    bits = x.view(np.uint32) + rng.integers(0, 1 << 15, size=x.shape, dtype=np.uint32)
    return (bits & np.uint32(0xFFFF0000)).view(np.float32)


def to_bf16_wrong_in_place(x, rng):
    bits = x.view(np.uint32)
    bits += rng.integers(0, 1 << 16, size=x.shape, dtype=np.uint32)
    bits &= np.uint32(0xFFFF0000)
    return x


def to_bf16_wrong_not_cleared(x, rng):
    bits = x.view(np.uint32) + rng.integers(0, 1 << 16, size=x.shape, dtype=np.uint32)
    return bits.view(np.float32)


def to_bf16_wrong_one_number_for_all(x, rng):
    bits = x.view(np.uint32) + np.uint32(rng.integers(0, 1 << 16))
    return (bits & np.uint32(0xFFFF0000)).view(np.float32)


def to_bf16_wrong_fixed_grid(x, rng):
    return (np.floor(x * 128 + rng.random(x.shape)) / 128).astype(np.float32)


def solve(given):
    """The exact distribution of the number of steps, update by update."""
    share, steps = given["share"], np.zeros(given["updates"] + 1)
    steps[0] = 1.0
    for _ in range(given["updates"]):
        steps = steps * (1 - share) + np.concatenate([[0.0], steps[:-1]]) * share
    moved = np.arange(len(steps))
    mean = (steps * moved).sum()

    weight = 0.0
    for _ in range(given["updates"]):
        weight = float(np.round(weight + given["percent"] / 100))

    # The first two moments, update by update, until the relative spread is small enough.
    count, first, second = 0, 0.0, 0.0
    while count == 0 or second - first**2 > (0.1 * first) ** 2 * (1 + 1e-9):
        count, first, second = count + 1, first + share, second + 2 * first * share + share
    return {
        "expected_steps": mean,
        "updates_needed": count,
        "to_nearest": {0: "stays", given["updates"]: "every"}.get(weight, "same"),
        "spread_of_steps": float(np.sqrt((steps * (moved - mean) ** 2).sum())),
    }
