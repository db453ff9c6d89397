"""The shapes are run on the meta device, allocation by allocation; the code adds rows."""

import torch


def solve(given):
    tokens, entries, width = given["tokens"], given["entries"], given["width"]
    integers = torch.empty(tokens, entries, dtype=torch.int64, device="meta")
    floats = integers.float()
    g = torch.empty(tokens, width, device="meta")
    result = floats.T @ g
    # Every element of the result is a dot product: a multiplication and an addition per token.
    flops = sum(result.numel() + result.numel() for _ in range(tokens))
    alive, peak = 0, 0
    for tensor in (integers, floats, result):
        alive += tensor.numel() * tensor.element_size()
        peak = max(peak, alive)

    # Two tokens with the same index show what the indexed addition does.
    table = torch.zeros(1, 1)
    table[torch.tensor([0, 0])] += torch.tensor([[1.0], [2.0]])
    return {
        "flops": flops / 1e6,
        "peak": peak / 1e6,
        "share": flops / g.numel(),
        "indexing": {3.0: "sum", 1.5: "mean", 0.0: "zero"}.get(table.item(), "one"),
    }


def table_gradient(ids, g, entries):
    return torch.zeros(entries, g.shape[1]).index_add_(0, ids, g)


def table_gradient_right_autograd(ids, g, entries):
    table = torch.zeros(entries, g.shape[1], requires_grad=True)
    torch.nn.functional.embedding(ids, table).backward(g)
    return table.grad


def table_gradient_right_put(ids, g, entries):
    gradient = torch.zeros(entries, g.shape[1])
    return gradient.index_put_((ids,), g, accumulate=True)


def table_gradient_right_sparse(ids, g, entries):
    places = torch.stack([ids, torch.arange(len(ids))])
    hot = torch.sparse_coo_tensor(places, torch.ones(len(ids)), (entries, len(ids)))
    return torch.sparse.mm(hot, g)


def table_gradient_slow_as_given(ids, g, entries):
    hot = torch.nn.functional.one_hot(ids, entries)
    return hot.float().T @ g


def table_gradient_slow_equality(ids, g, entries):
    hot = (torch.arange(entries)[:, None] == ids).float()
    return hot @ g


def table_gradient_slow_loop(ids, g, entries):
    gradient = torch.zeros(entries, g.shape[1])
    for entry, row in zip(ids.tolist(), g):
        gradient[entry] += row
    return gradient


def table_gradient_cases(rng, given):
    def case(tokens, entries, width, used=None):
        ids = rng.integers(0, used or entries, size=tokens)
        g = torch.from_numpy(rng.normal(size=(tokens, width))).float()
        return {"ids": torch.from_numpy(ids), "g": g, "entries": entries}

    yield "edge", case(0, 4, 3)
    yield "edge", case(1, 1, 1)
    yield "edge", case(6, 1, 2)
    yield "edge", case(3, 20, 5)
    yield "repeated", case(30, 9, 4, used=3)
    yield "repeated", case(50, 8, given["width"], used=5)
    for _ in range(4):
        tokens, entries, width = (int(n) for n in rng.integers(2, 30, size=3))
        yield "repeated", case(tokens + entries, entries, width)


def table_gradient_wrong_last_wins(ids, g, entries):
    gradient = torch.zeros(entries, g.shape[1])
    gradient[ids] = g
    return gradient


def table_gradient_wrong_lost_updates(ids, g, entries):
    gradient = torch.zeros(entries, g.shape[1])
    gradient[ids] += g
    return gradient


def table_gradient_wrong_mean(ids, g, entries):
    total = torch.zeros(entries, g.shape[1]).index_add_(0, ids, g)
    return total / torch.bincount(ids, minlength=entries).clamp(min=1)[:, None]


def table_gradient_wrong_short(ids, g, entries):
    used = int(ids.max()) + 1 if len(ids) else 0
    return torch.zeros(used, g.shape[1]).index_add_(0, ids, g)


def table_gradient_wrong_sorted(ids, g, entries):
    return torch.zeros(entries, g.shape[1]).index_add_(0, ids.sort().values, g)
