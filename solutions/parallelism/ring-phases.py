"""Chunks around a ring; the second method stacks the tensors of all ranks in one process."""

import torch
import torch.distributed as dist


def passed_on(tensor, rank, world):
    """Send *tensor* to the next rank; return what the previous one sends."""
    arrived = torch.empty_like(tensor)
    going = dist.isend(tensor.contiguous(), (rank + 1) % world)
    dist.recv(arrived, (rank - 1) % world)
    going.wait()
    return arrived


def reduce_scatter(x, op):
    rank, world = dist.get_rank(), dist.get_world_size()
    combine = torch.add if op == "sum" else torch.maximum
    chunks = x.chunk(world)
    running = chunks[(rank - 1) % world]
    for step in range(world - 1):
        running = combine(passed_on(running, rank, world), chunks[(rank - 2 - step) % world])
    return running


def reduce_scatter_expected(tensors, op):
    world = len(tensors)
    stacked = torch.stack(tensors)
    whole = stacked.sum(0) if op == "sum" else stacked.amax(0)
    return {
        "chunks": list(whole.chunk(world)),
        "excess_bytes_sent": [0] * world,
        "messages_to_other_ranks_than_the_next": [0] * world,
        "collectives": [],
    }


def reduce_scatter_cases(rng, given):
    def tensors(world, shape, op):
        made = [torch.tensor(rng.normal(size=shape), dtype=torch.float32) for _ in range(world)]
        return {"tensors": made, "op": op}

    yield "sum", tensors(1, (3,), "sum")
    yield "sum", tensors(3, (3 * int(rng.integers(2, 9)),), "sum")
    yield "sum", tensors(4, (8, 3), "sum")
    yield "max", tensors(2, (6,), "max")
    yield "max", tensors(3, (6, 2), "max")


def reduce_scatter_right_in_place(x, op):
    rank, world = dist.get_rank(), dist.get_world_size()
    work = x.clone().view(world, -1)
    inbox = torch.empty_like(work[0])
    for step in range(1, world):
        requests = dist.batch_isend_irecv(
            [
                dist.P2POp(dist.isend, work[(rank - step) % world], (rank + 1) % world),
                dist.P2POp(dist.irecv, inbox, (rank - 1) % world),
            ]
        )
        for request in requests:
            request.wait()
        mine = work[(rank - step - 1) % world]
        mine.copy_(mine + inbox if op == "sum" else torch.where(mine > inbox, mine, inbox))
    return work[rank].view(-1, *x.shape[1:])


def reduce_scatter_wrong_next_chunk(x, op):
    rank, world = dist.get_rank(), dist.get_world_size()
    combine = torch.add if op == "sum" else torch.maximum
    chunks = x.chunk(world)
    running = chunks[rank]
    for step in range(world - 1):
        running = combine(passed_on(running, rank, world), chunks[(rank - 1 - step) % world])
    return running


def reduce_scatter_wrong_ignores_op(x, op):
    rank, world = dist.get_rank(), dist.get_world_size()
    chunks = x.chunk(world)
    running = chunks[(rank - 1) % world]
    for step in range(world - 1):
        running = passed_on(running, rank, world) + chunks[(rank - 2 - step) % world]
    return running


def reduce_scatter_wrong_whole_tensors(x, op):
    rank, world = dist.get_rank(), dist.get_world_size()
    combine = torch.add if op == "sum" else torch.maximum
    total = going = x
    for _ in range(world - 1):
        going = passed_on(going, rank, world)
        total = combine(total, going)
    return total.chunk(world)[rank]


def reduce_scatter_wrong_straight_to_the_owner(x, op):
    rank, world = dist.get_rank(), dist.get_world_size()
    chunks = [chunk.contiguous() for chunk in x.chunk(world)]
    going = [dist.isend(chunks[to], to) for to in range(world) if to != rank]
    total = chunks[rank].clone()
    for source in range(world):
        if source != rank:
            arrived = torch.empty_like(total)
            dist.recv(arrived, source)
            total = total + arrived if op == "sum" else torch.maximum(total, arrived)
    for request in going:
        request.wait()
    return total


