"""By integer arithmetic on the bits; the second roads search tables, or let torch convert."""

from fractions import Fraction

import numpy as np
import torch


def to_bf16(x):
    bits = x.view(np.uint32)
    odd = (bits >> 16) & 1
    rounded = ((bits + 0x7FFF + odd) >> 16).astype(np.uint16)
    return np.where(np.isnan(x), np.uint16(0x7FC0), rounded)


def to_bf16_right_by_cases(x):
    bits = x.ravel().view(np.uint32).astype(np.int64)
    upper, lower = bits // 65536, bits % 65536
    up = (lower > 0x8000) | ((lower == 0x8000) & (upper % 2 == 1))
    found = (upper + up).astype(np.uint16)
    found[np.isnan(x.ravel())] = 0x7FC0
    return found.reshape(x.shape)


def to_bf16_right_one_by_one(x):
    def one(value):
        if value != value:
            return 0x7FC0
        pattern = int(np.float32(value).view(np.uint32))
        return round(Fraction(pattern, 1 << 16))

    return np.array([one(v) for v in x.ravel()], dtype=np.uint16).reshape(x.shape)


def to_bf16_expected(x):
    """By torch, with every NaN made the same."""
    found = torch.from_numpy(x.copy()).to(torch.bfloat16).view(torch.int16).numpy()
    return np.where(np.isnan(x), np.uint16(0x7FC0), found.view(np.uint16))


def _of_bits(patterns):
    return np.asarray(patterns, dtype=np.uint32).view(np.float32)


def to_bf16_cases(rng, given):
    yield "random", {"x": np.array([1.0, 0.1, -0.1, 3.14159265, 1e-3], dtype=np.float32)}
    yield "random", {"x": np.zeros((2, 0), dtype=np.float32)}
    yield "random", {"x": _of_bits([0x3F80FFFF, 0x3FFFFFFF, 0xBFFF8001, 0x3F807FFF])}
    upper = rng.integers(0x3000, 0x5000, size=12).astype(np.uint32) << 16
    yield "ties", {"x": _of_bits([0x3F808000, 0x3F818000, 0xBF808000, 0xBF818000, 0x3FFF8000])}
    yield "ties", {"x": _of_bits(upper | 0x8000)}
    yield "ties", {"x": _of_bits((upper | 0x8000) + rng.integers(-2, 3, size=12).astype(np.uint32))}
    special = [0x7F800000, 0xFF800000, 0x7F800001, 0xFFFFFFFF, 0x7FC00000, 0xFF80FFFF, 0x80000000]
    yield "special", {"x": _of_bits(special)}
    yield "special", {"x": _of_bits([0x7F7FFFFF, 0xFF7F8000, 0x7F7F7FFF])}
    yield "special", {"x": _of_bits([1, 0x8000, 0x8001, 0x18000, 0x007FFFFF, 0x807F8000])}
    for _ in range(3):
        shape = (int(rng.integers(2, 6)), int(rng.integers(3, 40)))
        x = rng.normal(size=shape) * 10.0 ** rng.integers(-6, 7, size=shape)
        yield "random", {"x": x.astype(np.float32)}


def to_bf16_wrong_truncates(x):
    rounded = (x.view(np.uint32) >> 16).astype(np.uint16)
    return np.where(np.isnan(x), np.uint16(0x7FC0), rounded)


def to_bf16_wrong_halves_up(x):
    rounded = ((x.view(np.uint32).astype(np.uint64) + 0x8000) >> 16).astype(np.uint16)
    return np.where(np.isnan(x), np.uint16(0x7FC0), rounded)


def to_bf16_wrong_nan_rounded(x):
    bits = x.view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def to_bf16_wrong_halves_down(x):
    rounded = ((x.view(np.uint32) + 0x7FFF) >> 16).astype(np.uint16)
    return np.where(np.isnan(x), np.uint16(0x7FC0), rounded)


def to_bf16_wrong_half_precision(x):
    with np.errstate(over="ignore"):
        return x.astype(np.float16).view(np.uint16)


def from_e4m3(codes):
    codes = codes.astype(np.int32)
    exponent, fraction = (codes >> 3) & 15, codes & 7
    size = np.where(
        exponent == 0, fraction / 8 * 2.0**-6, (1 + fraction / 8) * 2.0 ** (exponent - 7)
    )
    size = np.where((codes & 0x7F) == 0x7F, np.nan, size)
    return np.where(codes & 0x80, -size, size).astype(np.float32)


