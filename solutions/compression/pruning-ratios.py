"""Counts the layers that are left channel by channel, and tries every combination."""

import itertools

SHARES = (100, 75, 50, 25)


def layers(given, kept):
    """Return inputs, outputs, and positions of the convolutions, with shares of channels kept."""
    inputs, found = 3, []
    for i in range(1, 5):
        outputs = given[f"c{i}"] * (kept[i - 1] if i < 4 else 100) // 100
        found.append((inputs, outputs, given[f"s{i}"] ** 2))
        inputs = outputs
    return found


def weights(given, kept):
    return sum(3 * 3 * inputs * outputs for inputs, outputs, _ in layers(given, kept))


def work(given, kept):
    return sum(9 * inputs * outputs * places for inputs, outputs, places in layers(given, kept))


def loss(given, kept, number_format):
    """Return the estimated loss in thousandths of a percentage point, as a whole number."""
    names = [f"{letter}{share}" for letter, share in zip("abd", kept, strict=True) if share < 100]
    losses = [given[name] for name in names]
    if number_format == "int8":
        losses.append(given["int8_loss"])
    return sum(round(1000 * each) for each in losses)


def solve(given):
    whole = (100, 100, 100)
    alone = [
        [100 * work(given, tuple(50 if i == j else 100 for j in range(3))) / work(given, whole)]
        for i in range(3)
    ]
    best = None
    for *kept, number_format in itertools.product(SHARES, SHARES, SHARES, ("fp16", "int8")):
        if loss(given, kept, number_format) > round(1000 * given["budget"]):
            continue
        rate = given["rate"] * 1e12 * (given["speedup"] if number_format == "int8" else 1)
        time = 2 * given["images"] * work(given, kept) / rate
        if best is None or time < best[0] * (1 - 1e-9):
            best = time, kept, number_format
    time, kept, number_format = best
    names = dict(zip(("k1", "k2", "k3"), kept, strict=True))
    return {
        "alone": alone,
        "ratios": {**names, "format": number_format, "cost": 1e3 * time},
        "weights_left": weights(given, kept),
    }
