"""The second road is one forward pass over all rows that count, in float64."""

from itertools import pairwise

import numpy as np
import torch
from torch.nn import functional


def accumulate(model, micro_batches, padding):
    total = sum(int((targets != padding).sum()) for _, targets in micro_batches)
    model.zero_grad()
    loss = 0.0
    for inputs, targets in micro_batches:
        part = (
            functional.cross_entropy(model(inputs), targets, ignore_index=padding, reduction="sum")
            / total
        )
        if part.requires_grad:
            part.backward()
        loss += part.item()
    return loss


def accumulate_right_mean_times_share(model, micro_batches, padding):
    """Only rows that count are run; means are weighted by their share."""
    for p in model.parameters():
        p.grad = None
    total = 0
    for _, targets in micro_batches:
        total += torch.count_nonzero(targets != padding)
    loss = torch.zeros(())
    for inputs, targets in micro_batches:
        counted = targets != padding
        if not counted.any():
            continue
        mean = functional.cross_entropy(model(inputs[counted]), targets[counted])
        weighted = mean * (counted.sum() / total)
        if weighted.requires_grad:
            weighted.backward()
        loss += weighted.detach()
    return loss


def accumulate_right_divided_at_the_end(model, micro_batches, padding):
    """Sums everything by hand, and divides loss and gradients last."""
    parameters = [p for p in model.parameters() if p.requires_grad]
    sums = [torch.zeros_like(p) for p in parameters]
    loss, rows = 0.0, 0
    for inputs, targets in micro_batches:
        logs = torch.log_softmax(model(inputs), dim=1)
        keep = [i for i, target in enumerate(targets.tolist()) if target != padding]
        if not keep:
            del logs
            continue
        part = -logs[keep, targets[keep]].sum()
        rows += len(keep)
        loss += part.item()
        if parameters:
            gradients = torch.autograd.grad(part, parameters)
            sums = [s + gradient for s, gradient in zip(sums, gradients, strict=True)]
        del logs, part
    for p, total in zip(parameters, sums, strict=True):
        p.grad = total / rows
    return loss / rows


def accumulate_expected(layers, micro_batches, padding, watched=False):
    x = torch.cat([inputs for inputs, _ in micro_batches]).double()
    y = torch.cat([targets for _, targets in micro_batches])
    x, y = x[y != padding], y[y != padding]
    leaves = []
    for number, (weight, bias, trained) in enumerate(layers):
        w, b = (t.double().requires_grad_(trained) for t in (weight, bias))
        x = (torch.tanh(x) if number else x) @ w.T + b
        leaves += [w, b]
    picked = x.gather(1, y[:, None])[:, 0]
    loss = (torch.logsumexp(x, 1) - picked).mean()
    loss.backward()
    gradients = [None if p.grad is None else p.grad.float() for p in leaves]
    result = {"loss": loss.item(), "gradients": gradients}
    if not watched:
        return result
    return result | {
        "rows_too_many_in_one_forward_pass_must_be_0": 0,
        "graphs_piled_up_must_be_0": 0,
    }


def _layers(rng, widths, frozen=()):
    layers = []
    for number, (fan_in, fan_out) in enumerate(pairwise(widths)):
        weight = torch.tensor(rng.normal(size=(fan_out, fan_in)) / fan_in**0.5).float()
        bias = torch.tensor(rng.normal(size=fan_out) * 0.1).float()
        layers.append((weight, bias, number not in frozen))
    return layers


def _micro(rng, rows, features, classes, padding, padded=0):
    x = torch.tensor(rng.normal(size=(rows, features))).float()
    y = torch.tensor(rng.integers(0, classes, size=rows))
    y[torch.tensor(rng.permutation(rows)[:padded].copy())] = padding
    return x, y


