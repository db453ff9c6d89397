"""Halos sent without waiting; the second method slices them from the whole grid."""

import torch
import torch.distributed as dist


def with_halo(block, halo):
    rank, world = dist.get_rank(), dist.get_world_size()
    above = torch.zeros((halo, *block.shape[1:]), dtype=block.dtype)
    below = above.clone()
    works = []
    if rank > 0:
        works.append(dist.isend(block[:halo].contiguous(), rank - 1))
        works.append(dist.irecv(above, rank - 1))
    if rank < world - 1:
        works.append(dist.isend(block[len(block) - halo :].contiguous(), rank + 1))
        works.append(dist.irecv(below, rank + 1))
    for work in works:
        work.wait()
    return torch.cat([above, block, below])


def with_halo_expected(blocks, halo):
    world, columns = len(blocks), blocks[0].shape[1]
    edge = torch.zeros(halo, columns)
    grid = torch.cat([edge, *blocks, edge])
    found, start = [], 0
    for block in blocks:
        found.append(grid[start : start + len(block) + 2 * halo])
        start += len(block)
    neighbors = [(rank > 0) + (rank < world - 1) for rank in range(world)]
    return {
        "blocks": found,
        "bytes_sent": [n * halo * columns * 4 for n in neighbors],
        "messages": neighbors,
        "collectives": [],
    }


def with_halo_cases(rng, given):
    def case(rows, halo, columns):
        blocks = [torch.tensor(rng.normal(size=(n, columns)), dtype=torch.float32) for n in rows]
        return {"blocks": blocks, "halo": halo}

    yield "two ranks", case([2, 3], 1, 4)
    yield "two ranks", case([5, 3], 3, int(rng.integers(2, 9)))
    yield "more ranks", case([4, 2, 3], 2, int(rng.integers(2, 9)))
    yield "more ranks", case([3, 4, 2, 5], 1, 3000)
    yield "alone", case([3], 2, 2)


def with_halo_right_even_and_odd(block, halo):
    rank, world = dist.get_rank(), dist.get_world_size()
    out = torch.zeros(len(block) + 2 * halo, block.shape[1])
    out[halo:-halo] = block

    def swap(other, mine, place):
        inbox = torch.empty_like(mine)
        if rank % 2 == 0:
            dist.send(mine, other)
            dist.recv(inbox, other)
        else:
            dist.recv(inbox, other)
            dist.send(mine, other)
        out[place] = inbox

    sides = [
        (rank + 1, block[-halo:].clone(), slice(-halo, None)),
        (rank - 1, block[:halo].clone(), slice(halo)),
    ]
    for other, mine, place in sides if rank % 2 == 0 else sides[::-1]:
        if 0 <= other < world:
            swap(other, mine, place)
    return out


def with_halo_right_batched(block, halo):
    rank, world = dist.get_rank(), dist.get_world_size()
    pieces = {n: torch.zeros_like(block[:halo]) for n in (rank - 1, rank + 1)}
    ops = []
    for n, inbox in pieces.items():
        if 0 <= n < world:
            rows = block[:halo] if n < rank else block[-halo:]
            ops.append(dist.P2POp(dist.isend, rows.clone(), n))
            ops.append(dist.P2POp(dist.irecv, inbox, n))
    for work in dist.batch_isend_irecv(ops) if ops else []:
        work.wait()
    return torch.vstack([pieces[rank - 1], block, pieces[rank + 1]])


def with_halo_wrong_sends_first(block, halo):
    rank, world = dist.get_rank(), dist.get_world_size()
    above = torch.zeros((halo, *block.shape[1:]))
    below = above.clone()
    if rank < world - 1:
        dist.send(block[-halo:].contiguous(), rank + 1)
        dist.recv(below, rank + 1)
    if rank > 0:
        dist.send(block[:halo].contiguous(), rank - 1)
        dist.recv(above, rank - 1)
    return torch.cat([above, block, below])


def with_halo_wrong_borders_swapped(block, halo):
    rank, world = dist.get_rank(), dist.get_world_size()
    above = torch.zeros((halo, *block.shape[1:]))
    below = above.clone()
    works = []
    if rank > 0:
        works.append(dist.isend(block[-halo:].contiguous(), rank - 1))
        works.append(dist.irecv(above, rank - 1))
    if rank < world - 1:
        works.append(dist.isend(block[:halo].contiguous(), rank + 1))
        works.append(dist.irecv(below, rank + 1))
    for work in works:
        work.wait()
    return torch.cat([above, block, below])


