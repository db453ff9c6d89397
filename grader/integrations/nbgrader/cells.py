"""Cells of a source notebook: nbgrader's metadata, version 3, its checksum, and its regions."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import replace

from grader.errors import SetupError
from grader.integrations.nbgrader.assignment import CourseConfig, SourceCell
from grader.notebook import Cell

_USUAL = CourseConfig()
TEXT_STUB = _USUAL.text_stub
VERSION = 3
_ID = re.compile(r"[a-zA-Z0-9_\-]+")


def grade_id(cell: Cell) -> str | None:
    """Returns the nbgrader id of *cell*; None if it has none."""
    about = cell.metadata.get("nbgrader")
    name = about.get("grade_id") if isinstance(about, Mapping) else None
    return name if isinstance(name, str) and name else None


def source_cell(cell: Cell, where: str) -> SourceCell | None:
    """Returns *cell* with its nbgrader metadata; None without any. Raises SetupError if invalid."""
    about = cell.metadata.get("nbgrader")
    about = about if isinstance(about, Mapping) else {}
    flags = {name: about.get(name) is True for name in ("grade", "solution", "locked", "task")}
    if not any(flags.values()):
        return None
    name = grade_id(cell)
    version = about.get("schema_version", 0)
    if not isinstance(version, int) or version > VERSION:
        raise SetupError(
            f"the notebook has version {version!r} of nbgrader's metadata; up to {VERSION} are "
            "read",
            where=where,
            fix="save it with a version of nbgrader that writes version 3",
        )
    if name is None or not _ID.fullmatch(name):
        raise SetupError(
            f"a cell has {'no grade_id' if name is None else f'the odd grade_id {name!r}'}",
            where=where,
            fix="give it one of letters, digits, - and _; `nbgrader validate` finds the cell",
        )
    points = _read_points(about) if flags["grade"] or flags["task"] else 0.0
    if points is None:
        raise SetupError(
            f"the cell '{name}' is worth {about.get('points')!r} points",
            where=where,
            fix="give it a number of at least 0",
        )
    return SourceCell(grade_id=name, type=cell.type, source=cell.source, points=points, **flags)


def _read_points(about: Mapping[str, object]) -> float | None:
    """Returns the points in the metadata *about*; None if they are not finite and at least 0."""
    try:
        points = float(about.get("points") or 0)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return None
    return points if 0 <= points < float("inf") else None


def cell_checksum(cell: SourceCell) -> str:
    """Returns the checksum of *cell* as nbgrader computes it, so it is an MD5 digest."""
    parts = [cell.source, cell.type, cell.grade, cell.solution, cell.is_locked, cell.grade_id]
    if cell.grade:
        parts.append(float(cell.points))
    return hashlib.md5("".join(map(str, parts)).encode(), usedforsecurity=False).hexdigest()


def cell_metadata(cell: SourceCell, *, released: bool) -> dict[str, object]:
    """Returns the metadata of *cell*, with a checksum that reveals changes if *released*."""
    about: dict[str, object] = {
        "schema_version": VERSION,
        "grade": cell.grade,
        "grade_id": cell.grade_id,
        "locked": cell.is_locked,
        "solution": cell.solution,
        "task": cell.task,
    }
    if cell.is_marked:
        about["points"] = cell.points
    if not released:
        return {"nbgrader": about}
    about |= {"checksum": cell_checksum(cell), "cell_type": cell.type}
    locks: dict[str, object] = {"deletable": False}
    if cell.is_locked:
        locks["editable"] = False
    return {"nbgrader": about, **locks}


def clear_answers(cell: SourceCell, where: str = "", config: CourseConfig = _USUAL) -> SourceCell:
    """Returns the cell as nbgrader's gradebook keeps it: as students see it, with hidden tests."""
    stub = config.code_stub if cell.type == "code" else config.text_stub
    text, has_solution = _replace_regions(cell.source, config.solution, stub, where)
    if has_solution and not cell.solution and config.require_solution_cells:
        raise SetupError(
            f"the cell '{cell.grade_id}' has a solution but is not an answer cell",
            where=where,
            fix=f"mark it as an answer, or remove the line with '{config.solution[0]}'",
        )
    if cell.solution and not has_solution:
        text = stub
    return replace(cell, source=text)


def released_cell(cell: SourceCell) -> SourceCell:
    """Returns *cell*, in which solutions are cleared, without hidden tests and mark schemes."""
    text, _ = _replace_regions(cell.source, _USUAL.hidden, None, "")
    text, _ = _replace_regions(text, _USUAL.scheme, None, "")
    return replace(cell, source=text)


def _replace_regions(
    source: str, region: tuple[str, str], stub: str | None, where: str
) -> tuple[str, bool]:
    """Returns *source* with every region replaced by *stub*, and whether there was a region."""
    begin, end = region
    unclosed = SetupError(
        f"a region that begins with '{begin}' has no end",
        where=where or None,
        fix=f"add a line '### {end}' below it",
    )
    kept: list[str] = []
    inside = has_region = False
    for line in source.split("\n"):
        if begin in line:
            if inside:
                raise unclosed
            inside = has_region = True
            indent = line[: len(line) - len(line.lstrip())]
            if stub is not None:
                kept += [indent + stub_line for stub_line in stub.split("\n")]
        elif end in line:
            inside = False
        elif not inside:
            kept.append(line)
    if inside:
        raise unclosed
    return "\n".join(kept), has_region
