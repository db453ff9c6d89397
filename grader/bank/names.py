"""Checks the parameters, names, expressions and texts of a problem."""

from __future__ import annotations

import dataclasses
import keyword
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from grader import units
from grader.bank.shape import iter_marked
from grader.bank.yaml12 import Located, Path_
from grader.errors import SpecError
from grader.expressions import (
    FUNCTIONS,
    ExpressionError,
    TextError,
    free_names,
    line_of_name,
    names_in,
)
from grader.model import Part, Problem
from grader.registry import suggest

# A common mistake: a number directly followed by a unit.
_SIZE = re.compile(r"\s*[-+]?[\d.]+(?:[eE][-+]?\d+)?\s*[A-Za-z]+(?:/[A-Za-z]+)?\s*\Z")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


def check_parameters(problem: Problem, source: Located) -> Iterator[SpecError]:
    """Yields errors in the parameters: ranges, units, rows."""
    for name, parameter in problem.parameters.items():
        at: Path_ = ("parameters", name)
        sources = [k for k in ("choice", "integer", "real", "rows") if getattr(parameter, k)]
        if len(sources) != 1:
            what = f"'{name}' needs exactly one of choice, integer, real and rows"
            yield source.error(at, what, "for example {choice: [1, 2, 4]} or {integer: [1, 10]}")
        yield from _check_range(name, parameter, source, at)
        for where, unit in (
            ((*at, "unit"), parameter.unit),
            *(((*at, "units", column), unit) for column, unit in parameter.units.items()),
        ):
            if unit is not None:
                yield from check_unit(unit, source, where)
            if unit == "%":
                fix = "write 25% as 0.25 without a unit, and print it with '| percent'"
                yield source.error(where, "a parameter can't be in percent", fix)
        columns = {tuple(sorted(row)) for row in parameter.rows or ()}
        if len(columns) > 1:
            keys = Counter(key for row in columns for key in row)
            uneven = [key for key, count in keys.items() if count < len(columns)]
            what = f"the rows of '{name}' have different columns"
            fix = f"give every row the same keys; not in all: {', '.join(sorted(uneven))}"
            yield source.error((*at, "rows"), what, fix)


def _check_range(name: str, parameter: Any, source: Located, at: Path_) -> Iterator[SpecError]:
    """Yields errors in the range and the step of the parameter *name*."""
    bounds = parameter.integer or parameter.real
    if bounds and bounds[0] > bounds[1]:
        what = f"the range of '{name}' is reversed: {bounds[0]:g} to {bounds[1]:g}"
        yield source.error(at, what, "write the smaller number first")
    if parameter.real and parameter.step is None:
        fix = "add 'step:', so that values are round numbers"
        yield source.error(at, f"'{name}' has no step", fix)
    if parameter.step is not None and parameter.step <= 0:
        what = f"the step of '{name}' is not positive"
        yield source.error((*at, "step"), what, "use a number greater than 0")
    elif parameter.integer and (parameter.step or 1) % 1:
        what = f"the step of '{name}' is not a whole number"
        yield source.error((*at, "step"), what, "use a whole number, or 'real:' for fractions")


def check_unit(unit: str, source: Located, at: Path_) -> Iterator[SpecError]:
    """Yields an error if *unit* is unknown."""
    try:
        units.parse_unit(unit)
    except units.UnitError as error:
        yield source.error(at, str(error), "see docs/reference/units.md")


def parameter_names(problem: Problem) -> dict[str, Path_]:
    """Maps every name that parameters define to the path of its definition."""
    names: dict[str, Path_] = {}
    for name, parameter in problem.parameters.items():
        if parameter.rows:
            for column in parameter.rows[0]:
                names[column] = ("parameters", name, "rows")
        else:
            names[name] = ("parameters", name)
    return names


def check_names(problem: Problem, source: Located) -> Iterator[SpecError]:
    """Yields errors for unknown, duplicate, and invalid names in expressions and texts."""
    bound: dict[str, Path_] = {}
    for name, at in parameter_names(problem).items():
        yield from _check_name(name, bound, source, at)
        bound[name] = at
    known = set(bound)
    for name, expression in problem.values.items():
        below = {v: "move it above this one" for v in problem.values if v not in known}
        yield from check_expression(expression, known, source, ("values", name), below)
        yield from _check_name(name, bound, source, ("values", name))
        bound[name] = ("values", name)
        known.add(name)
    for index, condition in enumerate(problem.where):
        yield from check_expression(condition, known, source, ("where", index))
    for label, expression in problem.given.items():
        yield from check_expression(expression, known, source, ("given", label))
    answers = {p.id for p in problem.parts}
    for index, part in enumerate(problem.parts):
        at = ("parts", index)
        if _NAME.match(part.id) and not keyword.iskeyword(part.id):  # else reported with the ids
            yield from _check_name(part.id, bound, source, (*at, "id"))
        earlier = [p.id for p in problem.parts[:index]]
        taken = {**bound, **dict.fromkeys(earlier, at)}
        for name in part.local_names():
            yield from _check_name(name, taken, source, _find_local_name(part, name, at))
            taken[name] = at
        yield from _check_part(part, known, answers, source, at, earlier)
    for path, marker, text in iter_marked(problem):
        if marker == "text" and path[0] not in ("parts", "figures"):
            after = answers if path[0] == "explanation" else set()
            yield from check_text(text, known | after, source, path, answers)


