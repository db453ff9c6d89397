"""The expected gradients are autograd's, of the complete matrix in float64."""

import math

import torch


def attention_backward(q, k, v, output, logs, gradient, tile, causal=False):
    scale = q.shape[2] ** -0.5
    dq, dk, dv = (torch.zeros_like(x) for x in (q, k, v))
    dots = (output * gradient).sum(2, keepdim=True)
    rows = torch.arange(q.shape[1])[:, None]
    for start in range(0, k.shape[1], tile):
        keys = slice(start, min(start + tile, k.shape[1]))
        scores = scale * (q @ k[:, keys].mT) - logs[..., None]
        if causal:
            scores.masked_fill_(rows < torch.arange(keys.start, keys.stop), -math.inf)
        p = torch.exp(scores)
        dv[:, keys] = p.mT @ gradient
        ds = p * (gradient @ v[:, keys].mT - dots)
        dk[:, keys] = scale * (ds.mT @ q)
        dq += scale * (ds @ k[:, keys])
    return dq, dk, dv


def attention_backward_right_small_tiles(q, k, v, output, logs, gradient, tile, causal=False):
    """Heads, tiles of keys, and tiles of queries in loops, with skipped tiles."""
    heads, tokens, size = q.shape
    found = [torch.zeros(x.shape, dtype=torch.float64) for x in (q, k, v)]
    for head in range(heads):
        qs, ks, vs, os, gs = (x[head].double() for x in (q, k, v, output, gradient))
        for first in range(0, tokens, tile):
            for top in range(0, tokens, 64):
                if causal and first > top + 63:
                    continue
                i, j = slice(top, top + 64), slice(first, first + tile)
                s = qs[i] @ ks[j].T / math.sqrt(size)
                if causal:
                    seen = torch.ones(s.shape, dtype=torch.bool).tril(top - first)
                    s = s.masked_fill(~seen, -math.inf)
                p = torch.exp(s - logs[head, i, None].double())
                found[2][head, j] += p.T @ gs[i]
                dp = gs[i] @ vs[j].T
                ds = p * (dp - (os[i] * gs[i]).sum(1, keepdim=True)) / math.sqrt(size)
                found[0][head, i] += ds @ ks[j]
                found[1][head, j] += ds.T @ qs[i]
    return tuple(x.to(q.dtype) for x in found)


def attention_backward_right_autograd(q, k, v, output, logs, gradient, tile, causal=False):
    """Autograd of a few rows of scores at a time."""
    tokens, size = q.shape[1:]
    kk, vv = k.clone().requires_grad_(), v.clone().requires_grad_()
    dq = torch.zeros_like(q)
    for first in range(0, tokens, 10):
        i = torch.arange(first, min(first + 10, tokens))
        rows = q[:, i].clone().requires_grad_()
        s = rows @ kk.mT / math.sqrt(size)
        if causal:
            s = s.masked_fill(torch.arange(tokens) > i[:, None], -math.inf)
        out = torch.softmax(s, 2) @ vv
        out.backward(gradient[:, i])
        dq[:, i] = rows.grad
    return dq, kk.grad, vv.grad


def attention_backward_expected(q, k, v, output, logs, gradient, tile, causal):
    wide = [x.double().requires_grad_() for x in (q, k, v)]
    full(*wide, causal)[0].backward(gradient.double())
    return {
        "gradients_of_q_k_v": tuple(x.grad.to(q.dtype) for x in wide),
        "inputs_changed_must_be_0": 0,
        "elements_alive_beyond_those_allowed_must_be_0": 0,
    }


def full(q, k, v, causal):
    scores = q @ k.mT / math.sqrt(q.shape[2])
    if causal:
        upper = torch.triu(torch.ones(scores.shape[1:], dtype=torch.bool), 1)
        scores = scores.masked_fill(upper, -math.inf)
    return torch.softmax(scores, 2) @ v, torch.logsumexp(scores, 2)


