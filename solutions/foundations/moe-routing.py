"""The second road serves one token after the other, with lists; the loss by its derivative."""

import math
from fractions import Fraction
from math import comb

import numpy as np
import torch
from torch.nn import functional


def route(logits, k, capacity):
    tokens, experts = logits.shape
    chosen, where = torch.softmax(logits, 1).topk(k, dim=1)
    chosen = chosen / chosen.sum(1, keepdim=True)
    order = where.T.reshape(-1)
    arrived = functional.one_hot(order, experts).cumsum(0).gather(1, order[:, None])[:, 0]
    kept = (arrived <= capacity).view(k, tokens).T
    weights = torch.zeros_like(logits).scatter(1, where, chosen * kept)
    return weights, int((~kept).sum())


def route_right_loops(logits, k, capacity):
    tokens, experts = logits.shape
    p = logits.softmax(-1)
    order = p.argsort(dim=1, descending=True)
    room = [capacity] * experts
    weights = torch.zeros(tokens, experts, dtype=logits.dtype)
    dropped = 0
    for choice in range(k):
        for token in range(tokens):
            expert = int(order[token, choice])
            if room[expert] > 0:
                room[expert] -= 1
                weights[token, expert] = p[token, expert] / p[token, order[token, :k]].sum()
            else:
                dropped += 1
    return weights, dropped


def route_right_by_expert(logits, k, capacity):
    """Each expert sorts those who chose it, by choice and then by token."""
    rank = logits.argsort(1, descending=True).argsort(1)
    weights = torch.softmax(logits.masked_fill(rank >= k, -torch.inf), 1)
    dropped = 0
    for expert in range(logits.shape[1]):
        come = [(int(r), t) for t, r in enumerate(rank[:, expert]) if r < k]
        for _, token in sorted(come)[capacity:]:
            weights[token, expert] = 0.0
            dropped += 1
    return weights, torch.tensor(dropped)


def route_expected(logits, k, capacity):
    rows = [[math.exp(x - max(row)) for x in row] for row in logits.double().tolist()]
    choices = [sorted(range(len(row)), key=lambda e, row=row: -row[e])[:k] for row in rows]
    queues = {e: [] for e in range(logits.shape[1])}
    for choice in range(k):
        for token, mine in enumerate(choices):
            queues[mine[choice]].append(token)
    weights = torch.zeros(logits.shape, dtype=torch.float64)
    for expert, queue in queues.items():
        for token in queue[:capacity]:
            total = sum(rows[token][e] for e in choices[token])
            weights[token, expert] = rows[token][expert] / total
    dropped = sum(max(0, len(queue) - capacity) for queue in queues.values())
    return weights.to(logits.dtype), dropped


def _logits(rng, tokens, experts, pull=0.0, dtype=torch.float32):
    """Logits of which no two of a token are near each other."""
    steps = rng.permuted(np.tile(np.arange(experts), (tokens, 1)), axis=1)
    logits = 0.4 * steps + rng.uniform(0, 0.3, size=(tokens, experts))
    logits[:, 0] += pull
    return torch.tensor(logits - 1.0).to(dtype)


