"""Chunks around a ring; the second method is the sum of all vectors, in one process."""

import torch
import torch.distributed as dist


def swapped(send, recv, world, rank):
    """Send one tensor to the next rank while receiving another from the previous one."""
    going = dist.isend(send.clone(), (rank + 1) % world)
    dist.recv(recv, (rank - 1) % world)
    going.wait()


def ring_all_reduce(x):
    rank, world = dist.get_rank(), dist.get_world_size()
    chunks = list(torch.tensor_split(x.clone(), world))
    for step in range(world - 1):
        mine, other = chunks[(rank - step) % world], chunks[(rank - step - 1) % world]
        arrived = torch.empty_like(other)
        swapped(mine, arrived, world, rank)
        other += arrived
    for step in range(world - 1):
        mine, other = chunks[(rank + 1 - step) % world], chunks[(rank - step) % world]
        swapped(mine, other, world, rank)
    return torch.cat(chunks)


def ring_all_reduce_expected(vectors):
    world = len(vectors)
    total = torch.stack(vectors).sum(0, dtype=vectors[0].dtype)
    return {
        "sums": [total] * world,
        "excess_bytes_sent": [0] * world,
        "messages_to_other_ranks_than_the_next": [0] * world,
        "collectives": [],
    }


def ring_all_reduce_cases(rng, given):
    def vectors(world, size, dtype=torch.float32):
        return {
            "vectors": [torch.tensor(rng.normal(size=size) * 4).to(dtype) for _ in range(world)]
        }

    yield "two ranks", vectors(2, 4)
    yield "two ranks", vectors(1, 3)
    yield "even chunks", vectors(3, 3 * int(rng.integers(2, 40)), torch.float64)
    yield "uneven chunks", vectors(3, 3 * int(rng.integers(3, 40)) + 1)
    large = [torch.tensor(rng.integers(-(10**12), 10**12, size=2)) for _ in range(4)]
    yield "uneven chunks", {"vectors": large}


def ring_all_reduce_right_padded(x):
    rank, world = dist.get_rank(), dist.get_world_size()
    if world == 1:
        return x
    size = -(-x.numel() // world)
    padded = torch.zeros(size * world, dtype=x.dtype)
    padded[: x.numel()] = x
    table = padded.view(world, size)
    inbox = torch.empty(size, dtype=x.dtype)
    for step in range(2 * (world - 1)):
        giving, taking = (rank - 1 - step) % world, (rank - 2 - step) % world
        ops = [
            dist.P2POp(dist.isend, table[giving].clone(), (rank + 1) % world),
            dist.P2POp(dist.irecv, inbox, (rank - 1) % world),
        ]
        for work in dist.batch_isend_irecv(ops):
            work.wait()
        table[taking] = inbox + (table[taking] if step < world - 1 else 0)
    return padded[: x.numel()]


def ring_all_reduce_right_even_first(x):
    rank, world = dist.get_rank(), dist.get_world_size()
    after, before = (rank + 1) % world, (rank - 1) % world
    bounds = [x.numel() * n // world for n in range(world + 1)]
    out = x.clone()
    for step in range(2 * (world - 1)):
        give, take = (rank - step) % world, (rank - step - 1) % world
        inbox = torch.empty(bounds[take + 1] - bounds[take], dtype=x.dtype)
        outbox = out[bounds[give] : bounds[give + 1]].clone()
        if rank > 0:  # one rank receives first, so the ring can't lock
            dist.send(outbox, after)
            dist.recv(inbox, before)
        else:
            dist.recv(inbox, before)
            dist.send(outbox, after)
        if step < world - 1:
            out[bounds[take] : bounds[take + 1]] += inbox
        else:
            out[bounds[take] : bounds[take + 1]] = inbox
    return out


def ring_all_reduce_right_last_takes_the_rest(x):
    rank, world = dist.get_rank(), dist.get_world_size()
    size, out = x.numel() // world, x.clone()
    chunks = [out[n * size : (n + 1) * size if n + 1 < world else None] for n in range(world)]
    for step in range(2 * (world - 1)):
        mine, other = chunks[(rank - step) % world], chunks[(rank - step - 1) % world]
        arrived = torch.empty_like(other)
        swapped(mine, arrived, world, rank)
        other.copy_(other + arrived if step < world - 1 else arrived)
    return out


def ring_all_reduce_wrong_in_float32(x):
    return ring_all_reduce(x.float()).to(x.dtype)


def ring_all_reduce_wrong_everybody_sends_first(x):
    rank, world = dist.get_rank(), dist.get_world_size()
    chunks = list(torch.tensor_split(x.clone(), world))
    for step in range(2 * (world - 1)):
        mine, other = chunks[(rank - step) % world], chunks[(rank - step - 1) % world]
        arrived = torch.empty_like(other)
        dist.send(mine, (rank + 1) % world)
        dist.recv(arrived, (rank - 1) % world)
        if step < world - 1:
            other += arrived
        else:
            other.copy_(arrived)
    return torch.cat(chunks)


def ring_all_reduce_wrong_whole_vector(x):
    rank, world = dist.get_rank(), dist.get_world_size()
    total, going = x.clone(), x.clone()
    for _ in range(world - 1):
        arrived = torch.empty_like(x)
        swapped(going, arrived, world, rank)
        total += arrived
        going = arrived
    return total


def ring_all_reduce_wrong_one_phase(x):
    rank, world = dist.get_rank(), dist.get_world_size()
    chunks = list(torch.tensor_split(x.clone(), world))
    for step in range(world - 1):
        mine, other = chunks[(rank - step) % world], chunks[(rank - step - 1) % world]
        arrived = torch.empty_like(other)
        swapped(mine, arrived, world, rank)
        other += arrived
    return torch.cat(chunks)


def ring_all_reduce_wrong_drops_the_rest(x):
    rank, world = dist.get_rank(), dist.get_world_size()
    size = x.numel() // world
    chunks = list(x.clone()[: size * world].split(size)) if size else []
    if not chunks:
        return x
    for step in range(2 * (world - 1)):
        mine, other = chunks[(rank - step) % world], chunks[(rank - step - 1) % world]
        arrived = torch.empty_like(other)
        swapped(mine, arrived, world, rank)
        if step < world - 1:
            other += arrived
        else:
            other.copy_(arrived)
    return torch.cat([*chunks, x[size * world :]])


def ring_all_reduce_wrong_gathers_at_rank_0(x):
    rank, world = dist.get_rank(), dist.get_world_size()
    total = x.clone()
    if rank:
        dist.send(total, 0)
        dist.recv(total, 0)
        return total
    for other in range(1, world):
        arrived = torch.empty_like(x)
        dist.recv(arrived, other)
        total += arrived
    for other in range(1, world):
        dist.send(total, other)
    return total


def solve(given):
    ranks, elements = given["ranks"], given["thousands"] * 1000
    chunk = len(range(0, elements, ranks))  # every ranks-th element
    sent = 0
    for _phase in ("reduce-scatter", "all-gather"):
        for _step in range(ranks - 1):
            sent += 4 * chunk

    def seconds(size, latency):
        return sum(
            latency * 1e-6 + size / ranks / (given["bandwidth"] * 1e9)
            for _step in range(2 * (ranks - 1))
        )

    small, large = 1.0, 1e12
    for _halving in range(200):
        middle = (small + large) / 2
        if seconds(middle, given["latency"]) > 2 * seconds(middle, 0.0):
            small = middle
        else:
            large = middle
    return {"sent": sent / 1000, "half_latency": small / 1000}