def from_e4m3_right_by_ldexp(codes):
    exponent = (codes // 8 % 16).astype(int)
    digits = codes % 8 + np.where(exponent > 0, 8, 0)
    found = np.ldexp(digits.astype(np.float32), np.maximum(exponent, 1) - 10)
    found = np.where(codes % 128 == 127, np.float32(np.nan), found)
    return np.copysign(found, np.where(codes >= 128, np.float32(-1), np.float32(1)))


def from_e4m3_right_by_table(codes):
    table = []
    for code in range(256):
        e, f = code >> 3 & 15, code & 7
        value = (f if e == 0 else 8 + f) * 2.0 ** (max(e, 1) - 10)
        table.append(float("nan") if code & 127 == 127 else -value if code > 127 else value)
    return np.array(table, dtype=np.float32)[codes]


def from_e4m3_expected(codes):
    """By torch."""
    return torch.from_numpy(codes.copy()).view(torch.float8_e4m3fn).float().numpy()


def from_e4m3_cases(rng, given):
    every = np.arange(256, dtype=np.uint8)
    normal = every[((every >> 3) & 15 > 0) & (every & 0x7F != 0x7F)]
    yield "normal", {"codes": np.array([0x38, 0xB8, 0x08, 0x7E, 0xFE, 0x78], dtype=np.uint8)}
    yield "normal", {"codes": rng.permutation(normal)[:60].reshape(4, 15)}
    yield "normal", {"codes": rng.permutation(normal)[:30]}
    yield "subnormal", {"codes": np.arange(8, dtype=np.uint8)}
    yield "subnormal", {"codes": np.arange(0x80, 0x88, dtype=np.uint8)[::-1].copy()}
    yield "special", {"codes": np.array([0x7F, 0xFF, 0x78, 0xF8, 0x00, 0x80], dtype=np.uint8)}
    yield "special", {"codes": rng.permutation(every).reshape(16, 16)}
    yield "special", {"codes": np.zeros(0, dtype=np.uint8)}


def from_e4m3_wrong_hidden_one_always(codes):
    codes = codes.astype(np.int32)
    size = (1 + (codes & 7) / 8) * 2.0 ** (((codes >> 3) & 15) - 7)
    size = np.where((codes & 0x7F) == 0x7F, np.nan, size)
    return np.where(codes & 0x80, -size, size).astype(np.float32)


def from_e4m3_wrong_infinities(codes):
    found = from_e4m3(codes)
    top = (codes >> 3) & 15 == 15
    sign = np.where(codes & 0x80, -1, 1)
    special = np.where(codes & 7 == 0, sign * np.inf, np.nan)
    return np.where(top, special, found).astype(np.float32)


def from_e4m3_wrong_subnormal_exponent(codes):
    codes = codes.astype(np.int32)
    exponent, fraction = (codes >> 3) & 15, codes & 7
    size = ((exponent > 0) + fraction / 8) * 2.0 ** (exponent - 7)
    size = np.where((codes & 0x7F) == 0x7F, np.nan, size)
    return np.where(codes & 0x80, -size, size).astype(np.float32)


def from_e4m3_wrong_bias_of_eight(codes):
    return from_e4m3(codes) / np.float32(2)


def from_e4m3_wrong_nan_is_480(codes):
    found = from_e4m3(codes)
    return np.where(np.isnan(found), np.where(codes & 0x80, -480, 480), found).astype(np.float32)


def to_e4m3(x):
    size = np.minimum(np.abs(x), 448).astype(np.float64)
    exponent = np.frexp(np.maximum(size, 2.0**-6))[1] - 1
    # Digits below 8 belong to subnormals; 16 carries into the exponent by itself.
    digits = np.rint(np.nan_to_num(np.ldexp(size, 3 - exponent))).astype(np.int64)
    codes = ((exponent + 6) << 3) + digits
    codes = np.where(np.isnan(x), 0x7F, codes | np.where(np.signbit(x), 0x80, 0))
    return codes.astype(np.uint8)


def to_e4m3_right_by_search(x):
    values = from_e4m3(np.arange(127, dtype=np.uint8)).astype(np.float64)
    size = np.minimum(np.abs(x).astype(np.float64), 448.0)
    after = np.searchsorted(values, size).clip(0, 126)
    before = np.maximum(after - 1, 0)
    up, down = values[after] - size, size - values[before]
    codes = np.where((up < down) | ((up == down) & (after % 2 == 0)), after, before)
    codes = np.where(np.signbit(x), codes + 128, codes)
    return np.where(np.isnan(x), 127, codes).astype(np.uint8)


def to_e4m3_right_on_the_bits(x):
    bits = np.atleast_1d(x).view(np.uint32).astype(np.int64).reshape(x.shape)
    sign, size = (bits >> 31) << 7, bits & 0x7FFFFFFF
    # Normal numbers: drop 20 fraction bits, then rebase the exponent from 127 to 7.
    normal = ((size + 0x7FFFF + ((size >> 20) & 1)) >> 20) - (120 << 3)
    # Subnormal ones: whole multiples of 2 to the -9, which float32 can round by itself.
    small = np.rint(np.minimum(np.abs(np.nan_to_num(x)), 1).astype(np.float32) * 512).astype(int)
    codes = np.where(size < (121 << 23), small, np.minimum(normal, 0x7E))
    return np.where(np.isnan(x), 0x7F, codes | sign).astype(np.uint8)


def to_e4m3_expected(x):
    """By torch, saturated beforehand."""
    clamped = torch.from_numpy(x.copy()).clamp(-448, 448)
    found = clamped.to(torch.float8_e4m3fn).view(torch.uint8).numpy()
    return np.where(np.isnan(x), np.uint8(0x7F), found)


def to_e4m3_cases(rng, given):
    values = from_e4m3(np.arange(127, dtype=np.uint8)).astype(np.float64)
    middle = ((values[1:] + values[:-1]) / 2).astype(np.float32)
    random = rng.normal(size=(3, 50)) * 2.0 ** rng.integers(-5, 8, size=(3, 50))
    yield "normal", {"x": values[8:].astype(np.float32)}
    yield "normal", {"x": -random.astype(np.float32)}
    yield "normal", {"x": rng.uniform(0.02, 440, size=60).astype(np.float32)}
    yield "ties", {"x": middle[8:]}
    yield "ties", {"x": -middle[::-1].copy()}
    yield "ties", {"x": np.array([1.0625, 1.1875, -17.0, -19.0, 1.9375, 0.01806640625], np.float32)}
    nudged = np.nextafter(
        middle, np.float32(1000) * rng.choice([-1, 1], size=126).astype(np.float32)
    )
    yield "subnormal", {"x": nudged[:12]}
    yield "normal", {"x": nudged[12:]}
    yield "subnormal", {"x": values[:9].astype(np.float32)}
    yield "subnormal", {"x": np.array([0.0, -0.0, 2e-4, 1e-4, -1e-30, 0.0009765625], np.float32)}
    yield "subnormal", {"x": (rng.uniform(-1, 1, size=40) * 2.0**-6).astype(np.float32)}
    beyond = [448.1, -464.0, 465.0, 480.0, 1e5, -3e38, np.inf, -np.inf, np.nan, 449.0]
    yield "saturated", {"x": np.array(beyond, dtype=np.float32)}
    yield "saturated", {"x": _of_bits([0xFFC00000, 0x7F800001, 0xFFFFFFFF, 0x7FC00000])}
    yield "saturated", {"x": (rng.uniform(400, 600, size=20)).astype(np.float32)}
    yield "saturated", {"x": np.zeros((0, 3), dtype=np.float32)}


def to_e4m3_wrong_not_saturated(x):
    found = to_e4m3(x)
    return np.where(np.abs(x) > 464, 0x7F, found).astype(np.uint8)


def to_e4m3_wrong_truncates(x):
    codes = from_e4m3(np.arange(127, dtype=np.uint8))
    size = np.minimum(np.abs(np.nan_to_num(x)), 448)
    found = np.searchsorted(codes, size, side="right") - 1
    found = np.where(np.signbit(x), found + 128, found)
    return np.where(np.isnan(x), 127, found).astype(np.uint8)


def to_e4m3_wrong_subnormals_flushed(x):
    found = to_e4m3(x)
    return np.where(np.abs(x) < 2.0**-6, found & 0x80, found).astype(np.uint8)


def to_e4m3_wrong_halves_up(x):
    values = from_e4m3(np.arange(127, dtype=np.uint8)).astype(np.float64)
    middle = (values[1:] + values[:-1]) / 2
    size = np.minimum(np.abs(np.nan_to_num(x)), 448)
    found = np.searchsorted(middle, size, side="right")
    found = np.where(np.signbit(x), found + 128, found)
    return np.where(np.isnan(x), 127, found).astype(np.uint8)


def to_e4m3_wrong_sign_of_zero(x):
    found = to_e4m3(x)
    return np.where(found == 0x80, 0, found).astype(np.uint8)


def to_e4m3_wrong_sign_of_nan(x):
    return np.where(np.isnan(x) & np.signbit(x), 0xFF, to_e4m3(x)).astype(np.uint8)


def to_e4m3_wrong_rounded_twice(x):
    return to_e4m3(x.astype(np.float16).astype(np.float32))


def to_e4m3_wrong_largest_is_240(x):
    return to_e4m3(np.clip(x, -240, 240))


def solve(given):
    """Lists the numbers of the format and searches the nearest one."""
    bias = 2 ** (given["exponent"] - 1) - 1
    steps = 2 ** given["fraction"]
    x = Fraction(str(given["x"]))
    listed = [
        Fraction(f + (steps if e else 0), steps) * Fraction(2) ** (max(e, 1) - bias)
        for e in range(2 ** given["exponent"])
        for f in range(steps)
    ]
    return {"kept_as": float(min(listed, key=lambda v: abs(v - x)))}
