"""Lists the saved tensors of a rank one by one, and counts what the rings send step by step."""


def solve(given):
    ranks = given["degree"]
    tensor = saved(given, ranks, split=False)
    layouts = [
        tensor,
        saved(given, ranks, split=True),
        saved(given, ranks, split=True, matrices=False),
        2 * given["length"] * given["batch"] * given["hidden"],
    ]
    fits = [given["layers"] * each <= given["free"] * 1e9 for each in layouts]
    # FSDP: as many sequences on all ranks together, and complete layers.
    of_all = sum(saved(given, 1, split=False) for _ in range(ranks))
    share = of_all / ranks / ranks
    low, high = 0.0, 1e7
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if tp(given, middle) < fsdp(given) else (low, middle)
    factor = given["factor"]
    wider = {**given, "hidden": factor * given["hidden"]}
    grown = {
        "fsdp-tokens": 1.0,
        "fsdp-width": fsdp(wider) / fsdp(given),
        "tp-tokens": tp(given, factor * 4096) / tp(given, 4096),
        "tp-width": tp(wider, 4096) / tp(given, 4096),
    }
    names = {1: "one", factor: "linear", factor**2: "square", factor**3: "cube"}
    return {
        "layouts": [[each / 1e6] for each in layouts],
        "cheapest": ("tensor", "sequence", "selective", "inputs")[fits.index(True)],
        "against_fsdp": tensor / share,
        "crossover": high,
        "growth": {name: names[round(value)] for name, value in grown.items()},
    }


def saved(given, ranks, split, matrices=True):
    """The bytes that one rank saves of one layer."""
    s, b, h, a = given["length"], given["batch"], given["hidden"], given["heads"]
    rows = s // ranks if split else s  # of what is not tensor-parallel
    drop = given["dropout"] == "yes"
    total = 2 * rows * b * h  # first layer norm
    total += 2 * rows * b * h  # input of q, k, and v
    for _ in "qkv":
        total += 2 * s * b * (h // ranks)
    if matrices:
        for each in (2, 1, 2) if drop else (2,):
            total += each * (a // ranks) * s * s * b
    total += 2 * s * b * (h // ranks)  # input of the output projection
    total += rows * b * h if drop else 0
    total += 2 * rows * b * h  # second layer norm
    total += 2 * rows * b * h  # input of the MLP
    total += 2 * s * b * (4 * h // ranks)  # input of the activation function
    total += 2 * s * b * (4 * h // ranks)  # its output
    total += rows * b * h if drop else 0
    return total


def ring(elements, ranks):
    """Elements that a rank sends in one pass around the ring."""
    return sum(elements / ranks for _ in range(ranks - 1))


def fsdp(given):
    h = given["hidden"]
    weights = sum(rows * columns for rows, columns in [(h, h)] * 4 + [(h, 4 * h), (4 * h, h)])
    return sum(ring(weights, given["degree"]) for _ in ("gather", "gather again", "scatter"))


def tp(given, tokens):
    sent = 0
    for _ in ("forward", "backward"):
        for _ in ("attention", "MLP"):
            for _ in ("reduce-scatter", "all-gather"):
                sent += ring(tokens * given["hidden"], given["degree"])
    return sent
