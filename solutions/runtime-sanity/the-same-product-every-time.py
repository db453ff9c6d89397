"""The FLOPs are added up loop by loop; the code merges the adapter before the loop."""

from itertools import count

import torch


def solve(given):
    d, r = given["width"], given["rank"]
    merging = 0
    for _ in range(d):
        merging += d * (r + r)  # a row of B A
        merging += d + d  # scaled, and added
    total = useful = 0
    for request in range(given["requests"]):
        layer = given["tokens"] * d * (d + d)
        total += merging + layer
        useful += layer + (merging if request == 0 else 0)
    return {
        "flops": total / 1e9,
        "factor": total / useful,
        "break_even": next(n for n in count(1) if merged(n, d, r) < unmerged(n, d, r)),
    }


def merged(tokens, d, r):
    """FLOPs of merging once and multiplying each token with the merged weight."""
    return product(d, r, d) + 2 * d * d + product(tokens, d, d)


def unmerged(tokens, d, r):
    """FLOPs of the two paths of each token, and of scaling and adding the second."""
    return product(tokens, d, d) + product(tokens, d, r) + product(tokens, r, d) + 2 * tokens * d


def product(rows, inner, columns):
    return rows * columns * (inner + inner)


def serve(requests, W, A, B, s):
    merged = (W + s * (B @ A)).T
    return [x @ merged for x in requests]


def serve_right_one_product(requests, W, A, B, s):
    if not requests:
        return []
    whole = torch.cat(requests) @ (W + s * (B @ A)).T
    return list(whole.split([len(x) for x in requests]))


def serve_right_low_rank(requests, W, A, B, s):
    return [x @ W.T + s * ((x @ A.T) @ B.T) for x in requests]


def serve_right_linear(requests, W, A, B, s):
    weight = torch.addmm(W, B, A, alpha=s)
    return [torch.nn.functional.linear(x, weight) for x in requests]


def serve_slow_as_given(requests, W, A, B, s):
    answers = []
    for x in requests:
        answers.append(x @ (W + s * (B @ A)).T)
    return answers


def serve_slow_addmm(requests, W, A, B, s):
    return [x @ torch.addmm(W, B, A, alpha=s).T for x in requests]


def serve_cases(rng, given):
    def floats(*shape):
        return torch.from_numpy(rng.normal(size=shape)).float()

    def case(tokens, inputs, outputs, rank, s):
        return {
            "requests": [floats(n, inputs) for n in tokens],
            "W": floats(outputs, inputs),
            "A": floats(rank, inputs),
            "B": floats(outputs, rank),
            "s": s,
        }

    yield "edge", case([], 3, 3, 2, 1.0)
    yield "edge", case([1], 1, 1, 1, 0.5)
    yield "edge", case([2, 3], 4, 6, 2, 0.0)
    yield "edge", case([3, 1, 4], 5, 3, 1, -2.0)
    for _ in range(5):
        inputs, outputs = (int(n) for n in rng.integers(3, 20, size=2))
        tokens = [int(n) for n in rng.integers(1, 5, size=4)]
        yield "random", case(tokens, inputs, outputs, 2, float(rng.uniform(0.5, 2)))


def serve_wrong_no_scale(requests, W, A, B, s):
    merged = (W + B @ A).T
    return [x @ merged for x in requests]


def serve_wrong_scaled_weight(requests, W, A, B, s):
    merged = (s * (W + B @ A)).T
    return [x @ merged for x in requests]


def serve_wrong_not_transposed(requests, W, A, B, s):
    merged = W + s * (B @ A)
    return [x @ merged for x in requests]


def serve_wrong_merges_again(requests, W, A, B, s):
    answers = []
    for x in requests:
        W = W + s * (B @ A)
        answers.append(x @ W.T)
    return answers


def serve_wrong_in_place(requests, W, A, B, s):
    W += s * (B @ A)
    return [x @ W.T for x in requests]


def serve_wrong_one_tensor(requests, W, A, B, s):
    return torch.cat(requests) @ (W + s * (B @ A)).T
