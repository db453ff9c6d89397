"""Give every sample a gradient of its own, and average over samples instead of over ranks.

The road differs from the formulas: sequences are numbered and collected in a set, the learning rate
is how far the reference run goes over the same sequences, the gradient is a mean over a list of
samples, the factor is found by probing DDP's average, and the claims about exactness are tried out
on a small linear model.
"""

import numpy as np


def samples(mean, count, rng):
    """Return *count* gradients whose mean is *mean*."""
    noise = rng.normal(size=count)
    return mean + noise - noise.mean()


def seen(ranks, per_rank, micro_batches):
    """Return the numbers of the sequences that one optimizer step reads."""
    numbers = set()
    for micro in range(micro_batches):
        for rank in range(ranks):
            start = (micro * ranks + rank) * per_rank
            numbers.update(range(start, start + per_rank))
    return numbers


def way(rate, batch, sequences):
    """Return how far the reference run goes along one and the same gradient while it reads them."""
    gone = 0.0
    for _sequence in sequences:
        gone += rate / batch
    return gone


def probed_factor(sizes):
    """Return the factor of the last rank that makes DDP's average the mean over samples."""
    only_last = np.zeros(len(sizes))
    only_last[-1] = 1.0
    wanted = np.repeat(only_last, sizes).mean()
    return wanted / only_last.mean()


def clip(gradient):
    norm = np.linalg.norm(gradient)
    return gradient / max(1.0, norm)


def exact(rng):
    """Return the set-ups under which 2 equal shards and the whole batch agree."""
    x, y = rng.normal(size=(8, 3)) * 3, rng.normal(size=8)
    w = rng.normal(size=3)
    tokens = np.array([1, 2, 3, 4, 5, 6, 7, 8])
    shards = [slice(0, 4), slice(4, 8)]
    everything = slice(0, 8)

    def per_sample(inputs, rows):
        return 2 * (inputs @ w - y[rows])[:, None] * inputs

    def layer_norm(rows):
        part = x[rows]
        mean, std = part.mean(1, keepdims=True), part.std(1, keepdims=True)
        return per_sample((part - mean) / std, rows).mean(0)

    def batch_norm(rows):
        part = x[rows]
        return per_sample((part - part.mean(0)) / part.std(0), rows).mean(0)

    def plain(rows):
        return per_sample(x[rows], rows).mean(0)

    def summed(rows):
        return per_sample(x[rows], rows).sum(0)

    def token_mean(rows):
        return (per_sample(x[rows], rows) * tokens[rows, None]).sum(0) / tokens[rows].sum()

    def averaged(gradient):
        return np.mean([gradient(rows) for rows in shards], axis=0)

    pairs = {
        "layer_norm": (averaged(layer_norm), layer_norm(everything)),
        "batch_norm": (averaged(batch_norm), batch_norm(everything)),
        "clip_after": (clip(averaged(plain)), clip(plain(everything))),
        "clip_before": (averaged(lambda rows: clip(plain(rows))), clip(plain(everything))),
        "local_sum": (averaged(summed), summed(everything)),
        "token_mean": (averaged(token_mean), token_mean(everything)),
    }
    return {name for name, (ours, theirs) in pairs.items() if np.allclose(ours, theirs)}


def solve(given):
    rng = np.random.default_rng(11)
    batch = seen(given["ranks"], given["per_rank"], given["accumulation"])
    sizes = [given["full"]] * 3 + [given["tail"]]
    gradients = [samples(given[f"gradient_{rank}"], size, rng) for rank, size in enumerate(sizes)]
    return {
        "global_batch": len(batch),
        "rate": way(given["base_rate"], given["base_batch"], batch),
        "true_gradient": float(np.concatenate(gradients).mean()),
        "correction": float(probed_factor(sizes)),
        "exact": exact(rng),
    }
