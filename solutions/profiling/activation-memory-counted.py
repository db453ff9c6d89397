"""What is kept is listed operator by operator; the code recomputes each block."""

import numpy as np
import torch
from torch.utils.checkpoint import checkpoint


def solve(given):
    narrow = 4 * given["batch"] * given["width"]
    wide = narrow * given["ratio"]
    tensors, inputs = {}, {}
    for number in range(given["blocks"]):
        inputs[f"x{number}"] = tensors[f"x{number}"] = narrow  # for W1
        before, after = f"before{number}", f"after{number}"
        tensors[after if given["function"] in ("relu", "tanh") else before] = wide
        tensors[after] = wide  # for W2
    last = {name: size for name, size in tensors.items() if name.endswith(str(given["blocks"] - 1))}
    # One segment keeps x0, and its recomputation saves what the blocks save, x0 among it.
    recomputed = {"x0": narrow} | tensors
    peaks = {
        "plain": sum(tensors.values()),
        "one_block": sum(last.values()),
        "same": sum((inputs | last).values()),
        "twice": 2 * sum(tensors.values()),
    }
    (segment,) = [name for name, peak in peaks.items() if peak == sum(recomputed.values())]
    return {
        "plain": sum(tensors.values()) / 1e3,
        "checkpointed": sum(inputs.values()) / 1e3,
        "peak": sum((inputs | last).values()) / 1e3,
        "segment": segment,
    }


def block(x, W1, W2, act):
    return x + act(x @ W1) @ W2


def forward(x, weights, act):
    for W1, W2 in weights:
        x = checkpoint(block, x, W1, W2, act, use_reentrant=False)
    return x


def forward_right_closure(x, weights, act):
    def step(W1, W2):
        return lambda x: x + act(x @ W1) @ W2

    for W1, W2 in weights:
        x = checkpoint(step(W1, W2), x, use_reentrant=False)
    return x


class Recomputed(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, W1, W2, act):
        ctx.save_for_backward(x, W1, W2)
        ctx.act = act
        with torch.no_grad():
            return x + act(x @ W1) @ W2

    @staticmethod
    def backward(ctx, g):
        x, W1, W2 = (one.detach().requires_grad_() for one in ctx.saved_tensors)
        with torch.enable_grad():
            y = x + ctx.act(x @ W1) @ W2
        return (*torch.autograd.grad(y, (x, W1, W2), g), None)


def forward_right_function(x, weights, act):
    for W1, W2 in weights:
        x = Recomputed.apply(x, W1, W2, act)
    return x


def forward_right_whole(x, weights, act):
    def run(x):
        for W1, W2 in weights:
            x = x + act(x @ W1) @ W2
        return x

    return checkpoint(run, x, use_reentrant=False)


def forward_right_of_a_copy(x, weights, act):
    # Then the input of the first block is new, too.
    x = x.clone()
    for pair in weights:
        x = checkpoint(block, x, *pair, act, use_reentrant=False)
    return x


def forward_expected(x, weights, act, what):
    right = by_hand(x, weights, act)
    if what == "frozen":  # the input needs no gradient
        del right["x"]
    return right if what != "memory" else ...


def by_hand(x, weights, act):
    # The chain rule by hand, in float64.
    function, slope = FUNCTIONS[act]
    x = x.double().numpy()
    pairs = [tuple(w.double().numpy() for w in pair) for pair in weights]
    inputs = [x]
    for W1, W2 in pairs:
        inputs.append(inputs[-1] + function(inputs[-1] @ W1) @ W2)
    y = inputs[-1]
    g = np.arange(1.0, 1 + y.size).reshape(y.shape) / y.size
    gradients = []
    for (W1, W2), before in zip(reversed(pairs), reversed(inputs[:-1])):
        h = before @ W1
        inner = (g @ W2.T) * slope(h)
        gradients += [function(h).T @ g, before.T @ inner]
        g = g + inner @ W1.T
    return {
        "output": torch.from_numpy(y).float(),
        "x": torch.from_numpy(g).float(),
        "weights": [torch.from_numpy(one).float() for one in reversed(gradients)],
    }


def sigmoid(h):
    return 1 / (1 + np.exp(-h))


FUNCTIONS = {
    "relu": (lambda h: np.maximum(h, 0), lambda h: (h > 0) * 1.0),
    "tanh": (np.tanh, lambda h: 1 - np.tanh(h) ** 2),
    "silu": (lambda h: h * sigmoid(h), lambda h: sigmoid(h) * (1 + h * (1 - sigmoid(h)))),
}


