"""By the singular value decomposition; the second roads use eigenvalues, or split it otherwise."""

import numpy as np
import torch


def factorize(w, energy):
    u, s, vt = np.linalg.svd(w, full_matrices=False)
    kept = np.cumsum(s.astype(np.float64) ** 2)
    rank = 1 + int(np.searchsorted(kept, energy * kept[-1]))
    rank = min(rank, len(s))
    return u[:, :rank] * s[:rank], vt[:rank]


def factorize_right_by_eigenvalues(w, energy):
    wide = w.astype(np.float64)
    squares, vectors = np.linalg.eigh(wide @ wide.T)
    squares, vectors = np.maximum(squares[::-1], 0), vectors[:, ::-1]
    rank = 1
    while squares[:rank].sum() < energy * squares.sum():
        rank += 1
    left = vectors[:, :rank]
    return left.astype(w.dtype), (left.T @ wide).astype(w.dtype)


def factorize_right_by_torch(w, energy):
    u, s, v = torch.svd(torch.from_numpy(w.copy()))
    share = s.square().cumsum(0) / s.square().sum().clamp_min(1e-30)
    rank = max(1, min(int((share < energy).sum()) + 1, len(s)))
    if not s.any():
        rank = 1
    root = s[:rank].sqrt()
    return (u[:, :rank] * root).numpy(), (root[:, None] * v[:, :rank].T).numpy()


def factorize_cases(rng, given):
    def made(shape, values, dtype=np.float64):
        """A matrix with the given singular values, which lie well apart."""
        rank = len(values)
        u, _ = np.linalg.qr(rng.normal(size=(shape[0], rank)))
        v, _ = np.linalg.qr(rng.normal(size=(shape[1], rank)))
        return ((u * np.asarray(values)) @ v.T).astype(dtype)

    def falling(count):
        """Singular values, and shares of energy in the middle between two ranks."""
        values = 4.0 * np.cumprod(rng.uniform(0.6, 0.9, size=count))
        shares = np.cumsum(values**2) / (values**2).sum()
        return values, (shares[1:] + shares[:-1]) / 2

    # What float64 can tell, a computation in float32 can't.
    fine = {"relative": 1e-8, "absolute": 1e-8}

    yield "edges", {"w": np.array([[-2.5]]), "energy": 0.9}, fine
    yield "edges", {"w": np.zeros((3, 5)), "energy": 0.9}
    yield "edges", {"w": made((6, 9), [2.0]), "energy": 0.99}, fine
    yield "edges", {"w": made((1, 7), [3.0], np.float32), "energy": 0.5}
    yield "rank", {"w": np.diag([4.0, 2.0, 2.0, 1.0]), "energy": 0.7}
    yield "rank", {"w": np.diag([1.0, 1.0, 1.0, 1.0, 1.0])[:, ::-1].copy() * 2, "energy": 0.5}
    values, shares = falling(6)
    for at in (0, 2, 4):
        w = made((12, 8), values)
        yield "rank", {"w": w, "energy": min(float(shares[at]), 0.9999)}, fine
    for shape, dtype in (((10, 24), np.float32), ((24, 10), np.float64), ((16, 16), np.float32)):
        values, shares = falling(9)
        at = int(rng.integers(1, 6))
        inputs = {"w": made(shape, values, dtype), "energy": min(float(shares[at]), 0.9999)}
        if dtype is np.float64:
            yield "product", inputs, fine
        else:
            yield "product", inputs


def factorize_expected(w, energy):
    """By the sum of rank-one pieces, taken away one after another."""
    rest, left = w.astype(np.float64), (w.astype(np.float64) ** 2).sum()
    total, product, rank = left, np.zeros(w.shape), 0
    values = np.linalg.svd(rest, compute_uv=False)
    while rank == 0 or total - left < energy * total:
        u, s, vt = np.linalg.svd(rest, full_matrices=False)
        piece = s[0] * np.outer(u[:, 0], vt[0])
        product, rest, rank = product + piece, rest - piece, rank + 1
        left = (rest**2).sum()
    if rank < len(values) and values[rank - 1] - values[rank] < 1e-9:
        return ...  # either of the two may be kept
    shapes = [[len(w), rank], [rank, w.shape[1]]]
    dtypes = [str(w.dtype)] * 2
    return {"shapes": shapes, "dtypes": dtypes, "product": product.astype(w.dtype)}


def factorize_holds(inputs, result):
    """What holds also where singular values are equal, so that the product is not unique."""
    w, energy = inputs["w"].astype(np.float64), inputs["energy"]
    squares = np.linalg.svd(w, compute_uv=False) ** 2
    rank = max(1, int((np.cumsum(squares) < energy * squares.sum() - 1e-9).sum()) + 1)
    shapes = [[len(w), rank], [rank, w.shape[1]]]
    whole = all(isinstance(size, int) for shape in result["shapes"] for size in shape)
    if result["shapes"] != shapes or not whole:
        yield "the factors have other shapes than those of the smallest rank"
        return
    product = result["product"]
    if result["dtypes"] != [str(inputs["w"].dtype)] * 2 or product.shape != w.shape:
        yield "the factors are of another type, or their product has another shape"
        return
    error = ((w - product) ** 2).sum()
    # Also false where a number is none.
    if not error <= squares[rank:].sum() + 1e-5 * squares.sum() + 1e-12:
        yield "another product of this rank comes nearer to the matrix"


