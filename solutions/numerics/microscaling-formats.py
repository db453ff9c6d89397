"""Vectorized; the second roads go element by element, with numbers listed from their bit fields."""

import math

import numpy as np


def mx_quantize(x):
    blocks = x.astype(np.float64).reshape(-1, 32)
    top = np.abs(blocks).max(axis=1)
    exponents = np.where(top > 0, np.frexp(top)[1] - 1 - 2, 0)
    scaled = np.ldexp(np.abs(blocks), -exponents[:, None])
    step = np.where(scaled < 2, 0.5, np.where(scaled < 4, 1.0, 2.0))
    rounded = np.minimum(np.round(scaled / step) * step, 6.0)
    codes = np.searchsorted([0, 0.5, 1, 1.5, 2, 3, 4, 6], rounded)
    codes = codes + 8 * np.signbit(blocks)
    return codes.ravel().astype(np.uint8), exponents.astype(np.int32)


def numbers(exponent_bits, fraction_bits, bias):
    """The magnitudes of all codes in order, from their fields."""
    found = []
    for field in range(2**exponent_bits):
        for fraction in range(2**fraction_bits):
            part = fraction / 2**fraction_bits
            found.append(2.0 ** (max(field, 1) - bias) * (part + (1 if field else 0)))
    return found


def nearest(x, magnitudes):
    """The code of the nearest magnitude; of two, the even one."""
    return min(range(len(magnitudes)), key=lambda c: (abs(magnitudes[c] - x), c % 2))


def mx_quantize_right_element_by_element(x):
    grid = numbers(2, 1, 1)
    codes, exponents = [], []
    for start in range(0, len(x), 32):
        block = [float(v) for v in x[start : start + 32]]
        top = max(abs(v) for v in block)
        k = 0
        if top:
            while 2.0 ** (k + 3) <= top:
                k += 1
            while 2.0 ** (k + 2) > top:
                k -= 1
        exponents.append(k)
        for v in block:
            sign = 8 if math.copysign(1, v) < 0 else 0
            codes.append(nearest(abs(v) / 2.0**k, grid) + sign)
    return np.array(codes, dtype=np.uint8), np.array(exponents, dtype=np.int32)


def mx_quantize_right_by_limits(x):
    blocks = x.reshape(-1, 32)
    top = np.abs(blocks).max(axis=1)
    safe = np.where(top == 0, 4, top)
    exponents = np.floor(np.log2(safe.astype(np.float64))).astype(np.int32) - 2
    scaled = np.abs(blocks) / 2.0 ** exponents[:, None]
    codes = np.zeros(blocks.shape, dtype=np.uint8)
    for limit in (0.25, 1.25, 2.5, 5.0):  # a tie belongs to the code below
        codes += scaled > limit
    for limit in (0.75, 1.75, 3.5):  # and here to the one above
        codes += scaled >= limit
    codes += np.signbit(blocks).astype(np.uint8) << 3
    return codes.ravel(), exponents


def mx_quantize_cases(rng, given):
    def made(blocks, low=-20, high=20):
        shifts = np.repeat(rng.integers(low, high, blocks), 32)
        x = rng.normal(size=32 * blocks) * 2.0**shifts
        x[::32] = rng.uniform(1.02, 1.45, blocks) * 2.0 ** (shifts[::32] + 2)
        return {"x": x.astype(np.float32)}

    def ties(k):
        x = np.tile(
            [
                0.25,
                0.75,
                1.25,
                1.75,
                2.5,
                3.5,
                5.0,
                -5.0,
                -0.25,
                6.0,
                1.0,
                -3.0,
                0.1,
                4.4,
                -1.6,
                0.0,
            ],
            2,
        )
        return {"x": (rng.permutation(x) * 2.0**k).astype(np.float32)}

    yield "ordinary", made(1)
    for _ in range(3):
        yield "ordinary", made(int(rng.integers(3, 7)))
    yield "ordinary", made(4, -45, 45)
    for k in (0, -3, 7):
        yield "ties", ties(k)
    for _ in range(3):
        case = made(3)
        case["x"][::32] *= (
            np.float32(1.98) / case["x"][::32] * 2.0 ** np.floor(np.log2(np.abs(case["x"][::32])))
        )
        yield "saturated", case
    zeros = made(4)
    zeros["x"][32:64] = 0
    yield "zeros", zeros
    for _ in range(2):
        some = made(3)
        some["x"][1::3] *= np.float32(0.001)  # too small for its block; the sign remains
        some["x"][64:] = 0
        yield "zeros", some