def reduce_scatter_wrong_receives_first(x, op):
    rank, world = dist.get_rank(), dist.get_world_size()
    combine = torch.add if op == "sum" else torch.maximum
    chunks = x.chunk(world)
    running = chunks[(rank - 1) % world]
    for step in range(world - 1):
        arrived = torch.empty_like(running)
        dist.recv(arrived, (rank - 1) % world)
        dist.send(running.contiguous(), (rank + 1) % world)
        running = combine(arrived, chunks[(rank - 2 - step) % world])
    return running


def all_gather(x):
    rank, world = dist.get_rank(), dist.get_world_size()
    found = [None] * world
    found[rank] = going = x
    for step in range(1, world):
        going = passed_on(going, rank, world)
        found[(rank - step) % world] = going
    return torch.cat(found)


def all_gather_expected(tensors):
    world = len(tensors)
    return {
        "gathered": [torch.cat(tensors)] * world,
        "excess_bytes_sent": [0] * world,
        "messages_to_other_ranks_than_the_next": [0] * world,
        "collectives": [],
    }


def all_gather_cases(rng, given):
    def tensors(world, shape, dtype=torch.float32):
        drawn = [rng.normal(size=shape) * 50 for _ in range(world)]
        return {"tensors": [torch.tensor(one).to(dtype) for one in drawn]}

    yield "vectors", tensors(1, (2,))
    yield "vectors", tensors(3, (int(rng.integers(2, 9)),), torch.int64)
    yield "matrices", tensors(2, (1, 3))
    yield "matrices", tensors(4, (2, int(rng.integers(2, 6))))


def all_gather_right_into_place(x):
    rank, world = dist.get_rank(), dist.get_world_size()
    table = torch.empty((world, *x.shape), dtype=x.dtype)
    table[rank] = x
    for step in range(world - 1):
        receiving = dist.irecv(table[(rank - step - 1) % world], (rank - 1) % world)
        dist.isend(table[(rank - step) % world], (rank + 1) % world).wait()
        receiving.wait()
    return table.flatten(0, 1)


def all_gather_wrong_in_order_of_arrival(x):
    rank, world = dist.get_rank(), dist.get_world_size()
    found = [x]
    for _ in range(world - 1):
        found.append(passed_on(found[-1], rank, world))
    return torch.cat(found)


def all_gather_wrong_own_tensor_again(x):
    rank, world = dist.get_rank(), dist.get_world_size()
    found = [x] * world
    for step in range(1, world):
        found[(rank - step) % world] = passed_on(x, rank, world)
    return torch.cat(found)


def all_gather_wrong_stacked(x):
    rank, world = dist.get_rank(), dist.get_world_size()
    found = [x] * world
    going = x
    for step in range(1, world):
        going = passed_on(going, rank, world)
        found[(rank - step) % world] = going
    return torch.stack(found)


def all_gather_wrong_straight_to_all(x):
    rank, world = dist.get_rank(), dist.get_world_size()
    going = [dist.isend(x, to) for to in range(world) if to != rank]
    found = [torch.empty_like(x) for _ in range(world)]
    found[rank] = x
    for source in range(world):
        if source != rank:
            dist.recv(found[source], source)
    for request in going:
        request.wait()
    return torch.cat(found)


def solve(given):
    ranks, shard = given["ranks"], given["shard"]
    holds = [{rank} for rank in range(ranks)]  # whose chunk each rank has, in the all-gather
    sent = 0.0
    while len(holds[0]) < ranks:
        passed = [(rank - len(holds[rank]) + 1) % ranks for rank in range(ranks)]
        for rank in range(ranks):
            holds[rank].add(passed[rank - 1])
        sent += shard
    calls = ["all-gather", "all-gather", "reduce-scatter"]  # both send equally many shards
    return {"sent": sum(sent for _call in calls), "bits": _order_of_sums()}


def _order_of_sums():
    """What the order in which a ring of three ranks adds each chunk says about the bits."""
    orders = []
    for chunk in range(3):
        at = (chunk + 1) % 3
        visited = [at]
        while at != chunk:
            at = (at + 1) % 3
            visited.append(at)
        orders.append(visited)  # completed at one rank, and copied to the others
    return "rank_order" if all(one == [0, 1, 2] for one in orders) else "same"
