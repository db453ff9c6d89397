"""Compares the two runs of a round: whether their inputs and their results agree."""

from __future__ import annotations

import math

from grader.kinds.hidden.compare import WIDEST, Closeness, count_numbers, difference
from grader.wire.encoding import RESULT, digest_of_bytes
from grader.wire.values import ArrayValue, decode_result, digest_of_result

_DIGEST = len(digest_of_bytes(b""))


class UnreadableError(Exception):
    """The baseline's own result can't be read."""


def may_exceed_limit(baseline_result: object) -> bool:
    """Returns whether *baseline_result*, in wider numbers, would exceed the limit on a result."""
    try:
        return WIDEST * count_numbers(decode_result(baseline_result)) > RESULT.size
    except ValueError:
        return True


def inputs_match(student_reply: object, baseline_reply: object) -> bool:
    """Returns whether the replies of student and baseline name the same digest of their inputs."""
    return _split_reply(student_reply)[1] == _split_reply(baseline_reply)[1]


def results_match(student_reply: object, student_result: object, baseline_result: object) -> bool:
    """Returns whether *student_result* is close to *baseline_result* and has the digest that
    *student_reply* named when the clock stopped.

    Raises UnreadableError if *baseline_result* can't be read.
    """
    digest, _ = _split_reply(student_reply)
    try:
        if student_result == baseline_result and digest == digest_of_result(baseline_result):
            return True
        right = decode_result(baseline_result)
    except ValueError:
        raise UnreadableError from None
    try:
        if digest != digest_of_result(student_result):
            return False
        closeness = _choose_closeness(right)
        return difference(decode_result(student_result), right, closeness) is None
    except ValueError:
        return False


def _split_reply(raw: object) -> tuple[str, str]:
    """Returns the digests of a result and of its inputs; both are empty if *raw* has no text."""
    text = raw.get("v") if isinstance(raw, dict) else None
    return (text[:_DIGEST], text[_DIGEST:]) if isinstance(text, str) else ("", "")


# Relative differences that a different order of summation can cause.
_CLOSE = {
    "float64": 1e-6, "complex128": 1e-6, "float32": 1e-3, "complex64": 1e-3,
    "float16": 2e-2, "bfloat16": 5e-2,
}  # fmt: skip
_COARSE = 0.2


def _choose_closeness(expected: object) -> Closeness:
    """Returns how close a result must be to *expected*, by the types and the size of numbers."""
    import numpy as np

    squares = 0.0
    count = 0
    relative = _CLOSE["float64"]
    waiting = [expected]
    while waiting:
        value = waiting.pop()
        if isinstance(value, (list, tuple)):
            waiting += value
        elif isinstance(value, dict):
            waiting += value.values()
        elif isinstance(value, ArrayValue) and value.numbers.dtype.kind in "fc":
            relative = max(relative, _CLOSE.get(value.dtype, _COARSE))
            sizes = np.abs(value.numbers[np.isfinite(value.numbers)])
            with np.errstate(over="ignore"):
                squares += float((sizes**2).sum())
            count += sizes.size
        elif isinstance(value, float) and math.isfinite(value):
            squares += value * value
            count += 1
    size = math.sqrt(squares / count) if count and math.isfinite(squares) else 0.0
    return Closeness(relative=relative, absolute=relative * size)
