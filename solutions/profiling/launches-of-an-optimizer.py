"""Stand-ins that count their operators run the step; the code works on whole lists."""

import math

import numpy as np
import torch


class Counted:
    """Stands for a tensor: every operator on it is one launch."""

    launched = 0

    def ran(self, other=None):
        Counted.launched += 1
        return self

    __add__ = __radd__ = __sub__ = __mul__ = __rmul__ = __truediv__ = ran
    mul_ = add_ = sub_ = sqrt = sign = ran


def solve(given):
    space = {}
    exec(f"def step(p, g, m, v, lr):\n        {given['code']}\n", space)
    Counted.launched = 0
    for _ in range(given["layers"]):
        for _ in range(given["each"]):
            space["step"](*(Counted() for _ in range(4)), 0.001)
    launched = Counted.launched
    return {
        "launched": launched,
        "overhead": launched * given["launch"],
        "remedy": "lists",
    }


def adam(params, grads, ms, vs, t, lr):
    torch._foreach_lerp_(ms, grads, 0.1)
    torch._foreach_mul_(vs, 0.999)
    torch._foreach_addcmul_(vs, grads, grads, 0.001)
    denominators = torch._foreach_div(vs, 1 - 0.999**t)
    torch._foreach_sqrt_(denominators)
    torch._foreach_add_(denominators, 1e-8)
    torch._foreach_addcdiv_(params, ms, denominators, -lr / (1 - 0.9**t))
    return params, ms, vs


def adam_right_flat(params, grads, ms, vs, t, lr):
    p, g, m, v = (torch.cat([one.reshape(-1) for one in each]) for each in (params, grads, ms, vs))
    m = 0.9 * m + 0.1 * g
    v = 0.999 * v + 0.001 * g * g
    p = p - lr * (m / (1 - 0.9**t)) / ((v / (1 - 0.999**t)).sqrt() + 1e-8)
    sizes = [one.numel() for one in params]
    return [
        [part.view(one.shape) for part, one in zip(each.split(sizes), params, strict=True)]
        for each in (p, m, v)
    ]


def adam_right_new_lists(params, grads, ms, vs, t, lr):
    ms = torch._foreach_add(torch._foreach_mul(ms, 0.9), grads, alpha=0.1)
    squares = torch._foreach_mul(grads, grads)
    vs = torch._foreach_add(torch._foreach_mul(vs, 0.999), squares, alpha=0.001)
    steps = torch._foreach_div(ms, 1 - 0.9**t)
    below = torch._foreach_add(torch._foreach_sqrt(torch._foreach_div(vs, 1 - 0.999**t)), 1e-8)
    return torch._foreach_sub(params, torch._foreach_div(steps, below), alpha=lr), ms, vs


def adam_right_in_six(params, grads, ms, vs, t, lr):
    # Epsilon is scaled, not the root. Where lerp takes a list of weights, ms and vs are one list.
    torch._foreach_lerp_(ms, grads, 0.1)
    torch._foreach_mul_(vs, 0.999)
    torch._foreach_addcmul_(vs, grads, grads, 0.001)
    scale = math.sqrt(1 - 0.999**t)
    below = torch._foreach_sqrt(vs)
    torch._foreach_add_(below, 1e-8 * scale)
    torch._foreach_addcdiv_(params, ms, below, -lr * scale / (1 - 0.9**t))
    return params, ms, vs


def adam_slow_fused_a_tensor(params, grads, ms, vs, t, lr):
    for p, g, m, v in zip(params, grads, ms, vs, strict=True):
        m.lerp_(g, 0.1)
        v.mul_(0.999).addcmul_(g, g, value=0.001)
        p.addcdiv_(m, (v / (1 - 0.999**t)).sqrt_().add_(1e-8), value=-lr / (1 - 0.9**t))
    return params, ms, vs


def adam_slow_as_given(params, grads, ms, vs, t, lr):
    for p, g, m, v in zip(params, grads, ms, vs, strict=True):
        m.mul_(0.9)
        m.add_(0.1 * g)
        v.mul_(0.999)
        v.add_(0.001 * g * g)
        p.sub_(lr * (m / (1 - 0.9**t)) / ((v / (1 - 0.999**t)).sqrt() + 1e-8))
    return params, ms, vs


def adam_expected(params, grads, ms, vs, t, lr):
    found = [[], [], []]
    for p, g, m, v in zip(params, grads, ms, vs, strict=True):
        p, g, m, v = (each.double() for each in (p, g, m, v))
        m = m + (g - m) / 10
        v = v + (g**2 - v) / 1000
        step = m / (1 - 0.9**t) / ((v / (1 - 0.999**t)) ** 0.5 + 1e-8)
        for kept, new in zip(found, (p - lr * step, m, v), strict=True):
            kept.append(new.float())
    return {
        "result": found,
        "gradients_are_left_alone": True,
        "numbers_read_out_must_be_0": 0,
    }


