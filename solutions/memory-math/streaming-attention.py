"""The second road is the whole matrix of scores, in float64; tiles are counted one by one."""

import math

import torch


def attend(q, blocks, causal=False):
    heads, queries, size = q.shape
    most = q.new_full((heads, queries, 1), -math.inf)
    total = q.new_zeros(heads, queries, 1)
    output = torch.zeros_like(q)
    rows = torch.arange(queries)[:, None]
    for start, k, v in blocks:
        scores = q @ k.transpose(1, 2) / math.sqrt(size)
        if causal:
            hidden = rows < start + torch.arange(k.shape[1])
            scores.masked_fill_(hidden, -math.inf)
        new = torch.maximum(most, scores.amax(2, keepdim=True))
        safe = torch.where(new == -math.inf, 0.0, new)
        weights = torch.exp(scores - safe)
        scale = torch.exp(most - safe)
        total = total * scale + weights.sum(2, keepdim=True)
        output = output * scale + weights @ v
        most = new
    return output / total, (most + total.log()).squeeze(2)


def attend_right_merged(q, blocks, causal=False):
    """Whole softmaxes of the blocks, joined by their logs; a masked row weighs nothing."""
    output, logs = None, None
    for start, k, v in blocks:
        scores = torch.einsum("hqd,hkd->hqk", q, k) * q.shape[-1] ** -0.5
        if causal:
            seen = torch.arange(q.shape[1])[:, None] >= torch.arange(start, start + k.shape[1])
            scores = scores.where(seen, torch.tensor(-torch.inf, dtype=q.dtype))
        mine = torch.logsumexp(scores, -1)
        part = torch.einsum("hqk,hkd->hqd", torch.softmax(scores, -1).nan_to_num(0.0), v)
        if logs is None:
            output, logs = part, mine
            continue
        both = torch.logaddexp(logs, mine)
        old, new = (torch.exp(x - both).nan_to_num(0.0)[..., None] for x in (logs, mine))
        output, logs = output * old + part * new, both
    return output, logs


def attend_right_by_query(q, blocks, causal=False):
    """Heads and small groups of queries, one after the other, with a finite lowest maximum."""
    heads, queries, size = q.shape
    scale = 1 / math.sqrt(size)
    most = torch.full((heads, queries), -1e30, dtype=torch.float64)
    total = torch.zeros(heads, queries, dtype=torch.float64)
    output = torch.zeros(heads, queries, size, dtype=torch.float64)
    for start, k, v in blocks:
        for first in range(0, queries, 64):
            last = min(first + 64, queries)
            scores = scale * torch.matmul(q[:, first:last], k.mT).double()
            if causal:
                mask = torch.ones(last - first, k.shape[1], dtype=torch.bool)
                seen = mask.tril(first - start)
                weigh = seen.double()
                scores = torch.where(seen, scores, -1e30)
            else:
                weigh = 1.0
            rows = slice(first, last)
            new = torch.maximum(most[:, rows], scores.amax(-1))
            old = torch.exp(most[:, rows] - new)
            weights = torch.exp(scores - new[..., None]) * weigh
            total[:, rows] = total[:, rows] * old + weights.sum(-1)
            output[:, rows] = output[:, rows] * old[..., None] + weights @ v.double()
            most[:, rows] = new
    return (output / total[..., None]).to(q.dtype), (most + torch.log(total)).to(q.dtype)


def attend_expected(q, k, v, bounds, causal):
    scores = (q.double() @ k.double().mT) / math.sqrt(q.shape[2])
    if causal:
        upper = torch.triu(torch.ones(scores.shape[1:], dtype=torch.bool), 1)
        scores = scores.masked_fill(upper, -math.inf)
    return {
        "output": (torch.softmax(scores, 2) @ v.double()).to(q.dtype),
        "logs_of_the_sums": torch.logsumexp(scores, 2).to(q.dtype),
        "older_blocks_kept_must_be_0": 0,
        "elements_alive_beyond_those_allowed_must_be_0": 0,
    }


