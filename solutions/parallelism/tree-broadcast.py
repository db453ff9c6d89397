"""A binomial tree numbered from the root; the second method returns the root's tensor."""

import torch
import torch.distributed as dist


def tree_broadcast(x, root):
    rank, world = dist.get_rank(), dist.get_world_size()
    place = (rank - root) % world
    reach = 1
    while reach < world:
        if place < reach and place + reach < world:
            dist.send(x, (place + reach + root) % world)
        elif reach <= place < 2 * reach:
            dist.recv(x, (place - reach + root) % world)
        reach *= 2
    return x


def tree_broadcast_expected(tensors, root):
    world = len(tensors)
    return {
        "tensors": [tensors[root]] * world,
        "messages_received": [int(rank != root) for rank in range(world)],
        "excess_rounds": 0,
        "excess_bytes_sent": 0,
        "collectives": [],
    }


def tree_broadcast_cases(rng, given):
    def case(world, root, shape):
        return {
            "tensors": [torch.tensor(rng.normal(size=shape)) for _ in range(world)],
            "root": root,
        }

    yield "powers of two", case(1, 0, (3,))
    yield "powers of two", case(4, 0, (int(rng.integers(1, 6)),))
    yield "other numbers", case(3, 0, (2, 3))
    yield "other numbers", case(7, 0, (int(rng.integers(1, 6)),))
    yield "other roots", case(5, int(rng.integers(1, 5)), (4,))


def tree_broadcast_right_halving(x, root):
    rank, world = dist.get_rank(), dist.get_world_size()
    members = [(root + n) % world for n in range(world)]
    while len(members) > 1:  # the first one sends it to the first of the second half
        middle = (len(members) + 1) // 2
        if rank == members[0]:
            dist.isend(x, members[middle]).wait()
        elif rank == members[middle]:
            x = torch.empty_like(x)
            dist.irecv(x, members[0]).wait()
        members = members[:middle] if rank in members[:middle] else members[middle:]
    return x


def tree_broadcast_right_by_bits(x, root):
    rank, world = dist.get_rank(), dist.get_world_size()
    v = (rank + world - root) % world
    top = v.bit_length()
    if v:
        dist.recv(x, (v - (1 << (top - 1)) + root) % world)
    for k in range(top, world.bit_length()):
        if v + (1 << k) < world:
            dist.send(x, (v + (1 << k) + root) % world)
    return x


def tree_broadcast_wrong_root_to_all(x, root):
    rank, world = dist.get_rank(), dist.get_world_size()
    if rank != root:
        dist.recv(x, root)
    else:
        for other in range(world):
            if other != root:
                dist.send(x, other)
    return x


def tree_broadcast_wrong_chain(x, root):
    rank, world = dist.get_rank(), dist.get_world_size()
    if rank != root:
        dist.recv(x, (rank - 1) % world)
    if (rank + 1) % world != root:
        dist.send(x, (rank + 1) % world)
    return x


def tree_broadcast_wrong_ignores_root(x, root):
    rank, world = dist.get_rank(), dist.get_world_size()
    reach = 1
    while reach < world:
        if rank < reach and rank + reach < world:
            dist.send(x, rank + reach)
        elif reach <= rank < 2 * reach:
            dist.recv(x, rank - reach)
        reach *= 2
    return x


def tree_broadcast_wrong_powers_of_two_only(x, root):
    rank, world = dist.get_rank(), dist.get_world_size()
    place = (rank - root) % world
    reach = 1
    while reach < world:
        if place < reach:
            dist.send(x, (place + reach + root) % world)
        elif place < 2 * reach:
            dist.recv(x, (place - reach + root) % world)
        reach *= 2
    return x


def tree_broadcast_wrong_far_half_last(x, root):
    rank, world = dist.get_rank(), dist.get_world_size()
    place = (rank - root) % world
    if place:
        dist.recv(x, ((place - 1) // 2 + root) % world)
    for child in (2 * place + 1, 2 * place + 2):
        if child < world:
            dist.send(x, (child + root) % world)
    return x


def solve(given):
    ranks, pieces = given["ranks"], given["pieces"]

    def tree(latency, size=given["size"]):
        transfer = size / given["bandwidth"] * 1e3  # MB / (GB/s) is ms
        have, clock = 1, 0.0
        while have < ranks:
            have, clock = 2 * have, clock + latency + transfer
        return clock

    def chain(latency, size=given["size"]):
        transfer = size / given["bandwidth"] * 1e3
        arrived = [0.0] * pieces  # when the rank has each piece; the root has all of them
        for _rank in range(1, ranks):
            clock, following = 0.0, []
            for piece in arrived:
                clock = max(clock, piece) + latency + transfer / pieces
                following.append(clock)
            arrived = following
        return arrived[-1]

    small, large = 0.0, 1e4
    for _ in range(60):  # halves the interval that contains the size with equal times
        middle = (small + large) / 2
        if tree(given["latency"], middle) < chain(given["latency"], middle):
            small = middle
        else:
            large = middle
    return {
        "same_time": small,
        "tree_time": tree(given["latency"]),
        "chain_time": chain(given["latency"]),
        "large_tensor": tree(0.0) / chain(0.0),
    }