def mx_quantize_wrong_exponent_of_the_format_forgotten(x):
    blocks = x.astype(np.float64).reshape(-1, 32)
    codes, exponents = mx_quantize(x)
    exponents = np.where(np.abs(blocks).max(axis=1) > 0, exponents + 2, 0)
    scaled = np.abs(blocks) / 2.0 ** exponents[:, None]
    codes = np.array([nearest(v, numbers(2, 1, 1)) for v in scaled.ravel()])
    return (codes + 8 * np.signbit(x)).astype(np.uint8), exponents.astype(np.int32)


def mx_quantize_wrong_rounds_the_exponent_up(x):
    blocks = x.astype(np.float64).reshape(-1, 32)
    top = np.abs(blocks).max(axis=1)
    exponents = np.ceil(np.log2(np.where(top > 0, top, 4))).astype(np.int32) - 2
    scaled = np.abs(blocks) / 2.0 ** exponents[:, None]
    codes = np.array([nearest(v, numbers(2, 1, 1)) for v in scaled.ravel()])
    return (codes + 8 * np.signbit(x)).astype(np.uint8), exponents


def mx_quantize_wrong_largest_becomes_six(x):
    blocks = x.astype(np.float64).reshape(-1, 32)
    top = np.abs(blocks).max(axis=1)
    exponents = np.ceil(np.log2(np.where(top > 0, top / 6, 1))).astype(np.int32)
    scaled = np.abs(blocks) / 2.0 ** exponents[:, None]
    codes = np.array([nearest(v, numbers(2, 1, 1)) for v in scaled.ravel()])
    return (codes + 8 * np.signbit(x)).astype(np.uint8), exponents


def mx_quantize_wrong_ties_to_the_smaller(x):
    blocks = x.astype(np.float64).reshape(-1, 32)
    _, exponents = mx_quantize(x)
    scaled = np.abs(blocks) / 2.0 ** exponents[:, None]
    grid = np.array(numbers(2, 1, 1))
    codes = np.abs(scaled.ravel()[:, None] - grid).argmin(axis=1)
    return (codes + 8 * np.signbit(x)).astype(np.uint8), exponents


def mx_quantize_wrong_one_scale(x):
    k = int(mx_quantize(np.abs(x).max() * np.ones(32, dtype=np.float32))[1][0])
    codes = [nearest(abs(float(v)) / 2.0**k, numbers(2, 1, 1)) for v in x]
    codes = np.array(codes) + 8 * np.signbit(x)
    return codes.astype(np.uint8), np.full(len(x) // 32, k, dtype=np.int32)


def mx_quantize_wrong_truncates(x):
    blocks = x.astype(np.float64).reshape(-1, 32)
    _, exponents = mx_quantize(x)
    scaled = np.abs(blocks) / 2.0 ** exponents[:, None]
    codes = np.searchsorted(numbers(2, 1, 1), scaled.ravel(), side="right") - 1
    return (codes + 8 * np.signbit(x)).astype(np.uint8), exponents


def mx_quantize_wrong_no_subnormal(x):
    codes, exponents = mx_quantize(x)
    return np.where(codes % 8 == 1, codes + 1, codes).astype(np.uint8), exponents


def mx_quantize_wrong_sign_of_zero(x):
    codes, exponents = mx_quantize(x)
    return np.where(codes == 8, 0, codes).astype(np.uint8), exponents


def mx_quantize_wrong_signs_in_twos_complement(x):
    codes, exponents = mx_quantize(x)
    return np.where(codes > 8, 24 - codes, codes).astype(np.uint8), exponents


def mx_dot(codes_a, exponents_a, codes_b, exponents_b):
    table = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6])
    products = table[codes_a] * table[codes_b]
    sums = products.reshape(-1, 32).sum(axis=1)
    scales = 2.0 ** (np.array(exponents_a, dtype=float) + np.array(exponents_b, dtype=float))
    return float((sums * scales).sum())


