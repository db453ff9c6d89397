"""Finite differences in two ways; the best steps are searched for, and symptoms are tried out."""

import numpy as np


def gradient_is_right(f, x, gradient):
    gradient = np.asarray(gradient)
    if gradient.shape != x.shape:
        return False
    h, worst = 1e-4, 0.0
    for index in np.ndindex(x.shape):
        values = []
        for sign in (1, -1):
            moved = x.astype(np.float64)
            moved[index] += sign * h
            values.append(f(moved))
        slope = (values[0] - values[1]) / (2 * h)
        worst = max(worst, abs(slope - float(gradient[index])))
    return worst < 5e-4


def gradient_is_right_right_five_points(f, x, gradient):
    if np.shape(gradient) != np.shape(x):
        return False
    base = np.array(x, dtype=np.float64)
    found = np.zeros(base.size)
    for i in range(base.size):
        for factor, weight in ((2, -1), (1, 8), (-1, -8), (-2, 1)):
            point = base.copy()
            point.reshape(-1)[i] += factor * 1e-3
            found[i] += weight * f(point) / (12 * 1e-3)
    return bool(np.allclose(found, np.reshape(gradient, -1), rtol=0, atol=3e-4))


def gradient_is_right_right_two_steps(f, x, gradient):
    """Extrapolates from two central differences."""
    if tuple(gradient.shape) != tuple(x.shape):
        return False
    for i in range(x.size):

        def along(h, i=i):
            low, high = (x.astype(float).copy() for _ in range(2))
            low.flat[i] -= h
            high.flat[i] += h
            return (f(high) - f(low)) / (2 * h)

        slope = (4 * along(5e-4) - along(1e-3)) / 3
        if not abs(slope - gradient.flat[i]) < 5e-4:
            return False
    return True


def derivative(kind, x, matrix):
    flat = x.astype(np.float64).reshape(-1)
    if kind == "tanh":
        found = matrix.T @ (1 - np.tanh(matrix @ flat) ** 2)
    elif kind == "square":
        found = (matrix + matrix.T) @ flat / 2
    elif kind == "cubes":
        found = flat**2
    else:
        found = matrix.T @ np.cos(matrix @ flat) + flat**2 / 2
    return found.reshape(x.shape)


def gradient_is_right_cases(rng, given):
    def case(kind, shape, change=None, dtype=np.float64, offset=0.0, spoils=False):
        size = int(np.prod(shape))
        x = rng.uniform(0.4, 1.2, size=shape) * rng.choice([-1.0, 1.0], size=shape)
        x = x.astype(dtype)
        matrix = rng.normal(size=(size, size)) / max(size, 1) ** 0.5
        gradient = derivative(kind, x, matrix)
        if change is not None:
            gradient = change(gradient)
        return {
            "x": x,
            "gradient": gradient,
            "kind": kind,
            "matrix": matrix,
            "offset": offset,
            "spoils": spoils,
        }

    def one_sign(g):
        g = g.copy()
        i = np.abs(g).argmax()
        g.flat[i] = -g.flat[i]
        return g

    def one_zero(g):
        g = g.copy()
        g.flat[np.abs(g).argmax()] = 0
        return g

    def slightly(g):
        g = g.copy()
        g.flat[-1] += 1.5e-3 * rng.choice([-1, 1])
        return g

    def others_in_mean(g):
        """Errors of both signs, which add up to nothing."""
        g = g.copy()
        g.flat[0] += 0.3
        g.flat[-1] -= 0.3
        return g

    yield "vectors", case("tanh", (4,))
    yield "vectors", case("cubes", (3,), lambda g: g + 5e-5)
    yield "vectors", case("tanh", (5,), lambda g: -g)
    yield "vectors", case("mixed", (4,), one_sign)
    yield "vectors", case("square", (6,), others_in_mean)
    yield "vectors", case("tanh", (4,), lambda g: 4 * g)
    yield "shapes", case("square", (2, 3))
    yield "shapes", case("mixed", (2, 2, 2))
    yield "shapes", case("square", (3, 3), lambda g: g.T.copy())
    yield "shapes", case("cubes", (2, 4), one_zero)
    yield "shapes", case("tanh", (3, 2), slightly)
    yield "shapes", case("square", (4,), lambda g: g.reshape(4, 1))
    yield "shapes", case("cubes", (2, 3), lambda g: g.sum(0))
    yield "hard", case("mixed", (4,), dtype=np.float32)
    yield "hard", case("mixed", (3,), slightly, dtype=np.float32)
    yield "hard", case("cubes", (5,), offset=1e6)
    yield "hard", case("tanh", (4,), slightly, offset=-7e5)
    yield "hard", case("mixed", (2, 3), spoils=True)
    yield "hard", case("cubes", (4,), one_zero, dtype=np.float32, spoils=True)


def _checked(f, x, gradient, slope, atol=5e-4):
    if np.shape(gradient) != x.shape:
        return False
    found = np.array([slope(i) for i in range(x.size)]).reshape(x.shape)
    return bool(np.abs(found - gradient).max() < atol)


