"""A backward pass by hand, one weight at a time; the second method is autograd on whole weights."""

import torch


def forward_layer(h, shard, gather):
    """Apply one layer; its weight is freed when this function returns."""
    return torch.tanh(h @ gather(shard).T)


def backward_layer(delta, shard, gather):
    """Return the gradient of a layer's input."""
    return delta @ gather(shard)


def sharded_gradients(shards, x, y, gather, reduce_scatter):
    saved = [x]
    for shard in shards:
        saved.append(forward_layer(saved[-1], shard, gather))
    gradient = saved[-1] - y
    found = [None] * len(shards)
    for layer in reversed(range(len(shards))):
        delta = gradient * (1 - saved[layer + 1] ** 2)
        found[layer] = reduce_scatter(delta.T @ saved[layer])
        if layer > 0:
            gradient = backward_layer(delta, shards[layer], gather)
    return found


def sharded_gradients_expected(weights, batches):
    world = len(batches)
    parameters = [weight.double().requires_grad_() for weight in weights]
    loss = 0
    for x, y in batches:
        h = x.double()
        for parameter in parameters:
            h = torch.tanh(torch.nn.functional.linear(h, parameter))
        loss = loss + ((h - y) ** 2).sum() / 2
    loss.backward()
    whole = [parameter.grad.float() for parameter in parameters]
    return {
        "gradients": [[one.chunk(world)[rank] for one in whole] for rank in range(world)],
        "peak_number_of_whole_weights": [1] * world,
        "excess_gathers": [0] * world,
        "missing_gathers": [0] * world,
        "excess_reduce_scatters": [0] * world,
        "other_calls": [],
    }


def sharded_gradients_cases(rng, given):
    def case(world, rows, layers):
        size = world * rows

        def tensor(*shape):
            return torch.tensor(rng.normal(size=shape), dtype=torch.float32)

        weights = [tensor(size, size) / size**0.5 for _ in range(layers)]
        counts = rng.integers(1, 5, size=world)
        return {"weights": weights, "batches": [(tensor(n, size), tensor(n, size)) for n in counts]}

    yield "one layer", case(2, 1, 1)
    yield "several layers", case(2, 3, 2)
    yield "several layers", case(3, int(rng.integers(1, 4)), 4)
    yield "several layers", case(1, 3, 3)


def sharded_gradients_right_with_autograd(shards, x, y, gather, reduce_scatter):
    def through(h, shard):
        whole = gather(shard).requires_grad_()
        inner = h.detach().requires_grad_()
        return whole, inner, torch.tanh(torch.nn.functional.linear(inner, whole))

    inputs = [x]
    for shard in shards:
        inputs.append(through(inputs[-1], shard)[2].detach())
    upstream = inputs.pop() - y
    found = []
    for shard, h in zip(reversed(shards), reversed(inputs), strict=True):
        whole, inner, out = through(h, shard)
        out.backward(upstream)
        upstream = inner.grad
        found.insert(0, reduce_scatter(whole.grad))
        del whole, inner, out
    return found


def sharded_gradients_right_keeps_the_last(shards, x, y, gather, reduce_scatter):
    hs, whole = [x], None
    for shard in shards:
        whole = None
        whole = gather(shard)
        hs.append((hs[-1] @ whole.t()).tanh())
    up = hs[-1].sub(y)
    out = []
    for n in range(len(shards) - 1, -1, -1):
        local = up * (1 - hs[n + 1].square())
        if n:
            if whole is None:
                whole = gather(shards[n])
            up = local.matmul(whole)
            whole = None
        out.append(reduce_scatter(torch.einsum("so,si->oi", local, hs[n])))
    return out[::-1]


def sharded_gradients_wrong_name_holds_it(shards, x, y, gather, reduce_scatter):
    saved = [x]
    for shard in shards:
        whole = gather(shard)
        saved.append(torch.tanh(saved[-1] @ whole.T))
    gradient, found = saved[-1] - y, []
    for layer in reversed(range(len(shards))):
        whole = gather(shards[layer])
        delta = gradient * (1 - saved[layer + 1] ** 2)
        found.insert(0, reduce_scatter(delta.T @ saved[layer]))
        gradient = delta @ whole
    return found


def sharded_gradients_wrong_keeps_copies(shards, x, y, gather, reduce_scatter):
    saved, copies = [x], []
    for shard in shards:
        whole = gather(shard)
        copies.append(whole.clone())
        del whole
        saved.append(torch.tanh(saved[-1] @ copies[-1].T))
    gradient, found = saved[-1] - y, []
    for layer in reversed(range(len(shards))):
        delta = gradient * (1 - saved[layer + 1] ** 2)
        found.insert(0, reduce_scatter(delta.T @ saved[layer]))
        gradient = delta @ copies[layer]
    return found


def sharded_gradients_wrong_all_at_once(shards, x, y, gather, reduce_scatter):
    whole = [gather(shard).requires_grad_() for shard in shards]
    h = x
    for weight in whole:
        h = torch.tanh(h @ weight.T)
    (((h - y) ** 2).sum() / 2).backward()
    return [reduce_scatter(weight.grad) for weight in whole]


def sharded_gradients_wrong_forgets_tanh(shards, x, y, gather, reduce_scatter):
    saved = [x]
    for shard in shards:
        saved.append(forward_layer(saved[-1], shard, gather))
    gradient = saved[-1] - y
    found = [None] * len(shards)
    for layer in reversed(range(len(shards))):
        found[layer] = reduce_scatter(gradient.T @ saved[layer])
        gradient = backward_layer(gradient, shards[layer], gather)
    return found


def sharded_gradients_wrong_own_rows_unsummed(shards, x, y, gather, reduce_scatter):
    saved = [x]
    for shard in shards:
        saved.append(forward_layer(saved[-1], shard, gather))
    gradient = saved[-1] - y
    found = [None] * len(shards)
    for layer in reversed(range(len(shards))):
        delta = gradient * (1 - saved[layer + 1] ** 2)
        rows = shards[layer].shape[0]
        found[layer] = (delta.T @ saved[layer])[:rows]
        gradient = backward_layer(delta, shards[layer], gather)
    return found


def solve(given):
    size, layers = given["layer_size"], given["layers"]

    def run(prefetches, counts_gradients):
        """The peak of a step in MB, allocation by allocation."""
        shards = layers * size / given["ranks"] * (2 if counts_gradients else 1)
        whole, peak = {}, 0.0
        passes = [("forward", layer) for layer in range(layers)]
        passes += [("backward", layer) for layer in reversed(range(layers))]
        for at, (what, layer) in enumerate(passes):
            whole["weight", at] = size
            if prefetches and at + 1 < len(passes):
                whole["weight", at + 1] = size
            if counts_gradients and what == "backward":
                whole["gradient", layer] = size
            peak = max(peak, shards + sum(whole.values()))
            whole.pop(("gradient", layer), None)
            del whole["weight", at]
        return peak / 1000

    return {"peak_weights": run(False, False), "peak_prefetched": run(True, True)}