def mx_dot_right_with_bits(codes_a, exponents_a, codes_b, exponents_b):
    def read(code):
        code = int(code)
        field, fraction = code >> 1 & 3, code & 1
        magnitude = (2 + fraction) * 2.0 ** (field - 2) if field else fraction / 2
        return -magnitude if code & 8 else magnitude

    total = 0.0
    for i, (a, b) in enumerate(zip(codes_a, codes_b, strict=True)):
        total += read(a) * read(b) * 2.0 ** (exponents_a[i // 32] + exponents_b[i // 32])
    return total


def mx_dot_cases(rng, given):
    def made(blocks):
        return {
            "codes_a": rng.integers(0, 16, 32 * blocks).astype(np.uint8),
            "exponents_a": [int(k) for k in rng.integers(-8, 9, blocks)],
            "codes_b": rng.integers(0, 16, 32 * blocks).astype(np.uint8),
            "exponents_b": [int(k) for k in rng.integers(-8, 9, blocks)],
        }

    ones = np.array(32 * [1], dtype=np.uint8)
    yield "one block", {"codes_a": ones, "exponents_a": [3], "codes_b": ones, "exponents_b": [-1]}
    for _ in range(3):
        yield "one block", made(1)
    for blocks in (2, 3, 5, 5):
        yield "several blocks", made(blocks)


def mx_dot_wrong_scale_of_one_vector(codes_a, exponents_a, codes_b, exponents_b):
    return mx_dot(codes_a, exponents_a, codes_b, [0] * len(exponents_b))


def mx_dot_wrong_codes_as_integers(codes_a, exponents_a, codes_b, exponents_b):
    def read(codes):
        return np.where(codes < 8, codes, 8.0 - codes)

    sums = (read(codes_a) * read(codes_b)).reshape(-1, 32).sum(axis=1)
    scales = 2.0 ** (np.array(exponents_a, dtype=float) + np.array(exponents_b, dtype=float))
    return float((sums * scales).sum())


def mx_dot_wrong_hidden_bit_of_subnormals(codes_a, exponents_a, codes_b, exponents_b):
    half = 0.75  # 2 ** -1 with a fraction of one half
    table = np.array([0, half, 1, 1.5, 2, 3, 4, 6, 0, -half, -1, -1.5, -2, -3, -4, -6])
    sums = (table[codes_a] * table[codes_b]).reshape(-1, 32).sum(axis=1)
    scales = 2.0 ** (np.array(exponents_a, dtype=float) + np.array(exponents_b, dtype=float))
    return float((sums * scales).sum())


def mx_dot_wrong_exponents_multiplied(codes_a, exponents_a, codes_b, exponents_b):
    sums = [a * b for a, b in zip(exponents_a, exponents_b, strict=True)]
    return mx_dot(codes_a, sums, codes_b, [0] * len(sums))


def mx_dot_wrong_first_scale_for_all(codes_a, exponents_a, codes_b, exponents_b):
    n = len(exponents_a)
    if n == 1:
        return mx_dot(codes_a, [exponents_a[0] - exponents_b[0]], codes_b, [0])
    return mx_dot(codes_a, [exponents_a[0]] * n, codes_b, [exponents_b[0]] * n)


def solve(given):
    grid = numbers(given["exponent_bits"], given["fraction_bits"], given["bias"])
    rows = []
    for magnitudes in (numbers(2, 1, 1), grid):
        reals = {sign * m for m in magnitudes for sign in (1, -1)}
        rows.append([len(reals), max(reals), min(m for m in reals if m > 0)])

    peak, emax = given["peak"], 0
    while 2 ** (emax + 1) <= max(grid):
        emax += 1
    k = -60
    while 2.0 ** (k + 1 + emax) <= peak:
        k += 1
    small = round(peak * given["ratio"], 3)
    back = [[grid[nearest(x / 2.0**k, grid)] * 2.0**k] for x in (peak, small)]

    _, found = mx_quantize(np.full(32, given["spike"], dtype=np.float32))
    low, high = 0.0, float(given["ordinary"])
    for _ in range(60):  # the largest magnitude that is converted to 0
        middle = (low + high) / 2
        zero = nearest(middle / 2.0 ** int(found[0]), numbers(2, 1, 1)) == 0
        low, high = (middle, high) if zero else (low, middle)

    count = given["rows"] * given["columns"]
    blocks_a, blocks_b = count // given["block_a"], count // 32
    bits_a = sum([given["plain_a"] * count, 8 * blocks_a])
    bits_b = sum([given["plain_b"] * count, 8 * blocks_b])
    return {
        "formats": rows,
        "read_back": back,
        "outlier": 100 * high / given["ordinary"],
        "storage": (bits_a - bits_b) / 8 / 1e6,
        "blocks": ["smaller", "holds", "integer"],
    }
