"""A tiled product in Triton's language; every number is whole, so that sums in float32 are exact."""

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import triton.language as tl  # noqa: TC004  # the notebook has it from a cell


def matmul(a, b, c, rows, columns, inner, T: "tl.constexpr"):
    i = tl.program_id(0) * T + tl.arange(0, T)
    j = tl.program_id(1) * T + tl.arange(0, T)
    total = tl.zeros((T, T), dtype=tl.float32)
    for start in range(0, inner, T):
        k = start + tl.arange(0, T)
        of_a = (i[:, None] < rows) & (k[None, :] < inner)
        of_b = (k[:, None] < inner) & (j[None, :] < columns)
        left = tl.load(a + i[:, None] * inner + k[None, :], mask=of_a, other=0.0)
        right = tl.load(b + k[:, None] * columns + j[None, :], mask=of_b, other=0.0)
        total += tl.dot(left, right)
    inside = (i[:, None] < rows) & (j[None, :] < columns)
    tl.store(c + i[:, None] * columns + j[None, :], total, mask=inside)


def matmul_right_moving_pointers(a, b, c, rows, columns, inner, T: "tl.constexpr"):
    # Pointers move along, and tl.dot adds to what it is given.
    p, q, lanes = tl.program_id(0), tl.program_id(1), tl.arange(0, T)
    down, across = (p * T + lanes)[:, None], (q * T + lanes)[None, :]
    pa = a + down * inner + lanes[None, :]
    pb = b + lanes[:, None] * columns + across
    total = tl.zeros([T, T], tl.float32)
    for step in range(tl.cdiv(inner, T)):
        left = inner - step * T
        x = tl.load(pa, mask=(down < rows) & (lanes[None, :] < left), other=0.0)
        y = tl.load(pb, mask=(across < columns) & (lanes[:, None] < left), other=0.0)
        total = tl.dot(x, y, total)
        pa += T
        pb += T * columns
    tl.store(c + down * columns + across, total, mask=(down < rows) & (across < columns))


def matmul_right_sum_of_products(a, b, c, rows, columns, inner, T: "tl.constexpr"):
    # Without tl.dot: one column of a and one row of b at a time.
    i = tl.program_id(0) * T + tl.arange(0, T)
    j = tl.program_id(1) * T + tl.arange(0, T)
    total = tl.zeros((T, T), dtype=tl.float32)
    for k in range(inner):
        x = tl.load(a + i * inner + k, mask=i < rows, other=0.0).to(tl.float32)
        y = tl.load(b + k * columns + j, mask=j < columns, other=0.0).to(tl.float32)
        total += x[:, None] * y[None, :]
    inside = (i[:, None] < rows) & (j[None, :] < columns)
    tl.store(c + i[:, None] * columns + j[None, :], total, mask=inside)


def matmul_cases(rng, given):
    def case(rows, inner, columns, most=7, count=False):
        a, b = (
            rng.integers(-most, most + 1, size=shape).astype(np.float16)
            for shape in ((rows, inner), (inner, columns))
        )
        return {"a": a, "b": b, "count": count}

    yield "whole tiles", case(16, 16, 16)
    yield "whole tiles", case(16, 48, 16)
    yield "whole tiles", case(16, 16, 48)
    yield "whole tiles", case(32, 32, 16)
    yield "ragged", case(1, 1, 1)
    yield "ragged", case(1, 33, 2)
    yield "ragged", case(17, 2, 15)
    yield "ragged", case(16, 20, 16)
    for _ in range(2):
        sizes = [int(n) for n in rng.integers(1, 16, size=3)]
        yield "ragged", case(sizes[0], 16 + sizes[1], 16 + sizes[2])
    # Sums far beyond 2048, and odd: no float16 holds them.
    yield "precision", case(16, 32, 16, most=60)
    yield "precision", case(16, 48, 32, most=60)
    yield "traffic", case(16, 32, 32, count=True)
    yield "traffic", case(17, int(rng.integers(17, 31)), 16, count=True)


