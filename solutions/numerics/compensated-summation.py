"""Neumaier's sum and a recursion; what is right comes from exact fractions."""

import math
from fractions import Fraction

import numpy as np


def compensated_sum(x):
    s = c = x.dtype.type(0)
    for v in x:
        t = s + v
        if abs(s) >= abs(v):
            c += (s - t) + v
        else:
            c += (v - t) + s
        s = t
    return s + c


def compensated_sum_right_without_a_branch(x):
    s, c = x.dtype.type(0), x.dtype.type(0)
    for v in x:
        t = s + v
        part = t - s
        c = c + ((s - (t - part)) + (v - part))
        s = t
    return s + c


def compensated_sum_right_by_torch(x):
    import torch

    values = torch.from_numpy(x)
    s = torch.zeros((), dtype=values.dtype)
    errors = []
    for v in values:
        t = s + v
        large, small = (s, v) if abs(s) >= abs(v) else (v, s)
        errors.append(small - (t - large))
        s = t
    c = torch.zeros((), dtype=values.dtype)
    for e in errors:
        c = c + e
    return (s + c).numpy()[()]


def compensated_sum_expected(x):
    """Step by step with fractions for whole numbers; otherwise the bound decides."""
    if len(x) > 2 and (x != np.round(x)).any():
        return ...
    kind = x.dtype.type

    def rounded(value):
        return Fraction(float(kind(float(value))))

    s = c = Fraction(0)
    for v in map(Fraction, x.tolist()):
        t = rounded(s + v)
        s, c = t, rounded(c + (s + v - t))
    return kind(float(s + c))


def compensated_sum_holds(inputs, result):
    x = inputs["x"]
    if np.asarray(result).dtype != x.dtype:
        yield f"the result is of type {np.asarray(result).dtype}, not {x.dtype}"
        return
    exact = sum(map(Fraction, x.tolist()), Fraction(0))
    u = Fraction(float(np.finfo(x.dtype).eps)) / 2
    size = sum((abs(Fraction(v)) for v in x.tolist()), Fraction(0))
    allowed = 2 * u * abs(exact) + 2 * (len(x) * u) ** 2 * size
    if abs(Fraction(float(result)) - exact) > allowed:
        yield "the error is larger than that of a compensated sum can be"


def compensated_sum_cases(rng, given):
    single = np.float32
    yield "short", {"x": np.zeros(0, dtype=single)}
    yield "short", {"x": np.array([0.1], dtype=single)}
    yield "short", {"x": np.array([0.1, 0.2], dtype=np.float64)}
    # The second number rounds too: a sum that is exact, or wider, gives the next one above.
    yield "short", {"x": np.array([2.0**60, 2.0**36, 2.0**10], dtype=single)}
    yield "cancelling", {"x": np.array([1.0, 2.0**90, 1.0, -(2.0**90)], dtype=single)}
    yield "cancelling", {"x": np.array([2.0**200, 3.0, -(2.0**200), 4.0], dtype=np.float64)}
    # The larger one may be negative, and the second number has no more bits than the first.
    yield "cancelling", {"x": np.array([-(2.0**90), 3.0, 2.0**90, -1.0], dtype=single)}
    rounded = [2.0**60, 2.0**30, 1.0, -(2.0**60), -(2.0**30)]
    yield "cancelling", {"x": np.array(rounded, dtype=single)}
    for _ in range(3):
        large = 2.0 ** rng.integers(75, 100)
        small = rng.integers(1, 1000, size=20).astype(float)
        x = np.array([large, *small[:7], large, *small[7:13], -large, -large, *small[13:]])
        yield "cancelling", {"x": x.astype(single)}
    yield "long", {"x": np.full(3000, 0.1, dtype=single)}
    k = int(rng.integers(50, 70))
    small = np.full(int(rng.integers(1000, 2000)), 2.0 ** (k - 50))
    yield "long", {"x": np.concatenate([[2.0**k, 2.0 ** (k - 24)], small]).astype(single)}
    yield "long", {"x": np.concatenate([[3e4], np.full(1500, 1e-4)]).astype(single)}
    for _ in range(2):
        x = rng.uniform(0.5, 1.5, size=int(rng.integers(1500, 2500))).astype(single)
        yield "long", {"x": np.sort(x)[::-1].copy()}


def compensated_sum_wrong_exact(x):
    scaled = [int(v * 2.0**149) for v in map(float, x.astype(np.float64))]
    return x.dtype.type(sum(scaled) / 2**149)


def compensated_sum_wrong_plain(x):
    s = x.dtype.type(0)
    for v in x:
        s += v
    return s


def compensated_sum_wrong_sum_taken_for_larger(x):
    s = c = x.dtype.type(0)
    for v in x:
        t = s + v
        c += (s - t) + v
        s = t
    return s + c


def compensated_sum_wrong_compared_with_sign(x):
    s = c = x.dtype.type(0)
    for v in x:
        t = s + v
        c += (s - t) + v if s >= v else (v - t) + s
        s = t
    return s + c


def compensated_sum_wrong_errors_in_a_wider_type(x):
    return x.dtype.type(compensated_sum_right_without_a_branch(x.astype(np.float64)))


def compensated_sum_wrong_kahan(x):
    s = c = x.dtype.type(0)
    for v in x:
        y = v - c
        t = s + y
        c = (t - s) - y
        s = t
    return s


