"""Runs an optimizer step of each recipe on a small matrix, and adds up the tensors in memory."""

import functools

import torch

COUNT = 128 * 128


def solve(given):
    first = size(start(given["first"]))
    second = size(start(given["second"]))
    both, later = start(given["third"])
    third = size([*both, *later])
    fourth = size(start(given["fourth"]))
    parameters = given["billions"] * 1e9
    shards = [tensor.view(given["ranks"], -1)[0] for tensor in later]
    return {
        "per_parameter": [[first], [second], [third], [fourth]],
        "allocated": third * parameters / 2**30,
        "larger": 100 * (first / second - 1),
        "distributed": size([*both, *shards]) * parameters / 1e9,
        "smaller": smaller(given),
    }


def smaller(given):
    one = {"read": 4, "saved": 4 if given["first"] == "fp32" else 2, "reduced": 4}
    three = {
        "read": 2,
        "saved": 2,
        "reduced": 4 if given["third"] == "main-gradients" else 2,
    }
    return {name for name in one if three[name] < one[name]}


def size(tensors):
    """The bytes of the tensors, per parameter of the matrix."""
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors) / COUNT


@functools.cache
def start(name):
    """The tensors of a recipe after one step; for recipe 3, those of the passes and the others."""
    torch.manual_seed(0)
    model = torch.nn.Linear(128, 128, bias=False)
    x = torch.ones(2, 128)
    if name in ("halves", "main-gradients", "copied-gradients"):
        return master(model, x, name)
    if name in ("cast", "fp32-moments", "small-moments"):
        model, x = model.to(torch.bfloat16), x.to(torch.bfloat16)
    options = {
        "momentum": (torch.optim.SGD, {"lr": 0.1, "momentum": 0.9}),
        "Adagrad": (torch.optim.Adagrad, {}),
        "Adadelta": (torch.optim.Adadelta, {}),
        "amsgrad": (torch.optim.AdamW, {"amsgrad": True}),
        "RMSprop": (torch.optim.RMSprop, {"centered": True, "momentum": 0.9}),
    }
    kind, more = options.get(name, (torch.optim.AdamW, {}))
    optimizer = kind(model.parameters(), **more)
    with torch.autocast("cpu", torch.bfloat16, enabled=name == "autocast"):
        loss = model(x).float().square().mean()
    loss.backward()
    optimizer.step()
    state = kept(optimizer)
    if name == "fp32-moments":
        state = [tensor.float() for tensor in state]
    if name == "small-moments":
        state = [tensor.to(torch.uint8) for tensor in state]
    return [model.weight, model.weight.grad, *state]


def master(model, x, name):
    """Recipes with fp32 master weights."""
    weights = model.weight.detach().clone()
    half = torch.float16 if name == "copied-gradients" else torch.bfloat16
    model, x = model.to(half), x.to(half)
    model(x).sum().backward()
    gradients, copy = model.weight.grad, []
    weights.grad = gradients.float()
    if name == "main-gradients":
        gradients = weights.grad
    elif name == "copied-gradients":
        copy = [weights.grad]
    optimizer = torch.optim.AdamW([weights])
    optimizer.step()
    return [model.weight, gradients], [*copy, weights, *kept(optimizer)]


def kept(optimizer):
    """The state of the optimizer, without step counters."""
    return [
        value
        for state in optimizer.state.values()
        for value in state.values()
        if torch.is_tensor(value) and value.numel() == COUNT
    ]
