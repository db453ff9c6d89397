"""The longest exact sum is found by trying; the code multiplies in float64."""

from fractions import Fraction

import numpy as np
import torch


def solve(given):
    x = 2 ** given["x_bits"] - 1
    w = max(
        abs(value) for value in range(-(2 ** (given["w_bits"] - 1)) + 1, 2 ** (given["w_bits"] - 1))
    )
    terms, total = 0, 0
    while total + x * w <= 1 << 24:
        total += x * w
        terms += 1
    rows, inner, columns = given["rows"], given["inner"], given["columns"]
    shapes = [(rows, inner), (inner, columns), (rows, columns)]
    return {
        "allocated": sum(np.empty(shape, dtype=np.int64).nbytes for shape in shapes) / 1e3,
        "exact_terms": terms,
        # NumPy rounds each number to float32 and back.
        "exact_numbers": {
            name
            for name, number in {
                "quotient": Fraction(3, 8 if given["e1"] else 10),
                "large": Fraction(2**25 + (4 if given["e2"] else 2)),
                "near-one": 1 + Fraction(1, 2 ** (23 if given["e3"] else 24)),
                "tiny": Fraction(1, 2 ** (149 if given["e4"] else 150)),
            }.items()
            if Fraction(float(np.float32(float(number)))) == number
        },
        # What a tuned GEMM has, as the documentation of OpenBLAS and oneDNN describes it.
        "cause": {"blocks", "vectors", "threads"},
    }


def product(x, w):
    return (x.astype(np.float64) @ w.astype(np.float64)).astype(np.int64)


def product_right_pieces(x, w):
    out = np.zeros((x.shape[0], w.shape[1]), dtype=np.int64)
    for start in range(0, x.shape[1], 500):
        left = x[:, start : start + 500].astype(np.float32)
        right = w[start : start + 500].astype(np.float32)
        out += (left @ right).astype(np.int64)
    return out


def product_right_torch(x, w):
    left, right = torch.from_numpy(x).double(), torch.from_numpy(w).double()
    return (left @ right).long().numpy()


def product_right_nibbles(x, w):
    # Each half of the bits is small enough for float32 to stay exact over long sums.
    right = w.astype(np.float32)
    high, low = (x >> 4).astype(np.float32), (x & 15).astype(np.float32)
    step = 4000
    out = np.zeros((x.shape[0], w.shape[1]), dtype=np.int64)
    for start in range(0, x.shape[1], step):
        part = slice(start, start + step)
        out += 16 * (high[:, part] @ right[part]).astype(np.int64)
        out += (low[:, part] @ right[part]).astype(np.int64)
    return out


def product_slow_as_given(x, w):
    return x.astype(np.int64) @ w.astype(np.int64)


def product_slow_int32(x, w):
    return (x.astype(np.int32) @ w.astype(np.int32)).astype(np.int64)


def product_slow_einsum(x, w):
    return np.einsum("ij,jk->ik", x.astype(np.int64), w.astype(np.int64))


def product_cases(rng, given):
    top_x, top_w = 2 ** given["x_bits"] - 1, 2 ** (given["w_bits"] - 1) - 1

    def case(rows, inner, columns):
        return {
            "x": rng.integers(0, top_x + 1, size=(rows, inner)).astype(np.uint8),
            "w": rng.integers(-top_w, top_w + 1, size=(inner, columns)).astype(np.int8),
        }

    def extreme(inner, sign):
        return {
            "x": np.full((2, inner), top_x, dtype=np.uint8),
            "w": np.full((inner, 3), sign * top_w, dtype=np.int8),
        }

    # Odd sums: no float32 of this size is odd.
    odd = given["inner"] + 1 - given["inner"] % 2
    yield "extreme", extreme(odd, 1)
    yield "extreme", extreme(odd, -1)
    yield "extreme", extreme(4 * given["inner"] - 1, -1)
    # Nearly so: the sum of any long block may be odd.
    near = [rng.integers(0, 2, shape) for shape in ((4, odd), (odd, 4))]
    x, w = top_x - near[0], top_w - near[1]
    yield "extreme", {"x": x.astype(np.uint8), "w": w.astype(np.int8)}
    yield "random", case(1, 1, 1)
    yield "random", case(3, 0, 2)
    for _ in range(5):
        yield "random", case(*(int(n) for n in rng.integers(2, 60, size=3)))


def product_wrong_long_pieces(x, w):
    # Twice as many terms as float32 has room for.
    largest = int(x.max(initial=1)) * int(abs(w).max(initial=1))
    step = max(1, 2**25 // max(1, largest))
    out = np.zeros((x.shape[0], w.shape[1]), dtype=np.int64)
    for start in range(0, x.shape[1], step):
        left = x[:, start : start + step].astype(np.float32)
        right = w[start : start + step].astype(np.float32)
        out += np.rint(left @ right).astype(np.int64)
    return out


def product_wrong_single_precision(x, w):
    return (x.astype(np.float32) @ w.astype(np.float32)).astype(np.int64)


def product_wrong_not_widened(x, w):
    return (x @ w).astype(np.int64)


def product_wrong_float_result(x, w):
    return x.astype(np.float64) @ w.astype(np.float64)


def product_wrong_int16(x, w):
    return (x.astype(np.int16) @ w.astype(np.int16)).astype(np.int64)


def product_wrong_half(x, w):
    left, right = torch.from_numpy(x).bfloat16(), torch.from_numpy(w).bfloat16()
    return (left @ right).long().numpy()
