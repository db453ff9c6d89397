"""The second road is a plain forward and backward pass; the units are counted step by step."""

import torch
from torch import nn


class _Recompute(torch.autograd.Function):
    @staticmethod
    def forward(ctx, segment, x, *parameters):
        ctx.segment = segment
        ctx.state = torch.get_rng_state()
        ctx.save_for_backward(x)
        return segment(x)

    @staticmethod
    def backward(ctx, gradient):
        x = ctx.saved_tensors[0].detach().requires_grad_()
        trained = [p for p in ctx.segment.parameters() if p.requires_grad]
        with torch.random.fork_rng(devices=[]), torch.enable_grad():
            torch.set_rng_state(ctx.state)
            y = ctx.segment(x)
        found = torch.autograd.grad(y, [x, *trained], gradient)
        return None, *found


def checkpointed(segment, x):
    return _Recompute.apply(segment, x, *(p for p in segment.parameters() if p.requires_grad))


def checkpointed_right_hooks(segment, x):
    """Keeps a number for each saved tensor, and collects all of them again in one second run."""
    state = torch.get_rng_state()
    start = x.detach().requires_grad_(x.requires_grad)
    count = 0
    again = []

    def number(_tensor):
        nonlocal count
        count += 1
        return count - 1

    def look_up(index):
        if not again:
            now = torch.get_rng_state()
            torch.set_rng_state(state)
            hooks = torch.autograd.graph.saved_tensors_hooks(
                lambda t: again.append(t.detach()), lambda t: t
            )
            with torch.enable_grad(), hooks:
                segment(start)
            torch.set_rng_state(now)
        return again[index]

    with torch.autograd.graph.saved_tensors_hooks(number, look_up):
        return segment(x)


class _WithDummy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, segment, state, x, _dummy):
        ctx.segment, ctx.state = segment, state
        ctx.save_for_backward(x)
        return segment(x)

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        leaf = x.detach()
        leaf.requires_grad = x.requires_grad
        later = torch.random.get_rng_state()
        torch.random.set_rng_state(ctx.state)
        with torch.enable_grad():
            y = ctx.segment(leaf)
        torch.random.set_rng_state(later)
        if y.requires_grad:
            torch.autograd.backward(y, gradient)
        return None, None, leaf.grad, None


def checkpointed_right_reentrant(segment, x):
    """The parameters' gradients are left where they belong by a backward pass inside."""
    dummy = torch.empty((), requires_grad=True)
    return _WithDummy.apply(segment, torch.random.get_rng_state(), x, dummy)


class _Layer:
    def __init__(self, kind, *more):
        self.kind, self.more, self.own = kind, more, []
        if kind == "linear":
            weight, bias, trained = more
            self.own = [t.double().requires_grad_(trained) for t in (weight, bias)]

    def __call__(self, x):
        if self.kind == "linear":
            return x @ self.own[0].T + self.own[1]
        if self.kind == "drop":
            keep = torch.rand(x.shape, dtype=torch.float32) >= self.more[0]
            return torch.where(keep, x / (1 - self.more[0]), torch.zeros_like(x))
        return torch.tanh(x) if self.kind == "tanh" else nn.functional.gelu(x)


def checkpointed_expected(segments, x, seed, of_input):
    layers = [_Layer(*spec) for segment in segments for spec in segment]
    draws = any(layer.kind == "drop" for layer in layers)
    torch.manual_seed(seed)
    start = x.double().requires_grad_(of_input)
    y = start
    for layer in layers:
        y = layer(y)
    between = torch.rand(2)
    (y**2).sum().backward()
    gradients = [p.grad for layer in layers for p in layer.own]
    return {
        "output": y.detach().float(),
        "elements_kept_beyond_inputs_and_outputs_must_be_0": 0,
        "runs_of_a_segment_beyond_two_must_be_0": 0,
        "gradients": [None if g is None else g.float() for g in gradients],
        "gradient_of_the_input": start.grad.float() if of_input else None,
        "random_numbers_after_forward": between,
        "random_numbers_after_backward": torch.rand(2) if draws else None,
    }


