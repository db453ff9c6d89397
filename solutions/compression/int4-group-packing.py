"""Vectorized; the second roads go weight by weight, with the bits written out as text."""

import numpy as np


def quantize_groups(w, group):
    count = -(-len(w) // group)
    padded = np.zeros(count * group, dtype=np.float32)
    padded[: len(w)] = w
    grid = padded.reshape(count, group)
    top = np.abs(grid).max(axis=1)
    scales = np.where(top > 0, top / np.float32(7), np.float32(1))
    codes = np.round(grid / scales[:, None]).astype(np.int8)
    return codes.ravel()[: len(w)], scales.astype(np.float32)


def quantize_groups_right_group_by_group(w, group):
    codes, scales = [], []
    for start in range(0, len(w), group):
        part = [float(v) for v in w[start : start + group]]
        top = max(abs(v) for v in part)
        scale = top / 7 if top else 1.0
        scales.append(scale)
        codes += [round(v / scale) for v in part]
    return np.array(codes, dtype=np.int8), np.array(scales, dtype=np.float32)


def quantize_groups_right_by_reduceat(w, group):
    tops = np.maximum.reduceat(np.abs(w), np.arange(0, len(w), group))
    scales = np.where(tops == 0, 1.0, tops.astype(np.float64) / 7)
    codes = np.rint(w / np.repeat(scales, group)[: len(w)])
    return codes.astype(np.int8), scales.astype(np.float32)


def quantize_groups_cases(rng, given):
    def made(length, group):
        """Weights well inside the cells of their codes; each group has its own magnitude."""
        groups = -(-length // group)
        scales = np.repeat(rng.uniform(0.5, 2, groups) * 10.0 ** rng.integers(-3, 2, groups), group)
        codes = rng.integers(-6, 7, groups * group) + rng.uniform(-0.45, 0.45, groups * group)
        codes[::group] = rng.choice([-7, 7], groups)
        return {"w": (codes * scales)[:length].astype(np.float32), "group": group}

    group = given["group"]
    yield "whole", {"w": np.array([-2.5], dtype=np.float32), "group": 1}
    halves = np.array([7.0, 0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 3.0], dtype=np.float32)
    yield "whole", {"w": halves, "group": 8}
    yield "shorter", {"w": np.array([1.0, -2.1, 0.5], dtype=np.float32), "group": group}
    zeros = made(4 * group, group)
    zeros["w"][group : 2 * group] = 0
    yield "zeros", zeros
    yield "zeros", {"w": np.zeros(5, dtype=np.float32), "group": 4}
    for factor in (1, 3, 5):
        yield "whole", made(factor * group, group)
    for _ in range(3):
        yield "shorter", made(int(3 * group + rng.integers(1, group)), group)


def quantize_groups_wrong_one_scale(w, group):
    top = np.abs(w).max()
    scale = top / 7 if top > 0 else 1.0
    codes = np.round(w / scale).astype(np.int8)
    return codes, np.full(-(-len(w) // group), scale, dtype=np.float32)


def quantize_groups_wrong_divides_by_eight(w, group):
    _, scales = quantize_groups(w, group)
    scales = np.where(np.maximum.reduceat(np.abs(w), np.arange(0, len(w), group)) > 0,
                      scales * np.float32(7 / 8), scales)  # fmt: skip
    codes = np.clip(np.round(w / np.repeat(scales, group)[: len(w)]), -8, 7)
    return codes.astype(np.int8), scales.astype(np.float32)


def quantize_groups_wrong_drops_the_rest(w, group):
    whole = len(w) // group * group
    return quantize_groups(w[:whole], group)


def quantize_groups_wrong_divides_by_zero(w, group):
    tops = np.maximum.reduceat(np.abs(w), np.arange(0, len(w), group))
    scales = (tops / 7).astype(np.float32)
    codes = np.round(w / np.repeat(scales, group)[: len(w)])
    return codes.astype(np.int8), scales


def quantize_groups_wrong_largest_not_magnitude(w, group):
    tops = np.maximum.reduceat(w, np.arange(0, len(w), group))
    scales = np.where(tops == 0, 1.0, tops / 7)
    codes = np.round(w / np.repeat(scales, group)[: len(w)])
    return codes.astype(np.int8), scales.astype(np.float32)


def quantize_groups_wrong_truncates(w, group):
    _, scales = quantize_groups(w, group)
    return (w / np.repeat(scales, group)[: len(w)]).astype(np.int8), scales


def pack_codes(codes):
    if len(codes) % 2:
        codes = np.append(codes, np.int8(0))
    halves = codes.astype(np.uint8) & 15
    return halves[0::2] | (halves[1::2] << 4)


def pack_codes_right_by_arithmetic(codes):
    halves = np.zeros(-(-len(codes) // 2) * 2, dtype=np.int64)
    halves[: len(codes)] = codes
    return (halves.reshape(-1, 2) % 16 @ np.array([1, 16])).astype(np.uint8)


def pack_codes_right_by_torch(codes):
    import torch

    wide = torch.zeros(len(codes) + len(codes) % 2, dtype=torch.int32)
    wide[: len(codes)] = torch.from_numpy(codes.astype(np.int32))
    return torch.bitwise_or(wide[::2] & 0xF, (wide[1::2] & 0xF) * 16).to(torch.uint8).numpy()


def pack_codes_expected(codes):
    """With the bits as text."""
    bits = [format(int(c) + 16 if c < 0 else int(c), "04b") for c in codes]
    if len(bits) % 2:
        bits.append("0000")
    found = [int(high + low, 2) for low, high in zip(bits[::2], bits[1::2], strict=True)]
    return np.array(found, dtype=np.uint8)


def pack_codes_cases(rng, given):
    every = np.arange(-8, 8, dtype=np.int8)
    yield "even", {"codes": every}
    yield "even", {"codes": every[::-1].copy()}
    yield "even", {"codes": np.zeros(0, dtype=np.int8)}
    yield "odd", {"codes": np.array([-8], dtype=np.int8)}
    yield "odd", {"codes": np.array([3, -1, -5], dtype=np.int8)}
    for group, count in (
        ("even", given["group"]),
        ("even", 200),
        ("odd", given["group"] + 1),
        ("odd", 201),
        ("odd", 4001),  # too long for recursion in place of a loop
    ):
        yield group, {"codes": rng.integers(-8, 8, size=count).astype(np.int8)}


def pack_codes_wrong_recursion(codes):
    if not codes.size:
        return np.zeros(0, dtype=np.uint8)
    first = sum((int(code) & 15) << 4 * i for i, code in enumerate(codes[:2]))
    return np.append(np.uint8(first), pack_codes_wrong_recursion(codes[2:]))


def pack_codes_wrong_not_masked(codes):
    if len(codes) % 2:
        codes = np.append(codes, np.int8(0))
    return (codes[0::2] | (codes[1::2] << 4)).astype(np.uint8)


def pack_codes_wrong_high_half_first(codes):
    if len(codes) % 2:
        codes = np.append(codes, np.int8(0))
    halves = codes.astype(np.uint8) & 15
    return (halves[0::2] << 4) | halves[1::2]


def pack_codes_wrong_offset_by_eight(codes):
    if len(codes) % 2:
        codes = np.append(codes, np.int8(-8))
    halves = (codes + 8).astype(np.uint8)
    return halves[0::2] | (halves[1::2] << 4)


def pack_codes_wrong_halves_of_the_vector(codes):
    if len(codes) % 2:
        codes = np.append(codes, np.int8(0))
    halves = codes.astype(np.uint8) & 15
    middle = len(halves) // 2
    return halves[:middle] | (halves[middle:] << 4)


def pack_codes_wrong_odd_one_lost(codes):
    halves = codes[: len(codes) // 2 * 2].astype(np.uint8) & 15
    return halves[0::2] | (halves[1::2] << 4)


def dequantize(packed, scales, count, group):
    halves = np.stack([packed & 15, packed >> 4], axis=1).ravel()[:count]
    codes = (halves.astype(np.int8) ^ 8) - 8
    return (codes * np.repeat(scales, group)[:count]).astype(np.float32)


def dequantize_right_by_shifts(packed, scales, count, group):
    signed = packed.view(np.int8)
    codes = np.empty(2 * len(packed), dtype=np.int8)
    codes[0::2] = (signed << 4) >> 4
    codes[1::2] = signed >> 4
    place = np.arange(count) // group
    return codes[:count] * scales[place]


def dequantize_right_by_table(packed, scales, count, group):
    table = np.array([0, 1, 2, 3, 4, 5, 6, 7, -8, -7, -6, -5, -4, -3, -2, -1], dtype=np.float64)
    place = np.arange(count)
    halves = (packed[place // 2].astype(np.int64) >> (4 * (place % 2))) % 16
    return (table[halves] * scales[place // group]).astype(np.float32)


def dequantize_expected(packed, scales, count, group):
    """Weight by weight, with the bits as text."""
    weights = []
    for i in range(count):
        bits = format(int(packed[i // 2]), "08b")
        half = int(bits[4:] if i % 2 == 0 else bits[:4], 2)
        weights.append((half - 16 if half > 7 else half) * float(scales[i // group]))
    return np.array(weights, dtype=np.float32)


def dequantize_cases(rng, given):
    def made(count, group):
        return {
            "packed": rng.integers(0, 256, size=-(-count // 2)).astype(np.uint8),
            "scales": rng.uniform(0.1, 3, size=-(-count // group)).astype(np.float32),
            "count": count,
            "group": group,
        }

    every = np.array([i * 16 + 15 - i for i in range(16)], dtype=np.uint8)
    one = np.array([0.5], dtype=np.float32)
    yield "signs", {"packed": every, "scales": one, "count": 32, "group": 32}
    yield "signs", {"packed": every[8:], "scales": one, "count": 16, "group": 64}
    yield "lengths", {"packed": every[:1], "scales": one, "count": 1, "group": 4}
    yield "signs", made(given["group"] * 4, given["group"])
    yield "lengths", made(21, 5)
    yield "lengths", made(given["group"] * 2 + 3, given["group"])
    yield "lengths", made(4001, given["group"])
    for _ in range(3):
        group = int(rng.integers(3, 40))
        yield "lengths", made(int(group * rng.integers(2, 5) + rng.integers(1, group)), group)


def dequantize_wrong_unsigned(packed, scales, count, group):
    halves = np.stack([packed & 15, packed >> 4], axis=1).ravel()[:count]
    return (halves * np.repeat(scales, group)[:count]).astype(np.float32)


def dequantize_wrong_high_half_first(packed, scales, count, group):
    halves = np.stack([packed >> 4, packed & 15], axis=1).ravel()[:count]
    codes = (halves.astype(np.int8) ^ 8) - 8
    return (codes * np.repeat(scales, group)[:count]).astype(np.float32)


def dequantize_wrong_rest_not_cut(packed, scales, count, group):
    halves = np.stack([packed & 15, packed >> 4], axis=1).ravel()
    codes = (halves.astype(np.int8) ^ 8) - 8
    long = np.pad(np.repeat(scales, group), (0, 1))[: len(codes)]
    return (codes * long).astype(np.float32)


def dequantize_wrong_scales_tiled(packed, scales, count, group):
    halves = np.stack([packed & 15, packed >> 4], axis=1).ravel()[:count]
    codes = (halves.astype(np.int8) ^ 8) - 8
    return (codes * np.tile(scales, group)[:count]).astype(np.float32)


def dequantize_wrong_group_counted_in_bytes(packed, scales, count, group):
    halves = np.stack([packed & 15, packed >> 4], axis=1).ravel()[:count]
    codes = (halves.astype(np.int8) ^ 8) - 8
    place = np.arange(count) // 2 // group
    return (codes * scales[place]).astype(np.float32)


def solve(given):
    """The size of the layer, as the bytes of two real arrays for one row of groups."""
    groups = given["outputs"] * given["inputs"] // given["group"]
    codes, _ = quantize_groups(np.linspace(-1, 1, given["group"], dtype=np.float32), given["group"])
    scale = np.zeros(1, dtype={16: np.float16, 32: np.float32}[given["scale_bits"]])
    size = 2
    while 100 * scale.nbytes > given["limit"] * pack_codes(np.zeros(size, np.int8)).nbytes:
        size *= 2
    return {
        "smallest_group": size,
        "layer_size": groups * (pack_codes(codes).nbytes + scale.nbytes) / 1e6,
    }
