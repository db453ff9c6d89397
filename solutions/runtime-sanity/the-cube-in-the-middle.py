"""The peak is found by walking through the operators; the code expands the square."""

import numpy as np
import torch


def solve(given):
    pairs = given["points"] * given["centres"] * 4
    steps = [("difference", []), ("square", ["difference"]), ("weighted", ["square"])]
    alive, peak = {}, 0
    for name, used in steps:
        alive[name] = sum(pairs for _ in range(given["width"]))
        peak = max(peak, sum(alive.values()))
        for one in used:
            del alive[one]
    alive["sum"] = pairs
    peak = max(peak, sum(alive.values()))
    return {"peak": peak / 1e6, "largest": pairs / 1e6, "cause": "intermediate"}


def distances(x, c, w):
    squares = (x * x) @ w[:, None] + ((c * c) @ w)[None]
    return (squares - 2 * (x * w) @ c.T).clamp(min=0)


def distances_right_scaled(x, c, w):
    root = w.sqrt()
    return torch.cdist(x * root, c * root) ** 2


def distances_right_one_product(x, c, w):
    ones = torch.ones
    left = torch.cat([x * w * -2, (x * x) @ w[:, None], ones(len(x), 1)], dim=1)
    right = torch.cat([c, ones(len(c), 1), (c * c) @ w[:, None]], dim=1)
    return torch.relu(left @ right.T)


def distances_right_einsum(x, c, w):
    cross = torch.einsum("ik,jk->ij", x * w, c)
    mine, theirs = torch.einsum("ik,ik->i", x, x * w), torch.einsum("jk,jk->j", c, c * w)
    return torch.clamp(mine[:, None] + theirs[None, :] - 2 * cross, min=0.0)


def distances_slow_einsum(x, c, w):
    # Taken from left to right, the first two operands make the cube once more.
    cross = torch.einsum("ik,jk,k->ij", x, c, w)
    return (((x * x) @ w)[:, None] + (c * c) @ w - 2 * cross).clamp(min=0)


def distances_slow_as_given(x, c, w):
    return (w * (x[:, None] - c[None]) ** 2).sum(-1)


def distances_slow_rows(x, c, w):
    return torch.stack([((row - c) ** 2) @ w for row in x])


def distances_slow_cube(x, c, w):
    return (x[:, None] - c[None]).square_() @ w


def distances_slow_chunks(x, c, w):
    return torch.cat([(w * (part[:, None] - c[None]) ** 2).sum(-1) for part in x.split(16)])


def distances_expected(x, c, w):
    a, b, weight = (t.double().numpy() for t in (x, c, w))
    out = np.array([[(weight * (p - q) ** 2).sum() for q in b] for p in a])
    return torch.from_numpy(out.reshape(len(a), len(b))).float()


def distances_holds(inputs, result):
    if (result < 0).any():
        yield "a distance is negative"


def distances_cases(rng, given):
    def floats(*shape):
        return torch.from_numpy(rng.normal(size=shape)).float()

    def case(points, centres, width, scale=1.0):
        weights = torch.from_numpy(rng.uniform(0.2, 2, size=width)).float()
        return {"x": floats(points, width) * scale, "c": floats(centres, width), "w": weights}

    yield "edge", case(1, 1, 1)
    same = case(60, 60, 16)
    same["c"] = same["x"].clone()
    yield "edge", same
    none = case(3, 4, 2)
    none["w"][:] = 0
    yield "edge", none
    yield "edge", case(5, 2, 3, scale=5.0)
    for _ in range(6):
        sizes = (int(n) for n in rng.integers(2, 24, size=3))
        yield "random", case(*sizes, scale=rng.uniform(0.5, 2))


def distances_wrong_no_weights(x, c, w):
    return torch.cdist(x, c) ** 2


def distances_wrong_weights_squared(x, c, w):
    return torch.cdist(x * w, c * w) ** 2


def distances_wrong_root(x, c, w):
    root = w.sqrt()
    return torch.cdist(x * root, c * root)


def distances_wrong_cross_once(x, c, w):
    squares = (x * x) @ w[:, None] + ((c * c) @ w)[None]
    return (squares - (x * w) @ c.T).clamp(min=0)


def distances_wrong_negative(x, c, w):
    squares = (x * x) @ w[:, None] + ((c * c) @ w)[None]
    return squares - 2 * (x * w) @ c.T


def distances_wrong_transposed(x, c, w):
    squares = (c * c) @ w[:, None] + ((x * x) @ w)[None]
    return (squares - 2 * (c * w) @ x.T).clamp(min=0)
