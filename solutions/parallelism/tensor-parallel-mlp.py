"""Two autograd functions around a block; the second method is the whole MLP in one process."""

import torch
import torch.distributed as dist


class ToAll(torch.autograd.Function):
    """The identity, whose gradient is summed over all ranks."""

    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, gradient):
        gradient = gradient.clone()
        dist.all_reduce(gradient)
        return gradient


class FromAll(torch.autograd.Function):
    """The sum over all ranks, whose gradient is the same on all of them."""

    @staticmethod
    def forward(ctx, x):
        total = x.clone()
        dist.all_reduce(total)
        return total

    @staticmethod
    def backward(ctx, gradient):
        return gradient


def parallel_mlp(x, a, a_bias, b, b_bias, activation):
    hidden = activation(ToAll.apply(x) @ a.T + a_bias)
    return FromAll.apply(hidden @ b.T) + b_bias


def parallel_mlp_expected(x, a, a_bias, b, b_bias, upstream, activation, world):
    own = [one.double().requires_grad_() for one in (x, a, a_bias, b, b_bias)]
    wide, first, first_bias, second, second_bias = own
    linear = torch.nn.functional.linear
    hidden = getattr(torch.nn.functional, activation)(linear(wide, first, first_bias))
    out = linear(hidden, second, second_bias)
    out.backward(upstream.double())
    gx, ga, ga_bias, gb, gb_bias = (one.grad.float() for one in own)
    return {
        "outputs": [out.detach().float()] * world,
        "gradients": [
            [gx, block, bias, columns, gb_bias]
            for block, bias, columns in zip(
                ga.chunk(world), ga_bias.chunk(world), gb.chunk(world, dim=1), strict=True
            )
        ],
        "calls_in_the_forward_pass": [["all_reduce"]] * world,
        "calls_in_the_backward_pass": [["all_reduce"]] * world,
        "bytes_of_the_calls": [2 * 4 * x.numel()] * world,
    }


def parallel_mlp_cases(rng, given):
    def case(world, activation):
        tokens, width = int(rng.integers(2, 6)), int(rng.integers(3, 7))
        hidden = world * int(rng.integers(2, 5))

        def tensor(*shape):
            return torch.tensor(rng.normal(size=shape), dtype=torch.float32)

        return {
            "x": tensor(tokens, width),
            "a": tensor(hidden, width),
            "a_bias": tensor(hidden),
            "b": tensor(width, hidden),
            "b_bias": tensor(width),
            "upstream": tensor(tokens, width),
            "activation": activation,
            "world": world,
        }

    yield "two ranks", case(2, "gelu")
    yield "two ranks", case(2, "relu")
    yield "more ranks", case(3, "silu")
    yield "more ranks", case(4, "gelu")


def parallel_mlp_right_with_hooks(x, a, a_bias, b, b_bias, activation):
    inner = x.clone()

    def summed(gradient):
        total = gradient.contiguous().clone()
        dist.all_reduce(total, async_op=True).wait()
        return total

    inner.register_hook(summed)
    part = torch.nn.functional.linear(activation(torch.nn.functional.linear(inner, a, a_bias)), b)
    whole = summed(part.detach())
    return part + (whole - part.detach()) + b_bias


def parallel_mlp_right_all_by_hand(x, a, a_bias, b, b_bias, activation):
    class Whole(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, a, a_bias, b, b_bias):
            ctx.save_for_backward(x, a, a_bias, b)
            out = activation(x @ a.T + a_bias) @ b.T
            dist.all_reduce(out)
            return out + b_bias

        @staticmethod
        def backward(ctx, up):
            x, a, a_bias, b = ctx.saved_tensors
            with torch.enable_grad():
                before = (x @ a.T + a_bias).requires_grad_()
                hidden = activation(before)
            (delta,) = torch.autograd.grad(hidden, before, up @ b)
            gx = delta @ a
            dist.all_reduce(gx)
            return gx, delta.T @ x, delta.sum(0), up.T @ hidden.detach(), up.sum(0)

    return Whole.apply(x, a, a_bias, b, b_bias)


def parallel_mlp_wrong_no_backward(x, a, a_bias, b, b_bias, activation):
    return FromAll.apply(activation(x @ a.T + a_bias) @ b.T) + b_bias


def parallel_mlp_wrong_bias_everywhere(x, a, a_bias, b, b_bias, activation):
    return FromAll.apply(activation(ToAll.apply(x) @ a.T + a_bias) @ b.T + b_bias)


def parallel_mlp_wrong_reduces_upstream(x, a, a_bias, b, b_bias, activation):
    class Both(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            total = x.clone()
            dist.all_reduce(total)
            return total

        @staticmethod
        def backward(ctx, gradient):
            total = gradient.clone()
            dist.all_reduce(total)
            return total

    return Both.apply(activation(x @ a.T + a_bias) @ b.T) + b_bias


def parallel_mlp_wrong_gathers_hidden(x, a, a_bias, b, b_bias, activation):
    hidden = activation(ToAll.apply(x) @ a.T + a_bias)
    blocks = [torch.empty_like(hidden) for _ in range(dist.get_world_size())]
    dist.all_gather(blocks, hidden.detach().contiguous())
    columns = [torch.empty_like(b) for _ in blocks]
    dist.all_gather(columns, b.detach().contiguous())
    rank = dist.get_rank()
    blocks[rank], columns[rank] = hidden, b
    return torch.cat(blocks, 1) @ torch.cat(columns, 1).T + b_bias


def parallel_mlp_wrong_invisible_to_autograd(x, a, a_bias, b, b_bias, activation):
    out = (activation(x @ a.T + a_bias) @ b.T).detach()
    dist.all_reduce(out)
    return out + b_bias


def solve(given):
    ranks, width = given["ranks"], given["width"]

    def ring(columns):
        """Bytes that a rank sends to all-reduce one bf16 tensor of the tokens, chunk by chunk."""
        chunk = 2 * given["tokens"] * columns / ranks
        return sum(chunk for _phase in range(2) for _step in range(ranks - 1))

    output, input_gradient = ring(width), ring(width)
    intermediate = ring(given["expansion"] * width)
    return {
        "sent_by_mlp": (output + input_gradient) / 1e6,
        "rows_first": (intermediate + output) / 1e6,
    }
