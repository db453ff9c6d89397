"""A quantizer for whole arrays; the second roads go value by value, or search all codes."""

from fractions import Fraction

import numpy as np


def calibrate(x, bits, symmetric, axis=None):
    others = tuple(a for a in range(x.ndim) if a != axis) if axis is not None else None
    keep = axis is not None
    low = np.minimum(x.min(axis=others, keepdims=keep).astype(np.float64), 0.0)
    high = np.maximum(x.max(axis=others, keepdims=keep).astype(np.float64), 0.0)
    if symmetric:
        scale = np.maximum(-low, high) / (2 ** (bits - 1) - 1)
    else:
        scale = (high - low) / (2**bits - 1)
    scale = np.where(scale == 0, 1.0, scale)
    zero = np.zeros_like(low) if symmetric else np.round(-low / scale)
    return scale, zero.astype(np.int64)


def calibrate_right_channel_by_channel(x, bits, symmetric, axis=None):
    def one(values):
        values = [float(v) for v in values] + [0.0]
        if symmetric:
            top = max(abs(v) for v in values)
            return (top / (2 ** (bits - 1) - 1) if top > 0 else 1.0), 0
        spread = max(values) - min(values)
        scale = spread / (2**bits - 1) if spread > 0 else 1.0
        return scale, round(-min(values) / scale)

    if axis is None:
        return one(x.ravel())
    pairs = [one(np.take(x, i, axis=axis).ravel()) for i in range(x.shape[axis])]
    shape = [1] * x.ndim
    shape[axis] = len(pairs)
    scales = np.array([s for s, _ in pairs]).reshape(shape)
    return scales, np.array([z for _, z in pairs]).reshape(shape)


def calibrate_right_single_precision(x, bits, symmetric, axis=None):
    flat = x.reshape(1, -1) if axis is None else np.moveaxis(x, axis, 0).reshape(x.shape[axis], -1)
    if symmetric:
        scale = np.abs(flat).max(axis=1) / np.float32(2 ** (bits - 1) - 1)
        scale[scale == 0] = 1
        zero = np.zeros(len(scale), dtype=np.int32)
    else:
        low = np.clip(flat.min(axis=1), None, 0)
        scale = (np.clip(flat.max(axis=1), 0, None) - low) / np.float32(2**bits - 1)
        scale[scale == 0] = 1
        zero = np.rint(-low / scale).astype(np.int32)
    if axis is None:
        return scale[0], zero[0]
    shape = [1] * x.ndim
    shape[axis] = -1
    return scale.reshape(shape), zero.reshape(shape)


def calibrate_cases(rng, given):
    bits = given["bits"]

    def clear(shape, shift):
        """Values of which no channel's zero point is a near tie, along any axis."""
        while True:
            x = (rng.normal(size=shape) * rng.uniform(0.2, 5) + shift).astype(np.float32)
            ways = [None, *range(x.ndim)]
            parts = [_minimum_over_scale(x, bits, axis) for axis in ways]
            if all((np.abs(p - np.floor(p) - 0.5) > 0.01).all() for p in parts):
                return x

    one = np.array([-1.5], dtype=np.float32)
    negative = np.array([-3.5, -0.25, 0.7], dtype=np.float32)
    positive = np.array([[2.0, 3.0, 5.0], [0.5, 0.75, 1.5]], dtype=np.float32)
    yield "symmetric", {"x": one, "bits": bits, "symmetric": True}
    yield "symmetric", {"x": negative, "bits": bits, "symmetric": True, "axis": None}
    yield "affine", {"x": positive, "bits": bits, "symmetric": False}
    yield "affine", {"x": positive, "bits": bits, "symmetric": False, "axis": 0}
    yield "affine", {"x": -positive, "bits": bits, "symmetric": False, "axis": 1}
    zeros = np.zeros((2, 3), dtype=np.float32)
    yield "zeros", {"x": zeros, "bits": bits, "symmetric": True}
    yield "zeros", {"x": zeros, "bits": 8, "symmetric": False}
    channel = clear((4, 6), 0.0)
    channel[2] = 0
    yield "zeros", {"x": channel, "bits": bits, "symmetric": True, "axis": 0}
    yield "zeros", {"x": channel, "bits": bits, "symmetric": False, "axis": 0}
    for axis in (None, 0, 1):
        for symmetric in (True, False):
            group = "symmetric" if symmetric else "affine"
            x = clear((5, 7), float(rng.uniform(-2, 2)))
            yield group, {"x": x, "bits": bits, "symmetric": symmetric, "axis": axis}
    x = clear((2, 3, 4), 0.5)
    yield "symmetric", {"x": x, "bits": 3, "symmetric": True, "axis": 1}
    yield "affine", {"x": x, "bits": 3, "symmetric": False, "axis": 2}


