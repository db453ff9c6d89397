"""Rings in two levels; the second method is the sum of all vectors, in one process."""

import torch
import torch.distributed as dist


def exchange(tensor, ring):
    """Send *tensor* to the next rank of the ring; return what the previous one sends."""
    place = ring.index(dist.get_rank())
    arrived = torch.empty_like(tensor)
    going = dist.isend(tensor.contiguous(), ring[(place + 1) % len(ring)])
    dist.recv(arrived, ring[place - 1])
    going.wait()
    return arrived


def reduce_scatter(x, ring):
    place, n = ring.index(dist.get_rank()), len(ring)
    parts = x.chunk(n)
    running = parts[place - 1]
    for step in range(n - 1):
        running = exchange(running, ring) + parts[(place - 2 - step) % n]
    return running


def all_gather(part, ring):
    place, n = ring.index(dist.get_rank()), len(ring)
    parts = [part] * n
    for step in range(1, n):
        parts[(place - step) % n] = part = exchange(part, ring)
    return torch.cat(parts)


def rings(per_node):
    """Return the ranks of this node, and the ranks with the same local rank."""
    rank, world = dist.get_rank(), dist.get_world_size()
    first = rank - rank % per_node
    return list(range(first, first + per_node)), list(range(rank % per_node, world, per_node))


def hierarchical_all_reduce(x, per_node):
    mates, peers = rings(per_node)
    part = reduce_scatter(x, mates)
    part = all_gather(reduce_scatter(part, peers), peers)
    return all_gather(part, mates)


def hierarchical_all_reduce_expected(vectors, per_node):
    world = len(vectors)
    return {
        "sums": [torch.stack(vectors).sum(0)] * world,
        "excess_bytes_between_nodes": [0] * world,
        "excess_bytes_within_nodes": [0] * world,
        "collectives": [],
    }


def hierarchical_all_reduce_cases(rng, given):
    def case(nodes, per_node):
        world = nodes * per_node
        size = world * int(rng.integers(1, 9))
        vectors = [torch.tensor(rng.normal(size=size), dtype=torch.float32) for _ in range(world)]
        return {"vectors": vectors, "per_node": per_node}

    yield "one level", case(1, 2)
    yield "one level", case(3, 1)
    yield "two levels", case(2, 2)
    yield "two levels", case(3, 2)


def hierarchical_all_reduce_right_direct(x, per_node):
    rank, world = dist.get_rank(), dist.get_world_size()

    def among(members, give):
        """Send give(other) to each of the others; return what each of them sent."""
        others = [m for m in members if m != rank]
        out = {m: give(m).contiguous() for m in others}
        inbox = {m: torch.empty_like(out[m]) for m in others}
        works = [dist.irecv(inbox[m], m) for m in others] + [dist.isend(out[m], m) for m in others]
        for work in works:
            work.wait()
        return inbox

    node, number = divmod(rank, per_node)
    nodes = world // per_node
    mates = [node * per_node + k for k in range(per_node)]
    peers = [k * per_node + number for k in range(nodes)]
    table = x.clone().view(per_node, nodes, -1)
    mine = table[number] + sum(among(mates, lambda m: table[m % per_node]).values())
    small = mine[node] + sum(among(peers, lambda m: mine[m // per_node]).values())
    got = among(peers, lambda _: small)
    mine = torch.stack([got[m] if m != rank else small for m in peers])
    got = among(mates, lambda _: mine)
    return torch.cat([(got[m] if m != rank else mine).flatten() for m in mates])


def hierarchical_all_reduce_wrong_flat_ring(x, per_node):
    everybody = list(range(dist.get_world_size()))
    return all_gather(reduce_scatter(x, everybody), everybody)


def hierarchical_all_reduce_wrong_leaders(x, per_node):
    mates, _ = rings(per_node)
    rank, world = dist.get_rank(), dist.get_world_size()
    if rank != mates[0]:
        dist.send(x, mates[0])
        dist.recv(x, mates[0])
        return x
    total = x.clone()
    for mate in mates[1:]:
        arrived = torch.empty_like(x)
        dist.recv(arrived, mate)
        total += arrived
    leaders = list(range(0, world, per_node))
    padded = torch.zeros(-(-len(total) // len(leaders)) * len(leaders))
    padded[: len(total)] = total
    total = all_gather(reduce_scatter(padded, leaders), leaders)[: len(total)]
    for mate in mates[1:]:
        dist.send(total, mate)
    return total


def hierarchical_all_reduce_wrong_whole_vectors_between(x, per_node):
    mates, peers = rings(per_node)
    total = all_gather(reduce_scatter(x, mates), mates)
    return all_gather(reduce_scatter(total, peers), peers)


def hierarchical_all_reduce_wrong_node_sum_only(x, per_node):
    mates, _ = rings(per_node)
    return all_gather(reduce_scatter(x, mates), mates)


def hierarchical_all_reduce_wrong_node_by_remainder(x, per_node):
    rank, world = dist.get_rank(), dist.get_world_size()
    nodes = world // per_node
    mates = list(range(rank % nodes, world, nodes))
    peers = list(range(rank - rank % nodes, rank - rank % nodes + nodes))
    part = reduce_scatter(x, mates)
    part = all_gather(reduce_scatter(part, peers), peers)
    return all_gather(part, mates)


def solve(given):
    local, world = given["local"], given["nodes"] * given["local"]

    def sent_away(rings, size):
        """MB that each rank sends to other nodes when each of the rings all-reduces *size* MB."""
        sent = [0.0] * world
        for ring in rings:
            for rank, following in zip(ring, ring[1:] + ring[:1], strict=True):
                for _step in range(2 * (len(ring) - 1)):
                    if rank // local != following // local:
                        sent[rank] += size / len(ring)
        return sent

    peers = [list(range(number, world, local)) for number in range(local)]
    levels = sent_away(peers, given["buffer"] / local)
    flat = sent_away([list(range(world))], given["buffer"])
    return {
        "between_nodes": levels[0],
        "flat_node": sum(flat[:local]),
        "relief": max(flat) / max(levels),
    }
