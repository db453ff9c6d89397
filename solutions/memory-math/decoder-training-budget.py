"""Runs the decoder on tensors without data, and lets PyTorch count its FLOPs."""

import functools

import torch
from torch.utils.flop_counter import FlopCounterMode


def solve(given):
    shape = tuple(given[n] for n in ("layers", "hidden", "heads", "ffn", "vocabulary"))
    context = given["context"]

    def share(part, tokens):
        counts = one_pass(shape, tokens)
        return 100 * counts[part] / sum(counts.values())

    layers, hidden, _, ffn, vocabulary = shape
    matrices = [(hidden, hidden)] * 4 + [(hidden, ffn)] * 3
    parameters = sum(a * b for a, b in matrices * layers + [(vocabulary, hidden)] * 2)
    state = sum(4 * parameters for _ in ("weight", "gradient", "first moment", "second moment"))
    kept = 4 * saved(shape, context)
    memory = given.fact(given["chip"], "memory", "B")
    sequences = 0
    while state + (sequences + 1) * kept <= memory:
        sequences += 1

    low, high = 1, 100_000  # the smallest context at which scores take no less than the MLP
    while low < high:
        middle = (low + high) // 2
        counts = one_pass(shape, middle)
        low, high = (low, middle) if counts["scores"] >= counts["mlp"] else (middle + 1, high)

    forward = sum(one_pass(shape, context).values())
    rate = given["gpus"] * given.fact(given["chip"], given["rate"], "FLOP/s") * given["mfu"] / 100
    step = given["sequences"] * (forward + 2 * forward) / rate

    before = {**measures(shape, context, 2), "tokens": 2 * context}
    count = 2 if given["same_batch"] else 1
    after = {**measures(shape, 2 * context, count), "tokens": count * 2 * context}
    return {
        "forward_pass": forward / 1e12,
        "shares": [
            [share("scores", times * context), share("mlp", times * context)]
            for times in (1, 4, 16)
        ],
        "crossover": low,
        "model_state": state / 1e9,
        "activations": kept / 1e9,
        "batch": sequences,
        "run": given["steps"] * step / 86400,
        "longer": [name for name, value in before.items() if after[name] > value],
    }


def measures(shape, context, sequences):
    counts = one_pass(shape, context)
    return {
        "flops": sequences * sum(counts.values()),
        "saved-step": sequences * saved(shape, context),
        "score-share": counts["scores"] / sum(counts.values()),
        "parameters": 0,
        "logits": sequences * context * shape[-1],
    }


@functools.cache
def one_pass(shape, tokens):
    """The FLOPs of a sequence's forward pass: the layers are alike, so one of each is run."""
    layers, hidden, heads, ffn, vocabulary = shape

    def new(*sizes):
        return torch.empty(*sizes, device="meta")

    def flops(run):
        with FlopCounterMode(display=False) as counter:
            run()
        return counter.get_total_flops()

    x, head = new(tokens, hidden), new(heads, tokens, hidden // heads)

    def projections():
        for _ in "qkvo":
            x @ new(hidden, hidden)

    def scores():
        (head @ head.transpose(1, 2)).softmax(-1) @ head

    def mlp():
        (torch.nn.functional.silu(x @ new(hidden, ffn)) * (x @ new(hidden, ffn))) @ new(ffn, hidden)

    return {
        "projections": layers * flops(projections),
        "scores": layers * flops(scores),
        "mlp": layers * flops(mlp),
        "head": flops(lambda: x @ new(hidden, vocabulary)),
    }


def saved(shape, tokens):
    """The elements that one sequence saves, tensor by tensor."""
    layers, hidden, heads, ffn, vocabulary = shape
    wide = ("norm", "query", "key", "value", "mixed", "projected", "second norm", "down")
    inner = ("gate", "activated", "up", "product")
    elements = 0
    for _ in range(layers):
        elements += sum(tokens * hidden for _ in wide) + sum(tokens * ffn for _ in inner)
        elements += sum(tokens * tokens for _ in range(heads) for _ in ("scores", "softmax"))
    return elements + tokens * hidden + sum(tokens * vocabulary for _ in ("logits", "loss"))