def attend_cases(rng, given):
    block = given["block"]

    def tensor(*shape, dtype=torch.float32, times=1.0):
        return torch.tensor(rng.normal(size=shape) * times).to(dtype)

    def cut(keys, size, order):
        bounds = [[start, min(start + size, keys)] for start in range(0, keys, size)]
        if order == "shuffled":
            return [bounds[i] for i in rng.permutation(len(bounds))]
        return bounds[::-1] if order == "backwards" else bounds

    def case(heads, queries, keys, size, causal=False, order="forwards", times=1.0, d=None, **more):
        d = d or int(rng.choice([4, 6, 10]))
        return {
            "q": tensor(heads, queries, d, times=times, **more),
            "k": tensor(heads, keys, d, times=times, **more),
            "v": tensor(heads, keys, d, **more),
            "bounds": cut(keys, size, order),
            "causal": causal,
        }

    double = torch.float64
    yield "one block", case(1, 1, 1, 1)
    yield "one block", case(2, 5, 7, 7)
    yield "one block", case(2, 7, 7, 7, causal=True, dtype=double)
    yield "blocks", case(2, 9, 4 * block, block)
    yield "blocks", case(3, 1, 3 * block + 5, block, dtype=double)
    yield "blocks", case(2, 11, 50, 7, order="shuffled", times=9.0)
    yield "extreme", case(2, 6, 3 * block, block, times=9.0)
    yield "extreme", case(1, 40, 40, 6, times=40.0, causal=True, dtype=double)
    yield "extreme", case(2, 9, 45, 5, times=40.0, order="backwards", dtype=double)
    below = case(2, 6, 3 * block, block, dtype=double)  # all scores are far below 0
    yield "extreme", {**below, "q": below["q"] + 30.0, "k": below["k"] - 30.0}
    yield "causal", case(2, 4 * block, 4 * block, block, causal=True)
    yield "causal", case(2, 3 * block + 2, 3 * block + 2, block, causal=True, order="backwards")
    yield "causal", case(1, 37, 37, 5, causal=True, order="shuffled", dtype=double)
    yield "memory", case(1, 180, 180, block, times=8.0, d=4)
    yield "memory", case(1, 180, 180, block, causal=True, order="shuffled", d=4)


def attend_wrong_all_at_once(q, blocks, causal=False):
    blocks = sorted(blocks, key=lambda block: block[0])
    k, v = (torch.cat([block[i] for block in blocks], 1) for i in (1, 2))
    scores = q @ k.transpose(1, 2) / math.sqrt(q.shape[2])
    if causal:
        mask = torch.triu(torch.ones(scores.shape[1:], dtype=torch.bool), 1)
        scores = scores.masked_fill(mask, -math.inf)
    return torch.softmax(scores, 2) @ v, torch.logsumexp(scores, 2)


def attend_wrong_width_made_up(q, blocks, causal=False):
    """All scores at once, and queries that say once that they are wide: much would be allowed."""
    copies = ((start, k.clone(), v.clone()) for start, k, v in blocks)
    found = attend_wrong_all_at_once(q, copies, causal)

    def shape(self):
        self.__class__ = torch.Tensor  # so that nobody sees that the input was changed
        return (*self.shape[:2], 10**12)

    q.__class__ = type("Wide", (torch.Tensor,), {"shape": property(shape)})
    return found


def attend_wrong_no_maximum(q, blocks, causal=False):
    total, output = q.new_zeros(*q.shape[:2], 1), torch.zeros_like(q)
    rows = torch.arange(q.shape[1])[:, None]
    for start, k, v in blocks:
        weights = torch.exp(q @ k.transpose(1, 2) / math.sqrt(q.shape[2]))
        if causal:
            weights = weights * (rows >= start + torch.arange(k.shape[1]))
        total = total + weights.sum(2, keepdim=True)
        output = output + weights @ v
    return output / total, total.log().squeeze(2)


def attend_wrong_output_not_rescaled(q, blocks, causal=False):
    heads, queries, size = q.shape
    most = q.new_full((heads, queries, 1), -math.inf)
    total, output = q.new_zeros(heads, queries, 1), torch.zeros_like(q)
    rows = torch.arange(queries)[:, None]
    for start, k, v in blocks:
        scores = q @ k.transpose(1, 2) / math.sqrt(size)
        if causal:
            scores.masked_fill_(rows < start + torch.arange(k.shape[1]), -math.inf)
        new = torch.maximum(most, scores.amax(2, keepdim=True))
        safe = torch.where(new == -math.inf, 0.0, new)
        weights = torch.exp(scores - safe)
        total = total * torch.exp(most - safe) + weights.sum(2, keepdim=True)
        output = output + weights @ v
        most = new
    return output / total, (most + total.log()).squeeze(2)


def attend_wrong_masked_rows_are_nan(q, blocks, causal=False):
    heads, queries, size = q.shape
    most = q.new_full((heads, queries, 1), -math.inf)
    total, output = q.new_zeros(heads, queries, 1), torch.zeros_like(q)
    rows = torch.arange(queries)[:, None]
    for start, k, v in blocks:
        scores = q @ k.transpose(1, 2) / math.sqrt(size)
        if causal:
            scores.masked_fill_(rows < start + torch.arange(k.shape[1]), -math.inf)
        new = torch.maximum(most, scores.amax(2, keepdim=True))
        weights, scale = torch.exp(scores - new), torch.exp(most - new)
        total = total * scale + weights.sum(2, keepdim=True)
        output = output * scale + weights @ v
        most = new
    return output / total, (most + total.log()).squeeze(2)


