"""Three numbers per row, reduced; the second method is cross-entropy on whole rows."""

import torch
import torch.distributed as dist


def own_targets(logits, targets):
    """Return which rows have their target on this rank, and in which column."""
    columns = targets - dist.get_rank() * logits.shape[1]
    return (columns >= 0) & (columns < logits.shape[1]), columns


def split_loss(logits, targets):
    highest = logits.amax(1)
    dist.all_reduce(highest, op=dist.ReduceOp.MAX)
    powers = torch.exp(logits - highest[:, None])
    mine, columns = own_targets(logits, targets)
    rows = mine.nonzero().flatten()
    of_target = torch.zeros_like(highest)
    of_target[rows] = logits[rows, columns[rows]] - highest[rows]
    both = torch.stack([powers.sum(1), of_target])
    dist.all_reduce(both)
    total, of_target = both
    gradient = powers / total[:, None]
    gradient[rows, columns[rows]] -= 1
    return (total.log() - of_target).mean(), gradient / len(logits)


def split_loss_expected(logits, targets, world):
    whole = logits.double().requires_grad_()
    loss = torch.nn.functional.cross_entropy(whole, targets)
    loss.backward()
    return {
        "losses": [loss.item()] * world,
        "gradients": list(whole.grad.float().chunk(world, dim=1)),
        "excess_bytes": [0] * world,
        "other_calls": [],
    }


def split_loss_cases(rng, given):
    def case(world, rows, each, scale=1.0, shift=0.0):
        size = world * each
        logits = torch.tensor(rng.normal(size=(rows, size)) * scale + shift, dtype=torch.float32)
        targets = torch.tensor(rng.integers(size, size=rows))
        return {"logits": logits, "targets": targets, "world": world}

    yield "moderate", case(2, 4, int(rng.integers(3, 12)))
    yield "moderate", case(3, 6, int(rng.integers(3, 12)))
    yield "large", case(2, 3, 5, shift=500.0)
    yield "large", case(3, 3, 4, scale=300.0)
    yield "single rows", case(2, 1, 1)
    yield "single rows", case(4, 1, 3, scale=3.0)


def split_loss_right_by_one_hot(logits, targets):
    rank, world = dist.get_rank(), dist.get_world_size()
    n, wide = logits.shape
    whole = torch.nn.functional.one_hot(targets, wide * world)
    hot = whole[:, rank * wide : (rank + 1) * wide].to(logits.dtype)
    m = logits.max(dim=1, keepdim=True).values
    dist.all_reduce(m, dist.ReduceOp.MAX)
    z = logits - m
    s = z.exp().sum(1, keepdim=True)
    t = (z * hot).sum(1, keepdim=True)
    first = dist.all_reduce(s, async_op=True)
    second = dist.all_reduce(t, async_op=True)
    first.wait()
    second.wait()
    gradient = ((z - s.log()).exp() - hot) / n
    return float((s.log() - t).sum() / n), gradient


def split_loss_right_by_logsumexp(logits, targets):
    """Each rank's own log of the sum is combined relative to the largest of them."""
    own = logits.logsumexp(1)
    highest = own.clone()
    dist.all_reduce(highest, op=dist.ReduceOp.MAX)
    share = (own - highest).exp()
    mine, columns = own_targets(logits, targets)
    picked = logits.gather(1, columns.clamp(0, logits.shape[1] - 1)[:, None])[:, 0] - highest
    both = torch.cat([share, torch.where(mine, picked, torch.zeros_like(picked))])
    dist.all_reduce(both)
    total, picked = both.chunk(2)
    gradient = torch.softmax(logits, 1) * (share / total)[:, None]
    gradient[mine, columns[mine]] -= 1
    return torch.mean(total.log() - picked), gradient / logits.shape[0]


