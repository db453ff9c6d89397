"""Checks whether code uses what its part forbids, by its text and by the calls observed at run
time."""

from __future__ import annotations

from collections.abc import Iterator

from grader.kinds.attempts import Code, CodeAnswer
from grader.kinds.hidden import analysis
from grader.kinds.hidden.analysis import NotAnalyzedError
from grader.kinds.hidden.source import UNDEFINED
from grader.wire.watch import LOOPS


def find_broken_rule(value: CodeAnswer, part: Code) -> str | None:
    """Returns the forbidden name that the code certainly uses, and the evidence; None if there is
    none."""
    try:
        rule = analysis.find_forbidden_use(value.source, part.forbid)
    except NotAnalyzedError:
        rule = None  # treated as a doubt below
    if rule is not None:
        return f"{rule}, but the code uses it"
    seen = [rule for rule in part.forbid if rule != LOOPS and rule in _observed_names(value)]
    return f"`{seen[0]}`, but the code used it at run time" if seen else None


def find_doubt(value: CodeAnswer, part: Code, *, earns: bool) -> str | None:
    """Returns why it is unclear whether the code uses what the part forbids; None if it is clear.

    Python code can hide what it calls. If its text is inconclusive and it *earns* points, a person
    reads it.
    """
    if not part.forbid:
        return None
    if any(call["is"] == "unmade" and call.get("what") == UNDEFINED for call in value.calls):
        return UNDEFINED
    if not earns:
        return None
    if value.unseen:
        return f"its code could not be analyzed: {value.unseen}"
    try:
        return next(_doubts(value, part), None)
    except NotAnalyzedError as error:
        return f"its code could not be analyzed: {error}"


def _doubts(value: CodeAnswer, part: Code) -> Iterator[str]:
    if not analysis.definitions([value.source], part.id):
        yield "its code was not found; define it at the top of a cell of plain Python"
    name = analysis.find_undefined_name(value.source)
    if name is not None:
        # The name may be set to something forbidden at run time, or be a typo in unreachable code.
        yield f"no cell defines `{name}`"
    way = analysis.find_doubtful_use(value.source, part.forbid)
    if way is not None:
        yield f"its text does not show what it calls: it uses {way}"
    if LOOPS in part.forbid and LOOPS in _observed_names(value):
        yield "one of its functions was called many times in a single call, as in a loop"
    held = _observed_names(value, "reached")
    yield from (f"one of its names refers to `{one}`" for one in part.forbid if one in held)


def _observed_names(value: CodeAnswer, what: str = "used") -> set[str]:
    """Returns the names that the calls report under *what*; untrusted, as they come from the
    student's process."""
    said = (call.get(what) for call in value.calls)
    return {one for each in said if isinstance(each, list) for one in each if isinstance(one, str)}