def with_halo_wrong_round_the_ends(block, halo):
    rank, world = dist.get_rank(), dist.get_world_size()
    above, below = torch.empty_like(block[:halo]), torch.empty_like(block[:halo])
    if world == 1:
        return torch.cat([block[-halo:], block, block[:halo]])
    works = [
        dist.isend(block[:halo].contiguous(), (rank - 1) % world, tag=1),
        dist.isend(block[-halo:].contiguous(), (rank + 1) % world, tag=2),
        dist.irecv(above, (rank - 1) % world, tag=2),
        dist.irecv(below, (rank + 1) % world, tag=1),
    ]
    for work in works:
        work.wait()
    return torch.cat([above, block, below])


def with_halo_wrong_whole_blocks(block, halo):
    rank, world = dist.get_rank(), dist.get_world_size()
    sizes = [torch.zeros(1, dtype=torch.int64) for _ in range(world)]
    sizes[rank] += len(block)
    for n in range(world):
        if n == rank:
            for other in range(world):
                if other != rank:
                    dist.send(sizes[rank], other)
                    dist.send(block, other)
            sizes[rank] = block
        else:
            dist.recv(sizes[n], n)
            rows = torch.empty(int(sizes[n]), block.shape[1])
            dist.recv(rows, n)
            sizes[n] = rows
    edge = torch.zeros_like(block[:halo])
    above = sizes[rank - 1][-halo:] if rank else edge
    below = sizes[rank + 1][:halo] if rank < world - 1 else edge
    return torch.cat([above, block, below])


def with_halo_wrong_no_rows_at_the_ends(block, halo):
    rank, world = dist.get_rank(), dist.get_world_size()
    rows, works = [block], []
    for other, mine in ((rank - 1, block[:halo]), (rank + 1, block[-halo:])):
        if 0 <= other < world:
            inbox = torch.empty_like(mine)
            works.append(dist.isend(mine.contiguous(), other))
            works.append(dist.irecv(inbox, other))
            rows.insert(0 if other < rank else len(rows), inbox)
    for work in works:
        work.wait()
    return torch.cat(rows)


def exchange(ranks, receives_first):
    """The rounds in which pairs meet, each a `send` with its `recv`; 0 if the ranks block."""

    def calls(rank):
        before, after = [rank - 1] * (rank > 0), [rank + 1] * (rank < ranks - 1)
        if receives_first:
            first, then = [(c, b) for b in before for c in ("recv", "send")], after
        else:
            first, then = [(c, a) for a in after for c in ("send", "recv")], before
        return first + [(call, other) for other in then for call in ("send", "recv")]

    left = [calls(rank) for rank in range(ranks)]
    rounds, met = 0, set()
    while any(left):
        heads = {rank: queue[0] for rank, queue in enumerate(left) if queue}
        pairs = [
            (rank, other)
            for rank, (call, other) in heads.items()
            if call == "send" and heads.get(other) == ("recv", rank)
        ]
        if not pairs:
            return 0
        for pair in pairs:
            for rank in pair:
                left[rank].pop(0)
        if new := {frozenset(pair) for pair in pairs} - met:
            rounds, met = rounds + 1, met | new
    return rounds


def solve(given):
    rounds = exchange(4, given["receives_first"])

    def run(halo):
        """Bytes sent, halo rows updated, and microseconds of messages, step by step."""
        sent = updated = 0
        clock, current = 0.0, 0
        for _step in range(given["steps"]):
            if current == 0:  # no row beyond the block is up to date any more
                current = halo
                sent += 2 * halo * given["columns"] * 4
                size = halo * given["columns"] * 4
                clock += given["latency"] + size / (given["bandwidth"] * 1e3)
            current -= 1  # the outermost row has no row beyond it
            updated += 2 * current
        return sent, updated, clock

    sent, updated, clock = run(given["halo"])
    return {
        "order": {0: "locks", 1: "fine"}.get(rounds, "chain"),
        "all_steps": sent / 1e6,
        "redundant": updated,
        "gain": run(1)[2] / clock,
    }
