"""Whole arrays at once; the second roads go group by group."""

import numpy as np


def keep_mask(w, n, m):
    groups = w.reshape(len(w), w.shape[1] // m, m) if w.shape[1] % m == 0 else None
    if groups is None:
        raise ValueError("the columns don't divide into groups")
    best = np.argsort(-np.abs(groups), axis=2, kind="stable")[:, :, :n]
    mask = np.zeros(groups.shape, dtype=bool)
    np.put_along_axis(mask, best, True, axis=2)
    return mask.reshape(w.shape)


def keep_mask_right_by_counting(w, n, m):
    rows, columns = w.shape
    if columns % m:
        raise ValueError(f"{columns} columns")
    size = np.abs(w).reshape(rows, -1, m) if w.size else np.zeros((rows, 0, m))
    larger = (size[..., None, :] > size[..., :, None]).sum(axis=-1)
    place = np.arange(m)
    equal = size[..., None, :] == size[..., :, None]
    before = (equal & (place[None, :] < place[:, None])).sum(axis=-1)
    return (larger + before < n).reshape(rows, columns)


def keep_mask_right_by_torch(w, n, m):
    import torch

    size = torch.from_numpy(np.abs(w)).unflatten(1, (-1, m)) if w.shape[1] % m == 0 else None
    if size is None:
        raise ValueError
    order = size.sort(dim=-1, descending=True, stable=True).indices
    rank = order.argsort(dim=-1)
    return (rank < n).flatten(1).numpy()


def keep_mask_expected(w, n, m):
    """Group by group, by sorting pairs of magnitude and place."""
    if w.shape[1] % m:
        raise ValueError
    mask = np.zeros(w.shape, dtype=bool)
    for row in range(len(w)):
        for start in range(0, w.shape[1], m):
            order = sorted(range(start, start + m), key=lambda j: (-abs(float(w[row, j])), j))
            mask[row, order[:n]] = True
    return mask


def keep_mask_cases(rng, given):
    n, m = given["n"], given["m"]
    yield "plain", {"w": rng.normal(size=(1, m)), "n": n, "m": m}
    yield "plain", {"w": -np.abs(rng.normal(size=(3, 4 * m))), "n": n, "m": m}
    near = 1 + 1e-6 * rng.permutation(2 * m).reshape(1, -1)
    yield "plain", {"w": near, "n": n, "m": m}
    yield "equal", {"w": np.ones((2, 2 * m)), "n": n, "m": m}
    yield "equal", {"w": np.zeros((1, 2 * m), dtype=np.float32), "n": n, "m": m}
    signs = rng.choice([-1.0, 1.0, 2.0, -2.0], size=(6, 5 * m))
    yield "equal", {"w": signs.astype(np.float32), "n": n, "m": m}
    yield "equal", {"w": rng.choice([0.0, 1.0, -1.0], size=(6, 8)), "n": 1, "m": 8}
    yield "shape", {"w": rng.normal(size=(4, m + 1)), "n": n, "m": m}
    yield "shape", {"w": rng.normal(size=(m, 3 * m - 2)), "n": n, "m": m}
    yield "shape", {"w": rng.normal(size=(2 * m, m)), "n": n, "m": m}
    yield "shape", {"w": rng.normal(size=(3, 8)), "n": 4, "m": 4}
    for _ in range(3):
        shape = (int(rng.integers(2, 7)), int(rng.integers(2, 7)) * m)
        yield "plain", {"w": rng.normal(size=shape).astype(np.float32), "n": n, "m": m}


def keep_mask_wrong_by_threshold(w, n, m):
    size = np.abs(w).reshape(len(w), -1, m)
    limit = np.sort(size, axis=2)[:, :, m - n, None]
    return (size >= limit).reshape(w.shape)


def keep_mask_wrong_signed(w, n, m):
    groups = w.reshape(len(w), -1, m)
    best = np.argsort(-groups, axis=2, kind="stable")[:, :, :n]
    mask = np.zeros(groups.shape, dtype=bool)
    np.put_along_axis(mask, best, True, axis=2)
    return mask.reshape(w.shape)


def keep_mask_wrong_removes_n(w, n, m):
    return keep_mask(w, m - n if n < m else n, m) if 2 * n != m else ~keep_mask(w, n, m)


def keep_mask_wrong_right_one_of_equals(w, n, m):
    groups = np.abs(w).reshape(len(w), -1, m)
    best = np.argsort(groups, axis=2, kind="stable")[:, :, m - n :]
    mask = np.zeros(groups.shape, dtype=bool)
    np.put_along_axis(mask, best, True, axis=2)
    return mask.reshape(w.shape)


def keep_mask_wrong_ties_by_a_small_number(w, n, m):
    """What breaks ties turns magnitudes around that are nearly equal."""
    if w.shape[1] % m:
        raise ValueError
    return keep_mask(np.abs(w) + 1e-3 - 1e-4 * (np.arange(w.shape[1]) % m), n, m)


def keep_mask_wrong_groups_across_rows(w, n, m):
    groups = np.abs(w).reshape(-1, m)
    best = np.argsort(-groups, axis=1, kind="stable")[:, :n]
    mask = np.zeros(groups.shape, dtype=bool)
    np.put_along_axis(mask, best, True, axis=1)
    return mask.reshape(w.shape)


def keep_mask_wrong_share_of_the_row(w, n, m):
    if w.shape[1] % m:
        raise ValueError
    best = np.argsort(-np.abs(w), axis=1, kind="stable")[:, : w.shape[1] // m * n]
    mask = np.zeros(w.shape, dtype=bool)
    np.put_along_axis(mask, best, True, axis=1)
    return mask


def compress(w, mask, n, m):
    shape = (len(w), w.shape[1] // m * n)
    columns = np.nonzero(mask)[1]
    return w[mask].reshape(shape), (columns % m).astype(np.uint8).reshape(shape)


def compress_right_group_by_group(w, mask, n, m):
    values, positions = [], []
    for row, keeps in zip(w, mask, strict=True):
        values.append([v for v, k in zip(row, keeps, strict=True) if k])
        positions.append([j % m for j, k in enumerate(keeps) if k])
    shape = (len(w), w.shape[1] // m * n)
    return (
        np.array(values, dtype=w.dtype).reshape(shape),
        np.array(positions, dtype=np.uint8).reshape(shape),
    )


def compress_right_by_sorting(w, mask, n, m):
    rows = len(w)
    places = np.argsort(~mask.reshape(rows, -1, m), axis=2, kind="stable")[:, :, :n]
    values = np.take_along_axis(w.reshape(rows, -1, m), places, axis=2)
    return values.reshape(rows, -1), places.reshape(rows, -1).astype(np.uint8)


def compress_cases(rng, given):
    def made(shape, n, m, dtype=np.float32, zeros=0.0):
        """A matrix with a mask of its own, which need not go by magnitude."""
        rows, groups = shape
        places = rng.permuted(np.tile(np.arange(m), (rows, groups, 1)), axis=2)
        w = rng.normal(size=(rows, groups * m)).astype(dtype)
        w[rng.random(w.shape) < zeros] = 0
        return {"w": w, "mask": (places < n).reshape(rows, groups * m), "n": n, "m": m}

    n, m = given["n"], given["m"]
    yield "plain", made((1, 1), n, m)
    yield "plain", made((3, 2), 4, 4, np.float64)
    yield "zeros", made((2, 3), n, m, np.float64, 1.0)
    yield "zeros", made((5, 6), n, m, np.float32, 0.5)
    for _ in range(4):
        yield "plain", made((int(rng.integers(2, 8)), int(rng.integers(2, 8))), n, m)
    yield "plain", made((4, 5), 3, 16, np.float64)


def compress_wrong_nonzeros(w, mask, n, m):
    shape = (len(w), w.shape[1] // m * n)
    pruned = np.where(mask, w, 0)
    columns = np.nonzero(pruned)[1]
    return pruned[pruned != 0].reshape(shape), (columns % m).astype(np.uint8).reshape(shape)


def compress_wrong_columns_of_the_row(w, mask, n, m):
    shape = (len(w), w.shape[1] // m * n)
    return w[mask].reshape(shape), np.nonzero(mask)[1].astype(np.uint8).reshape(shape)


def compress_wrong_by_magnitude(w, mask, n, m):
    rows = len(w)
    size = np.where(mask, np.abs(w), -1).reshape(rows, -1, m)
    places = np.argsort(-size, axis=2, kind="stable")[:, :, :n]
    values = np.take_along_axis(w.reshape(rows, -1, m), places, axis=2)
    return values.reshape(rows, -1), places.reshape(rows, -1).astype(np.uint8)


def compress_wrong_column_by_column(w, mask, n, m):
    shape = (len(w), w.shape[1] // m * n)
    columns = np.nonzero(mask.T)[0]
    return w.T[mask.T].reshape(shape), (columns % m).astype(np.uint8).reshape(shape)


def product(values, positions, n, m, x):
    groups = np.arange(values.shape[1]) // n
    return (values * x[groups * m + positions]).sum(axis=1)


def product_right_expanded(values, positions, n, m, x):
    rows, stored = values.shape
    dense = np.zeros((rows, stored // n, m), dtype=values.dtype)
    places = positions.reshape(rows, -1, n).astype(np.int64)
    np.put_along_axis(dense, places, values.reshape(rows, -1, n), axis=2)
    return dense.reshape(rows, -1) @ x


def product_right_one_by_one(values, positions, n, m, x):
    found = np.zeros(len(values), dtype=values.dtype)
    for i, (row, places) in enumerate(zip(values, positions, strict=True)):
        for j in range(len(row)):
            found[i] += row[j] * x[j // n * m + int(places[j])]
    return found


def product_cases(rng, given):
    def made(shape, n, m, dtype=np.float32):
        rows, groups = shape
        places = np.sort(rng.permuted(np.tile(np.arange(m), (rows, groups, 1)), axis=2)[..., :n])
        return {
            "values": rng.normal(size=(rows, groups * n)).astype(dtype),
            "positions": places.reshape(rows, groups * n).astype(np.uint8),
            "n": n,
            "m": m,
            "x": rng.normal(size=groups * m).astype(dtype),
        }

    n, m = given["n"], given["m"]
    yield "one", made((1, 1), n, m)
    yield "one", made((5, 1), n, m, np.float64)
    # Columns beyond 255, which a position in uint8 must not be added up to.
    yield "wide", made((4, 320 // m), n, m)
    yield "wide", made((2, 160), 2, 4, np.float64)
    yield "several", made((3, 6), 3, 4, np.float64)
    for _ in range(4):
        yield "several", made((int(rng.integers(2, 9)), int(rng.integers(2, 9))), n, m)


def product_wrong_positions_alone(values, positions, n, m, x):
    return (values * x[positions]).sum(axis=1)


def product_wrong_group_by_m(values, positions, n, m, x):
    groups = np.arange(values.shape[1]) // m
    return (values * x[groups * m + positions]).sum(axis=1)


def product_wrong_offset_by_n(values, positions, n, m, x):
    groups = np.arange(values.shape[1]) // n
    return (values * x[groups * n + positions]).sum(axis=1)


def product_wrong_in_double_precision(values, positions, n, m, x):
    groups = np.arange(values.shape[1]) // n
    return (values * x[groups * m + positions].astype(np.float64)).sum(axis=1)


def product_wrong_overflowing_column(values, positions, n, m, x):
    groups = (np.arange(values.shape[1]) // n * m).astype(np.uint8)
    return (values * x[groups + positions]).sum(axis=1)


def solve(given):
    """Prunes one row for real and packs its positions bit by bit."""
    n, m, columns = given["n"], given["m"], given["inputs"]
    row = ((np.arange(columns) * 7919 % 251) - 125.0)[None]
    values, positions = compress(row, keep_mask(row, n, m), n, m)
    stored = values.astype({8: np.int8, 16: np.float16}[given["value_bits"]])
    width = (m - 1).bit_length()
    bits = (positions.reshape(-1, 1) >> np.arange(width)) & 1
    packed = np.packbits(bits.astype(np.uint8))

    # Every mask that some group can have, found by trying all masks.
    masks = sum(bin(mask).count("1") == n for mask in range(1 << m))
    return {
        "stored": given["outputs"] * (stored.nbytes + packed.nbytes) / 1e6,
        "fewest_bits": (masks - 1).bit_length(),
    }
