"""Puts the 32 lanes' words into banks and counts what each bank has to deliver."""


def passes(words):
    """Return how many passes one load of these words takes."""
    wanted = {}
    for word in words:
        wanted.setdefault(word % 32, set()).add(word)
    return max(len(different) for different in wanted.values())


def column_passes(rows, row_words):
    """Return the passes of reading a whole tile of *row_words* columns down its columns."""
    return sum(
        passes((first + lane) * row_words + column for lane in range(32))
        for column in range(row_words)
        for first in range(0, rows, 32)
    )


def solve(given):
    """Return each part's answer, found by counting words per bank."""
    width, rows = given["width"], 32 * given["row_groups"]
    degree = passes(lane * width for lane in range(32))

    unused = 0
    while passes(lane * (width + unused) for lane in range(32)) > 1:
        unused += 1
    # Words between neighbouring lanes: of the row write and of the column read.
    declarations = {
        "one-more-column": (1, width + 1),
        "two-more-columns": (1, width + 2),
        "one-more-row": (1, width),
        "whole-bank-line": (1, width + 32),
        "swapped": (rows, 1),
    }
    (cure,) = (
        name
        for name, strides in declarations.items()
        if all(passes(lane * words for lane in range(32)) == 1 for words in strides)
    )

    reads = {
        "stride_s": lambda lane: given["stride"] * lane,
        "stride_t": lambda lane: given["step"] * lane,
        "broadcast": lambda lane: lane // 4,
        "reversed": lambda lane: 31 - lane,
        "two_rows": lambda lane: 64 * (lane % 2) + lane // 2,
    }
    return {
        "conflict_degree": degree,
        "total_passes": column_passes(rows, width),
        "cure": cure,
        "padded_size": len(bytearray(rows * (width + unused) * 4)),
        "free_reads": {name for name, word in reads.items() if passes(map(word, range(32))) == 1},
    }
