"""Add up FLOPs product by product from the shapes of the operands, and mask what comes later."""

import torch


def solve(given):
    """Walk through both versions step by step, with operands that have shapes but no numbers."""
    n, width, head = given["tokens"], given["width"], given["head"]
    xs = torch.empty(n, width, device="meta")
    W = torch.empty(width, head, device="meta")
    count = Products()
    for t in range(1, n + 1):
        q = count(xs[t - 1 : t], W)
        K, V = count(xs[:t], W), count(xs[:t], W)
        count(count(q, K.T), V)
    written, count = count.flops, Products()
    K, V = torch.empty(n, head, device="meta"), torch.empty(n, head, device="meta")
    for t in range(1, n + 1):
        q = count(xs[t - 1 : t], W)
        K[t - 1 : t], V[t - 1 : t] = count(xs[t - 1 : t], W), count(xs[t - 1 : t], W)
        count(count(q, K[:t].T), V[:t])
    return {"flops": written / 1e6, "cached": count.flops / 1e6, "gap": "vectors"}


class Products:
    """Matrix products that are counted."""

    def __init__(self):
        self.flops = 0

    def __call__(self, left, right):
        result = left @ right
        self.flops += 2 * left.shape[1] * result.numel()
        return result


def decode(xs, Wq, Wk, Wv):
    q, k, v = xs @ Wq, xs @ Wk, xs @ Wv
    later = torch.ones(len(xs), len(xs), dtype=torch.bool).triu(1)
    scores = (q @ k.T / q.shape[1] ** 0.5).masked_fill(later, float("-inf"))
    return torch.softmax(scores, dim=1) @ v


def decode_right_library(xs, Wq, Wk, Wv):
    attend = torch.nn.functional.scaled_dot_product_attention
    return attend((xs @ Wq)[None], (xs @ Wk)[None], (xs @ Wv)[None], is_causal=True)[0]


def decode_right_cache(xs, Wq, Wk, Wv):
    keys, values = torch.empty(len(xs), Wk.shape[1]), torch.empty(len(xs), Wv.shape[1])
    outputs = []
    for t, x in enumerate(xs):
        keys[t], values[t], q = x @ Wk, x @ Wv, x @ Wq
        weights = torch.softmax(keys[: t + 1] @ q / len(q) ** 0.5, dim=0)
        outputs.append(weights @ values[: t + 1])
    return torch.stack(outputs)


def decode_right_projected_first(xs, Wq, Wk, Wv):
    q, k, v = xs @ Wq, xs @ Wk, xs @ Wv
    outputs = []
    for t in range(len(xs)):
        weights = torch.softmax(k[: t + 1] @ q[t] / q.shape[1] ** 0.5, dim=0)
        outputs.append(weights @ v[: t + 1])
    return torch.stack(outputs)


def decode_slow_as_given(xs, Wq, Wk, Wv):
    outputs = []
    for t in range(1, len(xs) + 1):
        q = xs[t - 1] @ Wq
        K, V = xs[:t] @ Wk, xs[:t] @ Wv
        weights = torch.softmax(K @ q / len(q) ** 0.5, dim=0)
        outputs.append(weights @ V)
    return torch.stack(outputs)


def decode_slow_concatenated(xs, Wq, Wk, Wv):
    outputs = []
    for t in range(1, len(xs) + 1):
        qkv = xs[:t] @ torch.cat([Wq, Wk, Wv], dim=1)
        q, K, V = qkv.chunk(3, dim=1)
        weights = torch.softmax(K @ q[-1] / Wq.shape[1] ** 0.5, dim=0)
        outputs.append(weights @ V)
    return torch.stack(outputs)


def decode_cases(rng, given):
    def case(tokens, width, head, scale=1.0):
        def floats(*shape):
            return torch.from_numpy(rng.normal(size=shape) * scale).float()

        weights = {name: floats(width, head) / width**0.5 for name in ("Wq", "Wk", "Wv")}
        return {"xs": floats(tokens, width), **weights}

    yield "edge", case(1, 3, 2)
    yield "edge", case(5, 1, 1)
    yield "edge", case(2, 8, 3)
    yield "edge", case(6, 4, 5, scale=3.0)
    yield "edge", {**case(4, 3, 2), "Wq": torch.zeros(3, 2)}
    # Scores of a few hundred, whose exponentials no float32 holds.
    one = torch.ones(1, 1)
    yield "edge", {"xs": torch.tensor([[10.0], [20.0], [5.0]]), "Wq": one, "Wk": one, "Wv": one}
    for _ in range(5):
        yield "random", case(*(int(n) for n in rng.integers(4, 20, size=3)))


def decode_wrong_plain_exponentials(xs, Wq, Wk, Wv):
    Q, K, V = xs @ Wq, xs @ Wk, xs @ Wv
    weights = (Q @ K.T / Q.shape[1] ** 0.5).exp().tril()
    return weights / weights.sum(1, keepdim=True) @ V


def decode_wrong_zero_is_masked(xs, Wq, Wk, Wv):
    Q, K, V = xs @ Wq, xs @ Wk, xs @ Wv
    scores = (Q @ K.T / Q.shape[1] ** 0.5).tril()
    return torch.softmax(scores.masked_fill(scores == 0, float("-inf")), 1) @ V


def decode_wrong_sees_all(xs, Wq, Wk, Wv):
    q, k, v = xs @ Wq, xs @ Wk, xs @ Wv
    return torch.softmax(q @ k.T / q.shape[1] ** 0.5, dim=1) @ v


def decode_wrong_not_itself(xs, Wq, Wk, Wv):
    q, k, v = xs @ Wq, xs @ Wk, xs @ Wv
    later = torch.ones(len(xs), len(xs), dtype=torch.bool).triu(0)
    later[0, 0] = False
    scores = (q @ k.T / q.shape[1] ** 0.5).masked_fill(later, float("-inf"))
    return torch.softmax(scores, dim=1) @ v


def decode_wrong_no_scale(xs, Wq, Wk, Wv):
    q, k, v = xs @ Wq, xs @ Wk, xs @ Wv
    later = torch.ones(len(xs), len(xs), dtype=torch.bool).triu(1)
    return torch.softmax((q @ k.T).masked_fill(later, float("-inf")), dim=1) @ v


def decode_wrong_masked_by_zero(xs, Wq, Wk, Wv):
    q, k, v = xs @ Wq, xs @ Wk, xs @ Wv
    scores = (q @ k.T / q.shape[1] ** 0.5).tril()
    return torch.softmax(scores, dim=1) @ v


def decode_wrong_over_queries(xs, Wq, Wk, Wv):
    q, k, v = xs @ Wq, xs @ Wk, xs @ Wv
    later = torch.ones(len(xs), len(xs), dtype=torch.bool).triu(1)
    scores = (q @ k.T / q.shape[1] ** 0.5).masked_fill(later, float("-inf"))
    return torch.softmax(scores, dim=0) @ v


def decode_wrong_scaled_by_width(xs, Wq, Wk, Wv):
    q, k, v = xs @ Wq, xs @ Wk, xs @ Wv
    later = torch.ones(len(xs), len(xs), dtype=torch.bool).triu(1)
    scores = (q @ k.T / xs.shape[1] ** 0.5).masked_fill(later, float("-inf"))
    return torch.softmax(scores, dim=1) @ v
