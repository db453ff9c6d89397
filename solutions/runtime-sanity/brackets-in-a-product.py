"""FLOPs are added up product by product; the code multiplies keys and values first."""

import torch


def product(rows, inner, columns):
    return sum(columns * (inner + inner) for _ in range(rows))


def solve(given):
    n, d, e = given["tokens"], given["width"], given["values_width"]
    written = product(n, d, n) + product(n, n, e)
    moved = product(d, n, e) + product(n, d, e)
    return {"flops": written / 1e6, "fewer": written / moved, "cause": "brackets"}


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
