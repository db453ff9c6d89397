"""Trains nothing: takes losses from the law, and fits parabola and line by least squares."""

import math

import numpy as np


def solve(given):
    budgets = [given["first"], given["first"] * given["growth"]]
    sizes = [lowest(given, budget, given[f"shift{row}"]) for row, budget in enumerate(budgets, 1)]
    line = np.polyfit(np.log(budgets), np.log(sizes), 1)
    size = math.exp(np.polyval(line, math.log(given["target"])))
    wrong = [sizes[0] * (1 + given["error"] / 100), sizes[1]]
    other = np.polyval(np.polyfit(np.log(budgets), np.log(wrong), 1), math.log(given["target"]))
    biased = {"schedule": given["error"] > 0, "warmup": True, "repeated": given["shift2"] > 1}
    return {
        "optima": [[found / 1e6] for found in sizes],
        "exponent": line[0],
        "target_size": size / 1e9,
        "tokens_per_parameter": given["target"] / 6 / size / size,
        "amplified": 100 * (math.exp(other) / size - 1),
        "biased": {name for name, found in biased.items() if found},
    }


def loss(given, size, budget):
    """The loss of a model of this size that is trained with this budget."""
    tokens = budget / (6 * size)
    fit = given["big_a"] / size ** given["alpha"] + given["big_b"] / tokens ** given["beta"]
    return given["floor_loss"] + fit


def best(given, budget):
    """The size with the lowest loss, by a search over ever finer grids of sizes."""
    low, high = math.log(1e6), math.log(1e13)
    for _ in range(60):
        grid = np.linspace(low, high, 21)
        at = int(np.argmin([loss(given, math.exp(x), budget) for x in grid]))
        low, high = grid[max(at - 1, 0)], grid[min(at + 1, 20)]
        if high - low < 1e-7:
            break
    return math.exp((low + high) / 2)


def lowest(given, budget, shift):
    """The lowest point of the parabola through the printed losses of three runs."""
    middle = float(f"{shift * best(given, budget) / 1e6:.2g}") * 1e6
    sizes = np.array([middle / 2, middle, middle * 2])
    losses = [round(loss(given, size, budget), 4) for size in sizes]
    square, slope, _ = np.polyfit(np.log(sizes), losses, 2)
    return math.exp(-slope / (2 * square))
