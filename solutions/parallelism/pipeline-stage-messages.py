"""A stage with sends that don't block; the second method is the whole model in one process."""

import torch
import torch.distributed as dist


def run_stage(micro_batches, shape, forward, backward):
    stage, stages = dist.get_rank(), dist.get_world_size()
    under_way = []

    def arrived(source):
        tensor = torch.empty(shape)
        dist.recv(tensor, source)
        return tensor

    def one_forward(i):
        out = forward(i, arrived(stage - 1) if stage > 0 else None)
        if stage < stages - 1:
            under_way.append(dist.isend(out.contiguous(), stage + 1))

    def one_backward(i):
        gradient = backward(i, arrived(stage + 1) if stage < stages - 1 else None)
        if stage > 0:
            under_way.append(dist.isend(gradient.contiguous(), stage - 1))

    warm = min(stages - stage - 1, micro_batches)
    for i in range(warm):
        one_forward(i)
    for i in range(warm, micro_batches):
        one_forward(i)
        one_backward(i - warm)
    for i in range(micro_batches - warm, micro_batches):
        one_backward(i)
    for work in under_way:
        work.wait()


def run_stage_expected(weights, inputs, targets):
    stages, count = len(weights), len(inputs)
    own = [weight.clone().requires_grad_() for weight in weights]
    for x, y in zip(inputs, targets, strict=True):
        for weight in own:
            x = torch.tanh(x @ weight.T)
        ((x - y) ** 2).sum().backward()
    actions, size = [], 4 * inputs[0].numel()
    for stage in range(stages):
        alive, started, ended, mine = stages - stage, 0, 0, []
        while ended < count:
            if started < count and started - ended < alive:
                mine.append(f"F{started}")
                started += 1
            else:
                mine.append(f"B{ended}")
                ended += 1
        actions.append(mine)
    ends = [(stage > 0) + (stage < stages - 1) for stage in range(stages)]
    return {
        "gradients": [weight.grad for weight in own],
        "actions": actions,
        "peak_number_of_saved_micro_batches": [
            min(stages - stage, count) for stage in range(stages)
        ],
        "bytes_sent": [count * size * n for n in ends],
        "other_calls": [],
    }


def run_stage_cases(rng, given):
    def case(stages, count):
        rows, width = int(rng.integers(1, 4)), int(rng.integers(2, 6))

        def tensor(*shape):
            return torch.tensor(rng.normal(size=shape), dtype=torch.float32)

        return {
            "weights": [tensor(width, width) for _ in range(stages)],
            "inputs": [tensor(rows, width) for _ in range(count)],
            "targets": [tensor(rows, width) for _ in range(count)],
        }

    yield "two stages", case(2, 1)
    yield "two stages", case(2, 4)
    yield "more stages", case(3, 2)
    yield "more stages", case(3, int(rng.integers(4, 7)))
    yield "more stages", case(4, 5)


def run_stage_right_batched(micro_batches, shape, forward, backward):
    me, p = dist.get_rank(), dist.get_world_size()

    def exchange(to=None, what=None, source=None):
        inbox = torch.empty(*shape) if source is not None and 0 <= source < p else None
        ops = []
        if to is not None and 0 <= to < p:
            ops.append(dist.P2POp(dist.isend, what, to))
        if inbox is not None:
            ops.append(dist.P2POp(dist.irecv, inbox, source))
        for work in dist.batch_isend_irecv(ops) if ops else ():
            work.wait()
        return inbox

    warm = min(p - 1 - me, micro_batches)
    steady = micro_batches - warm
    for i in range(warm):
        exchange(me + 1, forward(i, exchange(source=me - 1)))
    h = exchange(source=me - 1) if steady else None
    for k in range(steady):
        g = exchange(me + 1, forward(warm + k, h), me + 1)
        back = backward(k, g)
        h = exchange(me - 1, back, me - 1 if k < steady - 1 else None)
    for i in range(steady, micro_batches):
        exchange(me - 1, backward(i, exchange(source=me + 1)))


def run_stage_wrong_blocking_sends(micro_batches, shape, forward, backward):
    stage, stages = dist.get_rank(), dist.get_world_size()

    def arrived(source):
        tensor = torch.empty(shape)
        dist.recv(tensor, source)
        return tensor

    def one_forward(i):
        out = forward(i, arrived(stage - 1) if stage > 0 else None)
        if stage < stages - 1:
            dist.send(out.contiguous(), stage + 1)

    def one_backward(i):
        gradient = backward(i, arrived(stage + 1) if stage < stages - 1 else None)
        if stage > 0:
            dist.send(gradient.contiguous(), stage - 1)

    warm = min(stages - stage - 1, micro_batches)
    for i in range(warm):
        one_forward(i)
    for i in range(warm, micro_batches):
        one_forward(i)
        one_backward(i - warm)
    for i in range(micro_batches - warm, micro_batches):
        one_backward(i)


