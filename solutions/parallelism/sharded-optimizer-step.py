"""Adam on a shard of the weights; the second method is torch's Adam on all of them."""

import torch
import torch.distributed as dist


def update(w, g, m, v, step, lr, beta1, beta2, eps):
    """Return Adam's new weights and moments."""
    m = beta1 * m + (1 - beta1) * g
    v = beta2 * v + (1 - beta2) * g * g
    w = w - lr * (m / (1 - beta1**step)) / ((v / (1 - beta2**step)).sqrt() + eps)
    return w, m, v


def sharded_step(weights, gradient, m, v, step, lr, beta1, beta2, eps):
    rank, world = dist.get_rank(), dist.get_world_size()
    mean = torch.empty_like(m)
    dist.reduce_scatter(mean, list(gradient.chunk(world)))
    mean /= world
    w, m, v = update(weights.chunk(world)[rank], mean, m, v, step, lr, beta1, beta2, eps)
    parts = [torch.empty_like(w) for _ in range(world)]
    dist.all_gather(parts, w)
    return torch.cat(parts), m, v


def sharded_step_expected(weights, gradients, lr, betas, eps):
    world, steps = len(gradients), len(gradients[0])
    parameter = torch.nn.Parameter(weights.clone())
    adam = torch.optim.Adam([parameter], lr=lr, betas=betas, eps=eps)
    for step in range(steps):
        parameter.grad = torch.stack([mine[step] for mine in gradients]).mean(0)
        adam.step()
    (state,) = adam.state.values()
    ms, vs = state["exp_avg"].chunk(world), state["exp_avg_sq"].chunk(world)
    return {
        "weights": [parameter.detach()] * world,
        "moments": list(zip(ms, vs, strict=True)),
        "excess_bytes_sent": [0.0] * world,
        "all_reduces": 0,
    }


def sharded_step_cases(rng, given):
    def case(world, each, steps, **other):
        def vector():
            return torch.tensor(rng.normal(size=world * each), dtype=torch.float32)

        settings = {"lr": 0.05, "betas": (0.9, 0.999), "eps": 1e-3, **other}
        gradients = [[vector() for _ in range(steps)] for _ in range(world)]
        return {"weights": vector(), "gradients": gradients, **settings}

    yield "one step", case(2, 3, 1)
    yield "one step", case(3, int(rng.integers(4, 20)), 1, eps=0.1)
    yield "several steps", case(1, 4, 3)
    yield "several steps", case(3, int(rng.integers(4, 20)), 4, betas=(0.8, 0.95))
    yield "several steps", case(4, int(rng.integers(4, 20)), 3)


def sharded_step_right_by_messages(weights, gradient, m, v, step, lr, beta1, beta2, eps):
    rank, world = dist.get_rank(), dist.get_world_size()
    pieces = [piece.contiguous() for piece in gradient.view(world, -1)]
    others = [other for other in range(world) if other != rank]

    def swap(give):
        inbox = {other: torch.empty_like(m) for other in others}
        works = [dist.irecv(inbox[other], other) for other in others]
        works += [dist.isend(give(other), other) for other in others]
        for work in works:
            work.wait()
        return inbox

    mean = (pieces[rank] + sum(swap(lambda other: pieces[other]).values())) / world
    m = torch.lerp(m, mean, 1 - beta1)
    v = beta2 * v + (1 - beta2) * mean.square()
    size = m.numel()
    mine = weights[rank * size : (rank + 1) * size].clone()
    rate = lr / (1 - beta1**step)
    mine.addcdiv_(m, v.sqrt() / (1 - beta2**step) ** 0.5 + eps, value=-rate)
    new = weights.clone().view(world, -1)
    new[rank] = mine
    for other, part in swap(lambda _: mine).items():
        new[other] = part
    return new.flatten(), m, v


def sharded_step_right_all_to_all(weights, gradient, m, v, step, lr, beta1, beta2, eps):
    rank, world = dist.get_rank(), dist.get_world_size()
    table = torch.empty_like(gradient)
    dist.all_to_all_single(table, gradient)
    mean = table.view(world, -1).mean(0)
    w, m, v = update(weights.view(world, -1)[rank], mean, m, v, step, lr, beta1, beta2, eps)
    parts = [torch.empty_like(w) for _ in range(world)]
    dist.all_gather(parts, w)
    return torch.cat(parts), m, v


