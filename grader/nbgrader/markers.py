"""The regions that nbgrader takes out of a cell: solutions, hidden tests and mark schemes."""

from __future__ import annotations

from dataclasses import replace

from grader.errors import SetupError
from grader.model.assignment import SourceCell

CODE_STUB = "# YOUR CODE HERE\nraise NotImplementedError()"
TEXT_STUB = "YOUR ANSWER HERE"
SOLUTION, HIDDEN, SCHEME = "SOLUTION", "HIDDEN TESTS", "MARK SCHEME"


def with_answers_cleared(cell: SourceCell, where: str = "") -> SourceCell:
    """The cell as nbgrader's gradebook keeps it: what students see, and the hidden tests.

    Raises SetupError for regions without an end, or where no answer is written.
    """
    stub = CODE_STUB if cell.type == "code" else TEXT_STUB
    text, found = _without(cell.source, SOLUTION, stub, where)
    if found and not cell.solution:
        raise SetupError(
            f"the cell '{cell.grade_id}' has a solution and is not for students to write in",
            where=where,
            fix="mark it as an answer, or take BEGIN SOLUTION out",
        )
    if cell.solution and not found:
        text = stub
    return replace(cell, source=text)


def as_released(cell: SourceCell, where: str = "") -> SourceCell:
    """The cell as students get it, of one from which solutions were cleared."""
    text, _ = _without(cell.source, HIDDEN, None, where)
    text, _ = _without(text, SCHEME, None, where)
    return replace(cell, source=text)


def _without(source: str, what: str, stub: str | None, where: str) -> tuple[str, bool]:
    """*source* with *stub* in the place of every region, and whether there was one."""
    kept: list[str] = []
    inside = found = False
    for line in source.split("\n"):
        if f"BEGIN {what}" in line:
            if inside:
                raise _unended(what, where)
            inside = found = True
            indent = line[: len(line) - len(line.lstrip())]
            kept += [indent + each for each in stub.split("\n")] if stub is not None else []
        elif f"END {what}" in line:
            inside = False
        elif not inside:
            kept.append(line)
    if inside:
        raise _unended(what, where)
    return "\n".join(kept), found


def _unended(what: str, where: str) -> SetupError:
    return SetupError(
        f"a region that begins with 'BEGIN {what}' has no end",
        where=where or None,
        fix=f"add a line '### END {what}' below it",
    )