def matmul_expected(a, b, count):
    return ... if count else (a.astype(np.int64) @ b.astype(np.int64)).astype(np.float32)


def matmul_holds(inputs, result):
    if not inputs["count"]:
        return
    a, b = inputs["a"].astype(np.int64), inputs["b"].astype(np.int64)
    if not np.array_equal(result["c"], a @ b):
        yield "the values are wrong"
    across, down = -(-b.shape[1] // 16), -(-a.shape[0] // 16)
    limits = {"a": (a.size, a.size * across), "b": (b.size, b.size * down), "c": (0, 0)}
    for name, (least, most) in limits.items():
        loads = result["loads"][name]
        if not (isinstance(loads, int) and loads >= least):
            yield f"fewer elements of `{name}` are loaded than it has"
        elif loads > most:
            yield f"{loads} elements of `{name}` are loaded; {most} loads are enough"


def matmul_wrong_no_mask_along_the_inner(a, b, c, rows, columns, inner, T: "tl.constexpr"):
    i = tl.program_id(0) * T + tl.arange(0, T)
    j = tl.program_id(1) * T + tl.arange(0, T)
    total = tl.zeros((T, T), dtype=tl.float32)
    for start in range(0, inner, T):
        k = start + tl.arange(0, T)
        left = tl.load(a + i[:, None] * inner + k[None, :], mask=i[:, None] < rows, other=0.0)
        right = tl.load(b + k[:, None] * columns + j[None, :], mask=j[None, :] < columns, other=0.0)
        total += tl.dot(left, right)
    inside = (i[:, None] < rows) & (j[None, :] < columns)
    tl.store(c + i[:, None] * columns + j[None, :], total, mask=inside)


def matmul_wrong_mask_without_other(a, b, c, rows, columns, inner, T: "tl.constexpr"):
    i = tl.program_id(0) * T + tl.arange(0, T)
    j = tl.program_id(1) * T + tl.arange(0, T)
    total = tl.zeros((T, T), dtype=tl.float32)
    for start in range(0, inner, T):
        k = start + tl.arange(0, T)
        of_a = (i[:, None] < rows) & (k[None, :] < inner)
        of_b = (k[:, None] < inner) & (j[None, :] < columns)
        left = tl.load(a + i[:, None] * inner + k[None, :], mask=of_a)
        right = tl.load(b + k[:, None] * columns + j[None, :], mask=of_b)
        total += tl.dot(left, right)
    inside = (i[:, None] < rows) & (j[None, :] < columns)
    tl.store(c + i[:, None] * columns + j[None, :], total, mask=inside)


def matmul_wrong_program_ids_exchanged(a, b, c, rows, columns, inner, T: "tl.constexpr"):
    i = tl.program_id(1) * T + tl.arange(0, T)
    j = tl.program_id(0) * T + tl.arange(0, T)
    total = tl.zeros((T, T), dtype=tl.float32)
    for start in range(0, inner, T):
        k = start + tl.arange(0, T)
        of_a = (i[:, None] < rows) & (k[None, :] < inner)
        of_b = (k[:, None] < inner) & (j[None, :] < columns)
        left = tl.load(a + i[:, None] * inner + k[None, :], mask=of_a, other=0.0)
        right = tl.load(b + k[:, None] * columns + j[None, :], mask=of_b, other=0.0)
        total += tl.dot(left, right)
    inside = (i[:, None] < rows) & (j[None, :] < columns)
    tl.store(c + i[:, None] * columns + j[None, :], total, mask=inside)


def matmul_wrong_sums_in_half(a, b, c, rows, columns, inner, T: "tl.constexpr"):
    i = tl.program_id(0) * T + tl.arange(0, T)
    j = tl.program_id(1) * T + tl.arange(0, T)
    total = tl.zeros((T, T), dtype=tl.float16)
    for start in range(0, inner, T):
        k = start + tl.arange(0, T)
        of_a = (i[:, None] < rows) & (k[None, :] < inner)
        of_b = (k[:, None] < inner) & (j[None, :] < columns)
        left = tl.load(a + i[:, None] * inner + k[None, :], mask=of_a, other=0.0)
        right = tl.load(b + k[:, None] * columns + j[None, :], mask=of_b, other=0.0)
        total += tl.dot(left, right).to(tl.float16)
    inside = (i[:, None] < rows) & (j[None, :] < columns)
    tl.store(c + i[:, None] * columns + j[None, :], total, mask=inside)


def matmul_wrong_drops_the_last_tile(a, b, c, rows, columns, inner, T: "tl.constexpr"):
    i = tl.program_id(0) * T + tl.arange(0, T)
    j = tl.program_id(1) * T + tl.arange(0, T)
    total = tl.zeros((T, T), dtype=tl.float32)
    for step in range(inner // T):
        k = step * T + tl.arange(0, T)
        left = tl.load(a + i[:, None] * inner + k[None, :], mask=i[:, None] < rows, other=0.0)
        right = tl.load(b + k[:, None] * columns + j[None, :], mask=j[None, :] < columns, other=0.0)
        total += tl.dot(left, right)
    inside = (i[:, None] < rows) & (j[None, :] < columns)
    tl.store(c + i[:, None] * columns + j[None, :], total, mask=inside)


def matmul_wrong_no_mask_at_the_store(a, b, c, rows, columns, inner, T: "tl.constexpr"):
    i = tl.program_id(0) * T + tl.arange(0, T)
    j = tl.program_id(1) * T + tl.arange(0, T)
    total = tl.zeros((T, T), dtype=tl.float32)
    for start in range(0, inner, T):
        k = start + tl.arange(0, T)
        of_a = (i[:, None] < rows) & (k[None, :] < inner)
        of_b = (k[:, None] < inner) & (j[None, :] < columns)
        left = tl.load(a + i[:, None] * inner + k[None, :], mask=of_a, other=0.0)
        right = tl.load(b + k[:, None] * columns + j[None, :], mask=of_b, other=0.0)
        total += tl.dot(left, right)
    tl.store(c + i[:, None] * columns + j[None, :], total)


def matmul_wrong_adds_up_in_memory(a, b, c, rows, columns, inner, T: "tl.constexpr"):
    i = tl.program_id(0) * T + tl.arange(0, T)
    j = tl.program_id(1) * T + tl.arange(0, T)
    place, inside = (
        c + i[:, None] * columns + j[None, :],
        (i[:, None] < rows) & (j[None, :] < columns),
    )
    tl.store(place, tl.zeros((T, T), dtype=tl.float32), mask=inside)
    for start in range(0, inner, T):
        k = start + tl.arange(0, T)
        of_a = (i[:, None] < rows) & (k[None, :] < inner)
        of_b = (k[:, None] < inner) & (j[None, :] < columns)
        left = tl.load(a + i[:, None] * inner + k[None, :], mask=of_a, other=0.0)
        right = tl.load(b + k[:, None] * columns + j[None, :], mask=of_b, other=0.0)
        tl.store(place, tl.load(place, mask=inside) + tl.dot(left, right), mask=inside)


def solve(given):
    """Let every program load its tiles, and count; time one program's share of both resources."""
    tile, n = given["tile"], given["n"]
    programs = sum(
        1 for _ in range(0, given["rows"], tile) for _ in range(0, given["columns"], tile)
    )
    loaded = 0
    for _program in range((n // tile) ** 2):
        loaded += (n // tile) * 2 * tile * tile
    seconds = 2 * n**3 / given.fact(given["gpu"], "fp16_dense", "FLOP/s")
    from_memory = seconds * given.fact(given["gpu"], "memory_bandwidth", "B/s")
    return {
        "programs_launched": programs,
        "bytes_read": loaded * 2 / 1e9,
        "intensity": 2 * n**3 / (loaded * 2),
        "cached_share": 100 * (loaded * 2 - from_memory) / (loaded * 2),
    }
