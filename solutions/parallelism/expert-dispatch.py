"""Sorted tokens in three all-to-alls; the second method applies each token's expert directly."""

import torch
import torch.distributed as dist


def exchanged(rows, giving, taking):
    """Send *giving* rows to each rank; return the rows received, *taking* from each rank."""
    found = torch.empty((sum(taking), *rows.shape[1:]), dtype=rows.dtype)
    dist.all_to_all_single(found, rows.contiguous(), taking, giving)
    return found


def dispatch(tokens, experts, per_rank, run_expert):
    rank, world = dist.get_rank(), dist.get_world_size()
    order = experts.argsort(stable=True)
    counts = torch.bincount(experts, minlength=world * per_rank)
    coming = torch.empty_like(counts)
    dist.all_to_all_single(coming, counts)
    giving = counts.view(world, per_rank).sum(1).tolist()
    taking = coming.view(world, per_rank).sum(1).tolist()
    arrived = exchanged(tokens[order], giving, taking)
    which = torch.arange(per_rank).repeat(world).repeat_interleave(coming)
    results = torch.empty_like(arrived)
    for e in range(per_rank):
        if (which == e).any():
            results[which == e] = run_expert(rank * per_rank + e, arrived[which == e])
    back = exchanged(results, taking, giving)
    out = torch.empty_like(tokens)
    out[order] = back
    return out


def dispatch_expected(tokens, experts, per_rank, weights):
    world = len(tokens)
    results = []
    for mine, chosen in zip(tokens, experts, strict=True):
        rows = [torch.tanh(row * weights[e]) for row, e in zip(mine, chosen.tolist(), strict=True)]
        results.append(torch.stack(rows) if rows else torch.zeros_like(mine))
    return {
        "results": results,
        "most_calls_for_one_expert": 1,
        "excess_bytes_sent": [0] * world,
        "other_calls": [],
    }


def dispatch_cases(rng, given):
    def case(counts, per_rank, among=None):
        # So wide that one excess vector is larger than everything allowed in addition to the vectors.
        world, width = len(counts), int(rng.integers(96, 129))
        total = world * per_rank

        def tensor(*shape):
            return torch.tensor(rng.normal(size=shape), dtype=torch.float32)

        drawn = [rng.choice(among or total, size=n) for n in counts]
        return {
            "tokens": [tensor(n, width) for n in counts],
            "experts": [torch.tensor(one, dtype=torch.int64) for one in drawn],
            "per_rank": per_rank,
            "weights": [tensor(width) for _ in range(total)],
        }

    yield "balanced", case([8, 8], 1)
    yield "balanced", case([12, 12, 12], 2)
    yield "unbalanced", case([3, int(rng.integers(6, 15))], 3)
    yield "unbalanced", case([1, 9, 4], 2, among=[1, 2, 4])
    yield "nothing to send", case([5, 0, 2], 1)
    yield "nothing to send", case([4, 3], 2, among=[3])