def sharded_step_wrong_sum(weights, gradient, m, v, step, lr, beta1, beta2, eps):
    rank, world = dist.get_rank(), dist.get_world_size()
    total = torch.empty_like(m)
    dist.reduce_scatter(total, list(gradient.chunk(world)))
    w, m, v = update(weights.chunk(world)[rank], total, m, v, step, lr, beta1, beta2, eps)
    parts = [torch.empty_like(w) for _ in range(world)]
    dist.all_gather(parts, w)
    return torch.cat(parts), m, v


def sharded_step_wrong_no_gather(weights, gradient, m, v, step, lr, beta1, beta2, eps):
    rank, world = dist.get_rank(), dist.get_world_size()
    mean = torch.empty_like(m)
    dist.reduce_scatter(mean, list(gradient.chunk(world)))
    w, m, v = update(weights.chunk(world)[rank], mean / world, m, v, step, lr, beta1, beta2, eps)
    new = weights.clone()
    new.view(world, -1)[rank] = w
    return new, m, v


def sharded_step_wrong_all_reduce(weights, gradient, m, v, step, lr, beta1, beta2, eps):
    rank, world = dist.get_rank(), dist.get_world_size()
    dist.all_reduce(gradient)
    mean = gradient.chunk(world)[rank] / world
    w, m, v = update(weights.chunk(world)[rank], mean, m, v, step, lr, beta1, beta2, eps)
    parts = [torch.empty_like(w) for _ in range(world)]
    dist.all_gather(parts, w)
    return torch.cat(parts), m, v


def sharded_step_wrong_gathers_gradients(weights, gradient, m, v, step, lr, beta1, beta2, eps):
    rank, world = dist.get_rank(), dist.get_world_size()
    table = [torch.empty_like(gradient) for _ in range(world)]
    dist.all_gather(table, gradient)
    mean = torch.stack(table).mean(0).chunk(world)[rank]
    w, m, v = update(weights.chunk(world)[rank], mean, m, v, step, lr, beta1, beta2, eps)
    parts = [torch.empty_like(w) for _ in range(world)]
    dist.all_gather(parts, w)
    return torch.cat(parts), m, v


def sharded_step_wrong_uncorrected(weights, gradient, m, v, step, lr, beta1, beta2, eps):
    rank, world = dist.get_rank(), dist.get_world_size()
    mean = torch.empty_like(m)
    dist.reduce_scatter(mean, list(gradient.chunk(world)))
    mean /= world
    m = beta1 * m + (1 - beta1) * mean
    v = beta2 * v + (1 - beta2) * mean * mean
    w = weights.chunk(world)[rank] - lr * m / (v.sqrt() + eps)
    parts = [torch.empty_like(w) for _ in range(world)]
    dist.all_gather(parts, w)
    return torch.cat(parts), m, v


def solve(given):
    ranks, billions = given["ranks"], given["billions"]
    stored = [{"m": 0.0, "v": 0.0} for _ in range(ranks)]
    for state in stored:
        for moment in state:
            state[moment] += 4 * billions / ranks
    whole = sum(moment for state in stored for moment in state.values())
    sent = 0.0
    for size in (4, 2):  # bytes of a gradient, and of a weight
        for _step in range(ranks - 1):
            sent += size * billions / ranks
    # The mean gradient of two ranks with two weights: what determines its norm?
    mean = [(3.0 + 1.0) / 2, (4.0 - 4.0) / 2]
    norm = sum(element**2 for element in mean) ** 0.5
    locals_norm = ((3.0**2 + 4.0**2) ** 0.5 + (1.0**2 + 4.0**2) ** 0.5) / 2
    from_shards = (
        sum(sum(element**2 for element in shard) for shard in ([mean[0]], [mean[1]])) ** 0.5
    )
    clipping = "squares" if from_shards == norm != locals_norm else "local_norms"
    return {
        "state": whole - sum(stored[0].values()),
        "mixed": sent,
        "clipping": clipping,
    }
