"""Masks by sorted places; properties say what is right, since equal weights may go either way."""

import math
from fractions import Fraction

import numpy as np


def sparsity_at(step, begin, span, initial, final):
    done = min(max((step - begin) / span, 0.0), 1.0)
    return final + (initial - final) * (1 - done) ** 3


def sparsity_at_right_by_cases(step, begin, span, initial, final):
    if step <= begin:
        return initial
    if step >= begin + span:
        return final
    left = (begin + span - step) / span
    return final - (final - initial) * left * left * left


def sparsity_at_expected(step, begin, span, initial, final):
    """With exact fractions."""
    low, high = Fraction(initial), Fraction(final)
    left = min(max(Fraction(begin + span - step, span), Fraction(0)), Fraction(1))
    return float(high + (low - high) * left**3)


def sparsity_at_cases(rng, given):
    begin, span, final = given["begin"], given["span"], given["final"]

    def case(step, initial=0.0):
        return {"step": step, "begin": begin, "span": span, "initial": initial, "final": final}

    yield "outside", case(0)
    yield "outside", case(begin - 1, 0.1)
    yield "outside", case(begin)
    yield "outside", case(begin + span)
    yield "outside", case(begin + span + 7, 0.05)
    yield "outside", case(3 * (begin + span))
    yield "during", case(begin + 1)
    yield "during", case(begin + span // 2, 0.2)
    yield "during", case(begin + span - 1)
    yield "during", case(begin + span // 4, 0.99)  # a schedule may also give weights back
    for _ in range(4):
        yield "during", case(int(begin + rng.integers(2, span - 1)), float(rng.uniform(0, 0.5)))


def sparsity_at_wrong_linear(step, begin, span, initial, final):
    done = min(max((step - begin) / span, 0.0), 1.0)
    return initial + (final - initial) * done


def sparsity_at_wrong_cubed_share(step, begin, span, initial, final):
    done = min(max((step - begin) / span, 0.0), 1.0)
    return initial + (final - initial) * done**3


def sparsity_at_wrong_not_clamped(step, begin, span, initial, final):
    return final + (initial - final) * (1 - (step - begin) / span) ** 3


def sparsity_at_wrong_clamped_afterwards(step, begin, span, initial, final):
    """Keeps the sparsity from initial to final, but only if it grows."""
    found = sparsity_at_wrong_not_clamped(step, begin, span, initial, final)
    return min(final, max(initial, found))


def sparsity_at_wrong_zero_before(step, begin, span, initial, final):
    return 0.0 if step < begin else sparsity_at(step, begin, span, initial, final)


def sparsity_at_wrong_span_taken_for_end(step, begin, span, initial, final):
    return sparsity_at(step, begin, max(span - begin, 1), initial, final)


def prune_masks(weights, sparsity, scope):
    if scope == "layer":
        return {name: _mask(w.ravel(), sparsity).reshape(w.shape) for name, w in weights.items()}
    everything = np.concatenate([w.ravel() for w in weights.values()])
    mask, masks = _mask(everything, sparsity), {}
    for name, w in weights.items():
        masks[name], mask = mask[: w.size].reshape(w.shape), mask[w.size :]
    return masks


def _mask(values, sparsity):
    mask = np.ones(len(values), dtype=bool)
    mask[np.argsort(np.abs(values))[: int(sparsity * len(values))]] = False
    return mask


def prune_masks_right_largest_kept(weights, sparsity, scope):
    groups = [[name] for name in weights] if scope == "layer" else [list(weights)]
    masks = {name: np.zeros(w.shape, dtype=bool) for name, w in weights.items()}
    for names in groups:
        ranked = sorted(
            ((abs(v), name, place) for name in names for place, v in np.ndenumerate(weights[name])),
            key=lambda item: -item[0],
        )
        for _, name, place in ranked[: len(ranked) - math.floor(sparsity * len(ranked))]:
            masks[name][place] = True
    return masks


def prune_masks_right_by_torch(weights, sparsity, scope):
    import torch

    tensors = {name: torch.from_numpy(w.copy()) for name, w in weights.items()}
    if scope == "layer":
        found = {}
        for name, t in tensors.items():
            lowest = t.abs().flatten().topk(int(sparsity * t.numel()), largest=False).indices
            mask = torch.ones(t.numel(), dtype=torch.bool)
            mask[lowest] = False
            found[name] = mask.view(t.shape).numpy()
        return found
    flat = torch.cat([t.flatten() for t in tensors.values()]).abs()
    mask = torch.ones_like(flat, dtype=torch.bool)
    mask[flat.topk(int(sparsity * flat.numel()), largest=False).indices] = False
    parts = mask.split([t.numel() for t in tensors.values()])
    return {n: p.view(t.shape).numpy() for (n, t), p in zip(tensors.items(), parts, strict=True)}


def prune_masks_expected(weights, sparsity, scope):
    """The masks where no two magnitudes are equal; otherwise the properties alone decide."""
    values = np.concatenate([np.abs(w).ravel() for w in weights.values()])
    if len(np.unique(values)) < len(values):
        return ...
    return prune_masks_right_largest_kept(weights, sparsity, scope)


def prune_masks_holds(inputs, result):
    weights, sparsity = inputs["weights"], inputs["sparsity"]
    if set(result) != set(weights):
        yield "the layers are not those that were given"
        return
    for name, w in weights.items():
        if result[name].shape != w.shape or result[name].dtype != bool:
            yield "a mask has not its layer's shape, or is not of truth values"
            return
    scopes = [[n] for n in weights] if inputs["scope"] == "layer" else [list(weights)]
    for names in scopes:
        size = np.concatenate([np.abs(weights[n]).ravel() for n in names])
        kept = np.concatenate([result[n].ravel() for n in names])
        # Not the sparsity in binary, but what it was meant to be: 0.3 of 10 is 3.
        removed = math.floor(Fraction(str(sparsity)) * len(size))
        if (~kept).sum() != removed:
            yield "another number of weights is removed than should be"
        elif removed and kept.any() and size[~kept].max() > size[kept].min():
            yield "a weight is removed while a smaller one is kept"


def prune_masks_cases(rng, given):
    def layers(*shapes, dtype=np.float64):
        """Layers whose weights differ in scale, so that the scope matters."""
        scales = [3.0, 0.2, 1.0, 0.5]
        return {
            f"layer{i}": (rng.normal(size=shape) * scale).astype(dtype)
            for i, (shape, scale) in enumerate(zip(shapes, scales, strict=False))
        }

    # Sparsities whose product with any of these sizes is exact, or far from a whole number.
    for scope in ("layer", "global"):
        yield scope, {"weights": layers((1,)), "sparsity": 0.5, "scope": scope}
        yield scope, {"weights": layers((4, 5), (30,)), "sparsity": 0.0, "scope": scope}
        yield scope, {"weights": layers((4, 3), (5,)), "sparsity": 1.0, "scope": scope}
        yield scope, {"weights": layers((8, 9), (3, 7), (11,)), "sparsity": 0.75, "scope": scope}
        yield scope, {"weights": layers((40, 6), (5, 4, 3)), "sparsity": 0.875, "scope": scope}
        shapes = [tuple(rng.integers(3, 9, size=2).tolist()) for _ in range(3)]
        yield scope, {"weights": layers(*shapes), "sparsity": 0.625, "scope": scope}
        zeros = {"a": np.zeros((4, 4)), "b": np.ones((2, 8))}
        yield "equal", {"weights": zeros, "sparsity": 0.25, "scope": scope}
        ones = {"a": np.ones((3, 5)), "b": -np.ones(9), "c": np.array([2.0, -1.0])}
        yield "equal", {"weights": ones, "sparsity": 0.5, "scope": scope}
        few = {
            "a": rng.choice([-2.0, -1.0, 1.0, 2.0], size=(6, 6)),
            "b": rng.choice([0.0, 1.0], 20),
        }
        yield "equal", {"weights": few, "sparsity": 0.375, "scope": scope}


def prune_masks_wrong_by_threshold(weights, sparsity, scope):
    def keep(values, sizes):
        count = int(sparsity * len(sizes))
        limit = np.sort(sizes)[count - 1] if count else -1.0
        return np.abs(values) > limit

    everything = np.concatenate([np.abs(w).ravel() for w in weights.values()])
    return {
        name: keep(w, np.abs(w).ravel() if scope == "layer" else everything)
        for name, w in weights.items()
    }


def prune_masks_wrong_signed(weights, sparsity, scope):
    shifted = {name: np.exp(w) for name, w in weights.items()}
    return prune_masks(shifted, sparsity, scope)


def prune_masks_wrong_always_by_layer(weights, sparsity, scope):
    return prune_masks(weights, sparsity, "layer")


def prune_masks_wrong_always_global(weights, sparsity, scope):
    return prune_masks(weights, sparsity, "global")


def prune_masks_wrong_keeps_the_share(weights, sparsity, scope):
    return prune_masks(weights, 1 - sparsity, scope)


def prune_masks_wrong_inverted(weights, sparsity, scope):
    return {name: ~mask for name, mask in prune_masks(weights, sparsity, scope).items()}


def prune_masks_wrong_weights_returned(weights, sparsity, scope):
    masks = prune_masks(weights, sparsity, scope)
    return {name: w * masks[name] for name, w in weights.items()}


def solve(given):
    """Removes weights for real: a schedule of exact fractions, and two layers put together."""
    step = given["begin"] + Fraction(str(given["part"])) * given["span"]
    left = 1 - (step - given["begin"]) / given["span"]
    final = Fraction(str(given["final"]))

    kept = total = 0
    for layer in ("first", "second", "third"):
        size = given[layer]
        allowed = [s for s in (50, 70, 90) if given[f"{layer}_{s}"] <= 1]
        mask = np.arange(10 * size) * 10 >= max(allowed) * size
        kept, total = kept + mask.mean() * size, total + size

    # Three layers that can replace each other: losing one costs nothing, losing all costs a lot.
    def loss(*pruned):
        return 0.0 if len(pruned) < 3 else 40.0

    alone = [loss(layer) for layer in range(3)]
    together = loss(0, 1, 2)
    claims = {
        "bounded": together <= 1,
        "largest": together == max(alone),
        "summed": together == sum(alone),
    }
    return {
        "sparsity_now": float(100 * (final - final * left**3)),
        "overall_sparsity": 100 * (total - kept) / total,
        "combined": "open" if not any(claims.values()) else "bounded",
    }