def forward_holds(inputs, result):
    if inputs["what"] != "memory":
        return
    right = by_hand(inputs["x"], inputs["weights"], inputs["act"])
    pairs = [(result[name], right[name]) for name in ("output", "x")]
    pairs += zip(result["weights"], right["weights"], strict=True)
    if any(mine.shape != true.shape for mine, true in pairs):
        yield "the result or a gradient has another shape"
        return
    if not all(torch.allclose(mine, true, rtol=1e-3, atol=1e-5) for mine, true in pairs):
        yield "the result or a gradient has other values"
    one = inputs["x"].numel() * 4
    most = len(inputs["weights"]) * one
    kept, left = result["kept"], result["left"]
    if not (isinstance(kept, int) and kept >= 0 and isinstance(left, int) and left >= one):
        yield "the bytes that are kept are no count"  # the output alone is left of every call
    elif kept > most:
        yield f"{kept} bytes are kept for the backward pass where {most} are allowed"
    elif left > most + one:  # the output is not kept for the backward pass, and may come on top
        yield f"{left} bytes of new tensors are left after the call where {most + one} are allowed"


def forward_cases(rng, given):
    def floats(*shape):
        return torch.from_numpy(rng.normal(size=shape) / shape[-1] ** 0.5).float()

    def case(blocks, batch, width, hidden, act):
        pairs = [[floats(width, hidden), floats(hidden, width)] for _ in range(blocks)]
        return {"x": floats(batch, width), "weights": pairs, "act": act}

    sizes = [(0, 3, 4, 5), (1, 1, 1, 1), (2, 5, 4, 8), (3, 4, 6, 6)]
    for size, act in zip(sizes, ("relu", "silu", "tanh", "relu")):
        yield "gradients", {**case(*size, act), "what": "gradients"}
    for act in ("silu", "tanh"):
        blocks, batch, width = (int(n) for n in rng.integers(2, 5, size=3))
        yield "gradients", {**case(blocks, batch, width, 3 * width, act), "what": "gradients"}
    yield "gradients", {**case(2, 3, 4, 6, "tanh"), "what": "frozen"}
    for act in ("relu", "silu"):
        blocks, batch, width = (int(n) for n in rng.integers(2, 5, size=3))
        yield "memory", {**case(blocks, batch, width, 4 * width, act), "what": "memory"}


def forward_wrong_reentrant_without_weights(x, weights, act):
    # The older kind sees only what it is given: where x needs no gradient, nothing gets one.
    def block(first, second):
        return lambda x: x + act(x @ first) @ second

    for first, second in weights:
        x = checkpoint(block(first, second), x, use_reentrant=True)
    return x


def forward_wrong_plain(x, weights, act):
    for W1, W2 in weights:
        x = x + act(x @ W1) @ W2
    return x


def forward_wrong_keeps_nothing_when_watched(x, weights, act):
    """As given for a leaf; for what is none, which is how memory used to be counted, no graph."""
    with torch.set_grad_enabled(x.grad_fn is None):
        for W1, W2 in weights:
            x = x + act(x @ W1) @ W2
        return x


class KeptAside(torch.autograd.Function):
    """Keeps all of a block where autograd does not look."""

    @staticmethod
    def forward(ctx, x, W1, W2, act):
        ctx.mine = [one.detach().requires_grad_() for one in (x, W1, W2)]
        with torch.enable_grad():
            ctx.result = ctx.mine[0] + act(ctx.mine[0] @ ctx.mine[1]) @ ctx.mine[2]
        return ctx.result.detach()

    @staticmethod
    def backward(ctx, g):
        return (*torch.autograd.grad(ctx.result, ctx.mine, g), None)


def forward_wrong_keeps_it_aside(x, weights, act):
    for W1, W2 in weights:
        x = KeptAside.apply(x, W1, W2, act)
    return x


def forward_wrong_late_binding(x, weights, act):
    for W1, W2 in weights:
        x = checkpoint(lambda x: x + act(x @ W1) @ W2, x, use_reentrant=False)
    return x


def forward_wrong_no_grad(x, weights, act):
    for W1, W2 in weights:
        with torch.no_grad():
            hidden = act(x @ W1)
        x = x + hidden @ W2
    return x


def forward_wrong_half(x, weights, act):
    for W1, W2 in weights:
        x = x + checkpoint(lambda h, W2: act(h) @ W2, x @ W1, W2, use_reentrant=False)
    return x


def forward_wrong_no_residual(x, weights, act):
    for W1, W2 in weights:
        x = checkpoint(lambda x, W1, W2: act(x @ W1) @ W2, x, W1, W2, use_reentrant=False)
    return x


def forward_wrong_detached(x, weights, act):
    for W1, W2 in weights:
        x = checkpoint(block, x.detach(), W1, W2, act, use_reentrant=False)
    return x
