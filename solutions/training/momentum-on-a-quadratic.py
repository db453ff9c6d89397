"""Runs SGD of PyTorch on the loss, and the textbook's form step by step."""

import numpy
import torch


def solve(given):
    slope, mu, start = given["curvature"], given["mu"], given["start"]
    rate = given["product"] / slope

    def path(count, **options):
        """The weights that PyTorch holds after each step."""
        weight = torch.tensor(start, dtype=torch.float64, requires_grad=True)
        optimizer = torch.optim.SGD([weight], lr=rate, **options)
        found = []
        for _ in range(count):
            optimizer.zero_grad()
            (slope * weight**2 / 2).backward()
            optimizer.step()
            found.append(weight.item())
        return found

    return {
        "plain": path(given["steps"])[-1],
        "two_steps": [
            path(2, momentum=mu),
            textbook(start, slope, rate, mu, 2),
            path(2, momentum=mu, nesterov=True),
        ],
        "limit": largest_stable_rate(mu) / slope,
        "same_step": rate * accumulated(mu, 1) / accumulated(given["other"], 1),
        "after_cut": [
            [rate / given["cut"] * (mu * accumulated(mu, 1) + 1)],
            [mu * accumulated(mu, rate) + rate / given["cut"]],
        ],
        "direction": ["increase", "small-step"],
    }


def textbook(weight, slope, rate, mu, count):
    velocity, found = 0.0, []
    for _ in range(count):
        ahead = weight - mu * velocity
        velocity = mu * velocity + rate * slope * ahead
        weight -= velocity
        found.append(weight)
    return found


def accumulated(mu, gradient):
    """The state after many equal gradients."""
    state = 0.0
    for _ in range(5000):
        state = mu * state + gradient
    return state


def largest_stable_rate(mu):
    """The rate up to which the step from (w, b) to the next shrinks, for curvature 1."""
    low, high = 0.0, 10.0
    for _ in range(60):
        rate = (low + high) / 2
        step = [[1 - rate, -rate * mu], [1, mu]]
        stable = max(abs(numpy.linalg.eigvals(step))) < 1
        low, high = (rate, high) if stable else (low, rate)
    return low
