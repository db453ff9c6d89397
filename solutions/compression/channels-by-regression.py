"""Minimizes along coordinates by golden-section search, and refits with numpy's least squares."""

import numpy as np

RATIO = (5**0.5 - 1) / 2


def minimizer(function, low=-20.0, high=20.0):
    """Return where a convex function is smallest, and exactly 0 if nothing is lower."""
    for _ in range(70):
        left, right = high - RATIO * (high - low), low + RATIO * (high - low)
        low, high = (low, right) if function(left) < function(right) else (left, high)
    best = (low + high) / 2
    return 0.0 if function(0.0) <= function(best) + 1e-12 else best


def losses(outputs, contributions, beta, strength):
    """Return the error and the loss, output by output."""
    error = 0.0
    for y, row in zip(outputs, contributions, strict=True):
        error += (y - sum(b * z for b, z in zip(beta, row, strict=True))) ** 2
    return error, error + strength * sum(abs(b) for b in beta)


def descend(z, y, strength, passes):
    beta = np.zeros(z.shape[1])
    for _ in range(passes):
        for i in range(len(beta)):

            def along(value, i=i):
                return losses(y, z, [*beta[:i], value, *beta[i + 1 :]], strength)[1]

            beta[i] = minimizer(along)
    return beta


def solve(given):
    z = np.array([[given[f"z{row}{i}"] for i in (1, 2, 3)] for row in (1, 2, 3, 4)])
    y, strength = z.sum(axis=1), given["strength"]
    candidates = [(given["p1"], given["p2"], 0.0), (given["q1"], 0.0, given["q3"])]

    # A coefficient leaves 0 if the error falls faster than the penalty grows.
    def slope(i):
        ahead, back = ([h * (k == i) for k in range(3)] for h in (0.5, -0.5))
        return losses(y, z, ahead, 0)[0] - losses(y, z, back, 0)[0]

    largest = max(abs(slope(i)) for i in range(3))

    removal = []
    for i in range(3):
        others = np.delete(z, i, axis=1)
        kept = others.sum(axis=1)
        best = others @ np.linalg.lstsq(others, y, rcond=None)[0]
        removal.append([float(((y - guess) ** 2).sum()) for guess in (kept, best)])
    weakest = min(range(3), key=lambda i: removal[i][0])

    per_image = given["places"] * given["outputs"] * np.dtype(np.float32).itemsize
    return {
        "losses": [list(losses(y, z, beta, strength)) for beta in candidates],
        "first_pass": [[b] for b in descend(z, y, strength, 1).tolist()],
        "largest_strength": largest,
        "removal": removal,
        "by_norm": removal[weakest][1] / min(error for _, error in removal),
        "memory": given["images"] * per_image * given["channels"] / 1e9,
        "needed": {"inputs", "weights"},
    }