def attention_backward_cases(rng, given):
    tile = given["tile"]

    def case(heads, tokens, size, tile, causal=False, times=1.0, dtype=torch.float32):
        q, k, v, gradient = (
            torch.tensor(rng.normal(size=(heads, tokens, size)) * by)
            for by in (times, times, 1.0, 1.0)
        )
        output, logs = full(q, k, v, causal)
        named = {"q": q, "k": k, "v": v, "output": output, "logs": logs, "gradient": gradient}
        return {
            **{name: x.to(dtype) for name, x in named.items()},
            "tile": tile,
            "causal": causal,
        }

    double = torch.float64
    yield "one tile", case(1, 1, 3, tile)
    yield "one tile", case(2, tile, 4, tile)
    yield "one tile", case(2, tile - 2, 5, tile, dtype=double)
    yield "tiles", case(2, 3 * tile, 4, tile)
    yield "tiles", case(3, 2 * tile + 5, 6, tile, dtype=double)
    yield "tiles", case(1, 23, 4, 7)
    yield "extreme", case(2, 3 * tile, 4, tile, times=12.0, dtype=double)
    yield "extreme", case(1, 40, 6, 9, times=40.0, causal=True, dtype=double)
    yield "causal", case(2, 3 * tile, 4, tile, causal=True)
    yield "causal", case(2, 2 * tile + 3, 5, tile, causal=True, dtype=double)
    yield "causal", case(1, 31, 4, 6, causal=True)
    yield "memory", case(1, 260, 4, tile)
    yield "memory", case(1, 260, 4, tile, causal=True)


def attention_backward_wrong_all_at_once(q, k, v, output, logs, gradient, tile, causal=False):
    scale = q.shape[2] ** -0.5
    p = torch.exp(scale * (q @ k.mT) - logs[..., None])
    p = p.tril() if causal else p
    ds = p * (gradient @ v.mT - (output * gradient).sum(2, keepdim=True)) * scale
    return ds @ k, ds.mT @ q, p.mT @ gradient


def attention_backward_wrong_no_row_sum(q, k, v, output, logs, gradient, tile, causal=False):
    return attention_backward(q, k, v, torch.zeros_like(output), logs, gradient, tile, causal)


def attention_backward_wrong_sum_of_the_tile(q, k, v, output, logs, gradient, tile, causal=False):
    scale = q.shape[2] ** -0.5
    dq, dk, dv = (torch.zeros_like(x) for x in (q, k, v))
    rows = torch.arange(q.shape[1])[:, None]
    for start in range(0, k.shape[1], tile):
        keys = slice(start, min(start + tile, k.shape[1]))
        p = torch.exp(scale * (q @ k[:, keys].mT) - logs[..., None])
        if causal:
            p = p * (rows >= torch.arange(keys.start, keys.stop))
        dv[:, keys] = p.mT @ gradient
        dp = gradient @ v[:, keys].mT
        ds = p * (dp - (p * dp).sum(2, keepdim=True))
        dk[:, keys] = scale * (ds.mT @ q)
        dq += scale * (ds @ k[:, keys])
    return dq, dk, dv


def attention_backward_wrong_softmax_of_the_tile(
    q, k, v, output, logs, gradient, tile, causal=False
):
    scale = q.shape[2] ** -0.5
    dq, dk, dv = (torch.zeros_like(x) for x in (q, k, v))
    dots = (output * gradient).sum(2, keepdim=True)
    rows = torch.arange(q.shape[1])[:, None]
    for start in range(0, k.shape[1], tile):
        keys = slice(start, min(start + tile, k.shape[1]))
        scores = scale * (q @ k[:, keys].mT)
        if causal:
            scores = scores.masked_fill(rows < torch.arange(keys.start, keys.stop), -math.inf)
        p = torch.softmax(scores, 2).nan_to_num(0.0)
        dv[:, keys] = p.mT @ gradient
        ds = p * (gradient @ v[:, keys].mT - dots)
        dk[:, keys] = scale * (ds.mT @ q)
        dq += scale * (ds @ k[:, keys])
    return dq, dk, dv


def attention_backward_wrong_mask_after_exponential(
    q, k, v, output, logs, gradient, tile, causal=False
):
    """A masked score may be far above the log-sum-exp; infinity times zero is NaN."""
    scale = q.shape[2] ** -0.5
    dq, dk, dv = (torch.zeros_like(x) for x in (q, k, v))
    dots = (output * gradient).sum(2, keepdim=True)
    rows = torch.arange(q.shape[1])[:, None]
    for start in range(0, k.shape[1], tile):
        keys = slice(start, min(start + tile, k.shape[1]))
        p = torch.exp(scale * (q @ k[:, keys].mT) - logs[..., None])
        if causal:
            p = p * (rows >= torch.arange(keys.start, keys.stop))
        dv[:, keys] = p.mT @ gradient
        ds = p * (gradient @ v[:, keys].mT - dots)
        dk[:, keys] = scale * (ds.mT @ q)
        dq += scale * (ds @ k[:, keys])
    return dq, dk, dv


