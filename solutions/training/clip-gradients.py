"""The second road is exact arithmetic on the elements, one by one."""

import math

import numpy as np
import torch


def clip(gradients, limit, scale=1.0):
    present = [g for g in gradients if g is not None]
    norm = math.sqrt(sum(float(g.double().square().sum()) for g in present)) / scale
    if math.isfinite(norm):
        factor = min(1.0, limit / norm) if norm > 0 else 1.0
        for g in present:
            g.copy_(g.double() * (factor / scale))
    return norm


def clip_right_norm_of_norms(gradients, limit, scale=1.0):
    """Unscaled copies first; the norm by vector_norm, with PyTorch's small addend."""
    unscaled = [None if g is None else g.to(torch.float64) / scale for g in gradients]
    norms = [torch.linalg.vector_norm(u) for u in unscaled if u is not None]
    norm = torch.linalg.vector_norm(torch.stack(norms)) if norms else torch.tensor(0.0)
    if not torch.isfinite(norm):
        return norm
    factor = torch.clamp(limit / (norm + 1e-6), max=1.0)
    for g, u in zip(gradients, unscaled, strict=True):
        if g is not None:
            g[...] = (u * factor).to(g.dtype)
    return norm.item()


def clip_right_by_the_largest(gradients, limit, scale=1.0):
    """float32 after a division by the largest element."""
    present = [g for g in gradients if g is not None]
    largest = max((float(g.abs().max()) for g in present if g.numel()), default=0.0)
    if any(not bool(g.isfinite().all()) for g in present):
        return math.nan
    if largest == 0:
        return 0.0
    total = 0.0
    for g in present:
        total += torch.sum((g.double() / largest).float() ** 2).item()
    norm = largest * total**0.5 / scale
    for g in present:
        if norm > limit:
            g.copy_(g.double() / scale * limit / norm)
        else:
            g.copy_(g.double() / scale)
    return norm


def clip_expected(gradients, limit, scale):
    numbers = [x for g in gradients if g is not None for x in g.double().flatten().tolist()]
    if not all(map(math.isfinite, numbers)):
        return {"norm_is_finite": False, "norm": 0.0, "gradients": gradients}
    norm = math.hypot(*numbers) / scale
    ratio = limit / norm if norm > limit else 1.0
    clipped = [None if g is None else (g.double() / scale * ratio).to(g.dtype) for g in gradients]
    return {"norm_is_finite": True, "norm": norm, "gradients": clipped}


def clip_cases(rng, given):
    limit, scale = given["limit"], float(2 ** given["power"])
    types = [torch.float32, torch.float32, torch.float64, torch.bfloat16]

    def drawn(shapes, times=1.0, dtype=None):
        found = []
        for shape in shapes:
            kind = dtype or types[int(rng.integers(len(types)))]
            found.append(torch.tensor(rng.normal(size=shape) * times).to(kind))
        return found

    def case(gradients, limit=limit, scale=1.0):
        return {"gradients": gradients, "limit": limit, "scale": scale}

    half = {"relative": 2e-2, "absolute": 1e-7}
    yield "small", case([])
    yield "small", case([None, None])
    yield "small", case([torch.zeros(3), None])
    yield "small", case(drawn([(2, 3), (4,)], 0.03, torch.float32))
    yield "small", case(drawn([(5,)], 0.01, torch.float64), scale=2.0)
    yield "clipped", case(drawn([(4,)], 3.0, torch.float32))
    yield "clipped", case([None, *drawn([(3, 4), (4,), ()], 4.0, torch.float32), None])
    yield "clipped", case(drawn([(5, 5), (5,), (2, 2)], 2.0, torch.float64), limit=2.5)
    yield "clipped", case(drawn([(6, 4), (6,)], 5.0), limit=1.5), half
    yield "scaled", case(drawn([(4, 3), (3,)], 3.0 * scale, torch.float32), scale=scale)
    yield "scaled", case([*drawn([(8,)], 0.02 * scale, torch.float32), None], scale=scale)
    yield "scaled", case(drawn([(5,), (3, 2)], 2.0 * scale, torch.float64), scale=scale)
    for bad, scaled in ((math.inf, 16.0), (-math.inf, 1.0), (math.nan, 4.0)):
        gradients = drawn([(3,), (2, 2)], 2.0, torch.float32)
        gradients[int(rng.integers(2))].view(-1)[int(rng.integers(3))] = bad
        yield "non-finite", case([None, *gradients], scale=scaled)
    both = drawn([(4,)], 1.0, torch.float32)
    both[0][0], both[0][1] = math.inf, math.nan
    yield "non-finite", case(both)
    # Not every norm is infinite.
    yield "non-finite", case(drawn([(4,), (3, 2)], 3.0, torch.float32), scale=2.0)
    yield "extreme", case(drawn([(7,), (3,)], 900.0, torch.float16)), half
    yield "extreme", case(drawn([(7,), (2, 2)], 1e30, torch.float32)), {"relative": 1e-3}
    tiny = drawn([(6,), (4,)], 1e-30, torch.float32)
    yield "extreme", case(tiny), {"relative": 2e-3, "absolute": 0.0}


