"""The reference reduces along an axis; the second road goes row by row in plain Python."""

import numpy as np


def solve(given):
    element, call, evaluate = (
        given["element"] * 1e-9,
        given["call"] * 1e-6,
        given["evaluate"] * 1e-9,
    )

    def ratio(rows, columns):
        loops = vectors = 0.0
        for _row in range(rows):
            loops += sum(evaluate for _evaluation in range(3 * columns))
            vectors += sum(call + element * columns for _call in range(5))
        return loops / vectors

    return {
        "touched": sum(3 * given["columns"] for _ in range(given["rows"])),
        "by_row": ratio(given["rows"], given["columns"]),
        "enough": next(columns for columns in range(1, 5000) if ratio(1, columns) >= 8),
    }


def standardize(x):
    mean = x.mean(axis=1, keepdims=True)
    return (x - mean) / (x.std(axis=1, keepdims=True) + 1e-6)


def standardize_right_einsum(x):
    centred = x - x.sum(axis=1, keepdims=True) / x.shape[1]
    square = np.einsum("ij,ij->i", centred, centred)[:, None] / x.shape[1]
    return centred / (np.sqrt(square) + 1e-6)


def standardize_right_transposed(x):
    columns = x.T - x.mean(1)
    return (columns / ((columns**2).mean(0) ** 0.5 + 1e-6)).T


def standardize_slow_rows(x):
    out = np.empty_like(x)
    for i, row in enumerate(x):
        out[i] = (row - row.mean()) / (row.std() + 1e-6)
    return out


def standardize_slow_lists(x):
    out = []
    for row in x.tolist():
        mean = sum(row) / len(row)
        scale = (sum((v - mean) ** 2 for v in row) / len(row)) ** 0.5 + 1e-6
        out.append([(v - mean) / scale for v in row])
    return np.array(out).reshape(x.shape)


def standardize_slow_as_given(x):
    out = np.empty_like(x)
    for i in range(x.shape[0]):
        mean = sum(x[i, j] for j in range(x.shape[1])) / x.shape[1]
        square = sum((x[i, j] - mean) ** 2 for j in range(x.shape[1]))
        scale = (square / x.shape[1]) ** 0.5 + 1e-6
        for j in range(x.shape[1]):
            out[i, j] = (x[i, j] - mean) / scale
    return out


def standardize_expected(x):
    return standardize_slow_lists(x)


def standardize_cases(rng, given):
    yield "small", {"x": np.array([[2.0]])}
    yield "small", {"x": np.zeros((3, 5))}
    yield "small", {"x": np.zeros((0, 4))}
    yield "small", {"x": rng.normal(size=(1, 9))}
    yield "random", {"x": rng.normal(size=(4, 20)) + 1e6}
    for _ in range(5):
        rows, columns = (int(n) for n in rng.integers(2, 40, size=2))
        yield "random", {"x": rng.normal(size=(rows, columns)) * rng.uniform(0.5, 30)}


def standardize_wrong_mean_of_squares(x):
    mean = x.mean(1, keepdims=True)
    variance = (x * x).mean(1, keepdims=True) - mean * mean
    return (x - mean) / (np.sqrt(np.maximum(variance, 0)) + 1e-6)


def standardize_wrong_columns(x):
    return (x - x.mean(axis=0)) / (x.std(axis=0) + 1e-6)


def standardize_wrong_unbiased(x):
    scale = x.std(axis=1, keepdims=True, ddof=1 if x.shape[1] > 1 else 0)
    return (x - x.mean(axis=1, keepdims=True)) / (scale + 1e-6)


def standardize_wrong_single_precision(x):
    x = x.astype(np.float32)
    return (x - x.mean(axis=1, keepdims=True)) / (x.std(axis=1, keepdims=True) + 1e-6)


def standardize_wrong_no_epsilon(x):
    return (x - x.mean(axis=1, keepdims=True)) / x.std(axis=1, keepdims=True)
