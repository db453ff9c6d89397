"""Add up the bytes iteration by iteration, and select the valid rows with a mask."""

import torch


def solve(given):
    """Let the tensor grow, and race its copies against the rest of the loop."""
    piece = given["valid"] * 4 * given["width"]

    def written_by(sequences):
        held = written = 0
        for _ in range(sequences):
            held += piece
            written += held
        return written, held

    written, held = written_by(given["sequences"])
    sequences = 1
    while written_by(sequences)[0] / given["rate"] < sequences * given["overhead"] * 1000:
        sequences += 1  # nanoseconds on both sides
    return {"copied": written / 1e6, "waste": written / held, "break_even": sequences}


def scores(padded, lengths, w):
    valid = torch.arange(padded.shape[1]) < torch.tensor(lengths, dtype=torch.int64)[:, None]
    return padded[valid] @ w


def scores_right_list(padded, lengths, w):
    pieces = [torch.empty(0, padded.shape[2])]
    for sequence, length in zip(padded, lengths):
        pieces.append(sequence[:length])
    return torch.cat(pieces) @ w


def scores_right_filled(padded, lengths, w):
    rows = torch.empty(sum(lengths), padded.shape[2])
    start = 0
    for sequence, length in zip(padded, lengths):
        rows[start : start + length] = sequence[:length]
        start += length
    return rows @ w


def scores_right_padding_too(padded, lengths, w):
    every = (padded * w).sum(-1)
    places = [i * padded.shape[1] + j for i, n in enumerate(lengths) for j in range(n)]
    return every.reshape(-1)[torch.tensor(places, dtype=torch.int64)]


def scores_slow_as_given(padded, lengths, w):
    rows = torch.empty(0, padded.shape[2])
    for sequence, length in zip(padded, lengths):
        rows = torch.cat([rows, sequence[:length]])
    return rows @ w


def scores_slow_lists(padded, lengths, w):
    rows = []
    for sequence, length in zip(padded.tolist(), lengths):
        rows += sequence[:length]
    return torch.tensor(rows).reshape(-1, padded.shape[2]) @ w


def scores_cases(rng, given):
    def case(lengths, padded, width):
        values = rng.normal(size=(len(lengths), padded, width))
        return {
            "padded": torch.from_numpy(values).float(),
            "lengths": [int(n) for n in lengths],
            "w": torch.from_numpy(rng.normal(size=width)).float(),
        }

    yield "edge", case([], 4, 3)
    yield "edge", case([0], 3, 2)
    yield "edge", case([0, 3, 0, 0, 1], 3, 2)
    yield "edge", case([4, 4], 4, 1)
    for _ in range(5):
        count, padded, width = (int(n) for n in rng.integers(2, 12, size=3))
        lengths = [padded, 1, *rng.integers(0, padded + 1, size=count)]
        yield "random", case(lengths, padded, width)


def scores_wrong_keeps_padding(padded, lengths, w):
    return padded.reshape(-1, padded.shape[2]) @ w


def scores_wrong_empty(padded, lengths, w):
    return torch.cat([sequence[:length] for sequence, length in zip(padded, lengths)]) @ w


def scores_wrong_one_too_few(padded, lengths, w):
    pieces = [torch.empty(0, padded.shape[2])]
    pieces += [sequence[: max(length - 1, 0)] for sequence, length in zip(padded, lengths)]
    return torch.cat(pieces) @ w


def scores_wrong_longest_first(padded, lengths, w):
    pieces = [torch.empty(0, padded.shape[2])]
    for i in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        pieces.append(padded[i, : lengths[i]])
    return torch.cat(pieces) @ w


def scores_wrong_without_zeros(padded, lengths, w):
    every = padded @ w
    valid = torch.arange(padded.shape[1]) < torch.tensor(lengths)[:, None]
    return every[valid & (every > 0)]