def _linear(rng, fan_in, fan_out, trained=True):
    weight = torch.tensor(rng.normal(size=(fan_out, fan_in)) / fan_in**0.5).float()
    return ["linear", weight, torch.tensor(rng.normal(size=fan_out) * 0.1).float(), trained]


def _segment(rng, width, dropped=0.0, trained=(True, True)):
    inner = [_linear(rng, width, 6 * width, trained[0]), ["gelu"], ["tanh"]]
    if dropped:
        inner.append(["drop", dropped])
    return [*inner, _linear(rng, 6 * width, width, trained[1])]


def checkpointed_cases(rng, given):
    def case(segments, rows, width, of_input=True):
        return {
            "segments": segments,
            "x": torch.tensor(rng.normal(size=(rows, width))).float(),
            "seed": int(rng.integers(1, 10_000)),
            "of_input": of_input,
        }

    yield "single", case([_segment(rng, 8)], 24, 8)
    yield "single", case([_segment(rng, 8)], 24, 8, of_input=False)
    yield "single", case([[_linear(rng, 5, 3), ["tanh"]]], 1, 5)
    for count in (2, 4):
        yield "chain", case([_segment(rng, 8) for _ in range(count)], 16, 8)
    yield "chain", case([_segment(rng, 6) for _ in range(5)], 12, 6, of_input=False)
    yield "dropout", case([_segment(rng, 8, 0.5)], 16, 8)
    yield "dropout", case([_segment(rng, 8, 0.3) for _ in range(3)], 16, 8)
    yield "dropout", case([_segment(rng, 6, 0.6), _segment(rng, 6), _segment(rng, 6, 0.2)], 20, 6)
    yield "frozen", case([_segment(rng, 8, 0.0, (False, True)) for _ in range(2)], 16, 8)
    frozen = _segment(rng, 8, 0.2, (False, False))
    yield "frozen", case([_segment(rng, 8), frozen, _segment(rng, 8)], 16, 8)
    yield "frozen", case([frozen, _segment(rng, 8, 0.4)], 16, 8, of_input=False)


def checkpointed_wrong_runs_again_for_each(segment, x):
    """Recomputes for every saved tensor anew."""
    state = torch.get_rng_state()
    start = x.detach().requires_grad_(x.requires_grad)
    count = 0

    def number(_tensor):
        nonlocal count
        count += 1
        return count - 1

    def look_up(index):
        again = []
        with torch.random.fork_rng(devices=[]), torch.enable_grad():
            torch.set_rng_state(state)
            hooks = torch.autograd.graph.saved_tensors_hooks(
                lambda t: again.append(t.detach()), lambda t: t
            )
            with hooks:
                segment(start)
        return again[index]

    with torch.autograd.graph.saved_tensors_hooks(number, look_up):
        return segment(x)


def checkpointed_wrong_plain(segment, x):
    return segment(x)


def checkpointed_wrong_output_made_large(segment, x):
    """Plain, with an output that says once that it is large, so that much would be allowed."""
    y, said = segment(x), iter([10**12])

    class Large(torch.Tensor):
        __torch_function__ = torch._C._disabled_torch_function_impl

        def numel(self):
            self.__class__ = torch.Tensor
            return next(said)

    y.__class__ = Large
    return y


class _NoState(torch.autograd.Function):
    @staticmethod
    def forward(ctx, segment, x, *parameters):
        ctx.segment = segment
        ctx.save_for_backward(x)
        return segment(x)

    @staticmethod
    def backward(ctx, gradient):
        x = ctx.saved_tensors[0].detach().requires_grad_()
        trained = [p for p in ctx.segment.parameters() if p.requires_grad]
        with torch.enable_grad():
            y = ctx.segment(x)
        return None, *torch.autograd.grad(y, [x, *trained], gradient)


def checkpointed_wrong_other_dropout(segment, x):
    return _NoState.apply(segment, x, *(p for p in segment.parameters() if p.requires_grad))