def accumulate_cases(rng, given):
    padding = given["padding"]

    def case(sizes, padded, widths, frozen=()):
        pairs = zip(sizes, padded, strict=True)
        return {
            "layers": _layers(rng, widths, frozen),
            "micro_batches": [_micro(rng, n, widths[0], widths[-1], padding, p) for n, p in pairs],
            "padding": padding,
        }

    yield "equal", case([1], [0], [3, 2])
    yield "equal", case([4, 4, 4], [0, 0, 0], [5, 6, 4])
    yield "equal", case([4, 4, 4], [0, 0, 0], [5, 6, 4], frozen=(0,))
    yield "unequal", case([1, 9], [0, 0], [4, 3])
    yield "unequal", case([7, 2, 5, 1], [0] * 4, [6, 8, 5])
    yield "padded", case([5, 5], [4, 0], [4, 3])
    yield "padded", case([6, 3, 6], [2, 3, 1], [5, 7, 4])
    yield "padded", case([3, 4], [3, 1], [4, 6, 3], frozen=(1,))
    for _ in range(3):
        sizes = [int(n) for n in rng.integers(1, 12, size=4)]
        yield "unequal", case(sizes, [0] * 4, [6, 7, 5])
        padded = [int(rng.integers(0, n + 1)) for n in sizes]
        yield "padded", case([*sizes, 6], [*padded, 2], [6, 7, 5])
    for sizes in ([5, 5, 5, 5], [3, 8, 1, 6, 4]):
        padded = [int(rng.integers(0, n)) for n in sizes]
        yield "memory", {**case(sizes, padded, [6, 7, 5]), "watched": True}


def accumulate_wrong_mean_of_means(model, micro_batches, padding):
    model.zero_grad()
    loss = 0.0
    for inputs, targets in micro_batches:
        part = functional.cross_entropy(model(inputs), targets, ignore_index=padding) / len(
            micro_batches
        )
        part.backward()
        loss += part.item()
    return loss


def accumulate_wrong_padding_counted(model, micro_batches, padding):
    total = sum(len(targets) for _, targets in micro_batches)
    model.zero_grad()
    loss = 0.0
    for inputs, targets in micro_batches:
        part = (
            functional.cross_entropy(model(inputs), targets, ignore_index=padding, reduction="sum")
            / total
        )
        part.backward()
        loss += part.item()
    return loss


def accumulate_wrong_leftovers(model, micro_batches, padding):
    total = sum(int((targets != padding).sum()) for _, targets in micro_batches)
    loss = 0.0
    for inputs, targets in micro_batches:
        part = (
            functional.cross_entropy(model(inputs), targets, ignore_index=padding, reduction="sum")
            / total
        )
        part.backward()
        loss += part.item()
    return loss


def accumulate_wrong_cleared_each_time(model, micro_batches, padding):
    total = sum(int((targets != padding).sum()) for _, targets in micro_batches)
    loss = 0.0
    for inputs, targets in micro_batches:
        model.zero_grad()
        part = (
            functional.cross_entropy(model(inputs), targets, ignore_index=padding, reduction="sum")
            / total
        )
        part.backward()
        loss += part.item()
    return loss


def accumulate_wrong_one_big_batch(model, micro_batches, padding):
    model.zero_grad()
    inputs = torch.cat([x for x, _ in micro_batches])
    targets = torch.cat([y for _, y in micro_batches])
    loss = functional.cross_entropy(model(inputs), targets, ignore_index=padding)
    loss.backward()
    return loss.item()


def accumulate_wrong_one_backward(model, micro_batches, padding):
    total = sum(int((targets != padding).sum()) for _, targets in micro_batches)
    model.zero_grad()
    loss = 0.0
    for inputs, targets in micro_batches:
        loss += functional.cross_entropy(
            model(inputs), targets, ignore_index=padding, reduction="sum"
        )
    loss = loss / total
    loss.backward()
    return loss.item()


def accumulate_wrong_empty_is_nan(model, micro_batches, padding):
    total = sum(int((targets != padding).sum()) for _, targets in micro_batches)
    model.zero_grad()
    loss = 0.0
    for inputs, targets in micro_batches:
        mean = functional.cross_entropy(model(inputs), targets, ignore_index=padding)
        part = mean * (targets != padding).sum() / total
        part.backward()
        loss += part.item()
    return loss


def solve(given):
    """Adds 1 to the loss of one row of the small micro-batch, and sees what each average does."""
    losses = [np.zeros(given["long"]), np.zeros(given["short"])]
    losses[1][0] = 1.0
    averaged = np.mean([part.mean() for part in losses])
    return {"overweight": float(averaged / np.concatenate(losses).mean())}