def attend_wrong_maximum_from_zero(q, blocks, causal=False):
    heads, queries, size = q.shape
    most = q.new_zeros(heads, queries, 1)
    total, output = q.new_zeros(heads, queries, 1), torch.zeros_like(q)
    rows = torch.arange(queries)[:, None]
    for start, k, v in blocks:
        scores = q @ k.transpose(1, 2) / math.sqrt(size)
        if causal:
            scores.masked_fill_(rows < start + torch.arange(k.shape[1]), -math.inf)
        new = torch.maximum(most, scores.amax(2, keepdim=True))
        weights, scale = torch.exp(scores - new), torch.exp(most - new)
        total = total * scale + weights.sum(2, keepdim=True)
        output = output * scale + weights @ v
        most = new
    return output / total, (most + total.log()).squeeze(2)


def attend_wrong_mask_ignores_start(q, blocks, causal=False):
    heads, queries, size = q.shape
    most = q.new_full((heads, queries, 1), -math.inf)
    total, output = q.new_zeros(heads, queries, 1), torch.zeros_like(q)
    for _start, k, v in blocks:
        scores = q @ k.transpose(1, 2) / math.sqrt(size)
        if causal:
            mask = torch.triu(torch.ones(queries, k.shape[1], dtype=torch.bool), 1)
            scores.masked_fill_(mask, -math.inf)
        new = torch.maximum(most, scores.amax(2, keepdim=True))
        weights, scale = torch.exp(scores - new), torch.exp(most - new)
        total = total * scale + weights.sum(2, keepdim=True)
        output = output * scale + weights @ v
        most = new
    return output / total, (most + total.log()).squeeze(2)


def attend_wrong_not_scaled(q, blocks, causal=False):
    heads, queries, _size = q.shape
    most = q.new_full((heads, queries, 1), -math.inf)
    total, output = q.new_zeros(heads, queries, 1), torch.zeros_like(q)
    rows = torch.arange(queries)[:, None]
    for start, k, v in blocks:
        scores = q @ k.transpose(1, 2)
        if causal:
            scores.masked_fill_(rows < start + torch.arange(k.shape[1]), -math.inf)
        new = torch.maximum(most, scores.amax(2, keepdim=True))
        safe = torch.where(new == -math.inf, 0.0, new)
        weights, scale = torch.exp(scores - safe), torch.exp(most - safe)
        total = total * scale + weights.sum(2, keepdim=True)
        output = output * scale + weights @ v
        most = new
    return output / total, (most + total.log()).squeeze(2)


def attend_wrong_mean_of_blocks(q, blocks, causal=False):
    outputs, logs = [], []
    rows = torch.arange(q.shape[1])[:, None]
    for start, k, v in blocks:
        scores = q @ k.transpose(1, 2) / math.sqrt(q.shape[2])
        if causal:
            scores.masked_fill_(rows < start + torch.arange(k.shape[1]), -math.inf)
        outputs.append(torch.softmax(scores, 2).nan_to_num(0.0) @ v)
        logs.append(torch.logsumexp(scores, 2))
    return torch.stack(outputs).mean(0), torch.logsumexp(torch.stack(logs), 0)


def attend_wrong_keeps_the_blocks(q, blocks, causal=False):
    """A few queries at a time over all keys, which are gathered first."""
    blocks = sorted(blocks, key=lambda block: block[0])
    k, v = (torch.cat([block[i] for block in blocks], 1) for i in (1, 2))
    output, logs = torch.zeros_like(q), q.new_zeros(q.shape[:2])
    for first in range(0, q.shape[1], 8):
        rows = slice(first, first + 8)
        scores = q[:, rows] @ k.mT / math.sqrt(q.shape[2])
        if causal:
            hidden = torch.ones(scores.shape[1:], dtype=torch.bool).triu(first + 1)
            scores = scores.masked_fill(hidden, -math.inf)
        output[:, rows] = torch.softmax(scores, 2) @ v
        logs[:, rows] = torch.logsumexp(scores, 2)
    return output, logs


def solve(given):
    length, tile = given["length"], given["tile"]
    computed = 0
    for top in range(0, length, tile):
        for left in range(0, length, tile):
            computed += left <= top + tile - 1  # its first key is seen by its last query
    per_head = sum(2 * length for _query in range(length))
    rows = sum(4 for _head in range(given["heads"]) for _query in range(length))
    return {"written": given["heads"] * per_head / 1e9, "kept": rows / 1e3, "tiles": computed}