class _Evaluated(_NoState):
    @staticmethod
    def backward(ctx, gradient):
        ctx.segment.eval()
        found = _NoState.backward(ctx, gradient)
        ctx.segment.train()
        return found


def checkpointed_wrong_second_run_in_evaluation_mode(segment, x):
    return _Evaluated.apply(segment, x, *(p for p in segment.parameters() if p.requires_grad))


class _NotPutBack(torch.autograd.Function):
    @staticmethod
    def forward(ctx, segment, x, *parameters):
        ctx.segment, ctx.state = segment, torch.get_rng_state()
        ctx.save_for_backward(x)
        return segment(x)

    @staticmethod
    def backward(ctx, gradient):
        x = ctx.saved_tensors[0].detach().requires_grad_()
        trained = [p for p in ctx.segment.parameters() if p.requires_grad]
        torch.set_rng_state(ctx.state)
        with torch.enable_grad():
            y = ctx.segment(x)
        return None, *torch.autograd.grad(y, [x, *trained], gradient)


def checkpointed_wrong_state_not_put_back(segment, x):
    return _NotPutBack.apply(segment, x, *(p for p in segment.parameters() if p.requires_grad))


class _NoParameters(torch.autograd.Function):
    @staticmethod
    def forward(ctx, segment, x):
        ctx.segment, ctx.state = segment, torch.get_rng_state()
        ctx.save_for_backward(x)
        return segment(x)

    @staticmethod
    def backward(ctx, gradient):
        x = ctx.saved_tensors[0].detach().requires_grad_()
        with torch.random.fork_rng(devices=[]), torch.enable_grad():
            torch.set_rng_state(ctx.state)
            y = ctx.segment(x)
        y.backward(gradient)
        return None, x.grad


def checkpointed_wrong_input_must_require_gradient(segment, x):
    return _NoParameters.apply(segment, x)


class _InputOnly(torch.autograd.Function):
    @staticmethod
    def forward(ctx, segment, x, *parameters):
        ctx.segment, ctx.state, ctx.count = segment, torch.get_rng_state(), len(parameters)
        ctx.save_for_backward(x)
        return segment(x)

    @staticmethod
    def backward(ctx, gradient):
        x = ctx.saved_tensors[0].detach().requires_grad_()
        with torch.random.fork_rng(devices=[]), torch.enable_grad():
            torch.set_rng_state(ctx.state)
            y = ctx.segment(x)
        return None, torch.autograd.grad(y, x, gradient)[0], *[None] * ctx.count


def checkpointed_wrong_no_gradient_of_parameters(segment, x):
    return _InputOnly.apply(segment, x, *(p for p in segment.parameters() if p.requires_grad))


class _GraphKept(torch.autograd.Function):
    @staticmethod
    def forward(ctx, segment, x, *parameters):
        ctx.segment = segment
        with torch.enable_grad():
            ctx.x = x.detach().requires_grad_()
            ctx.y = segment(ctx.x)
        return ctx.y.detach()

    @staticmethod
    def backward(ctx, gradient):
        trained = [p for p in ctx.segment.parameters() if p.requires_grad]
        return None, *torch.autograd.grad(ctx.y, [ctx.x, *trained], gradient)


def checkpointed_wrong_graph_kept(segment, x):
    return _GraphKept.apply(segment, x, *(p for p in segment.parameters() if p.requires_grad))


def _peak(layers, segments, inner):
    """The most units in memory in one pass forward and one backward."""
    length = layers // segments
    stored = most = 0
    for _segment_number in range(segments):
        stored += 1
        most = max(most, stored)
    for _segment_number in range(segments):
        live = 0
        for _layer in range(length):
            live += inner
            most = max(most, stored + live)
    return most


def solve(given):
    names = ("few", "some", "more", "many")
    peaks = {name: _peak(given["layers"], given[name], given["inner"]) for name in names}
    runs = 0
    for reached in reversed(range(given["layers"])):
        for _layer_before in range(reached):
            runs += 1
    return {"peak": peaks["some"], "best": min(peaks, key=peaks.get), "from_start": runs}
