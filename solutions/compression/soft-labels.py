"""Lists the probabilities of all classes one by one, and builds the regressors as layers."""

import math

import torch


def solve(given):
    logits = [given["first"], given["second"], given["third"]]
    logits += [given["rest"]] * (given["classes"] - 3)

    def softened(temperature):
        largest = max(logits)
        powers = [math.exp((z - largest) / temperature) for z in logits]
        total = sum(powers)
        return [each / total for each in powers]

    def entropy(temperature):
        return -sum(p * math.log2(p) for p in softened(temperature) if p > 0)

    low, high = 1e-2, 1e4  # the ratio of the second to the third falls as the temperature grows
    for _ in range(200):
        middle = (low + high) / 2
        _, second, third, *_ = [1.0, *[math.exp((z - logits[1]) / middle) for z in logits[1:]]]
        low, high = (middle, high) if second / third > given["ratio"] else (low, middle)

    def elements(kind, **sizes):
        return sum(p.numel() for p in kind(**sizes, bias=False, device="meta").parameters())

    image = torch.empty(1, given["guided"], given["guided_side"], given["guided_side"])
    kernel = 1
    while torch.nn.functional.max_pool2d(image, kernel, 1).shape[-1] > given["hint_side"]:
        kernel += 1
    convolution = elements(
        torch.nn.Conv2d,
        in_channels=given["guided"],
        out_channels=given["hint"],
        kernel_size=kernel,
    )
    dense = elements(
        torch.nn.Linear,
        in_features=image.numel(),
        out_features=given["hint"] * given["hint_side"] ** 2,
    )
    return {
        "softened": [
            [100 * p for p in softened(t)[:2]] + [entropy(t)] for t in (1, given["temperature"])
        ],
        "similar": high,
        "hot": entropy(1e7),
        "smoothing": ["similar-classes", "image", "fallible"],
        "regressor": convolution,
        "dense": dense / convolution,
        "first_stage": "guided",
        "kinds_of": {
            "mutual": "online",
            "pairs": "relation",
            "middle": "feature",
            "layers": "self",
            "outputs": "response",
        },
    }