def _minimum_over_scale(x, bits, axis):
    others = None if axis is None else tuple(a for a in range(x.ndim) if a != axis)
    low, high = np.minimum(x.min(axis=others), 0), np.maximum(x.max(axis=others), 0)
    return -low / ((high - low) / (2**bits - 1) + 1e-30)


def calibrate_wrong_without_zero(x, bits, symmetric, axis=None):
    others = None if axis is None else tuple(a for a in range(x.ndim) if a != axis)
    keep = axis is not None
    low, high = x.min(axis=others, keepdims=keep), x.max(axis=others, keepdims=keep)
    if symmetric:
        scale = np.maximum(np.abs(low), np.abs(high)) / (2 ** (bits - 1) - 1)
    else:
        scale = (high - low) / (2**bits - 1)
    scale = np.where(scale == 0, 1.0, scale)
    return scale, np.zeros_like(scale) if symmetric else np.round(-low / scale)


def calibrate_wrong_along_the_axis(x, bits, symmetric, axis=None):
    low = np.minimum(x.min(axis=axis, keepdims=axis is not None), 0.0)
    high = np.maximum(x.max(axis=axis, keepdims=axis is not None), 0.0)
    top = np.maximum(-low, high)
    scale = top / (2 ** (bits - 1) - 1) if symmetric else (high - low) / (2**bits - 1)
    scale = np.where(scale == 0, 1.0, scale)
    return scale, np.zeros_like(scale) if symmetric else np.round(-low / scale)


def calibrate_wrong_largest_not_magnitude(x, bits, symmetric, axis=None):
    scale, zero = calibrate(x, bits, symmetric, axis)
    if symmetric:
        others = None if axis is None else tuple(a for a in range(x.ndim) if a != axis)
        scale = x.max(axis=others, keepdims=axis is not None) / (2 ** (bits - 1) - 1)
        scale = np.where(scale == 0, 1.0, scale)
    return scale, zero


def calibrate_wrong_counts_codes_not_steps(x, bits, symmetric, axis=None):
    scale, zero = calibrate(x, bits, symmetric, axis)
    if symmetric:
        return scale * (2 ** (bits - 1) - 1) / 2 ** (bits - 1), zero
    return scale * (2**bits - 1) / 2**bits, zero


def calibrate_wrong_divides_by_zero(x, bits, symmetric, axis=None):
    others = None if axis is None else tuple(a for a in range(x.ndim) if a != axis)
    keep = axis is not None
    low = np.minimum(x.min(axis=others, keepdims=keep), 0.0)
    high = np.maximum(x.max(axis=others, keepdims=keep), 0.0)
    if symmetric:
        scale = np.maximum(-low, high) / (2 ** (bits - 1) - 1)
        return scale, np.zeros_like(scale)
    scale = (high - low) / (2**bits - 1)
    return scale, np.round(-low / scale)


def quantize(x, scale, zero, bits, symmetric):
    top = 2 ** (bits - 1) - 1
    low, high = (-top, top) if symmetric else (0, 2**bits - 1)
    codes = np.clip(np.round(x / scale) + zero, low, high).astype(np.int32)
    return codes, ((codes - zero) * scale).astype(np.float32)


