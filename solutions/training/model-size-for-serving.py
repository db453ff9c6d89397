"""Tries all plans, and finds sizes by searching over N with the tokens that the loss then needs."""

import itertools
import math

SIZES = (1.5, 2, 3, 4, 6, 8, 12, 16, 24, 32)
TOKENS = (0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 0.8, 1.2, 1.6, 2.4, 3.2, 4.8, 6.4, 9.6, 12.8)
FORMATS = {16: (1, 0), 8: (0.6, 0.004), 4: (0.4, 0.03)}  # relative time, and additional loss


def solve(given):
    balanced = given["balanced"] * 1e9
    target = round(loss(given, balanced, tokens_of(given, balanced)), 3)
    size = cheapest(given, target, 1, 0)
    plan, cost = best_plan(given, target)
    least = size * needed(given, size, target)
    now = cheapest(given, target, 6 / given["train_rate"], service(given))
    others = {
        "demand": cheapest(given, target, 6 / given["train_rate"], 2 * service(given)),
        "trainer": cheapest(given, target, 3 / given["train_rate"], service(given)),
        "server": cheapest(given, target, 6 / given["train_rate"], service(given) / 2),
        "quality": cheapest(given, target - 0.01, 6 / given["train_rate"], service(given)),
        "both": cheapest(given, target, 3 / given["train_rate"], service(given) / 2),
    }
    sign = -1 if given["direction"] == "smaller" else 1
    return {
        "without_service": size / 1e9,
        "choice": {**plan, "cost": cost},
        "extra_training": 100 * plan["size"] * plan["tokens"] * 1e21 / least,
        "changes": {name for name, n in others.items() if sign * math.log(n / now) > 1e-4},
    }


def loss(given, size, tokens):
    fit = given["big_a"] / size ** given["alpha"] + given["big_b"] / tokens ** given["beta"]
    return given["floor_loss"] + fit


def tokens_of(given, size):
    """The tokens with which this size is compute-optimal: a move along C = N · D gains nothing."""
    low, high = math.log(1e9), math.log(1e16)
    for _ in range(200):
        middle = (low + high) / 2
        tokens, step = math.exp(middle), 1e-4
        gain = loss(given, size / (1 + step), tokens * (1 + step)) - loss(
            given, size * (1 + step), tokens / (1 + step)
        )
        low, high = (middle, high) if gain < 0 else (low, middle)
    return math.exp(low)


def needed(given, size, target):
    """The tokens with which this size reaches the loss."""
    rest = target - given["floor_loss"] - given["big_a"] / size ** given["alpha"]
    return (given["big_b"] / rest) ** (1 / given["beta"]) if rest > 0 else math.inf


def service(given):
    """The GPU time of service, for each parameter."""
    return 2 * given["served"] * 1e12 / given["serve_rate"]


def cheapest(given, target, per_product, per_parameter):
    """The N with the least per_product · N · D + per_parameter · N, by golden-section search."""

    def cost(x):
        size = math.exp(x)
        return per_product * size * needed(given, size, target) + per_parameter * size

    gap = target - given["floor_loss"]
    low = math.log((given["big_a"] / gap) ** (1 / given["alpha"]) * (1 + 1e-6))
    high = low + 10
    ratio = (math.sqrt(5) - 1) / 2
    for _ in range(120):
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        if cost(left) < cost(right):
            high = right
        else:
            low = left
    return math.exp((low + high) / 2)


def best_plan(given, target):
    found = None
    for size, tokens, bits in itertools.product(SIZES, TOKENS, FORMATS):
        slower, worse = FORMATS[bits]
        if tokens > 4 * given["unique"] + 1e-3 or size * bits / 8 > given["memory"] + 1e-9:
            continue
        if loss(given, size * 1e9, tokens * 1e12) + worse > target + 1e-4:
            continue
        seconds = 6 * size * tokens * 1e9 / given["train_rate"]
        seconds += 2 * size * given["served"] * 1e9 / given["serve_rate"] * slower
        if found is None or seconds < found[1] * (1 - 1e-9):
            found = {"size": size, "tokens": tokens, "bits": bits}, seconds
    return found[0], found[1] / 86400
