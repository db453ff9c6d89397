"""Lists the tensors that a layer saves, walks through a backward pass, and searches by trial."""


def saved_tensors(s, b, h, a):
    """Elements and bytes per element of each tensor that one layer keeps; scores marked."""
    wide, scores = s * b * h, a * s * s * b
    return [
        ("input of layer norm 1", wide, 2, False),
        ("input of the query, key and value projections", wide, 2, False),
        ("queries", wide, 2, False),
        ("keys", wide, 2, False),
        ("values", wide, 2, False),
        ("softmax output", scores, 2, True),
        ("mask of attention dropout", scores, 1, True),
        ("output of attention dropout", scores, 2, True),
        ("input of the output projection", wide, 2, False),
        ("mask of dropout after attention", wide, 1, False),
        ("input of layer norm 2", wide, 2, False),
        ("input of the first MLP matrix", wide, 2, False),
        ("input of GELU", 4 * wide, 2, False),
        ("input of the second MLP matrix", 4 * wide, 2, False),
        ("mask of dropout after the MLP", wide, 1, False),
    ]


def layer_bytes(s, b, h, a, scores=(True, False)):
    return sum(n * width for _, n, width, kind in saved_tensors(s, b, h, a) if kind in scores)


def checkpointed_peak(s, b, h, a, layers):
    """The highest memory level while forward stores inputs and backward frees them one by one."""
    _, elements, width, _ = saved_tensors(s, b, h, a)[0]
    level = peak = 0
    for _ in range(layers):
        level += elements * width
        peak = max(peak, level)
    for _ in range(layers):
        recomputed = layer_bytes(s, b, h, a)
        peak = max(peak, level + recomputed)
        level -= elements * width
    return peak


def fused_layer_bytes(s, b, h, a):
    """One layer whose attention keeps a 4-byte logarithm per row of scores and no matrix."""
    kept = [(n, width) for _, n, width, scores in saved_tensors(s, b, h, a) if not scores]
    rows = [(s, 4) for _sequence in range(b) for _head in range(a)]
    return sum(n * width for n, width in kept + rows)


def crossover(h, a):
    """Bisects for the length where the tensors of scores weigh as much as all others."""
    low, high = 1.0, 1e6
    for _ in range(100):
        s = (low + high) / 2
        if layer_bytes(s, 1, h, a, (True,)) < layer_bytes(s, 1, h, a, (False,)):
            low = s
        else:
            high = s
    return low


def solve(given):
    s, b, h, a = given["length"], given["batch"], given["hidden"], given["heads"]
    layers = given["layers"]
    largest = 0
    while checkpointed_peak(s, largest + 1, h, a, layers) <= given["free"] * 1e9:
        largest += 1

    # Units of work per layer, in the order they run.
    plain = ["forward"] * layers + ["grad_input", "grad_weight"] * layers
    recomputing = ["forward"] * layers + ["forward", "grad_input", "grad_weight"] * layers
    before, after = layer_bytes(s, b, h, a), fused_layer_bytes(s, b, h, a)
    return {
        "stored_plain": sum(layer_bytes(s, b, h, a) for _ in range(layers)) / 1e9,
        "peak_checkpointed": checkpointed_peak(s, b, h, a, layers) / 1e9,
        "largest_batch": largest,
        "checkpointed_step": given["step_time"] * len(recomputing) / len(plain),
        "crossover": crossover(h, a),
        "fused": 100 * (before - after) / before,
    }
