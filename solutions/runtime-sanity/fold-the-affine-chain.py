"""Run the chain on tensors without numbers, and count; fold the chain, or follow the extremes."""

import torch
from torch.utils._python_dispatch import TorchDispatchMode


def solve(given):
    """Let torch dispatch every version on meta tensors, and add up what its operators touch."""
    batch = torch.empty(given["rows"], given["channels"], device="meta")
    layers = torch.empty(given["layers"], given["channels"], device="meta")
    number = given["batches"]

    def run(scales, shifts):
        """Return the traffic of the loop on one batch, and without a batch."""
        with Traffic() as alone:
            largest = torch.zeros(given["channels"], device="meta")
        with Traffic() as loop:
            x = batch
            for scale, shift in zip(scales, shifts):
                x = x * scale
                x = x + shift
            torch.maximum(largest, x.abs().amax(0))
        return loop, alone

    (written, zeros), (folded, _) = run(layers, layers), run(layers[:1], layers[:1])
    moved = number * written.bytes + zeros.bytes
    # A fused kernel touches what comes from outside and what leaves.
    fused = number * (batch.nbytes + 2 * layers.nbytes + 2 * layers[0].nbytes)
    return {
        "moved": moved / 1e6,
        "folded": number * folded.bytes / 1e6,
        "fused": moved / fused,
        "compare": "folding" if folded.flops < written.flops else "neither",
    }


class Traffic(TorchDispatchMode):
    """Counts the bytes that operators read and write, and their operations; views are free."""

    def __init__(self):
        super().__init__()
        self.bytes = self.flops = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        if "zeros" in str(function):
            self.bytes += result.nbytes
        elif any(name in str(function) for name in (".mul.", ".add.", "abs", "amax", "maximum")):
            operands = [x for x in args if isinstance(x, torch.Tensor)]
            self.bytes += sum(x.nbytes for x in operands) + result.nbytes
            self.flops += max(x.numel() for x in operands)
        return result


def ranges(batches, scales, shifts):
    scale, shift = torch.ones(scales.shape[1]), torch.zeros(scales.shape[1])
    for a, b in zip(scales, shifts):
        scale, shift = scale * a, shift * a + b
    largest = torch.zeros(scales.shape[1])
    for x in batches:
        largest = torch.maximum(largest, (x * scale + shift).abs().amax(0))
    return largest


def ranges_right_extremes(batches, scales, shifts):
    if not batches:
        return torch.zeros(scales.shape[1])
    pairs = [torch.stack(torch.aminmax(x, dim=0)) for x in batches]
    low, high = torch.stack(pairs).amin(0)[0], torch.stack(pairs).amax(0)[1]
    ends = torch.stack([low, high])
    for a, b in zip(scales, shifts):
        ends = ends * a + b
    return ends.abs().amax(0)


def ranges_right_products(batches, scales, shifts):
    # The shift of a layer is scaled by all the layers behind it.
    behind = torch.flip(torch.cumprod(torch.flip(scales, [0]), 0), [0])
    after = torch.cat([behind[1:], torch.ones(1, scales.shape[1])])[: len(scales)]
    shift = (shifts * after).sum(0)
    scale = scales.prod(0)
    largest = torch.zeros(scales.shape[1])
    for x in batches:
        y = torch.addcmul(shift, x, scale)
        largest = torch.maximum(largest, torch.maximum(y.amax(0), -y.amin(0)))
    return largest


def ranges_slow_in_place(batches, scales, shifts):
    largest = torch.zeros(scales.shape[1])
    for x in batches:
        y = x.clone()
        for scale, shift in zip(scales, shifts):
            y.mul_(scale).add_(shift)
        largest = torch.maximum(largest, y.abs_().amax(0))
    return largest


def ranges_slow_addcmul(batches, scales, shifts):
    largest = torch.zeros(scales.shape[1])
    for x in batches:
        for scale, shift in zip(scales, shifts):
            x = torch.addcmul(shift, x, scale)
        largest = torch.maximum(largest, x.abs().amax(0))
    return largest


def ranges_slow_as_given(batches, scales, shifts):
    largest = torch.zeros(scales.shape[1])
    for x in batches:
        for scale, shift in zip(scales, shifts):
            x = x * scale
            x = x + shift
        largest = torch.maximum(largest, x.abs().amax(0))
    return largest


def ranges_cases(rng, given):
    def floats(*shape):
        return torch.from_numpy(rng.normal(size=shape)).float()

    def case(rows, layers, channels):
        return {
            "batches": [floats(n, channels) for n in rows],
            "scales": floats(layers, channels),
            "shifts": floats(layers, channels),
        }

    yield "edge", case([3], 0, 4)
    yield "edge", case([], 3, 4)
    yield "edge", case([1], 1, 1)
    yield "edge", case([5, 1, 3], 2, 6)
    # The largest value lies in the first batch, and is negative.
    alone = case([4, 4, 4], 3, 5)
    alone["batches"][0] -= 50
    yield "random", alone
    for _ in range(5):
        layers, channels = (int(n) for n in rng.integers(2, 9, size=2))
        yield "random", case(rng.integers(1, 12, size=4), layers, channels)


def ranges_wrong_shifts_not_scaled(batches, scales, shifts):
    scale, shift = scales.prod(0), shifts.sum(0)
    largest = torch.zeros(scales.shape[1])
    for x in batches:
        largest = torch.maximum(largest, (x * scale + shift).abs().amax(0))
    return largest


def ranges_wrong_backwards(batches, scales, shifts):
    scale, shift = torch.ones(scales.shape[1]), torch.zeros(scales.shape[1])
    for a, b in zip(reversed(scales), reversed(shifts)):
        scale, shift = scale * a, shift * a + b
    largest = torch.zeros(scales.shape[1])
    for x in batches:
        largest = torch.maximum(largest, (x * scale + shift).abs().amax(0))
    return largest


def ranges_wrong_no_absolute_value(batches, scales, shifts):
    scale, shift = torch.ones(scales.shape[1]), torch.zeros(scales.shape[1])
    for a, b in zip(scales, shifts):
        scale, shift = scale * a, shift * a + b
    largest = torch.zeros(scales.shape[1])
    for x in batches:
        largest = torch.maximum(largest, (x * scale + shift).amax(0))
    return largest


def ranges_wrong_largest_input_alone(batches, scales, shifts):
    if not batches:
        return torch.zeros(scales.shape[1])
    end = torch.cat(batches).abs().amax(0)
    for a, b in zip(scales, shifts):
        end = end * a + b
    return end.abs()


def ranges_wrong_last_batch(batches, scales, shifts):
    scale, shift = torch.ones(scales.shape[1]), torch.zeros(scales.shape[1])
    for a, b in zip(scales, shifts):
        scale, shift = scale * a, shift * a + b
    largest = torch.zeros(scales.shape[1])
    for x in batches:
        largest = (x * scale + shift).abs().amax(0)
    return largest


def ranges_wrong_in_place(batches, scales, shifts):
    largest = torch.zeros(scales.shape[1])
    for x in batches:
        for scale, shift in zip(scales, shifts):
            x.mul_(scale).add_(shift)
        largest = torch.maximum(largest, x.abs().amax(0))
    return largest
