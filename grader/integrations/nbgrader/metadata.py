"""nbgrader's metadata of a cell, version 3, and its checksum."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping

from grader.errors import SetupError
from grader.integrations.nbgrader.assignment import SourceCell
from grader.notebook import Cell

VERSION = 3
_ID = re.compile(r"[a-zA-Z0-9_\-]+")


def grade_id(cell: Cell) -> str | None:
    """Returns the nbgrader id of *cell*; None if it has none."""
    about = cell.metadata.get("nbgrader")
    name = about.get("grade_id") if isinstance(about, Mapping) else None
    return name if isinstance(name, str) and name else None


def source_cell(cell: Cell, where: str) -> SourceCell | None:
    """Returns *cell* with its nbgrader metadata; None if nbgrader does not manage it.

    Raises SetupError for metadata that nbgrader rejects.
    """
    about = cell.metadata.get("nbgrader")
    if not isinstance(about, Mapping):
        return None
    flags = {name: about.get(name) is True for name in ("grade", "solution", "locked", "task")}
    if not any(flags.values()):
        return None
    _require_known(about.get("schema_version", 0), where)
    name = grade_id(cell)
    if name is None or not _ID.fullmatch(name):
        raise SetupError(
            f"a cell has {'no grade_id' if name is None else f'the odd grade_id {name!r}'}",
            where=where,
            fix="give it one of letters, digits, - and _; `nbgrader validate` finds the cell",
        )
    found = SourceCell(
        grade_id=name,
        type=cell.type,
        source=cell.source,
        points=_read_points(about, where),
        **flags,
    )
    _require_consistent(found, where)
    return found


def _require_known(version: object, where: str) -> None:
    if isinstance(version, int) and version <= VERSION:
        return
    raise SetupError(
        f"the notebook has version {version!r} of nbgrader's metadata; up to {VERSION} are read",
        where=where,
        fix="save it with a version of nbgrader that writes version 3",
    )


def _read_points(about: Mapping[str, object], where: str) -> float:
    if about.get("grade") is not True and about.get("task") is not True:
        return 0.0
    try:
        points = float(about.get("points") or 0)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        points = -1.0
    if not 0 <= points < float("inf"):
        raise SetupError(
            f"the cell '{about.get('grade_id')}' is worth {about.get('points')!r} points",
            where=where,
            fix="give it a number of at least 0",
        )
    return points


def _require_consistent(cell: SourceCell, where: str) -> None:
    if cell.task and cell.type != "markdown":
        what = f"the task '{cell.grade_id}' is not a Markdown cell"
    elif cell.type == "markdown" and not cell.task and cell.grade != cell.solution:
        what = f"the Markdown cell '{cell.grade_id}' is only one of graded and solution"
    else:
        return
    raise SetupError(what, where=where, fix="run `nbgrader validate` on the source notebook")


def cell_checksum(cell: SourceCell) -> str:
    """The cell's checksum as nbgrader computes it; MD5 because it does."""
    parts = [
        cell.source,
        cell.type,
        str(cell.grade),
        str(cell.solution),
        str(cell.is_locked),
        cell.grade_id,
    ]
    if cell.grade:
        parts.append(str(float(cell.points)))
    return hashlib.md5("".join(parts).encode(), usedforsecurity=False).hexdigest()


def cell_metadata(cell: SourceCell, *, released: bool) -> dict[str, object]:
    """Returns the metadata of a cell; a *released* one has a checksum that shows changes."""
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