def quantize_right_value_by_value(x, scale, zero, bits, symmetric):
    scales = np.broadcast_to(scale, x.shape).ravel()
    zeros = np.broadcast_to(zero, x.shape).ravel()
    low = -(2 ** (bits - 1) - 1) if symmetric else 0
    high = 2 ** (bits - 1) - 1 if symmetric else 2**bits - 1
    codes, values = [], []
    for v, s, z in zip(x.ravel().tolist(), scales.tolist(), zeros.tolist(), strict=True):
        code = min(max(round(v / s) + z, low), high)
        codes.append(code)
        values.append(s * (code - z))
    shape = x.shape
    return np.array(codes, np.int32).reshape(shape), np.array(values, np.float32).reshape(shape)


def quantize_right_limits_first(x, scale, zero, bits, symmetric):
    top = 2 ** (bits - 1) - 1
    low, high = (-top, top) if symmetric else (0, 2**bits - 1)
    steps = np.rint(np.minimum(np.maximum(x * (1 / scale), low - zero), high - zero))
    return (steps + zero).astype(np.int32), (steps * scale).astype(np.float32)


def quantize_expected(x, scale, zero, bits, symmetric):
    """By search: of all codes, the one whose value lies nearest; of two, the even step."""
    top = 2 ** (bits - 1) - 1
    low, high = (-top, top) if symmetric else (0, 2**bits - 1)
    scales, zeros = np.broadcast_to(scale, x.shape), np.broadcast_to(zero, x.shape)
    codes = np.zeros(x.shape, np.int32)
    values = np.zeros(x.shape, np.float32)
    every = np.arange(low, high + 1)
    for place in np.ndindex(x.shape):
        step, offset = float(scales[place]), int(zeros[place])
        value = min(max(float(x[place]), -1e6), 1e6)  # further out, differences would be swamped
        away = np.abs((every - offset) * step - value)
        ties = np.flatnonzero(away == away.min())
        best = next((i for i in ties if (every[i] - offset) % 2 == 0), ties[0])
        codes[place] = every[best]
        values[place] = (every[best] - offset) * step
    return codes, values


def quantize_cases(rng, given):
    def case(group, shape, bits, symmetric, scale, zero, beyond=0.0):
        """Values well inside the cells of their codes; *beyond* is the share outside the range."""
        top = 2 ** (bits - 1) - 1
        low, high = (-top, top) if symmetric else (0, 2**bits - 1)
        steps = rng.integers(low, high + 1, size=shape) - zero
        out = rng.random(shape) < beyond
        far = rng.integers(1, 40, size=shape)
        steps = np.where(
            out, np.where(rng.random(shape) < 0.5, low - far, high + far) - zero, steps
        )
        x = ((steps + rng.uniform(-0.45, 0.45, size=shape)) * scale).astype(np.float32)
        inputs = {"x": x, "scale": scale, "zero": zero, "bits": bits, "symmetric": symmetric}
        return group, inputs

    bits = given["bits"]
    yield case("inside", (0,), bits, True, 0.1, 0)
    yield case("inside", (1,), bits, False, 0.1, 3)
    halves = (np.arange(-6, 7) + 0.5).astype(np.float32) / 4
    yield (
        "ties",
        {"x": halves, "scale": 0.25, "zero": 0, "bits": 8, "symmetric": True},
        {"relative": 0.0, "absolute": 0.0},
    )
    yield "ties", {"x": halves * 2, "scale": 0.5, "zero": 6, "bits": 4, "symmetric": False}
    # With an odd zero point, rounding after it is added takes the other one of two neighbors.
    yield "ties", {"x": halves * 2, "scale": 0.5, "zero": 7, "bits": 4, "symmetric": False}
    extreme = np.array([1e30, -1e30, 3e4, -3e4, 0.0], dtype=np.float32)
    yield "clamped", {"x": extreme, "scale": 0.5, "zero": 0, "bits": bits, "symmetric": True}
    yield "clamped", {"x": extreme, "scale": 0.5, "zero": 5, "bits": bits, "symmetric": False}
    yield case(
        "inside", (4, 6), bits, True, rng.uniform(0.01, 2, size=(4, 1)), np.zeros((4, 1), int)
    )
    zeros = rng.integers(1, 2**bits - 1, size=(1, 6))
    yield case("inside", (4, 6), bits, False, rng.uniform(0.01, 2, size=(1, 6)), zeros)
    for symmetric in (True, False):
        zero = 0 if symmetric else int(rng.integers(1, 2**bits - 1))
        scale = float(rng.uniform(0.01, 2))
        yield case("inside", (40,), bits, symmetric, scale, zero)
        yield case("clamped", (40,), bits, symmetric, scale, zero, 0.3)


