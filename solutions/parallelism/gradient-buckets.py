"""Weighted gradients in buckets; the second method is one process with all samples."""

import torch
import torch.distributed as dist


def sum_in_buckets(parameters, limit, weight):
    """Replace each gradient by its sum over the ranks, each multiplied by its rank's weight."""
    buckets, size = [[]], 0
    for parameter in reversed(parameters):
        if parameter.grad is None:
            parameter.grad = torch.zeros_like(parameter)
        bytes_of_it = parameter.grad.numel() * parameter.grad.element_size()
        if buckets[-1] and size + bytes_of_it > limit:
            buckets.append([])
            size = 0
        buckets[-1].append(parameter.grad)
        size += bytes_of_it
    for bucket in buckets:
        flat = torch.cat([gradient.flatten() for gradient in bucket]) * weight
        dist.all_reduce(flat)
        pieces = flat.split([gradient.numel() for gradient in bucket])
        for gradient, piece in zip(bucket, pieces, strict=True):
            gradient.copy_(piece.view_as(gradient))


def average_gradients(parameters, limit, samples, total):
    sum_in_buckets(parameters, limit, samples / total)


def average_gradients_expected(weights, batches, limit):
    parameters = [torch.nn.Parameter(weight.clone()) for weight in weights]
    first, bias, second, last = parameters
    total = sum(len(x) for x, _, _ in batches)
    loss = torch.zeros(())
    for x, y, uses_last in batches:
        for row, target in zip(x, y, strict=True):
            out = second @ torch.tanh(first @ row + bias) + (last if uses_last else 0)
            loss = loss + ((out - target) ** 2).sum() / total
    loss = loss + 0.0 * sum(p.sum() for p in parameters)  # perhaps no rank has used the last one
    loss.backward()
    sizes, room = [], 0
    for weight in reversed(weights):
        taken = 4 * weight.numel()
        if sizes and taken <= room:
            sizes[-1] += taken
            room -= taken
        else:
            sizes.append(taken)
            room = limit - taken
    return {
        "gradients": [[p.grad for p in parameters]] * len(batches),
        "bytes_of_each_all_reduce": [sizes] * len(batches),
        "other_calls": [],
    }


def average_gradients_cases(rng, given):
    def case(counts, uses_last, limit):
        wide, hidden, out = (int(n) for n in rng.integers(3, 7, size=3))

        def tensor(*shape):
            return torch.tensor(rng.normal(size=shape), dtype=torch.float32)

        weights = [tensor(hidden, wide), tensor(hidden), tensor(out, hidden), tensor(out)]
        batches = [
            (tensor(n, wide), tensor(n, out), uses)
            for n, uses in zip(counts, uses_last, strict=True)
        ]
        sizes = [4 * w.numel() for w in weights]
        most = {"two": sizes[3] + sizes[2], "own": min(sizes) - 4, "all": sum(sizes)}[limit]
        return {"weights": weights, "batches": batches, "limit": most}

    yield "equal shares", case([4, 4], [True, True], "all")
    yield "equal shares", case([3, 3, 3], [True, True, True], "two")
    yield "unequal shares", case([int(rng.integers(2, 5)), 7], [True, True], "two")
    yield "unequal shares", case([1, 5, 3], [True, True, True], "own")
    yield "missing gradients", case([4, 3], [False, True], "two")
    yield "missing gradients", case([0, 6, 2], [True, True, False], "all")


def average_gradients_right_asynchronous(parameters, limit, samples, total):
    def shape_of(p):
        return p.numel() * p.element_size()

    order = list(reversed(parameters))
    groups, start = [], 0
    while start < len(order):
        end = start + 1
        while end < len(order) and sum(map(shape_of, order[start : end + 1])) <= limit:
            end += 1
        groups.append(order[start:end])
        start = end
    under_way = []
    for group in groups:
        flat = torch.zeros(sum(p.numel() for p in group))
        place = 0
        for p in group:
            if p.grad is not None:
                flat[place : place + p.numel()] = p.grad.reshape(-1) * samples
            place += p.numel()
        under_way.append((group, flat, dist.all_reduce(flat, async_op=True)))
    for group, flat, work in under_way:
        work.wait()
        flat /= total
        place = 0
        for p in group:
            p.grad = flat[place : place + p.numel()].reshape(p.shape)
            place += p.numel()


def average_gradients_wrong_plain_average(parameters, limit, samples, total):
    sum_in_buckets(parameters, limit, 1 / dist.get_world_size())


def average_gradients_wrong_sum(parameters, limit, samples, total):
    sum_in_buckets(parameters, limit, 1)


def average_gradients_wrong_one_by_one(parameters, limit, samples, total):
    for parameter in reversed(parameters):
        if parameter.grad is None:
            parameter.grad = torch.zeros_like(parameter)
        parameter.grad *= samples / total
        dist.all_reduce(parameter.grad)


def average_gradients_wrong_in_forward_order(parameters, limit, samples, total):
    sum_in_buckets(parameters[::-1], limit, samples / total)


def average_gradients_wrong_skips_what_is_missing(parameters, limit, samples, total):
    used = [parameter for parameter in parameters if parameter.grad is not None]
    if used:
        sum_in_buckets(used, limit, samples / total)


def solve(given):
    size, rate = given["size"], given["bandwidth"]  # MB / (GB/s) is ms
    closed = []  # of each bucket: how many gradients, and when the last of them is computed
    for gradient in range(1, given["tensors"] + 1):
        if not closed or (closed[-1][0] + 1) * size > given["cap"]:
            closed.append([0, 0.0])
        closed[-1][0] += 1
        closed[-1][1] = gradient * given["backward"] / given["tensors"]
    clock = 0.0
    for gradients, complete in closed:
        clock = max(clock, complete) + given["latency"] / 1000 + gradients * size / rate
    return {
        "count": len(closed),
        "exposed": clock - given["backward"],
        "drift": ["schedule", "skip"],
    }