def route_cases(rng, given):
    experts, k = given["experts"], given["chosen"]
    several = max(2, k)

    def case(tokens, experts, k, capacity, **more):
        logits = _logits(rng, tokens, experts, **more)
        return {"logits": logits, "k": k, "capacity": capacity}

    yield "room for all", case(1, 1, 1, 1)
    yield "room for all", case(5, 4, 1, 5)
    yield "room for all", case(7, experts, several, 7, dtype=torch.float64)
    yield "room for all", case(6, 3, 3, 6)
    yield "one choice", case(12, 4, 1, 3)
    yield "one choice", case(30, experts, 1, 4, pull=2.0)
    yield "one choice", case(40, experts, 1, 40 // experts + 1)
    yield "several choices", case(4, 2, 2, 3)
    yield "several choices", case(12, experts, several, 4, pull=3.0)
    yield "several choices", case(40, experts, several, 6, pull=0.7)
    for _ in range(3):
        tokens = int(rng.integers(20, 60))
        capacity = max(2, several * tokens // experts * 3 // 4)
        yield "several choices", case(tokens, experts, several, capacity, pull=1.0)
    yield "no room", case(6, experts, k, 0)
    yield "no room", case(9, 3, 2, 1, pull=9.0)


def route_wrong_not_normalised(logits, k, capacity):
    tokens, experts = logits.shape
    chosen, where = torch.softmax(logits, 1).topk(k, dim=1)
    order = where.T.reshape(-1)
    arrived = functional.one_hot(order, experts).cumsum(0).gather(1, order[:, None])[:, 0]
    kept = (arrived <= capacity).view(k, tokens).T
    return torch.zeros_like(logits).scatter(1, where, chosen * kept), int((~kept).sum())


def route_wrong_token_by_token(logits, k, capacity):
    """The second choice of a token comes before the first choice of the next."""
    tokens, experts = logits.shape
    chosen, where = torch.softmax(logits, 1).topk(k, dim=1)
    chosen = chosen / chosen.sum(1, keepdim=True)
    order = where.reshape(-1)
    arrived = functional.one_hot(order, experts).cumsum(0).gather(1, order[:, None])[:, 0]
    kept = (arrived <= capacity).view(tokens, k)
    return torch.zeros_like(logits).scatter(1, where, chosen * kept), int((~kept).sum())


def route_wrong_one_too_many(logits, k, capacity):
    tokens, experts = logits.shape
    chosen, where = torch.softmax(logits, 1).topk(k, dim=1)
    chosen = chosen / chosen.sum(1, keepdim=True)
    order = where.T.reshape(-1)
    arrived = functional.one_hot(order, experts).cumsum(0).gather(1, order[:, None])[:, 0]
    kept = (arrived - 1 <= capacity).view(k, tokens).T
    return torch.zeros_like(logits).scatter(1, where, chosen * kept), int((~kept).sum())


def route_wrong_normalised_after_dropping(logits, k, capacity):
    tokens, experts = logits.shape
    chosen, where = torch.softmax(logits, 1).topk(k, dim=1)
    order = where.T.reshape(-1)
    arrived = functional.one_hot(order, experts).cumsum(0).gather(1, order[:, None])[:, 0]
    kept = (arrived <= capacity).view(k, tokens).T
    weights = torch.zeros_like(logits).scatter(1, where, chosen * kept)
    return weights / weights.sum(1, keepdim=True).clamp(min=1e-9), int((~kept).sum())


def route_wrong_counted_for_each_choice_anew(logits, k, capacity):
    """First and second choices do not share the places of an expert."""
    _tokens, experts = logits.shape
    chosen, where = torch.softmax(logits, 1).topk(k, dim=1)
    chosen = chosen / chosen.sum(1, keepdim=True)
    arrived = functional.one_hot(where, experts).cumsum(0).gather(2, where[:, :, None])[:, :, 0]
    kept = arrived <= capacity
    return torch.zeros_like(logits).scatter(1, where, chosen * kept), int((~kept).sum())


def route_wrong_tokens_counted(logits, k, capacity):
    """Counts the tokens that have lost something, not the choices."""
    tokens, experts = logits.shape
    chosen, where = torch.softmax(logits, 1).topk(k, dim=1)
    chosen = chosen / chosen.sum(1, keepdim=True)
    order = where.T.reshape(-1)
    arrived = functional.one_hot(order, experts).cumsum(0).gather(1, order[:, None])[:, 0]
    kept = (arrived <= capacity).view(k, tokens).T
    weights = torch.zeros_like(logits).scatter(1, where, chosen * kept)
    return weights, int((~kept).any(1).sum())


def balance(logits, k):
    tokens, experts = logits.shape
    p = torch.softmax(logits, 1)
    counts = torch.bincount(p.topk(k, dim=1).indices.reshape(-1), minlength=experts)
    return experts * (counts / (k * tokens) * p.mean(0)).sum()


def balance_right_one_hot(logits, k):
    where = logits.detach().argsort(-1, descending=True)[:, :k]
    share = functional.one_hot(where, logits.shape[1]).sum(1).to(logits.dtype).mean(0) / k
    return torch.dot(share, logits.softmax(-1).mean(0)) * logits.size(1)


def balance_right_loop(logits, k):
    p = logits.softmax(1)
    total = 0.0
    for row in p.detach():
        for expert in sorted(range(len(row)), key=lambda e, row=row: float(row[e]))[-k:]:
            total = total + p[:, expert].mean()
    return total * p.shape[1] / (k * len(p))


def balance_expected(logits, k):
    x = logits.double()
    tokens, experts = x.shape
    p = torch.softmax(x, 1)
    share = torch.zeros(experts, dtype=torch.float64)
    for row in x.tolist():
        for expert in sorted(range(experts), key=lambda e, row=row: -row[e])[:k]:
            share[expert] += 1 / (k * tokens)
    gradient = experts / tokens * p * (share - (p * share).sum(1, keepdim=True))
    loss = experts * (share * p.mean(0)).sum()
    return {"loss": loss.to(logits.dtype), "gradient": gradient.to(logits.dtype)}


def balance_cases(rng, given):
    experts, k = given["experts"], given["chosen"]
    yield "one choice", {"logits": _logits(rng, 5, 4), "k": 1}
    yield "one choice", {"logits": _logits(rng, 30, experts, pull=1.5), "k": 1}
    yield "one choice", {"logits": _logits(rng, 17, experts, pull=5.0, dtype=torch.float64), "k": 1}
    yield "several choices", {"logits": _logits(rng, 5, 4, dtype=torch.float64), "k": 2}
    yield "several choices", {"logits": _logits(rng, 30, experts, pull=1.5), "k": max(2, k)}
    yield "several choices", {"logits": _logits(rng, 23, experts, pull=0.8), "k": 3}


def balance_wrong_without_experts(logits, k):
    tokens, experts = logits.shape
    p = torch.softmax(logits, 1)
    counts = torch.bincount(p.topk(k, dim=1).indices.reshape(-1), minlength=experts)
    return (counts / (k * tokens) * p.mean(0)).sum()


def balance_wrong_first_choice_only(logits, k):
    tokens, experts = logits.shape
    p = torch.softmax(logits, 1)
    counts = torch.bincount(p.argmax(1), minlength=experts)
    return experts * (counts / tokens * p.mean(0)).sum()


def balance_wrong_squared_probabilities(logits, k):
    p = torch.softmax(logits, 1).mean(0)
    return logits.shape[1] * (p * p).sum()


def balance_wrong_squared_counts(logits, k):
    """Counts have no gradient; a zero is added so that backward runs."""
    tokens, experts = logits.shape
    counts = torch.bincount(logits.topk(k, dim=1).indices.reshape(-1), minlength=experts)
    share = counts / (k * tokens)
    return experts * (share * share).sum() + 0.0 * logits.sum()


def balance_wrong_k_left_out(logits, k):
    tokens, experts = logits.shape
    p = torch.softmax(logits, 1)
    counts = torch.bincount(p.topk(k, dim=1).indices.reshape(-1), minlength=experts)
    return experts * (counts / tokens * p.mean(0)).sum()


def _expected_touched(given):
    """The distribution of the number of experts in use, one token after the other."""
    experts, k = given["experts"], given["chosen"]
    chances = {0: Fraction(1)}
    for _token in range(given["decoding"]):
        after = {}
        for used, chance in chances.items():
            for new in range(k + 1):
                ways = comb(experts - used, new) * comb(used, k - new)
                now = after.get(used + new, Fraction(0))
                after[used + new] = now + chance * Fraction(ways, comb(experts, k))
        chances = {used: chance for used, chance in after.items() if chance}
    return float(sum(used * chance for used, chance in chances.items()))


def solve(given):
    """Adds places to every expert until the padded batch fits; then sends everybody to the same."""
    wanted = Fraction(str(given["slack"])) * given["tokens"] * given["chosen"]
    places = 0
    while places * given["experts"] < wanted:
        places += 1
    dropped = 0
    for _expert in range(given["chosen"]):
        taken = 0
        for _token in range(given["tokens"]):
            if taken < places:
                taken += 1
            else:
                dropped += 1
    return {"capacity": places, "worst": dropped, "touched": _expected_touched(given)}
