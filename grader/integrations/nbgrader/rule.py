"""The points for the outputs of a test cell, by the rule of nbgrader 0.9."""

from __future__ import annotations

from collections.abc import Sequence

from grader.model.evidence import Raw

ERROR, STDERR, RESULT = "error", "stderr", "result"
OUTPUTS, WRITTEN = "outputs", "written"
"""Tags in evidence: the outputs of a test cell, and the text that a student wrote."""


class UndecidedError(Exception):
    """nbgrader would stop with an error here; the message says why."""


def earned_points(outputs: Sequence[Sequence[str]], points: float) -> float:
    """The points of a cell worth *points*, by what it put out in this order.

    The first error, text on stderr, or result decides. A result that is a number of at least 0 is
    the points earned; any other result, and no result, earns all points. Raises UndecidedError.
    """
    for kind, *rest in outputs:
        if kind in (ERROR, STDERR):
            return 0.0
        if kind == RESULT:
            return _result_points(rest[0] if rest else "", points)
    return points


def _result_points(text: str, points: float) -> float:
    if not text:
        raise UndecidedError("its result has no text")
    try:
        number = float(text)
    except ValueError:
        return points
    if not number >= 0:  # not a number as well
        return points
    if number > points:
        raise UndecidedError(f"its result is {number:g}, more than its {points:g} points")
    return number


def outputs_in(raw: Raw) -> list[list[str]]:
    """Returns the outputs of a test cell as recorded in evidence."""
    listed = raw.get("v")
    entries = listed if isinstance(listed, list) else []
    return [[str(part) for part in e] for e in entries if isinstance(e, list | tuple) and e]
