"""The regions that nbgrader removes from a cell: solutions, hidden tests, and mark schemes."""

from __future__ import annotations

from dataclasses import replace

from grader.errors import SetupError
from grader.integrations.nbgrader.assignment import CourseConfig, SourceCell

_USUAL = CourseConfig()
TEXT_STUB = _USUAL.text_stub


def clear_answers(cell: SourceCell, where: str = "", config: CourseConfig = _USUAL) -> SourceCell:
    """The cell as nbgrader's gradebook keeps it: what students see, and the hidden tests.

    Raises SetupError for a region without an end or outside of an answer cell.
    """
    stub = config.code_stub if cell.type == "code" else config.text_stub
    text, found = _replace_regions(cell.source, config.solution, stub, where)
    if found and not cell.solution and config.require_solution_cells:
        raise SetupError(
            f"the cell '{cell.grade_id}' has a solution but is not an answer cell",
            where=where,
            fix=f"mark it as an answer, or remove the line with '{config.solution[0]}'",
        )
    if cell.solution and not found:
        text = stub
    return replace(cell, source=text)


def released_cell(cell: SourceCell, where: str = "") -> SourceCell:
    """The cell as students get it, of one from which solutions were cleared."""
    text, _ = _replace_regions(cell.source, _USUAL.hidden, None, where)
    text, _ = _replace_regions(text, _USUAL.scheme, None, where)
    return replace(cell, source=text)


def _replace_regions(
    source: str, region: tuple[str, str], stub: str | None, where: str
) -> tuple[str, bool]:
    """Returns *source* with every region replaced by *stub*, and whether there was a region."""
    begin, end = region
    kept: list[str] = []
    inside = found = False
    for line in source.split("\n"):
        if begin in line:
            if inside:
                raise _unclosed_region(region, where)
            inside = found = True
            indent = line[: len(line) - len(line.lstrip())]
            kept += [indent + each for each in stub.split("\n")] if stub is not None else []
        elif end in line:
            inside = False
        elif not inside:
            kept.append(line)
    if inside:
        raise _unclosed_region(region, where)
    return "\n".join(kept), found


def _unclosed_region(region: tuple[str, str], where: str) -> SetupError:
    begin, end = region
    return SetupError(
        f"a region that begins with '{begin}' has no end",
        where=where or None,
        fix=f"add a line '### {end}' below it",
    )
