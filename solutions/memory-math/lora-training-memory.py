"""Builds the list of tensors of both runs, shape by shape, and adds up their bytes."""

from math import prod


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


def solve(given):
    base = round(given["billions"] * 1e9)
    adapters = list(adapter_shapes(given))
    trained = sum(prod(shape) for _, shape in adapters)

    full = allocated(base, {"weight": 2, "gradient": 2, "master": 4, "mean": 4, "variance": 4})
    lora = allocated(base, {"weight": 2})
    lora += allocated(trained, {"weight": 4, "gradient": 4, "mean": 4, "variance": 4})

    # Backward stops below the lowest layer with an adapter; only layers under it store nothing.
    lowest = min(layer for layer, _ in adapters)
    falls_by = given["layers"] / len(range(lowest, given["layers"]))
    return {
        "adapter_millions": trained / 1e6,
        "full_state": full / 1e9,
        "lora_state": lora / 1e9,
        "factor": full / lora,
        "activations": falls_by > full / lora / 2,
    }
