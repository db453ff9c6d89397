"""Products with wide integers; the second roads subtract zero points first, and add up products one by one."""

import numpy as np


def symmetric_product(w, x, w_scale, x_scale):
    products = w.astype(np.int32) @ x.astype(np.int32)
    result = products * (w_scale[:, None] * np.float32(x_scale))
    return products, result.astype(np.float32)


def symmetric_product_right_row_by_row(w, x, w_scale, x_scale):
    products = np.zeros((w.shape[0], x.shape[1]), dtype=np.int32)
    for o in range(w.shape[0]):
        for n in range(x.shape[1]):
            products[o, n] = sum(int(a) * int(b) for a, b in zip(w[o], x[:, n], strict=True))
    values = [
        [float(s) * x_scale * int(p) for p in row] for s, row in zip(w_scale, products, strict=True)
    ]
    return products, np.array(values, dtype=np.float32).reshape(products.shape)


def symmetric_product_right_in_float64(w, x, w_scale, x_scale):
    exact = w.astype(np.float64) @ x.astype(np.float64)
    scaled = exact * x_scale * w_scale.reshape(-1, 1)
    return exact.astype(np.int32), scaled.astype(np.float32)


def symmetric_product_cases(rng, given):
    def made(outputs, inner, samples, low=-128):
        return {
            "w": rng.integers(low, 128, (outputs, inner)).astype(np.int8),
            "x": rng.integers(low, 128, (inner, samples)).astype(np.int8),
            "w_scale": (rng.uniform(0.5, 2, outputs) * 0.01).astype(np.float32),
            "x_scale": float(rng.uniform(0.01, 0.1)),
        }

    yield "small", made(1, 1, 1)
    yield "small", made(3, 5, 2)
    yield "small", made(4, 8, 4)
    # All products are of one sign, so that even 16 bits, or float32, are not enough.
    long = made(2, 3000, 3)
    long["w"][:] = -128
    long["x"][:, 0] = -128
    yield "long", long
    odd = made(2, 4001, 2, 100)
    odd["w"][:] |= 1
    odd["x"][:] |= 1
    yield "long", odd
    yield "long", made(3, 700, 2)
    channels = made(6, 24, 5)
    channels["w_scale"] *= np.float32(10) ** rng.permutation(6)
    yield "channels", channels
    square = made(4, 16, 4)
    square["w_scale"] *= np.array([1, 3, 9, 27], dtype=np.float32)
    yield "channels", square
    yield "channels", made(5, 12, 5)


def symmetric_product_wrong_eight_bits(w, x, w_scale, x_scale):
    products = w @ x
    return products.astype(np.int32), (products * w_scale[:, None] * x_scale).astype(np.float32)


def symmetric_product_wrong_sixteen_bits(w, x, w_scale, x_scale):
    products = w.astype(np.int16) @ x.astype(np.int16)
    return products.astype(np.int32), (products * w_scale[:, None] * x_scale).astype(np.float32)


def symmetric_product_wrong_scales_of_columns(w, x, w_scale, x_scale):
    products = w.astype(np.int32) @ x.astype(np.int32)
    scales = np.resize(w_scale, x.shape[1])
    return products, (products * scales * x_scale).astype(np.float32)


def symmetric_product_wrong_scales_added(w, x, w_scale, x_scale):
    products = w.astype(np.int32) @ x.astype(np.int32)
    return products, (products * (w_scale[:, None] + x_scale)).astype(np.float32)


def symmetric_product_wrong_one_scale(w, x, w_scale, x_scale):
    products = w.astype(np.int32) @ x.astype(np.int32)
    return products, (products * w_scale[:, None]).astype(np.float32)


def symmetric_product_wrong_rounds_weights(w, x, w_scale, x_scale):
    products = w.astype(np.int32) @ x.astype(np.int32)
    values = np.round(w * w_scale[:, None]) @ x.astype(np.float32)
    return products, (values * x_scale).astype(np.float32)


class affine_product:
    @staticmethod
    def ahead(w, w_zero, x_zero):
        rows = w.sum(axis=1, dtype=np.int32)
        return w.shape[1] * w_zero * x_zero - x_zero * rows

    @staticmethod
    def finish(raw, x, w_zero, offsets):
        columns = x.sum(axis=0, dtype=np.int32)
        return raw - w_zero * columns[None, :] + offsets[:, None]


class affine_product_right_with_differences:
    """Subtracts the zero point of the weights first: no separate term for both."""

    @staticmethod
    def ahead(w, w_zero, x_zero):
        return [-x_zero * sum(int(code) - w_zero for code in row) for row in w]

    @staticmethod
    def finish(raw, x, w_zero, offsets):
        ones = np.full((raw.shape[0], x.shape[0]), w_zero, dtype=np.int64)
        return raw - ones @ x.astype(np.int64) + np.reshape(offsets, (-1, 1))


def affine_product_expected(w, x, w_zero, x_zero, bias):
    wide_w, wide_x = w.astype(np.int64), x.astype(np.int64)
    samples = np.full((w.shape[1], 1), -x_zero)  # an input of zeros only leaves this part
    ahead = (wide_w - w_zero) @ samples
    result = (wide_w - w_zero) @ (wide_x - x_zero) + bias[:, None]
    return {"ahead": ahead[:, 0], "result": result}


