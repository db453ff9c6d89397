"""Sample answers as a kernel would send them, for the examples of all kinds."""

from __future__ import annotations

import math

from grader.kinds.base import Example
from grader.wire.encoding import encode_answer


def sample(answer: object, share: float | None, why: str, mistake: str | None = None) -> Example:
    """Returns the example of a student who gives *answer*, as Python data."""
    return Example(raw=encode_answer(answer), share=share, why=why, mistake=mistake)


def right(answer: object, why: str) -> Example:
    """Returns an example that must earn all points."""
    return sample(answer, 1.0, why)


def unreadable(answer: object, why: str) -> Example:
    """Returns an example that must be unreadable."""
    return sample(answer, None, why)


# Values that are not an answer of any kind.
NOTHING = (
    unreadable(..., "an ellipsis"),
    unreadable(None, "None"),
    unreadable(len, "a function"),
    unreadable(1 + 2j, "a complex number"),
)

NOT_NUMBERS = (
    *NOTHING,
    unreadable(math.nan, "NaN"),
    unreadable(math.inf, "infinity"),
    unreadable(-math.inf, "minus infinity"),
    unreadable(True, "a truth value"),
    unreadable(10**5000, "a huge integer"),
    Example(
        raw={"t": "array", "shape": [1], "dtype": "float64", "v": [{"t": "float", "v": "1.0"}]},
        share=None,
        why="an array of one element",
    ),
    unreadable([1], "a list"),
    unreadable({}, "a dict"),
    unreadable("", "an empty text"),
    unreadable("about that much", "words"),
    unreadable("9" * 10_001, "a text that is too long"),
)

NOT_LETTERS = (
    *NOTHING,
    unreadable(1, "a number"),
    unreadable(math.nan, "NaN"),
    unreadable(True, "a truth value"),
    unreadable("?", "no letter"),
    unreadable("", "an empty text"),
)
