"""Unfolds tensors without storage in PyTorch, and reads shapes and strides from them."""

import torch

LAYERS = {  # kernel, stride, padding, dilation
    1: {
        "pointwise": (1, 1, 0, 1),
        "patches": (16, 16, 0, 1),
        "overlapping": (3, 2, 1, 1),
        "sparse": (2, 4, 0, 1),
        "dilated": (3, 1, 2, 2),
    },
    2: {
        "pointwise": (1, 2, 0, 1),
        "patches": (14, 14, 0, 1),
        "overlapping": (7, 4, 3, 1),
        "sparse": (3, 4, 1, 1),
        "dilated": (2, 1, 0, 1),
    },
    3: {
        "pointwise": (1, 1, 1, 1),
        "patches": (32, 32, 0, 1),
        "overlapping": (4, 2, 1, 1),
        "sparse": (2, 1, 0, 1),
        "dilated": (3, 2, 2, 2),
    },
}


def solve(given):
    image = torch.empty(
        given["batch"], given["channels"], given["size"], given["size"], device="meta"
    )
    columns = unfolded(image, given["window"], given["stride"], given["padding"])
    batch, inner, positions = columns.shape
    padded = torch.nn.functional.pad(image, [given["padding"]] * 4)
    view = padded.unfold(2, given["window"], given["stride"])
    view = view.unfold(3, given["window"], given["stride"])
    steps = dict(
        zip(("image", "channel", "row", "column", "kernel row"), view.stride(), strict=False)
    )
    other = torch.empty(1, 32, 224, 224, device="meta")
    return {
        "shape": [[batch * positions], [inner]],
        "expanded": columns.numel() / image.numel(),
        "strides": [[steps[name]] for name in ("image", "row", "column", "kernel row")],
        "slower": slower(given, image, columns),
        "no_larger": {
            name
            for name, layer in LAYERS[given["picked"]].items()
            if unfolded(other, *layer).numel() <= other.numel()
        },
    }


def unfolded(image, window, stride, padding, dilation=1):
    return torch.nn.functional.unfold(
        image, window, stride=stride, padding=padding, dilation=dilation
    )


def slower(given, image, columns):
    weights = columns.shape[1] * given["filters"]
    results = columns.shape[0] * columns.shape[2] * given["filters"]
    flops = sum(2 * results for _ in range(columns.shape[1]))

    def kernel(read, written, flops=0):
        bandwidth = given.fact(given["gpu"], "memory_bandwidth", "B/s")
        peak = given.fact(given["gpu"], "bf16_dense", "FLOP/s")
        return max(flops / peak, 2 * (sum(read) + written) / bandwidth)

    library = kernel([image.numel()], columns.numel())
    library += kernel([columns.numel(), weights], results, flops)
    return library / kernel([image.numel(), weights], results, flops)
