"""The second road steps through the run with PyTorch's schedulers."""

import math

import numpy as np
import torch
from torch.optim.lr_scheduler import CosineAnnealingLR


def rate_at(step, peak, warmup, total, floor=0.0):
    if step < 0:
        raise ValueError("steps are counted from 0")
    if step >= total:
        return floor
    if step < warmup:
        return peak * (step + 1) / warmup
    progress = (step - warmup) / (total - warmup)
    return floor + (peak - floor) * (1 + math.cos(math.pi * progress)) / 2


def rate_at_right_half_angle(step, peak, warmup, total, floor=0.0):
    """(1 + cos x) / 2 is the square of the cosine of half the angle."""
    if step < 0:
        raise ValueError(step)
    if step < min(warmup, total):
        return float(np.interp(step, [-1, warmup - 1], [0.0, peak]))
    p = min(1.0, (step - warmup) / max(1, total - warmup)) if step < total else 1.0
    share = np.cos(0.5 * np.pi * p) ** 2
    return float(peak * share + floor * (1.0 - share))


def rate_at_right_table(step, peak, warmup, total, floor=0.0):
    """Fills in the whole schedule, and looks it up."""
    if step < 0:
        raise ValueError("negative")
    table = [peak / warmup * (s + 1) for s in range(warmup)]
    rest = total - warmup
    table += [
        0.5 * (peak + floor) + 0.5 * (peak - floor) * math.cos(math.pi / rest * s)
        for s in range(rest)
    ]
    return table[step] if step < total else floor


def rate_at_expected(step, peak, warmup, total, floor=0.0):
    """PyTorch's cosine schedule, step by step, after a warm-up by hand."""
    if step < 0:
        raise ValueError
    if step >= total:
        return floor
    if step < warmup:
        return sum(peak / warmup for _ in range(step + 1))
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=peak)
    schedule = CosineAnnealingLR(optimizer, T_max=total - warmup, eta_min=floor)
    for _ in range(step - warmup):
        optimizer.step()
        schedule.step()
    return optimizer.param_groups[0]["lr"]


def rate_at_cases(rng, given):
    peak = given["peak"] * 1e-4

    def case(step, warmup, total, floor=0.0, peak=peak):
        return {"step": step, "peak": peak, "warmup": warmup, "total": total, "floor": floor}

    warmup = int(rng.integers(5, 12))
    total = warmup + int(rng.integers(20, 40))
    for step in (0, 1, warmup - 1):
        yield "warm-up", case(step, warmup, total)
        yield "warm-up", case(step, warmup, total, floor=peak / 10)
    for step in (warmup, warmup + 1, (warmup + total) // 2, total - 1):
        yield "decay", case(step, warmup, total)
        yield "decay", case(step, warmup, total, floor=peak / 10)
    yield "edges", case(0, 0, 10)
    yield "edges", case(3, 0, 12, floor=peak / 5)
    yield "edges", case(9, 10, 10)
    yield "edges", case(10, 10, 10, floor=peak / 4)
    yield "edges", case(total, warmup, total, floor=peak / 10)
    yield "edges", case(total + 7, warmup, total, floor=peak / 10)
    yield "edges", case(0, 1, 2)
    yield "negative", case(-1, warmup, total)
    yield "negative", case(-total, 0, total)
    yield "negative", case((warmup + total) // 2, warmup, total)  # not everything is refused


def rate_at_wrong_starts_at_zero(step, peak, warmup, total, floor=0.0):
    if step < 0:
        raise ValueError
    if step >= total:
        return floor
    if step < warmup:
        return peak * step / warmup
    progress = (step - warmup) / (total - warmup)
    return floor + (peak - floor) * (1 + math.cos(math.pi * progress)) / 2


def rate_at_wrong_decay_counted_from_zero(step, peak, warmup, total, floor=0.0):
    if step < 0:
        raise ValueError
    if step >= total:
        return floor
    if step < warmup:
        return peak * (step + 1) / warmup
    return floor + (peak - floor) * (1 + math.cos(math.pi * step / total)) / 2


def rate_at_wrong_divides_by_zero(step, peak, warmup, total, floor=0.0):
    if step < 0:
        raise ValueError
    warm = peak * (step + 1) / warmup
    progress = min(1.0, (step - warmup) / (total - warmup))
    if step < warmup:
        return warm
    return floor + (peak - floor) * (1 + math.cos(math.pi * progress)) / 2


def rate_at_wrong_rises_again(step, peak, warmup, total, floor=0.0):
    """The cosine goes on beyond the end."""
    if step < 0:
        raise ValueError
    if step < warmup:
        return peak * (step + 1) / warmup
    progress = (step - warmup) / max(1, total - warmup)
    return floor + (peak - floor) * (1 + math.cos(math.pi * progress)) / 2


def rate_at_wrong_floor_as_a_minimum(step, peak, warmup, total, floor=0.0):
    if step < 0:
        raise ValueError
    if step >= total:
        return floor
    if step < warmup:
        return peak * (step + 1) / warmup
    progress = (step - warmup) / (total - warmup)
    return max(floor, peak * (1 + math.cos(math.pi * progress)) / 2)


def rate_at_wrong_warmup_from_the_floor(step, peak, warmup, total, floor=0.0):
    if step < 0:
        raise ValueError
    if step >= total:
        return floor
    if step < warmup:
        return floor + (peak - floor) * (step + 1) / warmup
    progress = (step - warmup) / (total - warmup)
    return floor + (peak - floor) * (1 + math.cos(math.pi * progress)) / 2


def rate_at_wrong_no_error(step, peak, warmup, total, floor=0.0):
    if step >= total:
        return floor
    if step < warmup:
        return peak * (step + 1) / warmup
    progress = (step - warmup) / (total - warmup)
    return floor + (peak - floor) * (1 + math.cos(math.pi * progress)) / 2


def solve(given):
    """Hands sequences to the replicas until an epoch has none left for a whole batch."""
    replicas = {gpu // given["tensor_parallel"] for gpu in range(given["gpus"])}
    taken = 0
    for _micro in range(given["accumulation"]):
        taken += sum(given["micro"] for _replica in replicas)
    steps = 0
    for _epoch in range(given["epochs"]):
        left = given["samples"]
        while True:
            if taken > left:
                break
            left -= taken
            steps += 1
    warm = round(steps * 5 * given["tenth"] / 100)
    peak = float(given["peak"])
    later = rate_at_expected(round(0.6 * steps), peak, warm, steps, floor=peak / 10)
    return {"steps": steps, "later": later}
