"""Hooks keep weights at 0; drifts are those of optimizers that run step by step."""

import functools

import torch


def keep_pruned(optimizer, masks):
    masks = dict(masks)

    @torch.no_grad()
    def apply(*_):
        for parameter, mask in masks.items():
            parameter.masked_fill_(~mask, 0)

    apply()
    optimizer.register_step_post_hook(apply)


def keep_pruned_right_wraps_step(optimizer, masks):
    kept = [(p, mask.to(p.dtype)) for p, mask in masks.items()]
    step = optimizer.step

    @functools.wraps(step)
    def masked(*args, **kwargs):
        result = step(*args, **kwargs)
        for p, mask in kept:
            p.data *= mask
        return result

    for p, mask in kept:
        p.data *= mask
    optimizer.step = masked


def keep_pruned_right_state_and_gradients(optimizer, masks):
    """Clears the state of pruned weights once, and their gradients before each step."""
    for p, mask in masks.items():
        p.data[~mask] = 0
        for value in optimizer.state[p].values():
            if torch.is_tensor(value) and value.shape == p.shape:
                value[~mask] = 0
        p.register_hook(lambda gradient, mask=mask: gradient * mask)


def keep_pruned_cases(rng, given):
    def case(kind, shapes, steps, pruned_at, masked=None, **settings):
        weights = [torch.tensor(rng.normal(size=shape)) for shape in shapes]
        masked = range(len(shapes)) if masked is None else masked
        calls = {}
        for number in pruned_at:
            masks = [
                torch.tensor(rng.random(shape) < 0.6) if i in masked else None
                for i, shape in enumerate(shapes)
            ]
            for mask in masks:
                if mask is not None:
                    mask.view(-1)[int(rng.integers(mask.numel()))] = False
                    mask.view(-1)[0] = True
            calls.setdefault(number, []).append(masks)
        gradients = [[torch.tensor(rng.normal(size=s)) for s in shapes] for _ in range(steps)]
        return {
            "weights": weights,
            "kind": kind,
            "settings": settings,
            "gradients": gradients,
            "calls": calls,
        }

    momentum, betas = given["momentum"], (given["beta1"], given["beta2"])
    yield "sgd", case("SGD", [(6,)], 3, [0], lr=0.1)
    yield "sgd", case("SGD", [(4, 3), (5,)], 6, [3], lr=0.1, momentum=momentum)
    yield "sgd", case("SGD", [(4, 3), (5,)], 6, [2], [0], lr=0.05, momentum=momentum, nesterov=True)
    yield "sgd", case("SGD", [(7,)], 5, [2], lr=0.1, momentum=0.5, weight_decay=0.2)
    yield "adam", case("Adam", [(4, 3)], 6, [3], lr=0.1, betas=betas)
    yield "adam", case("Adam", [(3, 5), (6,)], 5, [2], [1], lr=0.02)
    yield "adam", case("AdamW", [(2, 3, 2), (5,)], 6, [4], lr=0.1, betas=betas, weight_decay=0.3)
    yield "again", case("Adam", [(5, 4)], 8, [1, 4, 6], lr=0.05, betas=betas)
    yield "again", case("SGD", [(6,), (3, 3)], 7, [2, 4], [1], lr=0.1, momentum=momentum)
    yield "again", case("AdamW", [(8,), (4, 2)], 6, [0, 3], lr=0.1)


def keep_pruned_wrong_only_once(optimizer, masks):
    for p, mask in masks.items():
        p.data[~mask] = 0


def keep_pruned_wrong_gradients_only(optimizer, masks):
    for p, mask in masks.items():
        p.data[~mask] = 0
        p.register_hook(lambda gradient, mask=mask: gradient * mask)


def keep_pruned_wrong_not_yet(optimizer, masks):
    """Prunes after the next step, but not now."""
    masks = dict(masks)

    @torch.no_grad()
    def apply(*_):
        for p, mask in masks.items():
            p *= mask

    optimizer.register_step_post_hook(apply)


def keep_pruned_wrong_before_the_step(optimizer, masks):
    masks = dict(masks)

    @torch.no_grad()
    def apply(*_):
        for p, mask in masks.items():
            p *= mask

    apply()
    optimizer.register_step_pre_hook(apply)


def keep_pruned_wrong_inverted(optimizer, masks):
    keep_pruned(optimizer, {p: ~mask for p, mask in masks.items()})


def keep_pruned_wrong_state_forgotten(optimizer, masks):
    """Clears the complete optimizer state, also that of weights that are kept."""
    keep_pruned(optimizer, masks)
    optimizer.state.clear()
    for group in optimizer.param_groups:
        if "momentum" in group:
            group["momentum"] = 0
        elif "betas" in group:
            group["betas"] = (0.0, 0.999)


def keep_pruned_wrong_freezes(optimizer, masks):
    for p, mask in masks.items():
        p.data[~mask] = 0
        p.register_hook(torch.zeros_like)
        for group in optimizer.param_groups:
            group["params"] = [q for q in group["params"] if q is not p]


def keep_pruned_wrong_last_mask_only(optimizer, masks):
    """Replaces earlier masks when it is called again."""
    known = getattr(optimizer, "masks", None)
    if known is None:
        optimizer.masks = dict(masks)
        for p, mask in masks.items():
            p.data[~mask] = 0

        def apply(*_):
            for p, mask in optimizer.masks.items():
                p.data[~mask] = 0

        optimizer.register_step_post_hook(apply)
    else:
        known.update(masks)
        for p, mask in masks.items():
            p.data[~mask] = 0


def sgd_drift(given):
    weight = torch.zeros(1, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=given["rate"], momentum=given["momentum"])
    optimizer.state[weight]["momentum_buffer"] = torch.full_like(weight, given["velocity"])
    for _ in range(given["count"]):
        weight.grad = torch.zeros_like(weight)
        optimizer.step()
    return weight.item()


def adam_drift(given, gradient=0.37):
    first, second = 0.0, 0.0
    for _ in range(3000):
        first = given["beta1"] * first + (1 - given["beta1"]) * gradient
        second = given["beta2"] * second + (1 - given["beta2"]) * gradient**2
    weight = 0.0
    for _ in range(3000):
        first *= given["beta1"]
        second *= given["beta2"]
        weight -= first / second**0.5
    return abs(weight)


def stays(kind, settings, gradients=True, state=False, after=False, masked=True):
    """Return whether a pruned weight is 0 at the end of fine-tuning on fixed gradients."""
    weight = torch.ones(1, dtype=torch.float64, requires_grad=True)
    optimizer = kind([weight], lr=0.01, **settings)
    for step in range(60):
        if step == 20:
            weight.data.zero_()
            if state:
                optimizer.state[weight]["momentum_buffer"].zero_()
        off = step >= 20 and masked and gradients
        weight.grad = torch.full_like(weight, 0.0 if off else 1 + 0.1 * step)
        optimizer.step()
        if after and step >= 20:
            weight.data.zero_()
    return weight.item() == 0


def solve(given):
    sgd, adam, adamw = torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW
    momentum = {"momentum": given["momentum"]}
    tried = {
        "plain-gradients": stays(sgd, {}),
        "momentum-gradients": stays(sgd, momentum),
        "momentum-both": stays(sgd, momentum, state=True),
        "adam-gradients": stays(adam, {}),
        "weights-after": stays(adam, {}, gradients=False, after=True),
        "weight-decay": stays(adamw, {"weight_decay": 10.0}, masked=False),
    }
    return {
        "velocity_drift": sgd_drift(given),
        "adam_drift": adam_drift(given),
        "enough": {name for name, kept in tried.items() if kept},
    }
