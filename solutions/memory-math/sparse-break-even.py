"""Builds the rows of a sparse matrix, counts what is read, and searches for equal times."""

VALUE = 2  # bytes


def solve(given):
    elements = given["rows"] * given["columns"]
    matrix = sum(given["columns"] * VALUE for _ in range(given["rows"]))
    nonzeros = given["density"] * elements

    def large(flops, rate):
        return flops / (rate * 1e12)

    def one(share, index=given["index"], memory=given["memory"], cache=given["cache"], block=1):
        """Seconds of the sparse kernel with one token, for a share of nonzero elements."""
        count = share * elements
        read = sum(count * each for each in (VALUE, index / block))
        sectors = count / block * max(1, block * VALUE / 32)
        return max(read / (memory * 1e12), 32 * sectors / (cache * 1e12))

    def dense_one(memory=given["memory"]):
        return matrix / memory / 1e12

    def search(faster):
        low, high = 0.0, 4.0
        for _ in range(100):
            middle = (low + high) / 2
            low, high = (middle, high) if faster(middle) else (low, middle)
        return high

    tokens = 4096
    dense = large(2 * elements * tokens, given["dense"])
    many = search(lambda share: large(2 * share * elements * tokens, given["sparse"]) < dense)
    few = search(lambda share: one(share) < dense_one())
    batch = 1
    while large(2 * nonzeros * (batch + 1), given["sparse"]) < dense_one():
        batch += 1
    changed = {
        "blocks": search(lambda share: one(share, block=16) < dense_one()),
        "narrow": search(lambda share: one(share, index=given["index"] / 2) < dense_one()),
        "cache": search(lambda share: one(share, cache=2 * given["cache"]) < dense_one()),
        "memory": search(
            lambda share: one(share, memory=2 * given["memory"]) < dense_one(2 * given["memory"])
        ),
    }
    return {
        "many_tokens": 100 * many,
        "slower": large(2 * nonzeros * tokens, given["sparse"]) / dense,
        "one_token": 1e6 * one(given["density"]),
        "break_even": 100 * few,
        "largest_batch": batch,
        "raises": {name for name, found in changed.items() if found > 1.001 * few},
    }
