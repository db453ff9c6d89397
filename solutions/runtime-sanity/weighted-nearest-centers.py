"""The operators are walked through, one by one; the code expands the square."""

import numpy as np
import torch


def solve(given):
    peak = peak_of(given["points"], given)
    chunk = 0
    while solids_of(chunk + 1, given) <= given["budget"] * 1e6:
        chunk += 1
    return {"peak": peak / 1e6, "chunk": chunk, "still_slow": "traffic"}


def solids_of(points, given):
    """The most bytes that the three-dimensional tensors of some points take at once."""
    return peak_of(points, given, with_matrix=False)


def peak_of(points, given, with_matrix=True):
    shape = (points, given["centers"], given["width"])
    size = np.broadcast_to(np.float32(0), shape).nbytes
    alive, peak = {}, 0
    for name, used in (("difference", []), ("square", ["difference"]), ("weighted", ["square"])):
        alive[name] = size
        peak = max(peak, sum(alive.values()))
        for one in used:
            del alive[one]
    if with_matrix:
        alive["sum"] = size // given["width"]
    return max(peak, sum(alive.values()))


def nearest(x, c, w):
    squares = (x * x) @ w[:, None] + ((c * c) @ w)[None]
    return (squares - 2 * (x * w) @ c.T).amin(1).clamp(min=0)


def nearest_right_scaled(x, c, w):
    root = w.sqrt()
    return torch.cdist(x * root, c * root).min(dim=1).values ** 2


def nearest_right_one_product(x, c, w):
    # The square of x is the same for all centers: it can wait until the smallest is found.
    left = torch.cat([x * w * -2, torch.ones(len(x), 1)], dim=1)
    right = torch.cat([c, (c * c) @ w[:, None]], dim=1)
    return torch.relu((left @ right.T).amin(1) + (x * x) @ w)


def nearest_right_einsum(x, c, w):
    cross = torch.einsum("ik,jk->ij", x * w, c)
    mine, theirs = torch.einsum("ik,ik->i", x, x * w), torch.einsum("jk,jk->j", c, c * w)
    return torch.clamp(mine[:, None] + theirs[None, :] - 2 * cross, min=0.0).amin(dim=1)


def nearest_slow_einsum(x, c, w):
    # Taken from left to right, the first two operands make the cube once more.
    cross = torch.einsum("ik,jk,k->ij", x, c, w)
    return (((x * x) @ w)[:, None] + (c * c) @ w - 2 * cross).amin(1).clamp(min=0)


def nearest_slow_as_given(x, c, w):
    return (w * (x[:, None] - c[None]) ** 2).sum(-1).amin(1)


def nearest_slow_rows(x, c, w):
    return torch.stack([(((row - c) ** 2) @ w).min() for row in x])


def nearest_slow_cube(x, c, w):
    return ((x[:, None] - c[None]).square_() @ w).amin(1)


def nearest_slow_chunks(x, c, w):
    return torch.cat([(w * (p[:, None] - c[None]) ** 2).sum(-1).amin(1) for p in x.split(16)])


def nearest_expected(x, c, w):
    a, b, weight = (t.double().numpy() for t in (x, c, w))
    out = np.array([min((weight * (p - q) ** 2).sum() for q in b) for p in a])
    return torch.from_numpy(out).float()


def nearest_holds(inputs, result):
    if (result < 0).any():
        yield "a distance is negative"


def nearest_cases(rng, given):
    def floats(*shape):
        return torch.from_numpy(rng.normal(size=shape)).float()

    def case(points, centers, width, scale=1.0):
        weights = torch.from_numpy(rng.uniform(0.2, 2, size=width)).float()
        return {"x": floats(points, width) * scale, "c": floats(centers, width), "w": weights}

    yield "edge", case(1, 1, 1)
    same = case(60, 60, 16)
    same["c"] = same["x"].clone()
    yield "edge", same
    none = case(3, 4, 2)
    none["w"][:] = 0
    yield "edge", none
    yield "edge", case(5, 2, 3, scale=5.0)
    for _ in range(6):
        points, centers, width = (int(n) for n in rng.integers(3, 24, size=3))
        yield "random", case(points, centers + points, width, scale=rng.uniform(0.5, 2))


def nearest_wrong_no_weights(x, c, w):
    return torch.cdist(x, c).amin(1) ** 2


def nearest_wrong_weights_squared(x, c, w):
    return torch.cdist(x * w, c * w).amin(1) ** 2


def nearest_wrong_root(x, c, w):
    root = w.sqrt()
    return torch.cdist(x * root, c * root).amin(1)


def nearest_wrong_cross_once(x, c, w):
    squares = (x * x) @ w[:, None] + ((c * c) @ w)[None]
    return (squares - (x * w) @ c.T).amin(1).clamp(min=0)


def nearest_wrong_negative(x, c, w):
    squares = (x * x) @ w[:, None] + ((c * c) @ w)[None]
    return (squares - 2 * (x * w) @ c.T).amin(1)


def nearest_wrong_nearest_point(x, c, w):
    squares = (x * x) @ w[:, None] + ((c * c) @ w)[None]
    return (squares - 2 * (x * w) @ c.T).amin(0).clamp(min=0)


def nearest_wrong_which(x, c, w):
    root = w.sqrt()
    return torch.cdist(x * root, c * root).argmin(1)
