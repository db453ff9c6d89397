"""Evaluates the roofline model, autograd, and finite differences to check the facts."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import torch


def roofline(flops, size, peak, bandwidth):
    return max(flops / peak, size / bandwidth)


def faster_below_ridge(*, more_bandwidth):
    flops, size, peak, bandwidth = 10.0, 1.0, 100.0, 1.0
    scaled = (peak, 2 * bandwidth) if more_bandwidth else (2 * peak, bandwidth)
    return roofline(flops, size, *scaled) < roofline(flops, size, peak, bandwidth)


@cache
def best_gain_of_overlap(tiles=2000):
    """The largest ratio of run times without and with overlap, tile by tile."""

    def pipelined(load, compute):
        loaded = computed = 0.0
        for _ in range(tiles):
            loaded += load
            computed = max(computed, loaded) + compute
        return computed

    ratios = [2.0**n for n in range(-6, 7)]
    return max(tiles * (1 + ratio) / pipelined(1.0, ratio) for ratio in ratios)


@cache
def sum_over_layers_is_larger(networks=50):
    """Compares both bounds for random networks that have layers of both kinds."""
    dice = np.random.default_rng(0)
    larger = []
    for _ in range(networks):
        layers = dice.uniform(0.1, 10, (6, 2))  # FLOPs and bytes, with both rates 1
        layers[0], layers[1] = (5, 1), (1, 5)
        each = sum(roofline(flops, size, 1, 1) for flops, size in layers)
        larger.append(each > roofline(*layers.sum(0), 1, 1) * (1 + 1e-9))
    assert all(larger) or not any(larger)
    return all(larger)


def decode_limit(weights=7e9, peak=1e15, bandwidth=3e12):
    return "memory" if 2 * weights / bandwidth > 2 * weights / peak else "compute"


@cache
def accumulated():
    weight = torch.ones(3, requires_grad=True)
    batches = [torch.tensor([1.0, 2.0, 3.0]), torch.tensor([5.0, 7.0, 9.0])]
    for batch in batches:
        (weight * batch).sum().backward()
    return bool(torch.equal(weight.grad, sum(batches)))


def share_of_time(*, waiting, threads, tasks=96):
    """Discrete events: waits overlap, and bytecode does not."""
    return math.ceil(tasks / threads) / tasks if waiting else 1.0


@cache
def layer_gain(batch, peak=300e12, bandwidth=2e12, weights=4096 * 4096):
    def time(bits):
        return roofline(2 * batch * weights, weights * bits / 8, peak, bandwidth)

    return time(16) / time(4)


@cache
def difference_errors():
    """Errors of the derivative of sin at 1 for each option."""

    def error(kind, h):
        x, h = kind(1), kind(h)
        return abs(float((np.sin(x + h) - np.sin(x - h)) / (kind(2) * h)) - math.cos(1))

    return {
        "double": error(np.float64, 1e-5),
        "too-small": error(np.float64, 1e-15),
        "single": error(np.float32, 1e-5),
        "too-large": error(np.float32, 1e-1),
    }


@cache
def smallest_batch(peak, bandwidth):
    """Counts up until the arithmetic of a layer takes as long as reading its weights."""
    rows = cols = 4096
    batch = 1
    while 2 * batch * rows * cols / (peak * 1e12) < 2 * rows * cols / (bandwidth * 1e12) * 0.9999:
        batch += 1
    return batch


def claims(given, first):
    threads = int(given["threads"])
    experts = len({e for token in range(100) for e in np.random.default_rng(token).choice(8, 2)})
    share = share_of_time(waiting=first, threads=threads)
    gain = best_gain_of_overlap()
    best = "small" if layer_gain(1) > layer_gain(4096) else "large"
    return {
        "few_flops_per_byte": [faster_below_ridge(more_bandwidth=first), "bytes-longer"],
        "one_token": [decode_limit() == ("memory" if first else "compute"), "used-once"],
        "two_backward_passes": [accumulated() is first, "accumulates"],
        "threads_that_wait": [share < 1.1 / threads, "lock-released"],
        "perfect_overlap": [abs(gain / (2 if first else 3) - 1) < 0.01, "longer-remains"],
        "mixed_layers": [sum_over_layers_is_larger() is not first, "hidden"],
        "new_shape": [not first, "guard"],
        "routed_experts": [experts == (2 if first else 8), "other-tokens"],
        "asynchronous_copy": [not first, "stays"],
        "four_bit_layer": [best == ("large" if first else "small"), "reading"],
    }


def claims_as_worded(given):
    """The claims, each with the wording that was drawn for it."""
    both = {first: claims(given, first) for first in (True, False)}
    return {name: both[given[f"{name}_first"]][name] for name in both[True]}


def solve(given):
    errors = difference_errors()
    batch = smallest_batch(given["peak"], given["bandwidth"])
    ridge = given["peak"] / given["bandwidth"]
    sizes = {"ridge": ridge, "half": ridge / 2, "double": 2 * ridge, "one": 1}
    return {
        **claims_as_worded(given),
        "check_of_gradient": min(errors, key=errors.get),
        "too_fast": "not-synchronized",
        "starting_a_process": "fork",
        "smallest_batch": min(sizes, key=lambda name: abs(sizes[name] - batch)),
        # 2:4 sparsity executes half of the multiply-adds of the dense product.
        "sparse_peak": "dense",
        "two_bounds": "roofline",
        "equal_bounds": "ridge point",
        "one_thread_at_a_time": "global interpreter lock",
        "whole_prompt": "prefill",
    }
