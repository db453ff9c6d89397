"""Runs the program and the optimizer in PyTorch, and plays a training step with a counter of bytes."""

import torch


def solve(given):
    tensors, calls = program(given)
    columns = [weight(given, set_to_none) for set_to_none in (True, False)]
    usual = peak(given, "first", True)
    loops = {
        "argument": peak(given, "first", given["argument"] == 2),
        "place": peak(given, "between" if given["place"] == 1 else "last", True),
        "loop": peak(given, "first", given["loop"] == 2),
        "module": peak(given, "first", given["module"] == 2),
        "accumulation": peak(given, "never", True),
    }
    return {
        "populated": {name for name, found in tensors.items() if found},
        "accumulated": calls,
        "skipped": [list(row) for row in zip(*columns, strict=True)],
        "peak_memory": usual,
        "higher_peak": {name for name, found in loops.items() if found > 1.001 * usual},
    }


def program(given):
    """Which tensors have gradients at the end, and those of w and s after each backward pass."""
    w = torch.tensor(given["weight"], requires_grad=True, dtype=torch.float64)
    s = torch.tensor(given["scale"], requires_grad=True, dtype=torch.float64)
    v = [
        lambda: torch.tensor(0.2),
        lambda: torch.tensor(0.2, requires_grad=True),
        lambda: torch.tensor(0.2, requires_grad=True).double(),
        lambda: torch.tensor(0.2, requires_grad=True).detach(),
    ][given["v_kind"] - 1]()
    calls = []
    for x in (torch.tensor(float(given["first"])), torch.tensor(float(given["second"]))):
        h = w * x
        g = h * s + v
        {"h": h, "g": g}[given["retained"]].retain_grad()
        loss = {1: g + g.detach() * w, 2: g + h.detach() * s, 3: g * h.detach()}[given["detached"]]
        loss.backward()
        calls.append([w.grad.item(), s.grad.item()])
    named = {"w": w, "s": s, "v": v, "h": h, "g": g, "x": x, "loss": loss}
    return {name: has_gradient(tensor) for name, tensor in named.items()}, calls


def has_gradient(tensor):
    return (tensor.is_leaf or tensor.retains_grad) and tensor.grad is not None


def weight(given, set_to_none):
    """The weight of the head after each step; only the first loss contains it."""
    body = torch.nn.Parameter(torch.ones(1, dtype=torch.float64))
    head = torch.nn.Parameter(torch.tensor([given["p0"]], dtype=torch.float64))
    optimizer = torch.optim.SGD(
        [body, head],
        lr=given["rate"],
        momentum=given["momentum"],
        weight_decay=given["decay"],
    )
    found = []
    for step in range(3):
        optimizer.zero_grad(set_to_none=set_to_none)
        loss = body.sum() + (given["gradient"] * head.sum() if step == 0 else 0)
        loss.backward()
        optimizer.step()
        found.append(head.item())
    return found


def peak(given, place, set_to_none, slices=200):
    """The largest GB in the second of two iterations, each pass in slices."""
    parameters = given["millions"] / 1e3
    gradients, most = 0.0, 0.0
    for _ in range(2):
        most = 0.0
        if place == "first" and set_to_none:
            gradients = 0.0
        for index in range(slices + 1):
            most = max(most, gradients + given["activations"] * index / slices)
        if place == "between" and set_to_none:
            gradients = 0.0
        fresh = gradients == 0.0
        for index in range(slices + 1):
            if fresh:
                gradients = 4 * parameters * index / slices
            most = max(most, gradients + given["activations"] * (1 - index / slices))
        if place == "last" and set_to_none:
            gradients = 0.0
    return most + sum(each * parameters for each in (4, 4, 4))