def adam_cases(rng, given):
    def case(t, shapes, scale=1.0, lr=0.01):
        def some():
            return [torch.from_numpy(rng.normal(size=shape)).float() for shape in shapes]

        zero = t == 1
        ms, vs = some(), [one**2 for one in some()]
        return {
            "params": some(),
            "grads": [one * scale for one in some()],
            "ms": [one * 0 if zero else one * 0.1 for one in ms],
            "vs": [one * 0 if zero else one for one in vs],
            "t": t,
            "lr": lr,
        }

    yield "edge", case(1, [(1,)])
    yield "edge", case(1, [(3,), (2, 2)])
    yield "edge", case(1, [(4,), (2, 3)], scale=1e-7)
    yield "edge", case(2, [(2, 3, 2), (1,), (5,)], lr=0.5)
    for t in (3, 40, int(rng.integers(5, 30)), 1000):
        shapes = [tuple(int(n) for n in rng.integers(1, 5, size=rank)) for rank in (1, 2, 3, 1)]
        yield "random", case(t, shapes, lr=float(rng.uniform(0.01, 0.2)))


def adam_wrong_by_numpy(params, grads, ms, vs, t, lr):
    """Right numbers, and one launch, which is not of the work."""
    torch.zeros(1).add_(1)
    for p, g, m, v in zip(params, grads, ms, vs, strict=True):
        P, G, M, V = (each.numpy() for each in (p, g, m, v))
        M[...] = 0.9 * M + 0.1 * G
        V[...] = 0.999 * V + 0.001 * G * G
        P[...] = P - lr / (1 - 0.9**t) * M / (np.sqrt(V / (1 - 0.999**t)) + 1e-8)
    return params, ms, vs


def adam_wrong_number_by_number(params, grads, ms, vs, t, lr):
    """The arithmetic is Python's, which launches nothing."""
    found = [[], [], []]
    for each in zip(params, grads, ms, vs, strict=True):
        rows = []
        for p, g, m, v in zip(*(one.reshape(-1) for one in each), strict=True):
            p, g, m, v = (float(one) for one in (p, g, m, v))
            m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
            root = math.sqrt(v / (1 - 0.999**t))
            rows.append((p - lr * m / (1 - 0.9**t) / (root + 1e-8), m, v))
        for kept, new in zip(found, zip(*rows, strict=True), strict=True):
            kept.append(torch.tensor(new).reshape(each[0].shape))
    return found


def adam_wrong_pytorchs_own(params, grads, ms, vs, t, lr):
    steps = [torch.tensor(t - 1.0) for _ in params]
    torch._fused_adam_(
        params, grads, ms, vs, [], steps, lr=lr, beta1=0.9, beta2=0.999,
        weight_decay=0.0, eps=1e-8, amsgrad=False, maximize=False,
    )  # fmt: skip
    return params, ms, vs


def adam_wrong_uncorrected(params, grads, ms, vs, t, lr):
    torch._foreach_lerp_(ms, grads, 0.1)
    torch._foreach_mul_(vs, 0.999)
    torch._foreach_addcmul_(vs, grads, grads, 0.001)
    torch._foreach_addcdiv_(params, ms, torch._foreach_add(torch._foreach_sqrt(vs), 1e-8), -lr)
    return params, ms, vs


def adam_wrong_epsilon_inside(params, grads, ms, vs, t, lr):
    torch._foreach_lerp_(ms, grads, 0.1)
    torch._foreach_mul_(vs, 0.999)
    torch._foreach_addcmul_(vs, grads, grads, 0.001)
    below = torch._foreach_sqrt(torch._foreach_add(torch._foreach_div(vs, 1 - 0.999**t), 1e-8))
    torch._foreach_addcdiv_(params, ms, below, -lr / (1 - 0.9**t))
    return params, ms, vs


def adam_wrong_uses_up_gradients(params, grads, ms, vs, t, lr):
    torch._foreach_lerp_(ms, grads, 0.1)
    torch._foreach_mul_(grads, grads)
    torch._foreach_lerp_(vs, grads, 0.001)
    below = torch._foreach_add(torch._foreach_sqrt(torch._foreach_div(vs, 1 - 0.999**t)), 1e-8)
    torch._foreach_addcdiv_(params, ms, below, -lr / (1 - 0.9**t))
    return params, ms, vs


def adam_wrong_first_tensor_only(params, grads, ms, vs, t, lr):
    p, m, v = adam([params[0]], [grads[0]], [ms[0]], [vs[0]], t, lr)
    return p + params[1:], m + ms[1:], v + vs[1:]


def adam_wrong_weights_swapped(params, grads, ms, vs, t, lr):
    torch._foreach_lerp_(ms, grads, 0.9)
    torch._foreach_mul_(vs, 0.999)
    torch._foreach_addcmul_(vs, grads, grads, 0.001)
    below = torch._foreach_add(torch._foreach_sqrt(torch._foreach_div(vs, 1 - 0.999**t)), 1e-8)
    torch._foreach_addcdiv_(params, ms, below, -lr / (1 - 0.9**t))
    return params, ms, vs


def adam_wrong_flat_shapes(params, grads, ms, vs, t, lr):
    p, m, v = adam(params, grads, ms, vs, t, lr)
    return [one.reshape(-1) for one in p], m, v
