"""Checks the units, ids, and tolerances of a part, and what a set draws from pools of parts."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from grader.bank.names import check_unit
from grader.bank.yaml12 import Located, Path_
from grader.errors import Location, SpecError
from grader.expressions import ExpressionError, names_in
from grader.model import Expr, Part, Problem, Slot, Tolerance
from grader.registry import suggest
from grader.text.part_letters import iter_mentioned
from grader.text.words import part_letter

_CHOICES = ("options", "items", "targets")
_MOST_FIGURES = 15


def check_part(
    part: Part, values: Mapping[str, Expr], source: Located, at: Path_
) -> Iterator[SpecError]:
    """Yields errors in *part* that can be found without drawing numbers.

    *values* are those of its problem.
    """
    for field, what, fix in part.iter_faults():
        yield source.error((*at, field), what, fix)
    for record, path in _iter_records(part, at):
        unit = getattr(record, "unit", None)
        if unit:
            yield from check_unit(unit, source, (*path, "unit"))
        if isinstance(record, Tolerance):
            yield from _check_tolerance(record, source, path)
        yield from _check_rounded_inputs(record, values, source, path)
        yield from _check_ids(record, source, path)
    for field in _CHOICES:
        things = getattr(part, field, None)
        if things is not None and len(things) < 2:
            what = f"'{field}' has {len(things)} of the at least 2 entries it needs"
            yield source.error((*at, field), what, "add more entries")


def _iter_records(record: Any, at: Path_) -> Iterator[tuple[Any, Path_]]:
    """Yields a record and all records inside it, with their paths."""
    yield record, at
    for field in dataclasses.fields(record):
        value = getattr(record, field.name)
        if dataclasses.is_dataclass(value):
            yield from _iter_records(value, (*at, field.name))
        elif isinstance(value, tuple):
            for index, item in enumerate(value):
                if dataclasses.is_dataclass(item):
                    yield from _iter_records(item, (*at, field.name, index))


def _check_ids(record: Any, source: Located, at: Path_) -> Iterator[SpecError]:
    """Yields errors for duplicate ids of mistakes, options, items or columns in a list."""
    for field in dataclasses.fields(record):
        value = getattr(record, field.name)
        seen: set[str] = set()
        for index, item in enumerate(value if isinstance(value, tuple) else ()):
            name = getattr(item, "id", None)
            if name is not None and name in seen:
                what = f"two entries of '{field.name}' have the id '{name}'"
                fix = "rename one of them; marks and statistics identify entries by id"
                yield source.error((*at, field.name, index, "id"), what, fix)
            seen.add(str(name))


def _check_tolerance(tolerance: Tolerance, source: Located, at: Path_) -> Iterator[SpecError]:
    """Yields errors in the factor and the significant figures of *tolerance*."""
    if tolerance.factor is not None and tolerance.factor <= 1:
        what = f"a factor of {tolerance.factor:g} accepts only the key"
        fix = "use a factor greater than 1, such as 2 for half to double the key"
        yield source.error((*at, "factor"), what, fix)
    figures = tolerance.significant_figures
    if figures is not None and not 1 <= figures <= _MOST_FIGURES:
        what = f"{figures} is not a valid number of significant figures"
        yield source.error((*at, "significant_figures"), what, f"use 1 to {_MOST_FIGURES}")


def _check_rounded_inputs(
    record: Any, values: Mapping[str, Expr], source: Located, at: Path_
) -> Iterator[SpecError]:
    """Yields an error if the answer depends on no name in `input_rounding`.

    An answer that uses an earlier part's answer does not move with that answer's inputs.
    """
    rounded = getattr(getattr(record, "tolerance", None), "input_rounding", None)
    if not rounded:
        return
    with suppress(ExpressionError):  # reported with the names
        if _find_inputs(record.answer, values).isdisjoint(rounded):
            named = "', '".join(rounded)
            what = f"the rounding of '{named}' has no effect, because 'answer' does not contain it"
            fix = "compute the answer from parameters and values, not from another part's answer"
            yield source.error((*at, "tolerance", "input_rounding"), what, fix)


def _find_inputs(expression: Expr, values: Mapping[str, Expr]) -> set[str]:
    """Returns the names in *expression*, and in the *values* that it uses."""
    found: set[str] = set()
    waiting = [expression]
    while waiting:
        written = waiting.pop()
        new = names_in(written) - found if isinstance(written, str) else set()
        found |= new
        waiting += [values[name] for name in new if name in values]
    return found


def mentioned_parts(problem: Problem) -> Iterator[tuple[str, str, str]]:
    """Yields for each part that the question of another part mentions: the id of the other part,
    and the letter and id of the mentioned one."""
    ids = {part_letter(index): part.id for index, part in enumerate(problem.parts)}
    for part in problem.parts:
        options = (getattr(option, "text", None) for option in getattr(part, "options", ()))
        for letter in iter_mentioned("\n".join(filter(None, (part.ask, *options)))):
            if letter in ids and ids[letter] != part.id:
                yield part.id, letter, ids[letter]


def check_draw(problem: Problem, slot: Slot, where: Location) -> None:
    """Raises SpecError if *slot*, at *where* in a set, can't draw what it says from *problem*."""
    for pool, count in slot.draw.items():
        _check_pool(problem, slot, pool, count, where)
    pooled_parts = {part.id for part in problem.parts if part.pool}
    for part in problem.parts:
        used = next((name for name in part.uses if name in pooled_parts), None)
        if used is not None:
            raise SpecError(
                f"part '{part.id}' of '{problem.id}' uses '{used}', which not every student is "
                "asked",
                where=where,
                fix="omit 'draw:', so that all parts are asked",
            )


def _check_pool(problem: Problem, slot: Slot, pool: str, count: int, where: Location) -> None:
    """Raises SpecError unless *count* parts of equal points can be drawn from *pool* of
    *problem*."""
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
    """Raises SpecError unless all of *parts*, which are in *pool*, have the same points."""
    first = parts[0]
    other = next((part for part in parts if part.points != first.points), None)
    if other is not None:
        raise SpecError(
            f"parts of the pool '{pool}' of '{problem.id}' have different points: "
            f"'{first.id}' {first.points:g}, '{other.id}' {other.points:g}",
            where=where,
            fix="give all of them the same points, so that all papers have the same total",
        )
