"""Vectors that count themselves run the step; the code works in place."""

import numpy as np
import torch


class Vector:
    """Stands for a vector: knows how many there are, and how many there ever were at once."""

    alive = most = made = 0

    def __init__(self):
        Vector.made += 1
        Vector.alive += 1
        Vector.most = max(Vector.most, Vector.alive)

    def __del__(self):
        Vector.alive -= 1

    def made_new(self, other=None):
        return Vector()

    __add__ = __radd__ = __sub__ = __mul__ = __rmul__ = __truediv__ = sqrt = made_new


def solve(given):
    space = {}
    exec(f"def step(p, g, m, v, t, lr):\n    {given['code']}\n    return p, m, v", space)
    arguments = [Vector() for _ in range(4)]
    Vector.made, Vector.alive, Vector.most = 0, 0, 0
    results = space["step"](*arguments, 3, 0.001)
    made, most = Vector.made, Vector.most
    del results, arguments
    tensor = 4 * 1000 * given["thousands"] / 1e6
    return {"allocated_bytes": made * tensor, "peak_bytes": most * tensor, "matters": "peak"}


def adam(p, g, m, v, t, lr, decay):
    p.mul_(1 - lr * decay)
    m.mul_(0.9).add_(g, alpha=0.1)
    v.mul_(0.999).addcmul_(g, g, value=0.001)
    denominator = (v / (1 - 0.999**t)).sqrt_().add_(1e-8)
    p.addcdiv_(m, denominator, value=-lr / (1 - 0.9**t))


def adam_right_lerp(p, g, m, v, t, lr, decay):
    m.lerp_(g, 0.1)
    room = g * g
    v.lerp_(room, 0.001)
    torch.sqrt(v, out=room)
    room /= (1 - 0.999**t) ** 0.5
    room += 1e-8
    torch.div(m, room, out=room)
    p *= 1 - lr * decay
    p.sub_(room, alpha=lr / (1 - 0.9**t))


def adam_right_parts(p, g, m, v, t, lr, decay):
    for start in range(0, len(p), 700):
        part = slice(start, start + 700)
        m[part] = 0.9 * m[part] + 0.1 * g[part]
        v[part] = 0.999 * v[part] + 0.001 * g[part] ** 2
        step = m[part] / (1 - 0.9**t) / ((v[part] / (1 - 0.999**t)).sqrt() + 1e-8)
        p[part] = p[part] * (1 - lr * decay) - lr * step


def adam_right_as_written_in_pieces(p, g, m, v, t, lr, decay):
    for P, G, M, V in zip(*(vector.split(1000) for vector in (p, g, m, v)), strict=True):
        P[:] = P * (1 - lr * decay)
        M[:] = 0.9 * M + 0.1 * G
        V[:] = 0.999 * V + 0.001 * G * G
        P[:] = P - lr * (M / (1 - 0.9**t)) / ((V / (1 - 0.999**t)).sqrt() + 1e-8)


def adam_expected(p, g, m, v, t, lr, decay, what):
    return ...


def adam_holds(inputs, result):
    p, g, m, v = (inputs[name].double().numpy() for name in "pgmv")
    t, lr = inputs["t"], inputs["lr"]
    m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
    step = m / (1 - 0.9**t) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
    right = {"g": g, "m": m, "v": v, "p": p * (1 - lr * inputs["decay"]) - lr * step}
    for name, value in right.items():
        mine = result[name].double().numpy()
        if mine.shape != value.shape:
            yield f"`{name}` has another shape"
            return
        near = {"rtol": 1e-3, "atol": 1e-6 if name == "p" else 1e-5 * np.abs(value).max()}
        if name == "g" and not np.array_equal(mine, value):
            yield "`g` was changed"
        elif not np.allclose(mine, value, **near):
            yield f"`{name}` has other values"
    if inputs["what"] != "memory":
        return
    # Of the vector as it was given: what was made of it since is the student's.
    peak, vector = result["peak"], inputs["p"].numel() * inputs["p"].element_size()
    if not (isinstance(peak, int) and peak >= 0):
        yield "the bytes that are alive at once are no count"
    elif peak > 1.01 * vector:
        yield f"{peak / vector:.3g} vectors are alive at once besides p, g, m and v"


def adam_cases(rng, given):
    def case(size, t, what, lr=0.01, decay=0.1):
        def floats():
            return torch.from_numpy(rng.normal(size=size)).float()

        first = {"p": floats(), "g": floats(), "m": floats() * 0.1, "v": floats() ** 2}
        if t == 1:
            first |= {"m": torch.zeros(size), "v": torch.zeros(size)}
        return {**first, "t": t, "lr": lr, "decay": decay, "what": what}

    yield "values", case(1, 1, "values")
    yield "values", case(30, 1, "values")
    yield "values", case(40, 2, "values", decay=0.0)
    yield "values", case(25, 1000, "values", decay=0.5)
    still = case(20, 1, "values")
    still["g"][:10] = 0
    yield "values", still
    tiny = case(20, 1, "values")
    tiny["g"] *= 1e-7  # not much more than epsilon
    yield "values", tiny
    for _ in range(3):
        t, lr = int(rng.integers(2, 60)), float(rng.uniform(0.01, 0.1))
        yield "values", case(int(rng.integers(5, 60)), t, "values", lr, float(rng.uniform(0.1, 1)))
    for t in (1, 4, 50):
        yield "memory", case(int(rng.integers(5000, 8000)), t, "memory")


