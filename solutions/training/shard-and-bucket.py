"""The second road deals samples out one by one, and reads PyTorch's own distributed sampler."""

from itertools import cycle, islice

import numpy as np
import torch
from torch.utils.data.distributed import DistributedSampler


def shard(samples, ranks, rank, epoch, seed=0, shuffle=True, drop_last=False):
    if shuffle:
        generator = torch.Generator()
        generator.manual_seed(seed + epoch)
        order = torch.randperm(samples, generator=generator).tolist()
    else:
        order = list(range(samples))
    total = samples // ranks * ranks if drop_last else -(-samples // ranks) * ranks
    return list(islice(cycle(order), total))[rank::ranks]


def shard_right_by_position(samples, ranks, rank, epoch, seed=0, shuffle=True, drop_last=False):
    g = torch.Generator().manual_seed(epoch + seed)
    order = torch.randperm(samples, generator=g) if shuffle else torch.arange(samples)
    share = samples // ranks if drop_last else (samples + ranks - 1) // ranks
    positions = rank + ranks * torch.arange(share)
    return order[positions % samples].tolist()


def shard_right_numpy(samples, ranks, rank, epoch, seed=0, shuffle=True, drop_last=False):
    order = np.arange(samples)
    if shuffle:
        g = torch.Generator()
        g.manual_seed(seed + epoch)
        order = torch.randperm(samples, generator=g).numpy()
    if drop_last:
        order = order[: len(order) - len(order) % ranks]
    else:
        order = np.resize(order, int(np.ceil(samples / ranks)) * ranks)
    return [int(i) for i in order.reshape(-1, ranks)[:, rank]]


def shard_expected(samples, ranks, rank, epoch, seed=0, shuffle=True, drop_last=False):
    sampler = DistributedSampler(
        range(samples), ranks, rank, shuffle=shuffle, seed=seed, drop_last=drop_last
    )
    sampler.set_epoch(epoch)
    return list(sampler)


def shard_cases(rng, given):
    ranks = given["ranks"]

    def case(samples, ranks, rank, epoch=0, **more):
        return {"samples": samples, "ranks": ranks, "rank": rank, "epoch": epoch, **more}

    yield "in order", case(1, 1, 0, shuffle=False)
    yield "in order", case(12, 4, 3, shuffle=False)
    yield "in order", case(3 * ranks + 2, ranks, ranks - 1, 5, shuffle=False)
    yield "in order", case(50, 7, 3, 1, shuffle=False)
    yield "shuffled", case(40, 4, 1)
    yield "shuffled", case(5 * ranks + 3, ranks, int(rng.integers(ranks)), 2, seed=7)
    for epoch in (0, 1, 6):
        yield "shuffled", case(101, ranks, ranks - 1, epoch, seed=int(rng.integers(100)))
    yield "few", case(1, ranks, ranks - 1)
    yield "few", case(2, 2 * ranks, 2 * ranks - 1, 3, shuffle=False)
    yield "few", case(3, ranks, ranks - 2, 1, seed=4)
    yield "dropped", case(20, 3, 2, shuffle=False, drop_last=True)
    yield "dropped", case(6 * ranks + ranks - 1, ranks, 1, 4, seed=3, drop_last=True)
    yield "dropped", case(ranks - 1, ranks, 0, 0, drop_last=True)
    yield "dropped", case(4 * ranks, ranks, 2, 1, drop_last=True)


def shard_wrong_epoch_ignored(samples, ranks, rank, epoch, seed=0, shuffle=True, drop_last=False):
    g = torch.Generator().manual_seed(seed)
    order = torch.randperm(samples, generator=g) if shuffle else torch.arange(samples)
    share = samples // ranks if drop_last else (samples + ranks - 1) // ranks
    return order[(rank + ranks * torch.arange(share)) % samples].tolist()