def compensated_sum_wrong_wider(x):
    s = 0.0
    for v in x.tolist():
        s += v
    return x.dtype.type(s)


def compensated_sum_wrong_sign(x):
    s = c = x.dtype.type(0)
    for v in x:
        t = s + v
        c += (t - s) - v if abs(s) >= abs(v) else (t - v) - s
        s = t
    return s + c


def compensated_sum_wrong_last_error_alone(x):
    s = c = x.dtype.type(0)
    for v in x:
        t = s + v
        c = (s - t) + v if abs(s) >= abs(v) else (v - t) + s
        s = t
    return s + c


def compensated_sum_wrong_python_numbers(x):
    s = c = 0.0
    for v in x.tolist():
        t = s + v
        c += (s - t) + v if abs(s) >= abs(v) else (v - t) + s
        s = t
    return s + c


def compensated_sum_wrong_python_zero_of_nothing(x):
    return compensated_sum_right_without_a_branch(x) if len(x) else 0.0


def pairwise_sum(x, base):
    if len(x) <= base:
        s = x[0]
        for v in x[1:]:
            s = s + v
        return s
    middle = len(x) // 2
    return pairwise_sum(x[:middle], base) + pairwise_sum(x[middle:], base)


def pairwise_sum_right_with_a_stack(x, base):
    waiting, sums = [(0, len(x), False)], []
    while waiting:
        start, stop, ready = waiting.pop()
        if ready:
            right, left = sums.pop(), sums.pop()
            sums.append(left + right)
        elif stop - start <= base:
            total = x.dtype.type(0)
            for i in range(start, stop):
                total = total + x[i]
            sums.append(total)
        else:
            middle = start + (stop - start) // 2
            waiting += [(start, stop, True), (middle, stop, False), (start, middle, False)]
    return sums[0]


def pairwise_sum_right_by_cumsum(x, base):
    if len(x) > base:
        halves = x[: len(x) // 2], x[len(x) // 2 :]
        one, two = (pairwise_sum_right_by_cumsum(h, base) for h in halves)
        return np.add(one, two, dtype=x.dtype)
    return np.cumsum(x, dtype=x.dtype)[-1]


def pairwise_sum_holds(inputs, result):
    found = np.asarray(result).dtype
    if found != inputs["x"].dtype:
        yield f"the result is of type {found}, not {inputs['x'].dtype}"


def pairwise_sum_cases(rng, given):
    half, base = np.float16, given["base"]
    yield "short", {"x": np.array([0.1], dtype=half), "base": base}
    yield "short", {"x": rng.uniform(0.5, 1.5, size=base).astype(half), "base": base}
    yield "short", {"x": rng.uniform(0.5, 1.5, size=base).astype(np.float32), "base": base}
    yield "long", {"x": np.full(6144, 1.0, dtype=half), "base": base}
    yield "long", {"x": np.full(4096, 0.1, dtype=half), "base": base}
    for _ in range(2):
        yield "long", {"x": rng.uniform(0.1, 2, size=2048).astype(half), "base": base}
    # Terms of very different sizes show where the halves were cut.
    for size in (base + 1, 3 * base + 1, int(rng.integers(400, 800)) * 2 + 1, 777):
        x = rng.uniform(1, 2, size=size) * 2.0 ** rng.integers(-6, 4, size=size)
        yield "uneven", {"x": x.astype(half), "base": base}
        yield "uneven", {"x": x.astype(np.float32), "base": base}
    yield "uneven", {"x": np.array([2048, 1, 1, 1, 1, 1, 1], dtype=half), "base": 2}
    yield "uneven", {"x": np.array([2048, 1, 1, 1, 1], dtype=half), "base": 1}


def pairwise_sum_wrong_plain(x, base):
    s = x.dtype.type(0)
    for v in x:
        s = s + v
    return s


def pairwise_sum_wrong_wider(x, base):
    s = 0.0
    for v in x.tolist():
        s += v
    return x.dtype.type(s)


def pairwise_sum_wrong_blocks_then_plain(x, base):
    total = x.dtype.type(0)
    for start in range(0, len(x), base):
        total = total + pairwise_sum_wrong_plain(x[start : start + base], base)
    return total


def pairwise_sum_wrong_first_half_longer(x, base):
    if len(x) <= base:
        return pairwise_sum_right_with_a_stack(x, base)
    middle = -(-len(x) // 2)
    first = pairwise_sum_wrong_first_half_longer(x[:middle], base)
    return first + pairwise_sum_wrong_first_half_longer(x[middle:], base)


def pairwise_sum_wrong_down_to_one(x, base):
    return pairwise_sum_right_with_a_stack(x, 1)


def pairwise_sum_wrong_neighbors(x, base):
    while len(x) > base:
        rest = x[len(x) // 2 * 2 :]
        x = np.concatenate([x[: len(x) // 2 * 2 : 2] + x[1 : len(x) // 2 * 2 : 2], rest])
    return pairwise_sum_right_with_a_stack(x, base)


def solve(given):
    """Counts additions along a term's way by walking down the halves."""
    count, base = 2 ** given["power"], given["base"]

    def depth(size):
        if size <= base:
            return size - 1
        return 1 + max(depth(s) for s in {size // 2, size - size // 2})

    s, x = Fraction(1, 3), Fraction(10**9)
    error = (s - (s + x)) + x
    return {
        "bound": (count - 1) / depth(count),
        "fast_math": "plain" if math.isclose(error, 0) else "same",
    }
