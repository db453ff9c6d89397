"""Checks what an entry of a set draws from the pools of a problem's parts."""

from __future__ import annotations

from pathlib import Path

from grader.errors import Location, SpecError
from grader.model import Part, Problem, Slot
from grader.registry import suggest


def check_draw(problem: Problem, slot: Slot, path: Path) -> None:
    """Raises SpecError if *slot*, in the set at *path*, can't draw what it says from *problem*."""
    for pool, count in slot.draw.items():
        _check_pool(problem, slot, pool, count, Location(str(path)))
    drawn = {part.id for part in problem.parts if part.pool}
    for part in problem.parts:
        used = next((name for name in part.uses if name in drawn), None)
        if used is not None:
            raise SpecError(
                f"part '{part.id}' of '{problem.id}' uses '{used}', which not every student is "
                "asked",
                where=Location(str(path)),
                fix="omit 'draw:', so that all parts are asked",
            )


def _check_pool(problem: Problem, slot: Slot, pool: str, count: int, where: Location) -> None:
    parts = [part for part in problem.parts if part.pool == pool]
    if not parts:
        pools = dict.fromkeys(part.pool for part in problem.parts if part.pool)
        known = "it has: " + ", ".join(pools) if pools else "give its parts a 'pool:'"
        raise SpecError(
            f"'{problem.id}' has no parts in a pool '{pool}'",
            where=where,
            fix=suggest(pool, pools, known),
        )
    share = slot.pool_share([part.id for part in parts])
    if count > len(share):
        edition = f" for edition {slot.edition.number}" if slot.edition else ""
        raise SpecError(
            f"can't draw {count} of the {len(share)} parts that '{problem.id}' has in the pool "
            f"'{pool}'{edition}",
            where=where,
            fix="draw fewer, or add parts to the pool",
        )
    _check_points(parts, problem, pool, where)


def _check_points(parts: list[Part], problem: Problem, pool: str, where: Location) -> None:
    first = parts[0]
    other = next((part for part in parts if part.points != first.points), None)
    if other is not None:
        raise SpecError(
            f"parts of the pool '{pool}' of '{problem.id}' have different points: "
            f"'{first.id}' {first.points:g}, '{other.id}' {other.points:g}",
            where=where,
            fix="give all of them the same points, so that all papers have the same total",
        )
