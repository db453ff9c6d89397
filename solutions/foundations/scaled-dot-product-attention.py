"""Runs PyTorch's attention on the vectors, and changes one head to see what depends on it."""

import torch
from torch.nn.functional import scaled_dot_product_attention


def solve(given):
    query = torch.tensor([[float(given[f"q{i}"]) for i in range(1, 5)]], dtype=torch.float64)
    keys = [[float(given[f"{name}{i}"]) for i in range(1, 5)] for name in "abc"]
    values = [[float(given[f"{name}{i}"]) for name in "xy"] for i in range(1, 4)]
    keys, values = (torch.tensor(rows, dtype=torch.float64) for rows in (keys, values))
    one_hot = torch.eye(3, dtype=torch.float64)
    weights = scaled_dot_product_attention(query, keys, one_hot)[0]
    queries = query.expand(3, 4).contiguous()  # the same query at every position
    causal = scaled_dot_product_attention(queries, keys, one_hot, is_causal=True)[1]
    output = scaled_dot_product_attention(query, keys, values)[0]

    hidden, heads, ranks = given["hidden"], given["heads"], given["ranks"]
    held = torch.arange(hidden).view(heads, -1)  # the row that each element of each head meets
    head = held.shape[1]
    variance = 0.0
    for _ in range(head):  # the variance of a sum of independent terms, term by term
        variance += (given["query_sd"] * given["key_sd"]) ** 2
    right = variance**0.5 / head**0.5
    divisor = {"width": hidden**0.5, "square": float(head), "none": 1.0}[given["flaw_kind"]]
    faulty = variance**0.5 / divisor
    return {
        "weights": [[100 * float(each)] for each in weights],
        "output": [[float(each)] for each in output],
        "masked": 100 * float(causal[0]),
        "deviation": variance**0.5,
        "ratio": faulty / right,
        "effect": effect(faulty, right),
        "rows": held.chunk(ranks)[0].numel(),
        "mixed": first_mixed(),
    }


def effect(faulty, right):
    """Compares the entropy of softmaxes of random scores with the two deviations."""
    scores = torch.randn(500, 64, generator=torch.Generator().manual_seed(0))

    def entropy(deviation):
        logs = torch.log_softmax(scores * deviation, dim=-1)
        return float(-(logs.exp() * logs).sum(-1).mean())

    return "uniform" if entropy(faulty) > entropy(right) else "peaked"


def first_mixed(heads=2, positions=3, size=4):
    """Changes the queries, keys, and values of one head, and looks at what depends on the other."""
    generator = torch.Generator().manual_seed(1)
    output = torch.randn(heads * size, heads * size, generator=generator)
    first = torch.randn(3, heads, positions, size, generator=generator)
    second = first.clone()
    second[:, 1] += torch.randn(3, positions, size, generator=generator)
    found = []
    for q, k, v in (first, second):
        weights = torch.softmax(q @ k.mT / size**0.5, dim=-1)
        mixed = weights @ v
        joined = mixed.transpose(0, 1).reshape(positions, -1)
        found.append((weights[0], mixed[0], joined[:, :size], (joined @ output)[:, :size]))
    names = ["softmax", "values", "concatenation", "output"]
    pairs = zip(names, *found, strict=True)
    return next(name for name, one, other in pairs if not torch.equal(one, other))
