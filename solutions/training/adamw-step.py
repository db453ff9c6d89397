"""The second road is PyTorch's own optimizer, in float64."""

import math

import numpy as np
import torch


def adamw_step(parameters, state, rate, betas=(0.9, 0.999), eps=1e-8, decay=0.01):
    with torch.no_grad():
        for number, p in enumerate(parameters):
            if p.grad is None:
                continue
            if number not in state:
                state[number] = [0, torch.zeros_like(p), torch.zeros_like(p)]
            entry = state[number]
            entry[0] += 1
            t, m, v = entry
            m.mul_(betas[0]).add_(p.grad, alpha=1 - betas[0])
            v.mul_(betas[1]).addcmul_(p.grad, p.grad, value=1 - betas[1])
            p.mul_(1 - rate * decay)
            size = (v / (1 - betas[1] ** t)).sqrt_().add_(eps)
            p.addcdiv_(m / (1 - betas[0] ** t), size, value=-rate)


@torch.no_grad()
def adamw_step_right_new_tensors(parameters, state, rate, betas=(0.9, 0.999), eps=1e-8, decay=0.01):
    """New moments in each step, by the parameter itself; copied into place at the end."""
    one, two = betas
    for p in parameters:
        g = p.grad
        if g is None:
            continue
        t, m, v = state.get(p, (0, 0.0, 0.0))
        t, m, v = t + 1, one * m + (1 - one) * g, two * v + (1 - two) * g**2
        state[p] = t, m, v
        step = m / (1 - one**t) / (torch.sqrt(v / (1 - two**t)) + eps)
        p.copy_(p - rate * (decay * p + step))


def adamw_step_right_numpy(parameters, state, rate, betas=(0.9, 0.999), eps=1e-8, decay=0.01):
    """Through numpy views of the same memory, with the correction in the rate."""
    counts = state.setdefault("counts", [0] * len(parameters))
    moments = state.setdefault("moments", {})
    for i, p in enumerate(parameters):
        if p.grad is None:
            continue
        counts[i] += 1
        w, g = p.data.numpy(), p.grad.numpy()
        if i not in moments:
            moments[i] = np.zeros_like(w), np.zeros_like(w)
        m, v = moments[i]
        m[...] = betas[0] * m + (1 - betas[0]) * g
        v[...] = betas[1] * v + (1 - betas[1]) * g * g
        first, second = (1 - beta ** counts[i] for beta in betas)
        w -= rate * decay * w
        w -= rate / first * m / (np.sqrt(v) / math.sqrt(second) + eps)


def adamw_step_expected(weights, gradients, rate, betas, eps, decay):
    parameters = [torch.nn.Parameter(w.double().clone()) for w in weights]
    optimizer = torch.optim.AdamW(parameters, lr=rate, betas=betas, eps=eps, weight_decay=decay)
    history = []
    for step in gradients:
        for p, gradient in zip(parameters, step, strict=True):
            p.grad = None if gradient is None else gradient.double()
        optimizer.step()
        now = [p.detach().clone().to(w.dtype) for p, w in zip(parameters, weights, strict=True)]
        history.append({"parameters": now, "gradients_changed": False})
    return history


def adamw_step_cases(rng, given):
    def case(shapes, steps, rate=None, two=None, decay=0.0, eps=1e-8, missing=(), dtype=None):
        def drawn(shape, times=1.0):
            return torch.tensor(rng.normal(size=shape) * times).to(dtype or torch.float32)

        return {
            "weights": [drawn(shape) for shape in shapes],
            "gradients": [
                [None if (t, i) in missing else drawn(s, 10.0**-i) for i, s in enumerate(shapes)]
                for t in range(steps)
            ],
            "rate": rate or given["rate"],
            "betas": (0.9, two or given["beta_two"]),
            "eps": eps,
            "decay": decay,
        }

    decay = given["decay"]
    yield "first step", case([(1,)], 1)
    yield "first step", case([(3, 4), (4,), ()], 1)
    yield "first step", case([(2, 2)], 1, eps=0.5)
    yield "many steps", case([(5,)], 2)
    yield "many steps", case([(3, 3), (3,)], 6)
    yield "many steps", case([(4,), (2, 3)], 12, two=0.9, dtype=torch.float64)
    yield "many steps", case([(6,)], 8, eps=0.1)
    yield "decay", case([(4,)], 1, decay=decay)
    yield "decay", case([(3, 2), (2,)], 5, decay=decay)
    yield "decay", case([(8,)], 9, rate=0.1, decay=0.5, two=0.99)
    yield "no gradient", case([(3,), (2,)], 1, decay=decay, missing={(0, 1)})
    yield "no gradient", case([(3,), (2,)], 4, decay=decay, missing={(0, 0), (2, 0), (2, 1)})
    dead = {(t, 1) for t in range(6)}
    yield "no gradient", case([(3,), (2, 2), (1,)], 6, decay=decay, missing={*dead, (1, 0), (3, 2)})