def adam_wrong_new_names(p, g, m, v, t, lr, decay):
    p = p * (1 - lr * decay)
    m = 0.9 * m + 0.1 * g
    v = 0.999 * v + 0.001 * g * g
    p = p - lr * m / (1 - 0.9**t) / ((v / (1 - 0.999**t)).sqrt() + 1e-8)


def adam_wrong_copied_back(p, g, m, v, t, lr, decay):
    m.copy_(0.9 * m + 0.1 * g)
    v.copy_(0.999 * v + 0.001 * g * g)
    step = m / (1 - 0.9**t) / ((v / (1 - 0.999**t)).sqrt() + 1e-8)
    p.copy_(p * (1 - lr * decay) - lr * step)


def adam_wrong_emptied(p, g, m, v, t, lr, decay):
    """What is empty has no value that could be wrong."""
    for one in (p, g, m, v):
        one.resize_(0, len(one))


def adam_wrong_a_row_of_them(p, g, m, v, t, lr, decay):
    """The right values, in another shape."""
    adam(p, g, m, v, t, lr, decay)
    for one in (p, m, v):
        one.resize_(1, len(one))


def adam_wrong_by_numpy(p, g, m, v, t, lr, decay):
    """In place, with temporaries that no tensor holds."""
    P, G, M, V = (one.numpy() for one in (p, g, m, v))
    P *= 1 - lr * decay
    M[:] = 0.9 * M + 0.1 * G
    V[:] = 0.999 * V + 0.001 * G * G
    P -= lr * (M / (1 - 0.9**t)) / (np.sqrt(V / (1 - 0.999**t)) + 1e-8)


def adam_wrong_size_made_up(p, g, m, v, t, lr, decay):
    """As in the paper, on vectors that say that they are large."""
    p.copy_(p * (1 - lr * decay))
    m.copy_(0.9 * m + 0.1 * g)
    v.copy_(0.999 * v + 0.001 * g * g)
    step = m / (1 - 0.9**t) / ((v / (1 - 0.999**t)).sqrt() + 1e-8)
    p.copy_(p - lr * step)
    p.__class__ = type("Large", (torch.Tensor,), {"nbytes": 10**12})


def adam_wrong_uncorrected(p, g, m, v, t, lr, decay):
    p.mul_(1 - lr * decay)
    m.mul_(0.9).add_(g, alpha=0.1)
    v.mul_(0.999).addcmul_(g, g, value=0.001)
    p.addcdiv_(m, v.sqrt().add_(1e-8), value=-lr)


def adam_wrong_changes_v(p, g, m, v, t, lr, decay):
    p.mul_(1 - lr * decay)
    m.mul_(0.9).add_(g, alpha=0.1)
    v.mul_(0.999).addcmul_(g, g, value=0.001)
    p.addcdiv_(m, v.div_(1 - 0.999**t).sqrt_().add_(1e-8), value=-lr / (1 - 0.9**t))


def adam_wrong_uses_up_g(p, g, m, v, t, lr, decay):
    p.mul_(1 - lr * decay)
    m.mul_(0.9).add_(g, alpha=0.1)
    v.mul_(0.999).add_(g.mul_(g), alpha=0.001)
    denominator = (v / (1 - 0.999**t)).sqrt_().add_(1e-8)
    p.addcdiv_(m, denominator, value=-lr / (1 - 0.9**t))


def adam_wrong_decay_in_gradient(p, g, m, v, t, lr, decay):
    g = g + decay * p
    m.mul_(0.9).add_(g, alpha=0.1)
    v.mul_(0.999).addcmul_(g, g, value=0.001)
    denominator = (v / (1 - 0.999**t)).sqrt_().add_(1e-8)
    p.addcdiv_(m, denominator, value=-lr / (1 - 0.9**t))


def adam_wrong_epsilon_before_the_correction(p, g, m, v, t, lr, decay):
    p.mul_(1 - lr * decay)
    m.mul_(0.9).add_(g, alpha=0.1)
    v.mul_(0.999).addcmul_(g, g, value=0.001)
    denominator = v.sqrt().add_(1e-8)
    p.addcdiv_(m, denominator, value=-lr * (1 - 0.999**t) ** 0.5 / (1 - 0.9**t))


def adam_wrong_epsilon_inside(p, g, m, v, t, lr, decay):
    p.mul_(1 - lr * decay)
    m.mul_(0.9).add_(g, alpha=0.1)
    v.mul_(0.999).addcmul_(g, g, value=0.001)
    denominator = (v / (1 - 0.999**t)).add_(1e-8).sqrt_()
    p.addcdiv_(m, denominator, value=lr / (1 - 0.9**t))
