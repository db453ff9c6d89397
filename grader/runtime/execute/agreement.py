"""Compares the two runs of a round: whether their inputs and their results agree."""

from __future__ import annotations

import math

from grader.kinds.hidden.compare import WIDEST, Closeness, count_numbers, difference
from grader.wire.encoding import RESULT, digest_of_bytes
from grader.wire.values import ArrayValue, decode_result, digest_of_result

_DIGEST = len(digest_of_bytes(b""))


class UnreadableError(Exception):
    """The baseline's own result can't be read."""


def may_exceed_limit(ours: object) -> bool:
    """Returns whether *ours*, in wider numbers, would exceed the size limit of a result."""
    try:
        return WIDEST * count_numbers(decode_result(ours)) > RESULT.size
    except ValueError:
        return True


def inputs_match(promised: object, known: object) -> bool:
    """Returns whether both runs used the same inputs, by the replies of student and baseline."""
    return _split_reply(promised)[1] == _split_reply(known)[1]


def results_match(promised: object, theirs: object, ours: object) -> bool:
    """Returns whether *theirs* has the digest in *promised* and is close to *ours*.

    Raises UnreadableError if the baseline's result, *ours*, can't be read.
    """
    digest, _ = _split_reply(promised)
    try:
        if theirs == ours and digest == digest_of_result(ours):
            return True
        right = decode_result(ours)
    except ValueError:
        raise UnreadableError from None
    try:
        if digest != digest_of_result(theirs):
            return False
        return difference(decode_result(theirs), right, _closeness_of(right)) is None
    except ValueError:
        return False


def _split_reply(raw: object) -> tuple[str, str]:
    """Returns the digests of a result and of its inputs; both are empty if the reply is forged."""
    text = raw.get("v") if isinstance(raw, dict) else None
    return (text[:_DIGEST], text[_DIGEST:]) if isinstance(text, str) else ("", "")


# Relative differences that a different order of summation can cause.
_CLOSE = {
    "float64": 1e-6, "complex128": 1e-6, "float32": 1e-3, "complex64": 1e-3,
    "float16": 2e-2, "bfloat16": 5e-2,
}  # fmt: skip
_COARSE = 0.2


def _closeness_of(right: object) -> Closeness:
    """Returns how close the numbers of a result must be to those of *right*."""
    import numpy as np

    squares, count, close = 0.0, 0, _CLOSE["float64"]
    waiting = [right]
    while waiting:
        value = waiting.pop()
        if isinstance(value, (list, tuple)):
            waiting += value
        elif isinstance(value, dict):
            waiting += value.values()
        elif isinstance(value, ArrayValue) and value.numbers.dtype.kind in "fc":
            close = max(close, _CLOSE.get(value.dtype, _COARSE))
            sizes = np.abs(value.numbers[np.isfinite(value.numbers)])
            with np.errstate(over="ignore"):
                squares, count = squares + float((sizes**2).sum()), count + sizes.size
        elif isinstance(value, float) and math.isfinite(value):
            squares, count = squares + value * value, count + 1
    size = math.sqrt(squares / count) if count and math.isfinite(squares) else 0.0
    return Closeness(relative=close, absolute=close * size)