def adamw_step_wrong_decay_in_gradient(
    parameters, state, rate, betas=(0.9, 0.999), eps=1e-8, decay=0.01
):
    with torch.no_grad():
        for p in parameters:
            if p.grad is None:
                continue
            g = p.grad + decay * p
            t, m, v = state.get(p, (0, 0.0, 0.0))
            t, m, v = t + 1, betas[0] * m + (1 - betas[0]) * g, betas[1] * v + (1 - betas[1]) * g**2
            state[p] = t, m, v
            p.sub_(rate * m / (1 - betas[0] ** t) / ((v / (1 - betas[1] ** t)).sqrt() + eps))


def adamw_step_wrong_no_correction(
    parameters, state, rate, betas=(0.9, 0.999), eps=1e-8, decay=0.01
):
    with torch.no_grad():
        for p in parameters:
            if p.grad is None:
                continue
            g = p.grad
            m, v = state.get(p, (0.0, 0.0))
            m, v = betas[0] * m + (1 - betas[0]) * g, betas[1] * v + (1 - betas[1]) * g**2
            state[p] = m, v
            p.sub_(rate * (decay * p + m / (v.sqrt() + eps)))


def adamw_step_wrong_new_tensor(parameters, state, rate, betas=(0.9, 0.999), eps=1e-8, decay=0.01):
    """Binds a name to the result; the parameters stay as they were."""
    with torch.no_grad():
        for p in parameters:
            if p.grad is None:
                continue
            g = p.grad
            t, m, v = state.get(p, (0, 0.0, 0.0))
            t, m, v = t + 1, betas[0] * m + (1 - betas[0]) * g, betas[1] * v + (1 - betas[1]) * g**2
            state[p] = t, m, v
            step = m / (1 - betas[0] ** t) / ((v / (1 - betas[1] ** t)).sqrt() + eps)
            p = p - rate * (decay * p + step)


def adamw_step_wrong_eps_inside_root(
    parameters, state, rate, betas=(0.9, 0.999), eps=1e-8, decay=0.01
):
    with torch.no_grad():
        for p in parameters:
            if p.grad is None:
                continue
            g = p.grad
            t, m, v = state.get(p, (0, 0.0, 0.0))
            t, m, v = t + 1, betas[0] * m + (1 - betas[0]) * g, betas[1] * v + (1 - betas[1]) * g**2
            state[p] = t, m, v
            step = m / (1 - betas[0] ** t) / (v / (1 - betas[1] ** t) + eps).sqrt()
            p.sub_(rate * (decay * p + step))


def adamw_step_wrong_one_counter(parameters, state, rate, betas=(0.9, 0.999), eps=1e-8, decay=0.01):
    t = state["t"] = state.get("t", 0) + 1
    with torch.no_grad():
        for p in parameters:
            if p.grad is None:
                continue
            g = p.grad
            m, v = state.get(p, (0.0, 0.0))
            m, v = betas[0] * m + (1 - betas[0]) * g, betas[1] * v + (1 - betas[1]) * g**2
            state[p] = m, v
            step = m / (1 - betas[0] ** t) / ((v / (1 - betas[1] ** t)).sqrt() + eps)
            p.sub_(rate * (decay * p + step))


def adamw_step_wrong_decay_without_rate(
    parameters, state, rate, betas=(0.9, 0.999), eps=1e-8, decay=0.01
):
    with torch.no_grad():
        for p in parameters:
            if p.grad is None:
                continue
            g = p.grad
            t, m, v = state.get(p, (0, 0.0, 0.0))
            t, m, v = t + 1, betas[0] * m + (1 - betas[0]) * g, betas[1] * v + (1 - betas[1]) * g**2
            state[p] = t, m, v
            step = m / (1 - betas[0] ** t) / ((v / (1 - betas[1] ** t)).sqrt() + eps)
            p.sub_(decay * p + rate * step)


def adamw_step_wrong_state_made_anew(
    parameters, state, rate, betas=(0.9, 0.999), eps=1e-8, decay=0.01
):
    """The caller's dict stays empty."""
    state = {}
    with torch.no_grad():
        for p in parameters:
            if p.grad is None:
                continue
            g = p.grad
            t, m, v = state.get(p, (0, 0.0, 0.0))
            t, m, v = t + 1, betas[0] * m + (1 - betas[0]) * g, betas[1] * v + (1 - betas[1]) * g**2
            state[p] = t, m, v
            step = m / (1 - betas[0] ** t) / ((v / (1 - betas[1] ** t)).sqrt() + eps)
            p.sub_(rate * (decay * p + step))


def _one_step(kind, given):
    weight = torch.nn.Parameter(torch.tensor(given["weight"], dtype=torch.float64))
    weight.grad = torch.tensor(given["gradient"], dtype=torch.float64)
    options = {"lr": given["rate"], "weight_decay": given["decay"], "eps": 1e-12}
    kind([weight], **options).step()
    return weight.item()


def solve(given):
    return {
        "after": _one_step(torch.optim.AdamW, given),
        "mixed_in": _one_step(torch.optim.Adam, given),
    }
