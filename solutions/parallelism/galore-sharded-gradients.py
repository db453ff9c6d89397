"""Lays out tensors on each GPU, walks through a period step by step, and projects small matrices."""

from itertools import cycle, islice

import numpy as np


def matrices(given):
    """Return the shapes of all weight matrices."""
    width, inner = given["hidden"], given["ffn"]
    return [(width, n) for _ in range(given["layers"]) for n in [width] * 4 + [inner] * 3]


def state_of(shape, rank, gpus):
    """Return the bytes of projector and moments on a GPU, with the columns split."""
    rows, columns = shape
    mine = columns / gpus
    return 2 * rows * rank + sum(4 * rank * mine for _ in range(2))


def received(sizes, me, gpus):
    """Return the bytes that a GPU receives in an all-gather, one shard after another."""
    return sum(size / gpus for size in sizes for other in range(gpus) if other != me)


def local_projection(split, from_left):
    """Return whether the shards of a gradient suffice to compute those of the projection."""
    rng = np.random.default_rng(0)
    p, g = rng.normal(size=(8, 2)), rng.normal(size=(8, 12))
    if not from_left:  # GQ is the transpose of the product of the transposes
        split = {"columns": "rows", "rows": "columns"}[split]
    whole = p.T @ g
    if split == "columns":
        made = np.concatenate([p.T @ part for part in np.split(g, 4, axis=1)], axis=1)
        return np.allclose(made, whole)
    parts = zip(np.split(p, 4), np.split(g, 4), strict=True)
    return any(np.allclose(some.T @ part, whole) for some, part in parts)


def top(gradient, rank):
    return np.linalg.svd(gradient)[0][:, :rank]


def behaviors():
    """Run each version for one step on four GPUs, and say what happened to the weight."""
    rng = np.random.default_rng(1)
    local = rng.normal(size=(4, 8, 12))
    mean, rank = local.mean(axis=0), 2
    best = top(mean, rank) @ top(mean, rank).T @ mean

    def said(updates):
        if not all(np.allclose(u, updates[0]) for u in updates):
            return "diverge"
        if np.allclose(updates[0], best):
            return "equal"
        return "wrong-subspace" if np.linalg.matrix_rank(updates[0]) > rank else "rank-one"

    def project(g):
        return top(g, rank) @ top(g, rank).T @ g

    shards = np.concatenate([project(part) for part in np.split(mean, 4, axis=1)], axis=1)
    return {
        "ordinary-ddp": said([project(mean) for _ in range(4)]),
        "hook-ddp": said([project(local[gpu]) for gpu in range(4)]),
        "ordinary-sharded": said([shards] * 4),
    }


def solve(given):
    gpus, rank, period = given["gpus"], given["rank"], given["period"]
    shapes = matrices(given)
    gradients = [2 * rows * columns for rows, columns in shapes]

    full = sent = 0
    for step in range(period):
        for rows, columns in shapes:
            full += rows * columns
            sent += rows * columns if step == 0 else rank * columns

    load = [0.0] * gpus
    for _, gpu in zip(shapes, islice(cycle(range(gpus)), len(shapes)), strict=True):
        load[gpu] += given["svd"] / 1e3
    projectors = [2 * rows * rank for rows, _ in shapes]
    exchange = received(projectors, 0, gpus) / (given["bandwidth"] * 1e9)

    fits = {f"by-{way}": local_projection(way, given["from_left"]) for way in ("columns", "rows")}
    return {
        "state": [
            [state_of((given["hidden"], n), rank, count) / 1e6 for count in (1, gpus)]
            for n in (given["hidden"], given["ffn"])
        ],
        "gather_traffic": received(gradients, 0, gpus) / period / 1e9,
        "columns": next(name for name, good in fits.items() if good),
        "reduced_traffic": 100 * sent / full,
        "refresh_time": max(load) + exchange,
        "variants": behaviors(),
    }
