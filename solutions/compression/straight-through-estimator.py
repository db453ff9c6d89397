"""A function for autograd; the second roads are the detach idiom and derivatives by hand."""

import numpy as np
import torch


class fake_quantize(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale, low, high):
        codes = torch.round(x / scale)
        ctx.save_for_backward((codes >= low) & (codes <= high))
        return torch.clamp(codes, low, high) * scale

    @staticmethod
    def backward(ctx, upstream):
        (inside,) = ctx.saved_tensors
        return upstream * inside, None, None, None


class fake_quantize_right_keeps_the_input(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale, low, high):
        ctx.save_for_backward(x)
        ctx.limits = scale, low, high
        return (x / scale).round_().clamp_(low, high).mul_(scale)

    @staticmethod
    def backward(ctx, upstream):
        (x,) = ctx.saved_tensors
        scale, low, high = ctx.limits
        steps = torch.round(x / scale)
        return torch.where(steps == steps.clamp(low, high), upstream, 0), None, None, None


class fake_quantize_right_without_a_function:
    @staticmethod
    def apply(x, scale, low, high):
        codes = torch.round(x.detach() / scale)
        passed = x * ((codes >= low) & (codes <= high))
        return passed + (codes.clamp(low, high) * scale - passed).detach()


def fake_quantize_cases(rng, given):
    def clear(codes, scale, low, high, dtype=torch.float32):
        """Inputs well inside the cells of their codes, and an upstream gradient."""
        codes = np.asarray(codes, dtype=np.float64)
        x = (codes + rng.uniform(-0.45, 0.45, size=codes.shape)) * scale
        return {
            "x": torch.tensor(x, dtype=dtype),
            "scale": scale,
            "low": low,
            "high": high,
            "upstream": torch.tensor(rng.normal(size=codes.shape), dtype=dtype),
        }

    scale, low, high = given["scale"], given["low"], given["high"]
    yield "inside", clear([1], scale, low, high)
    yield "inside", clear(np.zeros((0, 3)), scale, low, high)
    halves = torch.tensor([-1.5, -0.5, 0.5, 1.5, 2.5]) / 4
    yield "inside", {"x": halves, "scale": 0.25, "low": -4, "high": 4, "upstream": torch.ones(5)}
    # Beyond the last code, and still rounded to it.
    edge = torch.tensor([low - 0.3, low + 0.3, high - 0.3, high + 0.3, low - 0.8, high + 0.8])
    yield (
        "limits",
        {"x": edge * scale, "scale": scale, "low": low, "high": high, "upstream": edge + 100},
    )
    yield "limits", clear([low, high, low, high], scale, low, high, torch.float64)
    yield "limits", clear([0, 1, 0, 1, 2, -1], 1.7, 0, 1)
    beyond = [low - 1, low - 7, high + 1, high + 30, 0, 1]
    yield "clamped", clear(beyond, scale, low, high)
    for _ in range(3):
        scale = float(rng.uniform(0.02, 3))
        shape = (int(rng.integers(2, 6)), int(rng.integers(2, 9)))
        codes = rng.integers(low + 1, high, size=shape)
        yield "inside", clear(codes, scale, low, high)
        beyond = codes + rng.choice([0, high - low, low - high], size=shape)
        yield "clamped", clear(beyond, scale, low, high)


class fake_quantize_wrong_passes_everywhere(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale, low, high):
        return torch.clamp(torch.round(x / scale), low, high) * scale

    @staticmethod
    def backward(ctx, upstream):
        return upstream, None, None, None


class fake_quantize_wrong_upstream_lost(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale, low, high):
        codes = torch.round(x / scale)
        ctx.save_for_backward((codes >= low) & (codes <= high))
        return torch.clamp(codes, low, high) * scale

    @staticmethod
    def backward(ctx, upstream):
        (inside,) = ctx.saved_tensors
        return inside.to(upstream.dtype), None, None, None


class fake_quantize_wrong_limits_left_out(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale, low, high):
        codes = torch.round(x / scale)
        ctx.save_for_backward((codes > low) & (codes < high))
        return torch.clamp(codes, low, high) * scale

    @staticmethod
    def backward(ctx, upstream):
        (inside,) = ctx.saved_tensors
        return upstream * inside, None, None, None


class fake_quantize_wrong_mask_of_the_input(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale, low, high):
        ctx.save_for_backward((x >= low) & (x <= high))
        return torch.clamp(torch.round(x / scale), low, high) * scale

    @staticmethod
    def backward(ctx, upstream):
        (inside,) = ctx.saved_tensors
        return upstream * inside, None, None, None


class fake_quantize_wrong_true_derivative:
    @staticmethod
    def apply(x, scale, low, high):
        return torch.clamp(torch.round(x / scale), low, high) * scale


class fake_quantize_wrong_divided_by_scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale, low, high):
        codes = torch.round(x / scale)
        ctx.save_for_backward((codes >= low) & (codes <= high))
        ctx.scale = scale
        return torch.clamp(codes, low, high) * scale

    @staticmethod
    def backward(ctx, upstream):
        (inside,) = ctx.saved_tensors
        return upstream * inside / ctx.scale, None, None, None


