"""The second road has no cache: it attends over all tokens at once, head by head, in float64."""

import math

import torch
from torch.nn import functional


class cached_attention:
    def __init__(self, wq, wk, wv, heads, kv_heads):
        self.weights = wq, wk, wv
        self.heads, self.kv_heads = heads, kv_heads
        self.keys = self.values = None

    def split(self, x, weight, heads):
        y = x @ weight.T
        return y.view(*y.shape[:2], heads, -1).transpose(1, 2)

    def step(self, x):
        wq, wk, wv = self.weights
        q = self.split(x, wq, self.heads)
        k, v = (self.split(x, w, self.kv_heads) for w in (wk, wv))
        before = 0 if self.keys is None else self.keys.shape[2]
        self.keys = k if before == 0 else torch.cat([self.keys, k], 2)
        self.values = v if before == 0 else torch.cat([self.values, v], 2)
        times = self.heads // self.kv_heads
        k, v = (t.repeat_interleave(times, dim=1) for t in (self.keys, self.values))
        scores = q @ k.transpose(2, 3) / math.sqrt(q.shape[3])
        new = x.shape[1]
        hidden = torch.ones(new, before + new, dtype=torch.bool).triu(before + 1)
        weights = torch.softmax(scores.masked_fill(hidden, -math.inf), dim=3)
        return (weights @ v).transpose(1, 2).flatten(2)