def factorize_wrong_plain_singular_values(w, energy):
    u, s, vt = np.linalg.svd(w, full_matrices=False)
    kept = np.cumsum(s.astype(np.float64))
    rank = min(1 + int(np.searchsorted(kept, energy * kept[-1])), len(s))
    return u[:, :rank] * s[:rank], vt[:rank]


def factorize_wrong_one_too_few(w, energy):
    u, s, vt = np.linalg.svd(w, full_matrices=False)
    kept = np.cumsum(s.astype(np.float64) ** 2)
    rank = max(1, int(np.searchsorted(kept, energy * kept[-1])))
    return u[:, :rank] * s[:rank], vt[:rank]


def factorize_wrong_values_in_both(w, energy):
    left, right = factorize_right_by_eigenvalues(w, energy)
    s = np.linalg.svd(w, compute_uv=False)[: len(right), None]
    return left, (s * right).astype(w.dtype)


def factorize_wrong_values_left_out(w, energy):
    u, _, vt = np.linalg.svd(w, full_matrices=False)
    rank = len(factorize_right_by_eigenvalues(w, energy)[1])
    return u[:, :rank], vt[:rank]


def factorize_wrong_in_single_precision(w, energy):
    left, right = factorize_right_by_eigenvalues(w.astype(np.float32), energy)
    return left.astype(w.dtype), right.astype(w.dtype)


def factorize_wrong_rounded(w, energy):
    left, right = factorize_right_by_eigenvalues(w, energy)
    return left.round(4), right.round(4)


def factorize_wrong_share_of_the_ranks(w, energy):
    u, s, vt = np.linalg.svd(w, full_matrices=False)
    rank = max(1, round(energy * len(s)))
    return u[:, :rank] * s[:rank], vt[:rank]


def factorize_wrong_largest_value_as_limit(w, energy):
    u, s, vt = np.linalg.svd(w, full_matrices=False)
    rank = max(1, int((s >= (1 - energy) * s[0]).sum()))
    return u[:, :rank] * s[:rank], vt[:rank]


def factorize_wrong_full_rank(w, energy):
    u, s, vt = np.linalg.svd(w, full_matrices=False)
    return u * s, vt


def thin_forward(x, left, right, bias):
    return x @ right.T @ left.T + bias


def thin_forward_right_by_layers(x, left, right, bias):
    small = torch.nn.functional.linear(x, right)
    return torch.nn.functional.linear(small, left, bias)


def thin_forward_right_by_einsum(x, left, right, bias):
    return torch.einsum("or,br->bo", left, torch.einsum("ri,bi->br", right, x)).add(bias)


def thin_forward_cases(rng, given):
    def made(batch, outputs, inputs, rank, counted=False):
        shapes = {"x": (batch, inputs), "left": (outputs, rank), "right": (rank, inputs)}
        found = {
            name: torch.tensor(rng.normal(size=shape), dtype=torch.float32)
            for name, shape in shapes.items()
        }
        bias = torch.tensor(rng.normal(size=outputs), dtype=torch.float32)
        return {**found, "bias": bias, "counted": counted}

    yield "output", made(1, 3, 4, 1)
    yield "output", made(5, 6, 6, 2)
    yield "output", made(2, 40, 30, 3)
    yield "multiplications", made(1, 40, 30, 3, counted=True)
    yield "multiplications", made(20, 25, 35, 4, counted=True)
    for _ in range(3):
        outputs, inputs = (int(n) for n in rng.integers(20, 60, size=2))
        yield "output", made(int(rng.integers(2, 6)), outputs, inputs, int(rng.integers(2, 6)))


def thin_forward_wrong_product_formed(x, left, right, bias):
    return x @ (left @ right).T + bias


def thin_forward_wrong_without_bias(x, left, right, bias):
    return x @ right.T @ left.T


def thin_forward_wrong_bias_too_early(x, left, right, bias):
    return (x @ right.T + bias[: len(right)]) @ left.T


def thin_forward_wrong_transposed(x, left, right, bias):
    return (left @ (right @ x.T)) + bias[:, None]


def solve(given):
    """Counts the weights of real layers, and searches the break-even rank."""

    def thin(rank):
        with torch.device("meta"):
            down = torch.nn.Linear(given["inputs"], rank, bias=False)
            up = torch.nn.Linear(rank, given["outputs"], bias=False)
        return down.weight.numel() + up.weight.numel()

    dense = given["inputs"] * given["outputs"]
    low, high = 1, min(given["inputs"], given["outputs"])
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if thin(middle) < dense else (low, middle - 1)

    # A matrix whose largest singular values have the given share of the energy, cut after them.
    rng = np.random.default_rng(0)
    u, v = (np.linalg.qr(rng.normal(size=(9, 9)))[0] for _ in range(2))
    squares = np.concatenate(
        [np.full(2, given["energy"] / 2), np.full(7, (1 - given["energy"]) / 7)]
    )
    w = u * np.sqrt(squares) @ v
    left, right = factorize(w, 0.999 * given["energy"])
    return {
        "saved": dense / thin(given["rank"]),
        "break_even": low,
        "relative_error": float(100 * np.linalg.norm(w - left @ right) / np.linalg.norm(w)),
    }