def sgd_steps(w, target, scale, low, high, rate, steps):
    w = w.clone()
    for _ in range(steps):
        codes = torch.round(w / scale)
        inside = (codes >= low) & (codes <= high)
        w -= rate * inside * (codes.clamp(low, high) * scale - target)
    return w


def sgd_steps_right_by_autograd(w, target, scale, low, high, rate, steps):
    w = w.clone().requires_grad_()
    for _ in range(steps):
        y = fake_quantize.apply(w, scale, low, high)
        (grad,) = torch.autograd.grad(((y - target) ** 2).sum() / 2, w)
        w = (w - rate * grad).detach().requires_grad_()
    return w


def sgd_steps_expected(w, target, scale, low, high, rate, steps):
    """Weight by weight, in Python's numbers."""
    found = []
    for start, aim in zip(w.tolist(), target.tolist(), strict=True):
        value = start
        for _ in range(steps):
            code = round(value / scale)
            if low <= code <= high:
                value -= rate * (code * scale - aim)
        found.append(value)
    return torch.tensor(found, dtype=w.dtype)


def sgd_steps_cases(rng, given):
    def made(count, steps, rate):
        """Inputs whose weights never come near an edge between two cells."""
        scale, low, high = given["scale"], given["low"], given["high"]
        while True:
            w = rng.integers(low - 3, high + 4, size=count) + rng.uniform(-0.4, 0.4, size=count)
            target = w + rng.uniform(-4, 4, size=count)
            path, v = [], w.copy()
            for _ in range(steps):
                path.append(v.copy())
                codes = np.round(v)
                v = v - rate * ((codes >= low) & (codes <= high)) * (codes - target)
            path = np.array(path)
            if (np.abs(path - np.floor(path) - 0.5) > 1e-4).all():
                break
        return {
            "w": torch.tensor(w * scale, dtype=torch.float32),
            "target": torch.tensor(target * scale, dtype=torch.float32),
            "scale": scale,
            "low": low,
            "high": high,
            "rate": rate,
            "steps": steps,
        }

    one = torch.tensor([1.3, 0.2, -40.0, 50.0])
    fixed = {"scale": 0.5, "low": -4, "high": 3}
    yield (
        "one",
        {"w": one, "target": torch.tensor([0.1, 0.9, 0.0, 1.0]), **fixed, "rate": 0.1, "steps": 1},
    )
    yield "one", {"w": one, "target": one * 0 + 1, **fixed, "rate": 0.25, "steps": 0}
    yield "one", made(6, 1, 0.3)
    yield (
        "several",
        {"w": one, "target": torch.tensor([0.1, 0.9, 0.0, 1.0]), **fixed, "rate": 0.1, "steps": 12},
    )
    for _ in range(3):
        yield "several", made(8, 10, float(rng.choice([0.07, 0.13, 0.23])))


def sgd_steps_wrong_quantizes_the_weights(w, target, scale, low, high, rate, steps):
    for _ in range(steps):
        y = torch.clamp(torch.round(w / scale), low, high) * scale
        w = y - rate * (y - target)
    return w.clone()


def sgd_steps_wrong_passes_when_clamped(w, target, scale, low, high, rate, steps):
    w = w.clone()
    for _ in range(steps):
        w -= rate * (torch.clamp(torch.round(w / scale), low, high) * scale - target)
    return w


def sgd_steps_wrong_gradient_of_the_weight(w, target, scale, low, high, rate, steps):
    w = w.clone()
    for _ in range(steps):
        codes = torch.round(w / scale)
        w -= rate * ((codes >= low) & (codes <= high)) * (w - target)
    return w


def sgd_steps_wrong_quantized_once(w, target, scale, low, high, rate, steps):
    codes = torch.round(w / scale)
    grad = ((codes >= low) & (codes <= high)) * (codes.clamp(low, high) * scale - target)
    return w - rate * steps * grad


def solve(given):
    """The gradients by the detach idiom, with a step of 1."""
    n = torch.tensor([given["inner"], given["outer"]], dtype=torch.float64)
    target = n + given["slope"]
    w = n.clone().requires_grad_()
    clamped = w.clamp(given["low"] - 0.5, given["high"] + 0.5)
    y = clamped + (torch.round(n).clamp(given["low"], given["high"]) - clamped).detach()
    ((y - target) ** 2).sum().div(2).backward()
    x = torch.linspace(-3.3, 3.3, 40, requires_grad=True)
    torch.round(x).sum().backward()

    weight, steps = n[:1], 0
    while torch.equal(torch.round(weight), torch.round(n[:1])):
        limits = given["low"], given["high"]
        weight = sgd_steps(weight, target[:1], 1.0, *limits, given["learning_rate"], 1)
        steps += 1
    return {
        "until_next_code": steps,
        "gradients": [[g] for g in w.grad.tolist()],
        "without": "stuck" if not x.grad.any() else "noisy",
    }