def dispatch_right_by_messages(tokens, experts, per_rank, run_expert):
    rank, world = dist.get_rank(), dist.get_world_size()
    places = [(experts // per_rank == other).nonzero().flatten() for other in range(world)]
    sizes = torch.tensor([len(place) for place in places])
    coming = torch.zeros_like(sizes)
    dist.all_to_all_single(coming, sizes)

    def swap(parts, inbox):
        inbox[rank] = parts[rank]
        works = []
        for other in range(world):
            if other != rank:
                works.append(dist.irecv(inbox[other], other))
                works.append(dist.isend(parts[other], other))
        for work in works:
            work.wait()
        return inbox

    n = coming.tolist()
    width = tokens.shape[1]
    vectors = swap([tokens[p] for p in places], [torch.empty(k, width) for k in n])
    numbers = swap([experts[p] for p in places], [torch.empty(k, dtype=torch.int64) for k in n])
    rows, which = torch.cat(vectors), torch.cat(numbers)
    results = torch.empty_like(rows)
    for e in which.unique():
        results[which == e] = run_expert(int(e), rows[which == e])
    back = swap(list(results.split(n)), [torch.empty(len(place), width) for place in places])
    out = torch.zeros_like(tokens)
    for place, part in zip(places, back, strict=True):
        out[place] = part
    return out


def dispatch_wrong_order(tokens, experts, per_rank, run_expert):
    rank, world = dist.get_rank(), dist.get_world_size()
    order = experts.argsort(stable=True)
    counts = torch.bincount(experts, minlength=world * per_rank)
    coming = torch.empty_like(counts)
    dist.all_to_all_single(coming, counts)
    giving = counts.view(world, per_rank).sum(1).tolist()
    taking = coming.view(world, per_rank).sum(1).tolist()
    arrived = exchanged(tokens[order], giving, taking)
    which = torch.arange(per_rank).repeat(world).repeat_interleave(coming)
    results = torch.empty_like(arrived)
    for e in range(per_rank):
        if (which == e).any():
            results[which == e] = run_expert(rank * per_rank + e, arrived[which == e])
    return exchanged(results, taking, giving)


def dispatch_wrong_one_expert_per_rank(tokens, experts, per_rank, run_expert):
    rank, world = dist.get_rank(), dist.get_world_size()
    owners = experts // per_rank
    order = owners.argsort(stable=True)
    counts = torch.bincount(owners, minlength=world)
    coming = torch.empty_like(counts)
    dist.all_to_all_single(coming, counts)
    arrived = exchanged(tokens[order], counts.tolist(), coming.tolist())
    results = run_expert(rank * per_rank, arrived)
    out = torch.empty_like(tokens)
    out[order] = exchanged(results, coming.tolist(), counts.tolist())
    return out


def dispatch_wrong_idle_ranks_stay_away(tokens, experts, per_rank, run_expert):
    if len(tokens) == 0:
        return tokens
    rank, world = dist.get_rank(), dist.get_world_size()
    order = experts.argsort(stable=True)
    counts = torch.bincount(experts, minlength=world * per_rank)
    coming = torch.empty_like(counts)
    dist.all_to_all_single(coming, counts)
    giving = counts.view(world, per_rank).sum(1).tolist()
    taking = coming.view(world, per_rank).sum(1).tolist()
    arrived = exchanged(tokens[order], giving, taking)
    which = torch.arange(per_rank).repeat(world).repeat_interleave(coming)
    results = torch.empty_like(arrived)
    for e in range(per_rank):
        results[which == e] = run_expert(rank * per_rank + e, arrived[which == e])
    out = torch.empty_like(tokens)
    out[order] = exchanged(results, taking, giving)
    return out


def dispatch_wrong_equal_shares(tokens, experts, per_rank, run_expert):
    rank, world = dist.get_rank(), dist.get_world_size()
    order = experts.argsort(stable=True)
    size = -(-len(tokens) // world)
    padded = torch.zeros(size * world, tokens.shape[1])
    padded[: len(tokens)] = tokens[order]
    arrived = torch.empty_like(padded)
    dist.all_to_all_single(arrived, padded)
    results = run_expert(rank * per_rank, arrived)
    back = torch.empty_like(results)
    dist.all_to_all_single(back, results)
    out = torch.empty_like(tokens)
    out[order] = back[: len(tokens)]
    return out


def dispatch_wrong_in_double_precision(tokens, experts, per_rank, run_expert):
    rank, world = dist.get_rank(), dist.get_world_size()
    order = experts.argsort(stable=True)
    counts = torch.bincount(experts, minlength=world * per_rank)
    coming = torch.empty_like(counts)
    dist.all_to_all_single(coming, counts)
    giving = counts.view(world, per_rank).sum(1).tolist()
    taking = coming.view(world, per_rank).sum(1).tolist()
    arrived = exchanged(tokens[order].double(), giving, taking).float()
    which = torch.arange(per_rank).repeat(world).repeat_interleave(coming)
    results = torch.empty_like(arrived)
    for e in range(per_rank):
        if (which == e).any():
            results[which == e] = run_expert(rank * per_rank + e, arrived[which == e])
    out = torch.empty_like(tokens)
    out[order] = exchanged(results, taking, giving)
    return out


def dispatch_wrong_one_row_of_padding(tokens, experts, per_rank, run_expert):
    rank, world = dist.get_rank(), dist.get_world_size()
    order = experts.argsort(stable=True)
    counts = torch.bincount(experts, minlength=world * per_rank)
    coming = torch.empty_like(counts)
    dist.all_to_all_single(coming, counts)
    giving = counts.view(world, per_rank).sum(1)
    taking = coming.view(world, per_rank).sum(1)
    padded = [torch.cat([part, tokens.new_zeros(1, tokens.shape[1])])
              for part in tokens[order].split(giving.tolist())]  # fmt: skip
    arrived = exchanged(torch.cat(padded), (giving + 1).tolist(), (taking + 1).tolist())
    parts = [part[:-1] for part in arrived.split((taking + 1).tolist())]
    arrived = torch.cat(parts)
    which = torch.arange(per_rank).repeat(world).repeat_interleave(coming)
    results = torch.empty_like(arrived)
    for e in range(per_rank):
        if (which == e).any():
            results[which == e] = run_expert(rank * per_rank + e, arrived[which == e])
    out = torch.empty_like(tokens)
    out[order] = exchanged(results, taking.tolist(), giving.tolist())
    return out


def dispatch_wrong_messages_twice(tokens, experts, per_rank, run_expert):
    rank, world = dist.get_rank(), dist.get_world_size()
    result = dispatch_right_by_messages(tokens, experts, per_rank, run_expert)
    # Once more for safety, as many vectors as stayed here.
    own = tokens[experts // per_rank == rank]
    if len(own):
        dist.send(own, (rank + 1) % world)
    counts = torch.empty(world, dtype=torch.int64)
    sizes = torch.zeros(world, dtype=torch.int64)
    sizes[(rank + 1) % world] = len(own)
    dist.all_to_all_single(counts, sizes)
    before = (rank - 1) % world
    if counts[before]:
        dist.recv(torch.empty(int(counts[before]), tokens.shape[1]), before)
    return result


def dispatch_wrong_everything_to_everybody(tokens, experts, per_rank, run_expert):
    rank, world = dist.get_rank(), dist.get_world_size()
    n = len(tokens)
    sizes = torch.empty(world, dtype=torch.int64)
    dist.all_to_all_single(sizes, torch.full((world,), n))
    taking, giving = sizes.tolist(), [n] * world
    rows = exchanged(tokens.repeat(world, 1), giving, taking)
    which = exchanged(experts.repeat(world), giving, taking)
    results = torch.zeros_like(rows)
    for e in range(rank * per_rank, (rank + 1) * per_rank):
        if (which == e).any():
            results[which == e] = run_expert(e, rows[which == e])
    return exchanged(results, taking, giving).view(world, n, -1).sum(0)


def solve(given):
    ranks, experts, chosen = given["ranks"], given["experts"], given["chosen"]
    sent = 0.0
    for _owner in range(ranks - 1):  # the ranks that are not this one
        sent += given["tokens"] * chosen / ranks * 2 * given["width"]  # vectors to their experts
        sent += given["tokens"] * chosen / ranks * 2 * given["width"]  # results for their tokens
    # Every vector of 100 tokens for each expert, counted on the rank of its expert.
    vectors = [0.0] * ranks
    tokens, popular = 100 * experts, given["hot"] * experts
    vectors[0] += popular
    for expert in range(1, experts):
        vectors[expert * ranks // experts] += (tokens * chosen - popular) / (experts - 1)
    overload = max(vectors) / (sum(vectors) / ranks)
    return {"traffic_of_a_layer": sent / 1e6, "overload": overload}