def quantize_wrong_not_clamped(x, scale, zero, bits, symmetric):
    codes = (np.round(x / scale) + zero).astype(np.int32)
    return codes, ((codes - zero) * scale).astype(np.float32)


def quantize_wrong_clamped_before_zero(x, scale, zero, bits, symmetric):
    top = 2 ** (bits - 1) - 1
    low, high = (-top, top) if symmetric else (0, 2**bits - 1)
    codes = (np.clip(np.round(x / scale), low, high) + zero).astype(np.int32)
    return codes, ((codes - zero) * scale).astype(np.float32)


def quantize_wrong_truncates(x, scale, zero, bits, symmetric):
    top = 2 ** (bits - 1) - 1
    low, high = (-top, top) if symmetric else (0, 2**bits - 1)
    codes = np.clip(np.trunc(x / scale) + zero, low, high).astype(np.int32)
    return codes, ((codes - zero) * scale).astype(np.float32)


def quantize_wrong_halves_upwards(x, scale, zero, bits, symmetric):
    top = 2 ** (bits - 1) - 1
    low, high = (-top, top) if symmetric else (0, 2**bits - 1)
    codes = np.clip(np.floor(x / scale + 0.5) + zero, low, high).astype(np.int32)
    return codes, ((codes - zero) * scale).astype(np.float32)


def quantize_wrong_rounded_with_zero(x, scale, zero, bits, symmetric):
    top = 2 ** (bits - 1) - 1
    low, high = (-top, top) if symmetric else (0, 2**bits - 1)
    codes = np.clip(np.round(x / scale + zero), low, high).astype(np.int32)
    return codes, ((codes - zero) * scale).astype(np.float32)


def quantize_wrong_one_code_too_many(x, scale, zero, bits, symmetric):
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if symmetric else (0, 2**bits - 1)
    codes = np.clip(np.round(x / scale) + zero, low, high).astype(np.int32)
    return codes, ((codes - zero) * scale).astype(np.float32)


def quantize_wrong_zero_left_in(x, scale, zero, bits, symmetric):
    codes, _ = quantize(x, scale, zero, bits, symmetric)
    return codes, (codes * scale).astype(np.float32)


def solve(given):
    """Zero point and clamping error, by search among all codes with exact fractions."""
    low, high = Fraction(str(given["low"])), Fraction(str(given["high"]))
    top = (1 << given["bits"]) - 1
    step = (high - low) / top
    # The code whose value is nearest to `low` has to be 0, so the zero point is what fits best.
    zero = min(range(top + 1), key=lambda z: abs((0 - z) * step - low))
    beyond = Fraction(str(given["beyond"]))
    dequantized = min(((q - zero) * step for q in range(top + 1)), key=lambda v: abs(v - beyond))
    # Worst errors over a fine grid of values, with the codes of both calibrations.
    worst = []
    for high_end in (high, beyond):
        wide = calibrate(np.array([float(low), float(high_end)]), given["bits"], False)
        grid = np.arange(2**12) / 2**11 * float(wide[0])
        _, values = quantize(grid, *wide, given["bits"], False)
        worst.append(np.abs(values.astype(np.float64) - grid).max())
    return {
        "zero_point": zero,
        "clamp_error": float(beyond - dequantized),
        "coarser": float(worst[1] / worst[0]),
    }