def run_stage_wrong_one_buffer(micro_batches, shape, forward, backward):
    stage, stages = dist.get_rank(), dist.get_world_size()
    inbox, under_way = torch.empty(shape), []
    warm = min(stages - stage - 1, micro_batches)
    for k in range(micro_batches + warm):
        if k < micro_batches:
            if stage > 0:
                dist.recv(inbox, stage - 1)
            out = forward(k, inbox if stage > 0 else None)
            if stage < stages - 1:
                under_way.append(dist.isend(out, stage + 1))
        if k >= warm:
            if stage < stages - 1:
                dist.recv(inbox, stage + 1)
            gradient = backward(k - warm, inbox if stage < stages - 1 else None)
            if stage > 0:
                under_way.append(dist.isend(gradient, stage - 1))
    for work in under_way:
        work.wait()


def run_stage_wrong_gpipe(micro_batches, shape, forward, backward):
    stage, stages = dist.get_rank(), dist.get_world_size()
    inbox = torch.empty(shape)
    for i in range(micro_batches):
        if stage > 0:
            dist.recv(inbox, stage - 1)
        out = forward(i, inbox.clone() if stage > 0 else None)
        if stage < stages - 1:
            dist.send(out, stage + 1)
    for i in range(micro_batches):
        if stage < stages - 1:
            dist.recv(inbox, stage + 1)
        gradient = backward(i, inbox.clone() if stage < stages - 1 else None)
        if stage > 0:
            dist.send(gradient, stage - 1)


def run_stage_wrong_one_at_a_time(micro_batches, shape, forward, backward):
    stage, stages = dist.get_rank(), dist.get_world_size()
    inbox = torch.empty(shape)
    for i in range(micro_batches):
        if stage > 0:
            dist.recv(inbox, stage - 1)
        out = forward(i, inbox.clone() if stage > 0 else None)
        if stage < stages - 1:
            dist.send(out, stage + 1)
            dist.recv(inbox, stage + 1)
        gradient = backward(i, inbox.clone() if stage < stages - 1 else None)
        if stage > 0:
            dist.send(gradient, stage - 1)


def run_stage_wrong_one_more_warm_up(micro_batches, shape, forward, backward):
    stage, stages = dist.get_rank(), dist.get_world_size()
    under_way = []

    def arrived(source):
        tensor = torch.empty(shape)
        dist.recv(tensor, source)
        return tensor

    warm = min(stages - stage, micro_batches)
    for k in range(micro_batches + warm):
        if k < micro_batches:
            out = forward(k, arrived(stage - 1) if stage > 0 else None)
            if stage < stages - 1:
                under_way.append(dist.isend(out, stage + 1))
        if k >= warm:
            gradient = backward(k - warm, arrived(stage + 1) if stage < stages - 1 else None)
            if stage > 0:
                under_way.append(dist.isend(gradient, stage - 1))
    for work in under_way:
        work.wait()


def run_stage_wrong_gradient_to_the_next(micro_batches, shape, forward, backward):
    stage, stages = dist.get_rank(), dist.get_world_size()
    warm = min(stages - stage - 1, micro_batches)
    under_way, inbox = [], torch.empty(shape)
    for k in range(micro_batches + warm):
        if k < micro_batches:
            if stage > 0:
                dist.recv(inbox, stage - 1)
            out = forward(k, inbox.clone() if stage > 0 else None)
            if stage < stages - 1:
                under_way.append(dist.isend(out, stage + 1))
        if k >= warm:
            gradient = backward(k - warm, torch.ones(shape) if stage < stages - 1 else None)
            if stage > 0:
                under_way.append(dist.isend(gradient, (stage + 1) % stages))


def solve(given):
    stages, count = given["stages"], given["count"]
    tensor = 2 * given["micro"] * given["tokens"] * given["width"]
    sent = [0.0] * stages
    for stage in range(stages):
        for _micro_batch in range(count):
            sent[stage] += tensor if stage < stages - 1 else 0  # the activation
            sent[stage] += tensor if stage > 0 else 0  # the gradient
    split = 0.0
    for _layer in range(given["layers"] * stages):
        for _tensor in ("attention", "MLP", "gradient of the attention", "gradient of the MLP"):
            for _step in range(2 * (stages - 1)):
                split += count * tensor / stages
    return {"stage_traffic": sent[1] / 1e6, "against_tensor_parallel": split / sent[1]}