def _check_name(
    name: str, bound: Mapping[str, Path_], source: Located, at: Path_
) -> Iterator[SpecError]:
    """Yields an error if *name* is invalid, a unit, a function, or another name in *bound*."""
    what = None
    if not _NAME.match(name) or keyword.iskeyword(name):
        what = f"'{name}' is not a valid name in an expression"
    elif name in units.named_units():
        what = f"'{name}' is already a unit"
    elif name in FUNCTIONS:
        what = f"'{name}' is already a function"
    elif name in bound:
        what = f"the name '{name}' is already used"
    if what:
        yield source.error(at, what, "choose another name, such as a longer one", key=True)


def _find_local_name(part: Part, name: str, at: Path_) -> Path_:
    """Returns the path of the field of *part* that defines *name*, such as a table's row."""
    for field in dataclasses.fields(part):
        value = getattr(part, field.name)
        if isinstance(value, Mapping) and name in value:
            return (*at, field.name, name)
        if value == name:
            return (*at, field.name)
    return at


# Students read feedback before the answers are released, so it must not contain any. Only staff
# read a rubric.
_FOR_STAFF = {"rubric"}


def _check_part(
    part: Part,
    known: set[str],
    answers: set[str],
    source: Located,
    at: Path_,
    earlier: Sequence[str],
) -> Iterator[SpecError]:
    """Yields an error for each name in the part's expressions and texts that it can't use."""
    # A misspelled id in 'uses' is reported there; it must not be reported here as well.
    expressions = known | (set(part.uses) & answers) | set(part.local_names())
    if set(part.uses) - answers:
        expressions |= answers
    elsewhere = dict.fromkeys(earlier, f"add it to 'uses:' of the part '{part.id}'")
    for path, marker, written in iter_marked(part, at):
        if marker == "expression":
            yield from check_expression(written, expressions, source, path, elsewhere)
        elif marker == "text":
            staff = _FOR_STAFF & {str(step) for step in path}
            allowed = expressions if staff else known | set(part.local_names())
            yield from check_text(written, allowed, source, path, answers)


def check_expression(
    written: object,
    known: set[str],
    source: Located,
    at: Path_,
    elsewhere: Mapping[str, str] | None = None,
) -> Iterator[SpecError]:
    """Yields errors in an expression, such as names that are not *known*.

    *elsewhere* says how to use names that are defined, but not for this expression.
    """
    if not isinstance(written, str):
        return
    try:
        names = names_in(written)
    except ExpressionError as error:
        column = f", character {error.column}" if error.column is not None else ""
        what = f"in the expression '{_shorten(written)}'{column}: {error.what}"
        fix = "multiply a number by its unit: 3 * GB" if _SIZE.match(written) else error.fix
        yield source.error(at, what, fix)
        return
    for name in sorted(names - known - set(units.named_units())):
        if elsewhere and name in elsewhere:
            what = f"'{name}' can't be used in '{_shorten(written)}'"
            yield source.error(at, what, elsewhere[name])
            continue
        yield _unknown_name_error(
            name, known | set(units.named_units()), f"'{_shorten(written)}'", source, at
        )


def check_text(
    text: str, known: set[str], source: Located, at: Path_, answers: Collection[str] = ()
) -> Iterator[SpecError]:
    """Yields errors in the placeholders of a text, such as names that are not *known*.

    *answers* are the ids of the problem's parts, whose answers most texts can't print.
    """
    try:
        names = free_names(text)
    except TextError as error:
        yield SpecError(
            f"in the text of {describe_path(at)}: {error.what}",
            where=source.at_line(at, error.line or 1),
            fix=error.fix or "check the braces: {{ name }}",
        )
        return
    for name in sorted(names - known - set(units.named_units())):
        inside = f"the text of {describe_path(at)}"
        if name in answers:
            what = f"{inside} can't print the answer '{name}'"
            fix: str | None = "print it in the problem's 'explanation:', which is published last"
        else:
            unknown = _unknown_name_error(name, known, inside, source, at)
            what, fix = unknown.what, unknown.fix
        yield SpecError(what, where=source.at_line(at, line_of_name(text, name)), fix=fix)


def _unknown_name_error(
    name: str, known: set[str], inside: str, source: Located, at: Path_
) -> SpecError:
    """Returns the error for the unknown *name* in the text or expression *inside*."""
    otherwise = "define it under parameters or values; to use another part's answer, add 'uses'"
    fix = suggest(name, known, otherwise)
    return source.error(at, f"unknown name '{name}' in {inside}", fix)


def describe_path(path: Path_) -> str:
    """Returns a description of a place in a spec.

    >>> describe_path(("assumptions", 1)), describe_path(("prompt",))
    ("item 2 of 'assumptions'", "'prompt'")
    """
    last = path[-1]
    return f"item {last + 1} of '{path[-2]}'" if isinstance(last, int) else f"'{last}'"


def _shorten(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "…"