def _central(f, x, i, h):
    moved = [x.astype(np.float64) for _ in range(2)]
    moved[0].flat[i] += h
    moved[1].flat[i] -= h
    return (f(moved[0]) - f(moved[1])) / (2 * h)


def gradient_is_right_wrong_tiny_step(f, x, gradient):
    return _checked(f, x, gradient, lambda i: _central(f, x, i, 1e-8))


def gradient_is_right_wrong_large_step(f, x, gradient):
    return _checked(f, x, gradient, lambda i: _central(f, x, i, 0.1))


def gradient_is_right_wrong_forward_difference(f, x, gradient):
    def slope(i):
        moved = x.astype(np.float64)
        moved.flat[i] += 1e-2
        return (f(moved) - f(x.astype(np.float64))) / 1e-2

    return _checked(f, x, gradient, slope)


def gradient_is_right_wrong_not_halved(f, x, gradient):
    return _checked(f, x, gradient, lambda i: 2 * _central(f, x, i, 1e-4))


def gradient_is_right_wrong_dtype_of_x(f, x, gradient):
    """Adds the step in the dtype of x."""
    if np.shape(gradient) != x.shape:
        return False
    for i in range(x.size):
        moved = [x.copy(), x.copy()]
        moved[0].flat[i] += 1e-4
        moved[1].flat[i] -= 1e-4
        slope = (f(moved[0]) - f(moved[1])) / 2e-4
        if abs(slope - gradient.flat[i]) > 5e-4:
            return False
    return True


def gradient_is_right_wrong_magnitudes(f, x, gradient):
    return _checked(f, x, np.abs(gradient), lambda i: abs(_central(f, x, i, 1e-4)))


def gradient_is_right_wrong_mean(f, x, gradient):
    """Compares the sum of all elements."""
    if np.shape(gradient) != x.shape:
        return False
    total = sum(_central(f, x, i, 1e-4) for i in range(x.size))
    return abs(total - float(np.sum(gradient))) < 5e-4


def gradient_is_right_wrong_broadcast(f, x, gradient):
    found = np.array([_central(f, x, i, 1e-4) for i in range(x.size)]).reshape(x.shape)
    try:
        return bool(np.abs(found - np.broadcast_to(gradient, x.shape)).max() < 5e-4)
    except ValueError:
        return bool(np.abs(found.ravel() - np.resize(gradient, x.size)).max() < 5e-4)


def gradient_is_right_wrong_shapes_flattened(f, x, gradient):
    if np.size(gradient) != x.size:
        return False
    return gradient_is_right(f, x, np.reshape(gradient, x.shape))


def gradient_is_right_wrong_relative_to_the_norm(f, x, gradient):
    """Accepts a difference of 1% of the largest derivative."""
    return _checked(
        f, x, gradient, lambda i: _central(f, x, i, 1e-4), 1e-2 * np.abs(gradient).max()
    )


def gradient_is_right_wrong_changes_x(f, x, gradient):
    if np.shape(gradient) != x.shape:
        return False
    right = gradient_is_right(f, x, gradient)
    x.flat[0] += 1e-4
    return right


def least(bound):
    """Return the step with the smallest bound, and that bound, by search on a log scale."""
    low, high = -12.0, 1.0
    for _ in range(200):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, right) if bound(10**left) < bound(10**right) else (left, high)
    return 10**low, bound(10**low)


def central(f, w, h):
    return (f(w + h) - f(w - h)) / (2 * h)


def solve(given):
    rows = []
    for unit in (np.finfo(np.float32).epsneg, np.finfo(np.float64).epsneg):
        # epsneg is the distance below 1, which is the largest relative error of rounding.
        u = float(unit)
        step, error = least(lambda h, u=u: given["third"] * h**2 / 6 + u * given["value"] / h)
        rows.append([1e6 * step, 1e9 * error])
    passes = sum(2 for _ in range(given["thousands"])) * 1000

    # A power series has truncation errors alone, and a rounded one mostly rounding errors.
    exact = [abs(central(lambda w: w**3, 1.0, h) - 3) for h in (1e-2, 1e-3)]
    rounded = [abs(central(lambda w: round(w**2, 9), 0.7, h) - 1.4) for h in (1e-6, 1e-7)]
    kinked = [central(lambda w: max(w, 0.0), 0.05, h) for h in (0.1, 0.01)]
    seen = {
        "quadratic": "truncation" if 95 < exact[0] / exact[1] < 105 else None,
        "growing": "rounding" if rounded[1] > rounded[0] else None,
        "few": "kink" if abs(kinked[0] - 1) > 0.1 > abs(kinked[1] - 1) else None,
    }
    return {
        "best_steps": rows,
        "at_the_kink": central(lambda w: max(w, 0.0), given["z"], given["step"]),
        "symptoms": {"ratio": "mean", "biases": "sum", **seen},
        "cost": passes * given["forward"] / 1e3 / 3600,
        "directional": "where",
    }
