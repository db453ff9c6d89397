"""The reference reduces along an axis; the second road goes row by row in plain Python."""

import numpy as np


def standardise(x):
    mean = x.mean(axis=1, keepdims=True)
    return (x - mean) / (x.std(axis=1, keepdims=True) + 1e-6)


def standardise_right_einsum(x):
    centred = x - x.sum(axis=1, keepdims=True) / x.shape[1]
    square = np.einsum("ij,ij->i", centred, centred)[:, None] / x.shape[1]
    return centred / (np.sqrt(square) + 1e-6)


def standardise_slow_rows(x):
    return np.array([[(v - sum(r) / len(r)) / (np.std(r) + 1e-6) for v in r] for r in x.tolist()])


def standardise_cases(rng, given):
    yield "small", {"x": np.array([[2.0]])}
    yield "small", {"x": np.zeros((3, 5))}
    yield "small", {"x": rng.normal(size=(1, 9))}
    for _ in range(5):
        rows, columns = (int(n) for n in rng.integers(2, 40, size=2))
        yield "random", {"x": rng.normal(size=(rows, columns)) * rng.uniform(0.5, 30)}


def standardise_wrong_columns(x):
    return (x - x.mean(axis=0)) / (x.std(axis=0) + 1e-6)


def standardise_wrong_unbiased(x):
    scale = x.std(axis=1, keepdims=True, ddof=1 if x.shape[1] > 1 else 0)
    return (x - x.mean(axis=1, keepdims=True)) / (scale + 1e-6)


def standardise_wrong_single_precision(x):
    x = x.astype(np.float32)
    return (x - x.mean(axis=1, keepdims=True)) / (x.std(axis=1, keepdims=True) + 1e-6)


def standardise_wrong_no_epsilon(x):
    return (x - x.mean(axis=1, keepdims=True)) / x.std(axis=1, keepdims=True)