def clip_wrong_each_by_itself(gradients, limit, scale=1.0):
    total = 0.0
    for g in gradients:
        if g is not None:
            norm = float(g.double().norm()) / scale
            total += norm**2
            if not math.isfinite(norm):
                return norm
            g.copy_(g.double() / scale * min(1.0, limit / norm if norm else 1.0))
    return math.sqrt(total)


def clip_wrong_sum_of_norms(gradients, limit, scale=1.0):
    present = [g for g in gradients if g is not None]
    norm = sum(float(g.double().norm()) for g in present) / scale
    if math.isfinite(norm):
        factor = min(1.0, limit / norm) if norm > 0 else 1.0
        for g in present:
            g.copy_(g.double() * (factor / scale))
    return norm


def clip_wrong_always_to_the_limit(gradients, limit, scale=1.0):
    present = [g for g in gradients if g is not None]
    norm = math.sqrt(sum(float(g.double().square().sum()) for g in present)) / scale
    if math.isfinite(norm) and norm > 0:
        for g in present:
            g.copy_(g.double() * (limit / norm / scale))
    return norm


def clip_wrong_before_unscaling(gradients, limit, scale=1.0):
    present = [g for g in gradients if g is not None]
    norm = math.sqrt(sum(float(g.double().square().sum()) for g in present))
    if math.isfinite(norm):
        factor = min(1.0, limit / norm) if norm > 0 else 1.0
        for g in present:
            g.copy_(g.double() * (factor / scale))
    return norm / scale


def clip_wrong_nan_spreads(gradients, limit, scale=1.0):
    present = [g for g in gradients if g is not None]
    norm = math.sqrt(sum(float(g.double().square().sum()) for g in present)) / scale
    factor = min(1.0, limit / (norm + 1e-12))
    for g in present:
        g.copy_(g.double() * (factor / scale))
    return norm


def clip_wrong_in_its_own_type(gradients, limit, scale=1.0):
    present = [g for g in gradients if g is not None]
    norm = math.sqrt(sum(float(g.square().sum()) for g in present)) / scale
    if math.isfinite(norm):
        factor = min(1.0, limit / norm) if norm > 0 else 1.0
        for g in present:
            g.mul_(factor / scale)
    return norm


def clip_wrong_not_in_place(gradients, limit, scale=1.0):
    norm = math.sqrt(sum(float(g.double().square().sum()) for g in gradients if g is not None))
    norm /= scale
    if math.isfinite(norm):
        factor = min(1.0, limit / norm) if norm > 0 else 1.0
        for i, g in enumerate(gradients):
            if g is not None:
                gradients[i] = g * (factor / scale)
    return norm


def solve(given):
    """Makes vectors of those norms, scales them, and clips in either order."""
    rng = np.random.default_rng(5)
    layers = []
    for name in ("first", "second", "third"):
        x = rng.normal(size=9)
        layers.append(x / np.linalg.norm(x) * given[name])
    whole = np.concatenate(layers)
    factor = given["limit"] / np.linalg.norm(whole)
    scaled = whole * 2.0 ** given["power"]
    scaled *= given["limit"] / np.linalg.norm(scaled)
    used = np.linalg.norm(scaled / 2.0 ** given["power"])
    return {"factor": float(factor), "left_over": float(used * 1e6)}
