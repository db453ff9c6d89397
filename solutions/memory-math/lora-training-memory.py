"""Builds the list of tensors of both runs, shape by shape, and adds up their bytes."""

from math import prod

import torch


def adapter_shapes(given):
    """Layer and shape of every trainable matrix: down to the rank, then up from it."""
    h, r = given["hidden"], given["rank"]
    frozen = [(h, h)] * given["attention"] + [(h, 4 * h), (4 * h, h)][: given["mlp"]]
    for layer in range(given["layers"]):
        for wide_in, wide_out in frozen:
            yield layer, (wide_in, r)
            yield layer, (r, wide_out)


def allocated(elements, widths):
    return sum(elements * width for width in widths.values())


def needed_for_backward(adapted_mlp):
    """What autograd saves in a small layer whose input needs a gradient."""
    torch.manual_seed(0)
    saved, products = set(), []

    def matrix(rows, columns, trained=False):
        return torch.randn(rows, columns, requires_grad=trained)

    def linear(x, w, adapted):
        if not adapted:
            return x @ w.T
        products.append(x @ matrix(2, w.shape[1], trained=True).T)
        return x @ w.T + products[-1] @ matrix(w.shape[0], 2, trained=True).T

    def pack(tensor):
        saved.add(tensor.data_ptr())
        return tensor

    query, first, second = matrix(6, 6), matrix(24, 6), matrix(6, 24)
    x = torch.randn(5, 6, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        before = linear(linear(x, query, True), first, adapted_mlp)
        after = torch.nn.functional.gelu(before)
        y = linear(after, second, adapted_mlp)
    y.sum().backward()
    candidates = {
        "frozen-weights": query,
        "adapter-input": x,
        "rank-activation": products[0],
        "nonlinearity": before,
        "second-input": after,
    }
    needed = {name for name, tensor in candidates.items() if tensor.data_ptr() in saved}
    return needed | ({"frozen-gradient"} if query.grad is not None else set())


def solve(given):
    base = round(given["billions"] * 1e9)
    adapters = list(adapter_shapes(given))
    trained = sum(prod(shape) for _, shape in adapters)

    full = allocated(base, {"weight": 2, "gradient": 2, "master": 4, "mean": 4, "variance": 4})
    lora = allocated(base, {"weight": 2})
    lora += allocated(trained, {"weight": 4, "gradient": 4, "mean": 4, "variance": 4})

    quantized = lora - allocated(base, {"weight": 2}) + base // 2

    return {
        "adapter_millions": trained / 1e6,
        "full_state": full / 1e9,
        "lora_state": lora / 1e9,
        "factor": full / lora,
        "quantized_base": lora / quantized,
        "activations": needed_for_backward(given["mlp"] > 0),
    }
