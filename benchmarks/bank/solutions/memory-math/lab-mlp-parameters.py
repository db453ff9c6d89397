"""Lists the tensors of both layers and adds up their sizes."""

import math


def solve(given):
    w, h = given["width"], given["hidden"]
    count = sum(math.prod(shape) for shape in ((h, w), (h,), (w, h), (w,)))
    return {"count": count, "weights": 4 * count / 1e6}
