"""What a test cell's outputs earn, by the rule of nbgrader 0.9."""

from __future__ import annotations

from collections.abc import Sequence

from grader.model.evidence import Raw

ERROR, STDERR, RESULT = "error", "stderr", "result"
OUTPUTS, WRITTEN = "outputs", "written"
"""Tags of what evidence says of a cell: what a test cell put out, and what a student wrote."""


class UndecidedError(Exception):
    """nbgrader itself would stop here; says why."""


def earned(outputs: Sequence[Sequence[str]], points: float) -> float:
    """The points of a cell worth *points*, by what it put out in this order.

    The first error, text on stderr, or result decides. A result that is a number from 0 on earns
    as much; anything else, and nothing at all, earns everything. Raises UndecidedError.
    """
    for kind, *rest in outputs:
        if kind in (ERROR, STDERR):
            return 0.0
        if kind == RESULT:
            return _partial(rest[0] if rest else "", points)
    return points


def _partial(text: str, points: float) -> float:
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
    """What evidence says that a test cell put out."""
    listed = raw.get("v")
    entries = listed if isinstance(listed, list) else []
    return [[str(part) for part in e] for e in entries if isinstance(e, list | tuple) and e]