def shard_wrong_seeded_with_the_rank(
    samples, ranks, rank, epoch, seed=0, shuffle=True, drop_last=False
):
    g = torch.Generator().manual_seed(seed + epoch + rank)
    order = torch.randperm(samples, generator=g) if shuffle else torch.arange(samples)
    share = samples // ranks if drop_last else (samples + ranks - 1) // ranks
    return order[(rank + ranks * torch.arange(share)) % samples].tolist()


def shard_wrong_in_one_piece(samples, ranks, rank, epoch, seed=0, shuffle=True, drop_last=False):
    g = torch.Generator().manual_seed(seed + epoch)
    order = torch.randperm(samples, generator=g) if shuffle else torch.arange(samples)
    share = samples // ranks if drop_last else (samples + ranks - 1) // ranks
    return order[(rank * share + torch.arange(share)) % samples].tolist()


def shard_wrong_uneven(samples, ranks, rank, epoch, seed=0, shuffle=True, drop_last=False):
    g = torch.Generator().manual_seed(seed + epoch)
    order = torch.randperm(samples, generator=g) if shuffle else torch.arange(samples)
    return order[rank::ranks].tolist()


def shard_wrong_repeats_the_last(
    samples, ranks, rank, epoch, seed=0, shuffle=True, drop_last=False
):
    g = torch.Generator().manual_seed(seed + epoch)
    order = (torch.randperm(samples, generator=g) if shuffle else torch.arange(samples)).tolist()
    if drop_last:
        order = order[: samples // ranks * ranks]
    while len(order) % ranks:
        order.append(order[-1])
    return order[rank::ranks]


def shard_wrong_repeats_once_only(
    samples, ranks, rank, epoch, seed=0, shuffle=True, drop_last=False
):
    g = torch.Generator().manual_seed(seed + epoch)
    order = (torch.randperm(samples, generator=g) if shuffle else torch.arange(samples)).tolist()
    if drop_last:
        order = order[: samples // ranks * ranks]
    order += order[: -len(order) % ranks]
    return order[rank::ranks]


def shard_wrong_always_pads(samples, ranks, rank, epoch, seed=0, shuffle=True, drop_last=False):
    g = torch.Generator().manual_seed(seed + epoch)
    order = torch.randperm(samples, generator=g) if shuffle else torch.arange(samples)
    share = (samples + ranks - 1) // ranks
    return order[(rank + ranks * torch.arange(share)) % samples].tolist()


def batches(lengths, budget):
    if any(length > budget for length in lengths):
        raise ValueError("a sequence is longer than the budget")
    found, batch = [], []
    for i in sorted(range(len(lengths)), key=lambda i: lengths[i]):
        if batch and (len(batch) + 1) * lengths[i] > budget:
            found.append(batch)
            batch = []
        batch.append(i)
    return [*found, batch] if batch else found


def batches_right_from_the_front(lengths, budget):
    order = sorted((length, i) for i, length in enumerate(lengths))
    if order and order[-1][0] > budget:
        raise ValueError(order[-1])
    found = []
    while order:
        size = 0
        while size < len(order) and (size + 1) * order[size][0] <= budget:
            size += 1
        found.append([i for _, i in order[:size]])
        order = order[size:]
    return found


def batches_right_numpy(lengths, budget):
    lengths = np.asarray(lengths, dtype=int)
    order = np.argsort(lengths, kind="stable")
    found = []
    for i in order.tolist():
        if lengths[i] > budget:
            raise ValueError(f"sequence {i} has {lengths[i]} tokens")
        if found and (len(found[-1]) + 1) * lengths[i] <= budget:
            found[-1].append(i)
        else:
            found.append([i])
    return found


def batches_cases(rng, given):
    def drawn(count, high):
        return [int(n) for n in rng.integers(1, high, size=count)]

    yield "plain", {"lengths": [4, 1, 3, 2], "budget": 6}
    yield "plain", {"lengths": [int(n) for n in rng.permutation(20) + 1], "budget": 40}
    yield "plain", {"lengths": [int(n) for n in rng.permutation(60) + 1], "budget": 128}
    yield "plain", {"lengths": [int(n) for n in 3 * rng.permutation(40) + 2], "budget": 301}
    yield "ties", {"lengths": [5, 5, 5, 5, 5], "budget": 10}
    yield "ties", {"lengths": drawn(30, 6), "budget": 12}
    yield "ties", {"lengths": drawn(80, 9), "budget": int(rng.integers(20, 50))}
    yield "edges", {"lengths": [], "budget": 5}
    yield "edges", {"lengths": [7], "budget": 7}
    yield "edges", {"lengths": [8, 8, 1], "budget": 8}
    yield "edges", {"lengths": [2, 2, 2, 2], "budget": 8}
    yield "too long", {"lengths": [9], "budget": 8}
    yield "too long", {"lengths": [3, 30, 4, 1], "budget": 20}
    yield "too long", {"lengths": [*drawn(20, 9), 51], "budget": 50}
    yield "too long", {"lengths": [*drawn(20, 9), 50], "budget": 50}  # not everything is


def batches_wrong_sum_of_lengths(lengths, budget):
    if any(length > budget for length in lengths):
        raise ValueError
    found, batch = [], []
    for i in sorted(range(len(lengths)), key=lambda i: lengths[i]):
        if batch and sum(lengths[j] for j in batch) + lengths[i] > budget:
            found.append(batch)
            batch = []
        batch.append(i)
    return [*found, batch] if batch else found


def batches_wrong_not_sorted(lengths, budget):
    if any(length > budget for length in lengths):
        raise ValueError
    found, batch, longest = [], [], 0
    for i, length in enumerate(lengths):
        if batch and (len(batch) + 1) * max(longest, length) > budget:
            found.append(batch)
            batch, longest = [], 0
        batch.append(i)
        longest = max(longest, length)
    return [*found, batch] if batch else found


def batches_wrong_last_forgotten(lengths, budget):
    if any(length > budget for length in lengths):
        raise ValueError
    found, batch = [], []
    for i in sorted(range(len(lengths)), key=lambda i: lengths[i]):
        if batch and (len(batch) + 1) * lengths[i] > budget:
            found.append(batch)
            batch = []
        batch.append(i)
    return found


def batches_wrong_strictly_below(lengths, budget):
    if any(length > budget for length in lengths):
        raise ValueError
    found, batch = [], []
    for i in sorted(range(len(lengths)), key=lambda i: lengths[i]):
        if batch and (len(batch) + 1) * lengths[i] >= budget:
            found.append(batch)
            batch = []
        batch.append(i)
    return [*found, batch] if batch else found


def batches_wrong_too_long_kept(lengths, budget):
    found, batch = [], []
    for i in sorted(range(len(lengths)), key=lambda i: lengths[i]):
        if batch and (len(batch) + 1) * lengths[i] > budget:
            found.append(batch)
            batch = []
        batch.append(i)
    return [*found, batch] if batch else found


def batches_wrong_closed_one_late(lengths, budget):
    """Looks whether the batch is full after the sequence was added."""
    if any(length > budget for length in lengths):
        raise ValueError
    found, batch = [], []
    for i in sorted(range(len(lengths)), key=lambda i: lengths[i]):
        batch.append(i)
        if len(batch) * lengths[i] > budget:
            found.append(batch)
            batch = []
    return [*found, batch] if batch else found


def solve(given):
    """Deals the samples out like cards, until every rank has equally many."""
    hands = [[] for _rank in range(given["ranks"])]
    dealt = 0
    while dealt < given["samples"] or len(hands[0]) != len(hands[-1]):
        hands[dealt % len(hands)].append(dealt % given["samples"])
        dealt += 1
    seen = [sample for hand in hands for sample in hand]
    steps = 0
    while any(hands):
        hands = [hand[given["per_rank"] :] for hand in hands]
        steps += 1
    return {"repeated": len(seen) - len(set(seen)), "updates": steps}