def attention_backward_wrong_exponential_of_scores(
    q, k, v, output, logs, gradient, tile, causal=False
):
    """Right in real numbers, but the exponential of a large score overflows."""
    scale = q.shape[2] ** -0.5
    dq, dk, dv = (torch.zeros_like(x) for x in (q, k, v))
    dots = (output * gradient).sum(2, keepdim=True)
    rows = torch.arange(q.shape[1])[:, None]
    for start in range(0, k.shape[1], tile):
        keys = slice(start, min(start + tile, k.shape[1]))
        p = torch.exp(scale * (q @ k[:, keys].mT)) / torch.exp(logs)[..., None]
        if causal:
            p = p * (rows >= torch.arange(keys.start, keys.stop))
        dv[:, keys] = p.mT @ gradient
        ds = p * (gradient @ v[:, keys].mT - dots)
        dk[:, keys] = scale * (ds.mT @ q)
        dq += scale * (ds @ k[:, keys])
    return dq, dk, dv


def attention_backward_wrong_no_scale(q, k, v, output, logs, gradient, tile, causal=False):
    dq, dk, dv = attention_backward(q, k, v, output, logs, gradient, tile, causal)
    scale = q.shape[2] ** 0.5
    return dq * scale, dk * scale, dv


def attention_backward_wrong_last_tile_only(q, k, v, output, logs, gradient, tile, causal=False):
    _, dk, dv = attention_backward(q, k, v, output, logs, gradient, tile, causal)
    start = (k.shape[1] - 1) // tile * tile
    scale = q.shape[2] ** -0.5
    p = torch.exp(scale * (q @ k[:, start:].mT) - logs[..., None])
    if causal:
        p = p * (torch.arange(q.shape[1])[:, None] >= torch.arange(start, k.shape[1]))
    ds = p * (gradient @ v[:, start:].mT - (output * gradient).sum(2, keepdim=True))
    return scale * (ds @ k[:, start:]), dk, dv


def attention_backward_wrong_no_mask(q, k, v, output, logs, gradient, tile, causal=False):
    return attention_backward(q, k, v, output, logs, gradient, tile, False)


def attention_backward_wrong_mask_of_the_tile(q, k, v, output, logs, gradient, tile, causal=False):
    """Counts the positions of a tile's keys from zero."""
    scale = q.shape[2] ** -0.5
    dq, dk, dv = (torch.zeros_like(x) for x in (q, k, v))
    dots = (output * gradient).sum(2, keepdim=True)
    for start in range(0, k.shape[1], tile):
        keys = slice(start, min(start + tile, k.shape[1]))
        p = torch.exp(scale * (q @ k[:, keys].mT) - logs[..., None])
        p = p.tril() if causal else p
        dv[:, keys] = p.mT @ gradient
        ds = p * (gradient @ v[:, keys].mT - dots)
        dk[:, keys] = scale * (ds.mT @ q)
        dq += scale * (ds @ k[:, keys])
    return dq, dk, dv


def solve(given):
    heads, length = given["heads"], given["length"]
    matrix = sum(2 * length * 128 for _ in range(heads)) / 1e9
    square = sum(2 * length * length for _ in range(heads)) / 1e9
    logs = sum(4 * length for _ in range(heads)) / 1e9
    product = sum(2 * length * length * 128 for _ in range(heads)) / 1e12
    forward = ["scores", "output"]
    backward = ["dv", "dp", "dq", "dk"]
    return {
        "by_hand": by_hand(given),
        "methods": [
            [3 * matrix + square, len(forward + backward) * product],
            [3 * matrix, len(forward + forward + backward) * product],
            [4 * matrix + logs, len([*forward, "scores", *backward]) * product],
        ],
        "identity": "output",
    }


def by_hand(given):
    """Autograd of a softmax over this key and a second one that has what remains."""
    p = math.exp(given["score"] - given["log_sum"])
    value = torch.tensor([given["v1"], given["v2"]], dtype=torch.float64)
    output = torch.tensor([given["o1"], given["o2"]], dtype=torch.float64)
    other = (output - p * value) / (1 - p)
    scores = torch.tensor([math.log(p), math.log(1 - p)], dtype=torch.float64, requires_grad=True)
    result = torch.softmax(scores, 0) @ torch.stack([value, other])
    result.backward(torch.tensor([given["g1"], given["g2"]], dtype=torch.float64))
    return scores.grad[0].item()