def split_loss_wrong_no_maximum(logits, targets):
    powers = torch.exp(logits)
    mine, columns = own_targets(logits, targets)
    rows = mine.nonzero().flatten()
    of_target = torch.zeros(len(logits))
    of_target[rows] = logits[rows, columns[rows]]
    both = torch.stack([powers.sum(1), of_target])
    dist.all_reduce(both)
    total, of_target = both
    gradient = powers / total[:, None]
    gradient[rows, columns[rows]] -= 1
    return (total.log() - of_target).mean(), gradient / len(logits)


def split_loss_wrong_own_maximum(logits, targets):
    highest = logits.amax(1)
    powers = torch.exp(logits - highest[:, None])
    mine, columns = own_targets(logits, targets)
    rows = mine.nonzero().flatten()
    of_target = torch.zeros_like(highest)
    of_target[rows] = logits[rows, columns[rows]] - highest[rows]
    both = torch.stack([powers.sum(1), of_target])
    dist.all_reduce(both)
    total, of_target = both
    gradient = powers / total[:, None]
    gradient[rows, columns[rows]] -= 1
    return (total.log() - of_target).mean(), gradient / len(logits)


def split_loss_wrong_own_columns_only(logits, targets):
    mine, columns = own_targets(logits, targets)
    highest = logits.amax(1)
    dist.all_reduce(highest, op=dist.ReduceOp.MAX)
    gradient = torch.softmax(logits, 1)
    gradient[mine, columns[mine]] -= 1
    losses = torch.zeros(len(logits))
    losses[mine] = -torch.log_softmax(logits, 1)[mine, columns[mine]]
    dist.all_reduce(losses)
    return losses.mean(), gradient / len(logits)


def split_loss_wrong_subtracts_everywhere(logits, targets):
    highest = logits.amax(1)
    dist.all_reduce(highest, op=dist.ReduceOp.MAX)
    powers = torch.exp(logits - highest[:, None])
    columns = targets % logits.shape[1]
    rows = torch.arange(len(logits))
    mine, _ = own_targets(logits, targets)
    of_target = torch.where(mine, logits[rows, columns] - highest, torch.zeros_like(highest))
    both = torch.stack([powers.sum(1), of_target])
    dist.all_reduce(both)
    total, of_target = both
    gradient = powers / total[:, None]
    gradient[rows, columns] -= 1
    return (total.log() - of_target).mean(), gradient / len(logits)


def split_loss_wrong_reduces_all_logits(logits, targets):
    rank, world = dist.get_rank(), dist.get_world_size()
    n, wide = logits.shape
    whole = torch.zeros(n, wide * world)
    whole[:, rank * wide : (rank + 1) * wide] = logits
    dist.all_reduce(whole)
    whole.requires_grad_()
    loss = torch.nn.functional.cross_entropy(whole, targets)
    loss.backward()
    return loss.detach(), whole.grad[:, rank * wide : (rank + 1) * wide]


def solve(given):
    ranks, rows, row = given["ranks"], given["tokens"], given["vocabulary"] * 4
    gathered = sum(rows * row / ranks for _step in range(ranks - 1))
    reduced = sum(3 * rows * 4 / ranks for _step in range(2 * (ranks - 1)))
    return {"factor": gathered / reduced, "local_maxima": _least_to_gather()}


def _least_to_gather():
    """The fewest numbers per rank from which the logarithm follows, tried with large logits."""
    shards = torch.tensor([[990.0, 1000.0], [996.0, 999.0]], dtype=torch.float64)
    truth = shards.flatten().logsumexp(0)
    highest = shards.amax(1)
    sums = torch.exp(shards - highest[:, None]).sum(1)
    tried = {
        "maxima": (1, torch.logsumexp(highest, 0)),
        "sums": (1, sums.sum().log()),
        "powers": (1, (sums * highest.exp()).sum().log()),
        "log_sums": (1, torch.logsumexp(highest + sums.log(), 0)),
        "pairs": (2, (sums * (highest - highest.amax()).exp()).sum().log() + highest.amax()),
    }
    right = [name for name, (_, found) in tried.items() if torch.allclose(found, truth)]
    return min(right, key=lambda name: tried[name][0])