def affine_product_cases(rng, given):
    def made(outputs, inner, samples, w_zero, x_zero):
        return {
            "w": rng.integers(-128, 128, (outputs, inner)).astype(np.int8),
            "x": rng.integers(0, 256, (inner, samples)).astype(np.uint8),
            "w_zero": w_zero,
            "x_zero": x_zero,
            "bias": rng.integers(-5000, 5000, outputs).astype(np.int32),
        }

    def zero():
        return int(rng.integers(3, 20))

    def middle():
        return int(rng.integers(90, 150))

    yield "zero point of the inputs", made(1, 1, 1, 0, 77)
    yield "zero point of the inputs", made(4, 40, 4, 0, middle())
    yield "zero point of the inputs", made(3, 300, 5, 0, middle())
    yield "zero point of the weights", made(4, 40, 4, -zero(), 0)
    yield "zero point of the weights", made(6, 300, 2, zero(), 0)
    yield "both", made(5, 5, 5, zero(), middle())
    for _ in range(3):
        outputs, inner, samples = (int(n) for n in rng.integers(3, 60, 3))
        yield "both", made(outputs, 10 * inner, samples, -zero(), middle())


class affine_product_wrong_no_cross_terms(affine_product):
    @staticmethod
    def ahead(w, w_zero, x_zero):
        return np.full(len(w), w.shape[1] * w_zero * x_zero)

    @staticmethod
    def finish(raw, x, w_zero, offsets):
        return raw + offsets[:, None]


class affine_product_wrong_length_forgotten(affine_product):
    @staticmethod
    def ahead(w, w_zero, x_zero):
        return w_zero * x_zero - x_zero * w.sum(axis=1, dtype=np.int32)


class affine_product_wrong_zero_points_swapped(affine_product):
    @staticmethod
    def ahead(w, w_zero, x_zero):
        return w.shape[1] * w_zero * x_zero - w_zero * w.sum(axis=1, dtype=np.int32)


class affine_product_wrong_constant_subtracted(affine_product):
    @staticmethod
    def ahead(w, w_zero, x_zero):
        return -w.shape[1] * w_zero * x_zero - x_zero * w.sum(axis=1, dtype=np.int32)


class affine_product_wrong_sums_in_eight_bits(affine_product):
    @staticmethod
    def ahead(w, w_zero, x_zero):
        rows = w.sum(axis=1, dtype=np.int8).astype(np.int32)
        return w.shape[1] * w_zero * x_zero - x_zero * rows

    @staticmethod
    def finish(raw, x, w_zero, offsets):
        columns = x.sum(axis=0, dtype=np.uint8).astype(np.int32)
        return raw - w_zero * columns[None, :] + offsets[:, None]


class affine_product_wrong_sum_of_all_inputs(affine_product):
    @staticmethod
    def finish(raw, x, w_zero, offsets):
        return raw - w_zero * int(x.sum(dtype=np.int64)) + offsets[:, None]


def solve(given):
    weights = span(given["weight_type"])
    inputs = span(given["input_type"])
    products = [a * b for a in weights for b in inputs]
    low, high = -(2 ** (given["accumulator"] - 1)), 2 ** (given["accumulator"] - 1) - 1
    count, step = 0, 1 << 40
    while step:  # the largest count whose extreme sums fit, bit by bit
        tried = count + step
        if low <= tried * min(products) and tried * max(products) <= high:
            count = tried
        step >>= 1

    steps = []
    for codes, reach in (
        (
            range(-(2 ** (given["bits"] - 1)) + 1, 2 ** (given["bits"] - 1)),
            (-given["high"], given["high"]),
        ),
        (range(2 ** given["bits"]), (given["low"], given["high"])),
    ):
        levels = np.linspace(*reach, len(codes))
        steps.append([float(np.diff(levels).mean())])
    errors = [float((np.linspace(-0.5, 0.5, 1001) ** 2).mean() * step[0] ** 2) for step in steps]
    return {
        "longest": count,
        "by_hand": given["scale_w"] * given["scale_x"] * by_vectors(given),
        "ahead": [
            "both",
            *{"cached keys": ["rows"], "all documents": ["columns"]}.get(fixed(given), []),
        ],
        "steps": steps,
        "finer": errors[0] / errors[1],
    }


def span(name):
    bits = int(name.removeprefix("u").removeprefix("int"))
    return (0, 2**bits - 1) if name.startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def by_vectors(given):
    """Two vectors with the given sums, with the zero points subtracted element by element."""
    n = given["inner"]
    w, x = np.zeros(n), np.zeros(n)
    # Opposite changes of two elements keep the sums and add to the dot product.
    w[:] = given["sum_w"] / n
    x[:] = given["sum_x"] / n
    lacking = given["dot"] - float(w @ x)
    w[0], w[1] = w[0] + lacking / 2, w[1] - lacking / 2
    x[0], x[1] = x[0] + 1, x[1] - 1
    assert abs(w @ x - given["dot"]) < 1e-3
    return float(((w - given["zw"]) * (x - given["zx"])).sum())


def fixed(given):
    """What the situation holds fixed."""
    return next(
        (word for word in ("cached keys", "all documents") if word in given["situation"]), None
    )
