"""Runs PyTorch's encoder layer and records what is called, and counts its parameters and FLOPs."""

import functools

import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode


def solve(given):
    width, inner, layers = given["hidden"], given["ffn"], given["layers"]
    pre = given["placement"] == "pre-norm"
    with torch.device("meta"):
        layer = nn.TransformerEncoderLayer(width, 8, inner, batch_first=True, norm_first=pre)
        stack = nn.TransformerEncoder(
            layer, layers, norm=nn.LayerNorm(width) if pre else None, enable_nested_tensor=False
        )
        kept = [module for module in stack.modules() if isinstance(module, nn.LayerNorm)]
        matrices = [p for p in layer.parameters() if p.dim() == 2]
        with FlopCounterMode(display=False) as counter:
            for matrix in matrices:
                torch.empty(1, matrix.shape[1]) @ matrix.T
    products = counter.get_total_flops()
    norms = sum(
        given["per_element"] * width for m in layer.children() if isinstance(m, nn.LayerNorm)
    )
    moved = [torch.empty(width, dtype=torch.bfloat16, device="meta") for _ in range(2 * 2)]
    norm_time = sum(each.nbytes for each in moved) / (given["bandwidth"] * 1e12)
    product_time = products / (given["rate"] * 1e12)

    def share(width=1, tokens=1, rate=1, blocks=1):
        small = norm_time * width * tokens * blocks
        return small / (small + product_time * width**2 * tokens * blocks / rate)

    changed = {
        "wider": share(width=2),
        "tokens": share(tokens=2),
        "faster": share(rate=2),
        "blocks": share(blocks=2),
    }
    return {
        "block": recorded(),
        "heads": ["project", "scores", "mask", "softmax", "values", "concatenate", "output"],
        "trainable": trainable(),
        "norm_parameters": sum(p.numel() for module in kept for p in module.parameters()),
        "flop_share": 100 * norms / (norms + products),
        "time_share": 100 * share(),
        "halve": (min if given["smaller"] else max)(changed, key=changed.__getitem__),
    }


@functools.cache
def recorded():
    """The operations of a small pre-norm layer in the order in which PyTorch calls them."""
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True, norm_first=True)
    order, inputs, outputs = [], {}, {}

    def hook(name):
        def record(module, arguments, result):
            order.append(name)
            inputs[name] = arguments[0]
            outputs[name] = result[0] if isinstance(result, tuple) else result

        return record

    names = {"norm1": "norm-1", "self_attn": "attention", "norm2": "norm-2", "dropout2": "mlp"}
    for attribute, name in names.items():
        getattr(layer, attribute).register_forward_hook(hook(name))
    x = torch.randn(1, 3, 8, generator=torch.Generator().manual_seed(0))
    result = layer(x)
    middle = x + outputs["attention"]
    if torch.allclose(inputs["norm-2"], middle):
        order.insert(order.index("norm-2"), "add-1")
    if torch.allclose(result, middle + outputs["mlp"], atol=1e-6):
        order.append("add-2")
    return order


@functools.cache
def trainable():
    modules = {
        "output": nn.MultiheadAttention(8, 2).out_proj,
        "rms": nn.RMSNorm(8),
        "positions": nn.Embedding(16, 8),
        "gelu": nn.GELU(),
    }
    return [name for name, module in modules.items() if list(module.parameters())]
