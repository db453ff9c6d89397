"""The numeric keys by enumerating draws, in whole percentages of percentages; the code in numpy."""

import bisect
import itertools
from fractions import Fraction

import numpy as np


def solve(given):
    p = [Fraction(given[f"p{i}"], 100) for i in range(1, 5)]
    q = [Fraction(given[f"q{i}"], 100) for i in range(1, 5)]
    gained, asked = given["gained"] - 1, given["asked"] - 1
    kept = [q[t] * min(Fraction(1), p[t] / q[t]) for t in range(4)]
    rejected = 1 - sum(kept)
    # The right replacement makes every token as frequent as in p, which determines it.
    replaced = (p[gained] - kept[gained]) / rejected
    return {
        "acceptance": float(100 * sum(kept)),
        "replacement": float(100 * replaced),
        "flaw": float(100 * (kept[asked] + rejected * p[asked])),
    }


def _draw(weights, sample):
    return int(np.searchsorted(np.cumsum(weights / weights.sum()), sample, side="right"))


def verify(target, draft, proposed, accept, sample):
    tokens = []
    for p, q, token, limit in zip(target, draft, proposed, accept, strict=False):
        if limit >= p[token] / q[token]:
            return [*tokens, _draw(np.maximum(p - q, 0), sample)]
        tokens.append(int(token))
    return [*tokens, _draw(target[-1], sample)]


def verify_right_vectorized(target, draft, proposed, accept, sample):
    k = len(proposed)
    positions = np.arange(k)
    ratio = target[positions, proposed] / draft[positions, proposed]
    rejected = np.flatnonzero(accept >= ratio)
    end = int(rejected[0]) if len(rejected) else k
    padded = np.vstack([draft, np.zeros((1, target.shape[1]))])
    rest = np.clip(target[end] - padded[end], 0, None)
    token = int((np.cumsum(rest) <= sample * rest.sum()).sum())
    return [*proposed[:end].tolist(), token]


def verify_expected(target, draft, proposed, accept, sample):
    result = []
    for position in itertools.count():
        p = target[position].tolist()
        q = draft[position].tolist() if position < len(draft) else [0.0] * len(p)
        if position < len(draft):
            token = int(proposed[position])
            if accept[position] * q[token] < p[token]:
                result.append(token)
                continue
        rest = [max(a - b, 0.0) for a, b in zip(p, q, strict=True)]
        sums = list(itertools.accumulate(rest))
        return [*result, bisect.bisect_right(sums, sample * sums[-1])]
    return result


def _round(rng, k, vocabulary, rejected=None):
    """A round whose decisions are clear, with the first rejection at a given position."""
    while True:
        target = rng.dirichlet(np.ones(vocabulary), size=k + 1)
        draft = rng.dirichlet(np.ones(vocabulary), size=k).reshape(k, vocabulary)
        proposed = np.array([rng.choice(vocabulary, p=row) for row in draft], dtype=np.int64)
        positions = np.arange(k)
        ratio = target[positions, proposed] / draft[positions, proposed]
        accept = rng.uniform(0.02, 0.98, size=k) * np.minimum(ratio, 1)
        if rejected is not None:
            if ratio[rejected] > 0.8:
                continue
            accept[rejected] = rng.uniform(1.05, 1.2) * ratio[rejected]
        sample = float(rng.uniform())
        end = k if rejected is None else rejected
        q = draft[end] if end < k else np.zeros(vocabulary)
        rest = np.maximum(target[end] - q, 0)
        edges = np.cumsum(rest) / rest.sum()
        if np.abs(edges - sample).min() > 1e-3:
            return {
                "target": target,
                "draft": draft,
                "proposed": proposed,
                "accept": accept,
                "sample": sample,
            }


def verify_cases(rng, given):
    for k, vocabulary in [(1, 2), (3, 5), (4, 9), (6, 20)]:
        yield "all accepted", _round(rng, k, vocabulary)
    for k, vocabulary, rejected in [
        (1, 3, 0),
        (3, 5, 0),
        (3, 5, 1),
        (5, 12, 3),
        (4, 30, 3),
        (6, 30, 2),
        (6, 30, 4),
    ]:
        yield "one rejected", _round(rng, k, vocabulary, rejected)
    # No draft at all, two equal models, and a draft token that the target never generates.
    yield "special distributions", _round(rng, 0, 7)
    equal = _round(rng, 3, 6)
    equal["draft"] = equal["target"][:3].copy()
    equal["accept"] = np.array([0.999, 0.0, 0.97])
    yield "special distributions", equal
    never = _round(rng, 2, 4)
    never["target"] = np.array([[0.0, 0.5, 0.25, 0.25], [0.25] * 4, [0.25] * 4])
    never["draft"] = np.array([[0.5, 0.25, 0.25, 0.0], [0.25] * 4])
    never["proposed"] = np.array([0, 2])
    never["accept"] = np.array([0.0, 0.5])
    never["sample"] = 0.6
    yield "special distributions", never


def verify_wrong_target_at_rejection(target, draft, proposed, accept, sample):
    tokens = []
    for p, q, token, limit in zip(target, draft, proposed, accept, strict=False):
        if limit >= p[token] / q[token]:
            return [*tokens, _draw(p, sample)]
        tokens.append(int(token))
    return [*tokens, _draw(target[-1], sample)]


def verify_wrong_not_normalized(target, draft, proposed, accept, sample):
    tokens = []
    for p, q, token, limit in zip(target, draft, proposed, accept, strict=False):
        if limit >= p[token] / q[token]:
            sums = np.cumsum(np.maximum(p - q, 0))
            return [*tokens, min(int((sums <= sample).sum()), len(p) - 1)]
        tokens.append(int(token))
    return [*tokens, _draw(target[-1], sample)]


def verify_wrong_no_bonus(target, draft, proposed, accept, sample):
    result = verify(target, draft, proposed, accept, sample)
    return result[:-1] if len(result) == len(target) else result


def verify_wrong_goes_on(target, draft, proposed, accept, sample):
    """Replaces each rejected token, and never ends early."""
    tokens = []
    for p, q, token, limit in zip(target, draft, proposed, accept, strict=False):
        replaced = limit >= p[token] / q[token]
        tokens.append(_draw(np.maximum(p - q, 0), sample) if replaced else int(token))
    return [*tokens, _draw(target[-1], sample)]


def verify_wrong_same_token(target, draft, proposed, accept, sample):
    """Accepts where the most likely token of the target is the draft token."""
    tokens = []
    for p, q, token in zip(target, draft, proposed, strict=False):
        if p.argmax() != token:
            return [*tokens, _draw(np.maximum(p - q, 0), sample)]
        tokens.append(int(token))
    return [*tokens, _draw(target[-1], sample)]


def verify_wrong_absolute_difference(target, draft, proposed, accept, sample):
    tokens = []
    for p, q, token, limit in zip(target, draft, proposed, accept, strict=False):
        if limit >= p[token] / q[token]:
            return [*tokens, _draw(np.abs(p - q), sample)]
        tokens.append(int(token))
    return [*tokens, _draw(target[-1], sample)]


def verify_wrong_ratio(target, draft, proposed, accept, sample):
    """Divides q by p."""
    tokens = []
    for p, q, token, limit in zip(target, draft, proposed, accept, strict=False):
        if limit * p[token] >= q[token]:
            return [*tokens, _draw(np.maximum(p - q, 0), sample)]
        tokens.append(int(token))
    return [*tokens, _draw(target[-1], sample)]