class cached_attention_right_grouped:
    """Queries in groups, and a cache of lists that is joined when it is looked at."""

    def __init__(self, wq, wk, wv, heads, kv_heads):
        self.wq = wq.reshape(kv_heads, heads // kv_heads, -1, wq.shape[1])
        self.wk, self.wv = (w.reshape(kv_heads, -1, w.shape[1]) for w in (wk, wv))
        self.parts = []

    @property
    def keys(self):
        return torch.cat([k for k, _ in self.parts], 2)

    @property
    def values(self):
        return torch.cat([v for _, v in self.parts], 2)

    def step(self, x):
        q = torch.einsum("btw,kgdw->bkgtd", x, self.wq)
        new = [torch.einsum("btw,kdw->bktd", x, w) for w in (self.wk, self.wv)]
        before = sum(k.shape[2] for k, _ in self.parts)
        self.parts.append(new)
        k, v = self.keys, self.values
        scores = torch.einsum("bkgtd,bksd->bkgts", q, k) * k.shape[-1] ** -0.5
        rows = before + torch.arange(x.shape[1])
        seen = rows[:, None] >= torch.arange(k.shape[2])
        weights = torch.softmax(torch.where(seen, scores, -torch.inf), -1)
        return torch.einsum("bkgts,bksd->btkgd", weights, v).flatten(2)


class cached_attention_right_built_in:
    """PyTorch's own attention, with a mask, over an empty cache that grows."""

    def __init__(self, wq, wk, wv, heads, kv_heads):
        self.wq, self.wk, self.wv, self.heads, self.kv_heads = wq, wk, wv, heads, kv_heads
        self.size = wq.shape[0] // heads
        self.keys = self.values = torch.empty(0)

    def step(self, x):
        batch, new, _ = x.shape
        q = functional.linear(x, self.wq).reshape(batch, new, self.heads, self.size)
        k = functional.linear(x, self.wk).reshape(batch, new, self.kv_heads, self.size)
        v = functional.linear(x, self.wv).reshape(batch, new, self.kv_heads, self.size)
        k, v = k.permute(0, 2, 1, 3), v.permute(0, 2, 1, 3)
        if self.keys.numel():
            k, v = torch.cat((self.keys, k), -2), torch.cat((self.values, v), -2)
        self.keys, self.values = k, v
        seen = torch.ones(new, k.shape[2], dtype=torch.bool).tril(k.shape[2] - new)
        y = functional.scaled_dot_product_attention(
            q.permute(0, 2, 1, 3), k, v, attn_mask=seen, enable_gqa=True
        )
        return y.permute(0, 2, 1, 3).reshape(batch, new, -1)


def cached_attention_expected(wq, wk, wv, heads, kv_heads, x, steps):
    x = x.double()
    size = wq.shape[0] // heads
    tokens = x.shape[1]

    def head(weight, number):
        return x @ weight.double()[number * size : (number + 1) * size].T

    outputs = []
    for number in range(heads):
        shared = number // (heads // kv_heads)
        q, k, v = head(wq, number), head(wk, shared), head(wv, shared)
        mine = torch.zeros(len(x), tokens, size, dtype=torch.float64)
        for t in range(tokens):
            scores = (k[:, : t + 1] * q[:, t, None]).sum(2) / math.sqrt(size)
            mine[:, t] = (torch.softmax(scores, 1)[:, :, None] * v[:, : t + 1]).sum(1)
        outputs.append(mine)
    keys, values = (
        torch.stack([head(w, number) for number in range(kv_heads)], 1).float() for w in (wk, wv)
    )
    return {
        "outputs": torch.cat(outputs, 2).float(),
        "keys": keys,
        "values": values,
        "multiply_adds_beyond_twice_those_needed_must_be_0": 0,
    }


def cached_attention_cases(rng, given):
    drawn = given["heads"], given["kv_heads"], given["size"]

    def case(batch, steps, heads, kv_heads, size, width=12):
        def tensor(*shape):
            return torch.tensor(rng.normal(size=shape)).float()

        narrow = 0.7 * 12 / width  # large scores would cost float32 more digits than are asked
        return {
            "wq": tensor(heads * size, width) * narrow,
            "wk": tensor(kv_heads * size, width) * narrow,
            "wv": tensor(kv_heads * size, width),
            "heads": heads,
            "kv_heads": kv_heads,
            "x": tensor(batch, sum(steps), width) * 0.7,
            "steps": steps,
        }

    yield "prompt", case(1, [1], 1, 1, 4)
    yield "prompt", case(2, [6], 3, 3, 4)
    yield "prompt", case(2, [7], *drawn)
    yield "decoding", case(1, [1, 1, 1], 2, 1, 4)
    yield "decoding", case(2, [5, 1, 1, 1], *drawn)
    yield "decoding", case(3, [1] * 6, *drawn)
    yield "decoding", case(1, [int(rng.integers(3, 9)), *[1] * 5], *drawn)
    yield "chunks", case(2, [3, 2], 4, 4, 4)
    yield "chunks", case(2, [4, 3, 1, 2], *drawn)
    yield "chunks", case(1, [1, 5, 4], *drawn)
    yield "chunks", case(2, [int(n) for n in rng.integers(1, 6, size=3)] + [2, 2], *drawn)
    yield "work", case(1, [8, *[1] * 40], *drawn, width=40)


class cached_attention_wrong_forgets(cached_attention):
    """Each step sees its own tokens alone."""

    def step(self, x):
        self.keys = self.values = None
        return super().step(x)


class cached_attention_wrong_expanded_cache:
    def __init__(self, wq, wk, wv, heads, kv_heads):
        self.weights = wq, wk, wv
        self.heads, self.kv_heads = heads, kv_heads
        self.keys = self.values = None

    def step(self, x):
        q, k, v = (x @ w.T for w in self.weights)
        times = self.heads // self.kv_heads
        q = q.view(*x.shape[:2], self.heads, -1).transpose(1, 2)
        k, v = (t.view(*x.shape[:2], self.kv_heads, -1).transpose(1, 2) for t in (k, v))
        k, v = (t.repeat_interleave(times, dim=1) for t in (k, v))
        before = 0 if self.keys is None else self.keys.shape[2]
        self.keys = torch.cat([self.keys, k], 2) if before else k
        self.values = torch.cat([self.values, v], 2) if before else v
        scores = q @ self.keys.transpose(2, 3) / math.sqrt(q.shape[3])
        hidden = torch.ones(scores.shape[2:], dtype=torch.bool).triu(before + 1)
        weights = torch.softmax(scores.masked_fill(hidden, -math.inf), dim=3)
        return (weights @ self.values).transpose(1, 2).flatten(2)


class cached_attention_wrong_interleaved_heads:
    """Query head h uses the key/value head h modulo their number."""

    def __init__(self, wq, wk, wv, heads, kv_heads):
        self.weights = wq, wk, wv
        self.heads, self.kv_heads = heads, kv_heads
        self.keys = self.values = None

    def step(self, x):
        q, k, v = (x @ w.T for w in self.weights)
        q = q.view(*x.shape[:2], self.heads, -1).transpose(1, 2)
        k, v = (t.view(*x.shape[:2], self.kv_heads, -1).transpose(1, 2) for t in (k, v))
        before = 0 if self.keys is None else self.keys.shape[2]
        self.keys = torch.cat([self.keys, k], 2) if before else k
        self.values = torch.cat([self.values, v], 2) if before else v
        times = self.heads // self.kv_heads
        k, v = (t.repeat(1, times, 1, 1) for t in (self.keys, self.values))
        scores = q @ k.transpose(2, 3) / math.sqrt(q.shape[3])
        hidden = torch.ones(scores.shape[2:], dtype=torch.bool).triu(before + 1)
        weights = torch.softmax(scores.masked_fill(hidden, -math.inf), dim=3)
        return (weights @ v).transpose(1, 2).flatten(2)


class cached_attention_wrong_no_mask:
    """All tokens of a step see one another."""

    def __init__(self, wq, wk, wv, heads, kv_heads):
        self.weights = wq, wk, wv
        self.heads, self.kv_heads = heads, kv_heads
        self.keys = self.values = None

    def step(self, x):
        q, k, v = (x @ w.T for w in self.weights)
        q = q.view(*x.shape[:2], self.heads, -1).transpose(1, 2)
        k, v = (t.view(*x.shape[:2], self.kv_heads, -1).transpose(1, 2) for t in (k, v))
        self.keys = k if self.keys is None else torch.cat([self.keys, k], 2)
        self.values = v if self.values is None else torch.cat([self.values, v], 2)
        y = functional.scaled_dot_product_attention(q, self.keys, self.values, enable_gqa=True)
        return y.transpose(1, 2).flatten(2)


class cached_attention_wrong_mask_not_moved:
    """The triangle starts at the first cached token."""

    def __init__(self, wq, wk, wv, heads, kv_heads):
        self.weights = wq, wk, wv
        self.heads, self.kv_heads = heads, kv_heads
        self.keys = self.values = None

    def step(self, x):
        q, k, v = (x @ w.T for w in self.weights)
        q = q.view(*x.shape[:2], self.heads, -1).transpose(1, 2)
        k, v = (t.view(*x.shape[:2], self.kv_heads, -1).transpose(1, 2) for t in (k, v))
        self.keys = k if self.keys is None else torch.cat([self.keys, k], 2)
        self.values = v if self.values is None else torch.cat([self.values, v], 2)
        y = functional.scaled_dot_product_attention(
            q, self.keys, self.values, is_causal=True, enable_gqa=True
        )
        return y.transpose(1, 2).flatten(2)


class cached_attention_wrong_projects_again:
    """Keeps the inputs instead of keys and values."""

    def __init__(self, wq, wk, wv, heads, kv_heads):
        self.weights = wq, wk, wv
        self.heads, self.kv_heads = heads, kv_heads
        self.x = None

    def step(self, x):
        self.x = x if self.x is None else torch.cat([self.x, x], 1)
        q, k, v = (self.x @ w.T for w in self.weights)
        q = q.view(*q.shape[:2], self.heads, -1).transpose(1, 2)
        self.keys, self.values = (
            t.view(*t.shape[:2], self.kv_heads, -1).transpose(1, 2) for t in (k, v)
        )
        y = functional.scaled_dot_product_attention(
            q, self.keys, self.values, is_causal=True, enable_gqa=True
        )
        return y.transpose(1, 2).flatten(2)[:, -x.shape[1] :]


def solve(given):
    """Decodes with lists of token numbers, with and without a cache."""
    cached, projected, again = [], 0, 0
    fed, whole = list(range(given["prompt_length"])), list(range(given["prompt_length"]))
    for number in range(given["new_tokens"]):
        projected += len(fed)
        cached += fed
        again += len(whole)
        fed = [given["prompt_length"] + number]
        whole = whole + fed
    return {"projected": projected, "again": again}
