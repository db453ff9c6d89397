"""Add up FLOPs row by row, find the threshold by trying, and test the regrouping by matrix ranks."""

import torch


def product(rows, inner, columns):
    return sum(columns * (inner + inner) for _ in range(rows))


def solve(given):
    """Count both orders for growing numbers of tokens, and sizes from the tensors' shapes."""
    n, d, e = given["tokens"], given["width"], given["values_width"]

    def both(tokens):
        written = product(tokens, d, tokens) + product(tokens, tokens, e)
        return written, product(d, tokens, e) + product(tokens, d, e)

    written, regrouped = both(n)
    few = 1
    while both(few)[0] <= both(few)[1]:
        few += 1
    q, v = torch.empty(n, d, device="meta"), torch.empty(n, e, device="meta")
    outside = 2 * q.numel() + 2 * v.numel()
    return {
        "flops": written / 1e6,
        "fewer": written / regrouped,
        "few_tokens": few,
        "memory": (q @ q.T).numel() / outside,
        "regroup": {n for n, rank in ranks().items() if (rank < MANY) == given["possible"]},
    }


MANY = 60


def ranks():
    """The ranks of the scores of many tokens with three features, for each expression.

    Only scores whose rank stays below the number of tokens are products of two thin matrices.
    """
    generator = torch.Generator().manual_seed(0)
    q, k = (2 * torch.rand(MANY, 3, dtype=torch.float64, generator=generator) for _ in range(2))
    scores = q @ k.T
    # exp(2 a b), with rows and columns rescaled so that its rank shows in float64.
    wide = torch.arange(MANY, dtype=torch.float64)
    kernels = {
        "exponential": torch.exp(-((wide[:, None] - wide) ** 2)),
        "causal": scores.tril(),
        "offset": scores + 1,
        "square": scores**2,
        "features": torch.relu(q) @ torch.relu(k).T,
    }
    return {name: int(torch.linalg.matrix_rank(matrix)) for name, matrix in kernels.items()}


def attend(q, k, v):
    return (q @ (k.T @ v)) / (q @ k.sum(0))[:, None]


def attend_right_one_product(q, k, v):
    both = q @ (k.T @ torch.cat([v, torch.ones(len(v), 1)], dim=1))
    return both[:, :-1] / both[:, -1:]


def attend_right_einsum(q, k, v):
    state = torch.einsum("jd,je->de", k, v)
    return torch.einsum("id,de->ie", q, state) / torch.einsum("id,d->i", q, k.sum(0))[:, None]


def attend_slow_as_given(q, k, v):
    scores = q @ k.T
    return (scores @ v) / scores.sum(1, keepdim=True)


def attend_slow_blocks(q, k, v):
    parts = []
    for part in q.split(256):
        scores = part @ k.T
        parts.append((scores @ v) / scores.sum(1, keepdim=True))
    return torch.cat(parts)


def attend_slow_einsum(q, k, v):
    return torch.einsum("id,jd,je->ie", q, k, v) / (q @ k.T).sum(1, keepdim=True)


def attend_cases(rng, given):
    def case(queries, keys, features, outputs):
        def floats(low, *shape):
            return torch.from_numpy(rng.uniform(low, 1.0, size=shape)).float()

        q, k = floats(0.05, queries, features), floats(0.05, keys, features)
        return {"q": q, "k": k, "v": floats(-1.0, keys, outputs)}

    yield "edge", case(1, 1, 1, 1)
    yield "edge", case(4, 1, 3, 2)
    yield "edge", case(2, 9, 5, 3)
    yield "edge", case(9, 4, given["width"], 3)
    for _ in range(6):
        yield "random", case(*(int(n) for n in rng.integers(3, 30, size=4)))


def attend_wrong_softmax(q, k, v):
    return torch.softmax(q @ k.T, dim=1) @ v


def attend_wrong_no_denominator(q, k, v):
    return q @ (k.T @ v)


def attend_wrong_by_count(q, k, v):
    return q @ (k.T @ v) / len(k)


def attend_wrong_one_denominator(q, k, v):
    return (q @ (k.T @ v)) / (q @ k.sum(0)).sum()


def attend_wrong_normalised_over_queries(q, k, v):
    return q @ ((k / (k @ q.sum(0))[:, None]).T @ v)


def attend_wrong_as_many_keys(q, k, v):
    out = torch.zeros_like(k @ k.T @ v)
    out[:] = (q @ (k.T @ v)) / (q @ k.sum(0))[:, None]
    return out


def attend_wrong_flat_denominator(q, k, v):
    return (q @ (k.T @ v)) / (q @ k.sum(0))
