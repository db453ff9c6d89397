"""The bytes are added up operator by operator; the code folds the chain, or follows the extremes."""

import torch


def solve(given):
    tensor = 4 * given["rows"] * given["channels"]
    vector = 4 * given["channels"]

    def loop(layers):
        total = 0
        for _ in range(given["batches"]):
            for _ in range(2 * layers):
                total += tensor + vector + tensor
            total += tensor + tensor  # abs
            total += tensor + vector  # amax
            total += 2 * vector + vector  # maximum
        return total

    return {
        "moved": (vector + loop(given["layers"])) / 1e6,
        "least": loop(1) / 1e6,
        "cause": "temporaries",
    }


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
