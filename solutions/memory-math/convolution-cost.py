"""Builds the layers in PyTorch: counts FLOPs and elements, and traces which pixels matter."""

import functools

import torch
from torch.utils.flop_counter import FlopCounterMode

torch.set_num_threads(1)


@functools.cache
def layer(images, inputs, outputs, kernel, side, stride, padding, groups):
    """Output side, parameters, FLOPs, and elements of input, weights, and output."""
    conv = torch.nn.Conv2d(inputs, outputs, kernel, stride, padding, groups=groups, device="meta")
    x = torch.empty(images, inputs, side, side, device="meta")
    with FlopCounterMode(display=False) as counter:
        y = conv(x)
    moved = x.numel() + conv.weight.numel() + y.numel()
    parameters = sum(p.numel() for p in conv.parameters())
    return y.shape[-1], parameters, counter.get_total_flops(), moved


@functools.cache
def field(kernel, stride, depth):
    """The number of inputs with a gradient, in one dimension."""
    x = torch.zeros(1, 1, 400, requires_grad=True, dtype=torch.float64)
    y = torch.nn.functional.conv1d(x, torch.ones(1, 1, kernel, dtype=torch.float64), stride=stride)
    for _ in range(depth):
        y = torch.nn.functional.conv1d(y, torch.ones(1, 1, 3, dtype=torch.float64))
    y[0, 0, y.shape[-1] // 2].backward()
    return int((x.grad != 0).sum())


def solve(given):
    side, parameters, flops, _ = layer(
        given["images"],
        *(given[n] for n in ("inputs", "outputs", "kernel", "side", "stride", "padding")),
        1,
    )
    channels, window = given["channels"], given["window"]
    peak = given.fact(given["chip"], "fp16_dense", "FLOP/s")
    bandwidth = given.fact(given["chip"], "memory_bandwidth", "B/s")

    def later(kernel, groups):
        _, _, flops, moved = layer(
            *(given["images"], channels, channels, kernel, given["width"]),
            *(1, kernel // 2, groups),
        )
        return flops, 2 * moved

    layers = {
        "full": later(window, 1),
        "depthwise": later(window, channels),
        "pointwise": later(1, 1),
        "grouped": later(window, channels // 32),
    }
    elements = given["images"] * channels * given["width"] ** 2
    both = {"activation": (elements, 2 * 2 * elements), **layers}
    time = {n: max(f / peak, b / bandwidth) for n, (f, b) in layers.items()}
    return {
        "output_side": side,
        "parameters": parameters,
        "operations": flops / 1e9,
        "receptive_field": field(given["kernel"], given["stride"], given["depth"]),
        "groups": [
            [flops / 1e9, flops / moved] for flops, moved in (layers["full"], layers["depthwise"])
        ],
        "memory_bound": [n for n, (f, b) in both.items() if f / peak < b / bandwidth],
        "speedup": time["full"] / (time["depthwise"] + time["pointwise"]),
    }
