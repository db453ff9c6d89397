"""Whether code keeps to what its part forbids: by its text, and by what it was seen to call."""

from __future__ import annotations

from collections.abc import Iterator

from grader.kinds.attempts import Attempt, Code
from grader.kinds.hidden import analysis
from grader.kinds.hidden.analysis import NotAnalyzedError
from grader.kinds.hidden.source import UNDEFINED
from grader.wire.watch import LOOPS


def broken(value: Attempt, part: Code) -> str | None:
    """What of the forbidden the code certainly uses, and how that is known; None otherwise."""
    try:
        rule = analysis.broken(value.source, part.forbid)
    except NotAnalyzedError:
        rule = None  # which is a doubt
    if rule is not None:
        return f"{rule}, which the code uses"
    seen = [rule for rule in part.forbid if rule != LOOPS and rule in _seen(value)]
    return f"`{seen[0]}`, which the code was seen to use when it ran" if seen else None


def doubt(value: Attempt, part: Code, *, earns: bool) -> str | None:
    """Why nobody can tell whether the code uses what the part forbids; None when one can.

    There is no end to what code can do to itself: where its text does not tell, a person reads it,
    if it *earns* anything.
    """
    if not part.forbid:
        return None
    if any(call["is"] == "unmade" and call.get("what") == UNDEFINED for call in value.calls):
        return UNDEFINED
    if not earns:
        return None
    if value.unseen:
        return f"its code was not looked at: {value.unseen}"
    try:
        return next(_doubts(value, part), None)
    except NotAnalyzedError as error:
        return f"its code was not looked at: {error}"


def _doubts(value: Attempt, part: Code) -> Iterator[str]:
    if not analysis.definitions([value.source], part.id):
        yield "its code was not found; define it at the top of a cell of plain Python"
    name = analysis.unknown(value.source)
    if name is not None:
        # It may be what is forbidden, put there at run time; or a slip where the code never comes.
        yield f"no cell says what `{name}` is"
    way = analysis.undecidable(value.source, part.forbid)
    if way is not None:
        yield f"its text does not tell what it calls: it uses {way}"
    if LOOPS in part.forbid and LOOPS in _seen(value):
        yield "one of its functions was called many times in a single call, as by a loop"


def _seen(value: Attempt) -> set[str]:
    """What the calls say that was used; texts from the student's process, so any."""
    used = (call.get("used") for call in value.calls)
    return {one for each in used if isinstance(each, list) for one in each if isinstance(one, str)}
