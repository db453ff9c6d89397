"""A problem's YAML to a Problem whose every expression and text has been checked."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import keyword
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from grader import units
from grader.errors import SetupError, SpecError, SpecErrors
from grader.expressions import FUNCTIONS, ExpressionError, TextError, names_in, text_names
from grader.kinds import kinds
from grader.load.shape import describe, marked, shape
from grader.load.yaml12 import Located, Path_, read_yaml
from grader.model import Part, Problem
from grader.registry import nearest

_PROBLEM_ID = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*\Z")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_PART_ID = re.compile(r"[a-z][a-z0-9_]*\Z")


def load_problem(path: Path) -> tuple[Problem, Located]:
    """The problem in the YAML file at *path*, and where everything in it stands.

    Raises SpecErrors with everything that is wrong with the file, in the order of its lines.
    """
    source = read_yaml(path)
    problem = problem_from(source)
    wrong = list(_home(problem, path, source))
    if wrong:
        raise SpecErrors(tuple(wrong))
    return problem, source


def problem_from(source: Located) -> Problem:
    """The problem that *source* describes; raises SpecErrors."""
    parts, errors = _parts(source)
    data = source.data
    if isinstance(data, dict) and "parts" in data:
        data = {**data, "parts": ()}
    problem, wrong = shape(Problem, data, source, ())
    errors += wrong
    if problem is not None:
        problem = dataclasses.replace(problem, parts=tuple(parts))
        errors += _check(problem, source)
    if errors:
        raise SpecErrors(tuple(sorted(errors, key=_by_line)))
    return typing_problem(problem)


def typing_problem(problem: object) -> Problem:
    """*problem* itself; narrows the type after validation."""
    assert isinstance(problem, Problem)  # noqa: S101 - shape() returned no error
    return problem


def digest(data: object) -> str:
    """The SHA-256 of a spec's data, independent of comments, layout and order of keys."""
    text = json.dumps(data, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _by_line(error: SpecError) -> tuple[int, int]:
    where = error.where
    line = getattr(where, "line", None) or 0
    return line, getattr(where, "column", None) or 0


def _home(problem: Problem, path: Path, source: Located) -> Iterator[SpecError]:
    if path.stem != problem.id:
        yield SpecError(
            f"the id '{problem.id}' is not the file's name '{path.stem}'",
            where=source.at(("id",)),
            fix="make them the same: the file's name is how others find the problem",
        )


def _parts(source: Located) -> tuple[list[Part], list[SpecError]]:
    """The parts that can be read, each by the fields of its kind, and what is wrong with others."""
    found: list[Part] = []
    errors: list[SpecError] = []
    listed = source.data.get("parts") if isinstance(source.data, dict) else None
    if listed is None:
        return [], []  # the missing key is reported with the problem's other keys
    if not isinstance(listed, tuple) or not listed:
        what = f"'parts' should be a list of parts, saw {describe(listed)}"
        return [], [SpecError(what, where=source.at(("parts",)), fix="add '- id: …' lines")]
    for index, data in enumerate(listed):
        at: Path_ = ("parts", index)
        try:
            spec = _spec_of(data, source, at)
        except SpecError as error:
            errors.append(error)
            continue
        part, wrong = shape(spec, data, source, at)
        errors += wrong
        if part is not None:
            found.append(part)
    return found, errors


def _spec_of(data: object, source: Located, at: Path_) -> type[Part]:
    if not isinstance(data, dict):
        raise SpecError(
            f"a part should be keys and values, saw {describe(data)}",
            where=source.at(at),
            fix="start it with '- id: name'",
        )
    if "kind" not in data:
        raise SpecError("'kind' is missing", where=source.at(at), fix="one of: " + _kind_names())
    try:
        return kinds.find(str(data["kind"])).spec
    except SetupError as error:
        raise SpecError(
            error.what, where=source.at((*at, "kind")), fix=error.fix or "one of: " + _kind_names()
        ) from None


def _kind_names() -> str:
    return ", ".join(sorted(kinds))


def _check(problem: Problem, source: Located) -> list[SpecError]:
    """What the shapes alone can't show: names, expressions, texts, and references."""
    errors = list(_check_ids(problem, source))
    errors += _check_parameters(problem, source)
    errors += _check_names(problem, source)
    return errors


def _check_ids(problem: Problem, source: Located) -> Iterator[SpecError]:
    if not _PROBLEM_ID.match(problem.id):
        yield SpecError(
            f"'{problem.id}' can't be an id",
            where=source.at(("id",)),
            fix="use small letters, digits and single hyphens, such as 'kv-cache-size'",
        )
    seen: set[str] = set()
    for part in problem.parts:
        at = ("parts", _index(problem, part), "id")
        if not _PART_ID.match(part.id) or keyword.iskeyword(part.id):
            yield SpecError(
                f"'{part.id}' can't be a part's id",
                where=source.at(at),
                fix="it becomes a variable in the notebook: small letters, digits and underscores",
            )
        if part.id in seen:
            yield SpecError(
                f"two parts have the id '{part.id}'", where=source.at(at), fix="rename one"
            )
        if part.points <= 0:
            yield SpecError(
                f"a part can't be worth {part.points:g} points",
                where=source.at((*at[:-1], "points")),
                fix="give it more than 0",
            )
        for used in part.uses:
            if used not in seen:
                close = nearest(used, seen)
                yield SpecError(
                    f"'{used}' is not an earlier part",
                    where=source.at((*at[:-1], "uses")),
                    fix=f"did you mean '{close}'?" if close else "name parts that stand above",
                )
        seen.add(part.id)


def _index(problem: Problem, part: Part) -> int:
    return next(i for i, p in enumerate(problem.parts) if p is part)


def _check_parameters(problem: Problem, source: Located) -> Iterator[SpecError]:
    for name, parameter in problem.parameters.items():
        at: Path_ = ("parameters", name)
        given = [k for k in ("choice", "integer", "real", "rows") if getattr(parameter, k)]
        if len(given) != 1:
            yield SpecError(
                f"'{name}' needs exactly one of choice, integer, real and rows",
                where=source.at(at),
                fix="for example {choice: [1, 2, 4]} or {integer: [1, 10]}",
            )
        yield from _check_range(name, parameter, source, at)
        for where, unit in (
            ((*at, "unit"), parameter.unit),
            *(((*at, "units", column), unit) for column, unit in parameter.units.items()),
        ):
            if unit is not None:
                yield from _check_unit(unit, source, where)
        columns = {tuple(sorted(row)) for row in parameter.rows or ()}
        if len(columns) > 1:
            yield SpecError(
                f"the rows of '{name}' have different columns",
                where=source.at((*at, "rows")),
                fix="give every row the same keys",
            )


def _check_range(name: str, parameter: Any, source: Located, at: Path_) -> Iterator[SpecError]:
    bounds = parameter.integer or parameter.real
    if bounds and bounds[0] > bounds[1]:
        yield SpecError(
            f"'{name}' runs from {bounds[0]:g} down to {bounds[1]:g}",
            where=source.at(at),
            fix="write the smaller number first",
        )
    if parameter.real and parameter.step is None:
        yield SpecError(
            f"'{name}' has no step",
            where=source.at(at),
            fix="add 'step:', so that its values are readable numbers",
        )
    if parameter.step is not None and parameter.step <= 0:
        yield SpecError("a step is more than 0", where=source.at((*at, "step")), fix="change it")


def _check_unit(unit: str, source: Located, at: Path_) -> Iterator[SpecError]:
    try:
        units.unit(unit)
    except units.UnitError as error:
        yield SpecError(str(error), where=source.at(at), fix="see the reference of units")


def parameter_names(problem: Problem) -> dict[str, Path_]:
    """Every name that parameters bind, and the path of what binds it."""
    names: dict[str, Path_] = {}
    for name, parameter in problem.parameters.items():
        if parameter.rows:
            for column in parameter.rows[0]:
                names[column] = ("parameters", name, "rows")
        else:
            names[name] = ("parameters", name)
    return names


def _check_names(problem: Problem, source: Located) -> Iterator[SpecError]:
    bound: dict[str, Path_] = {}
    for name, at in parameter_names(problem).items():
        yield from _check_name(name, bound, source, at)
        bound[name] = at
    known = set(bound)
    for index, condition in enumerate(problem.where):
        yield from _check_expression(condition, known, source, ("where", index))
    for name, expression in problem.values.items():
        yield from _check_expression(expression, known, source, ("values", name))
        yield from _check_name(name, bound, source, ("values", name))
        bound[name] = ("values", name)
        known.add(name)
    for label, expression in problem.given.items():
        yield from _check_expression(expression, known, source, ("given", label))
    answers = {p.id for p in problem.parts}
    for part in problem.parts:
        at = ("parts", _index(problem, part))
        yield from _check_name(part.id, bound, source, (*at, "id"))
        yield from _check_part(part, known, source, at)
    for path, marker, text in marked(problem):
        if marker == "text" and path[0] != "parts":
            after = answers if path[0] == "explanation" else set()
            yield from _check_text(text, known | after, source, path)


def _check_name(
    name: str, bound: Mapping[str, Path_], source: Located, at: Path_
) -> Iterator[SpecError]:
    what = None
    if not _NAME.match(name) or keyword.iskeyword(name):
        what = f"'{name}' can't be a name in an expression"
    elif name in units.names():
        what = f"'{name}' is a unit already"
    elif name in FUNCTIONS:
        what = f"'{name}' is a function already"
    elif name in bound:
        what = f"the name '{name}' is taken"
    if what:
        yield SpecError(
            what, where=source.at(at, key=True), fix="choose another name, such as one word more"
        )


# Read only once a mark is given, so these may speak of answers.
_AFTERWARDS = {"feedback", "rubric"}


def _check_part(part: Part, known: set[str], source: Located, at: Path_) -> Iterator[SpecError]:
    expressions = known | set(part.uses) | set(part.local_names())
    for path, marker, written in marked(part, at):
        if marker == "expression":
            yield from _check_expression(written, expressions, source, path)
        elif marker == "text":
            late = _AFTERWARDS & {str(step) for step in path}
            allowed = expressions | {part.id} if late else known
            yield from _check_text(written, allowed, source, path)
        elif marker == "share":
            yield from _check_share(written, source, path)
    unit = getattr(part, "unit", None)
    if unit:
        yield from _check_unit(unit, source, (*at, "unit"))


def _check_share(written: Any, source: Located, at: Path_) -> Iterator[SpecError]:
    from grader.kinds import share

    try:
        value = share(written)
    except ValueError:
        value = -1.0
    if value < 0:
        yield SpecError(
            f"'{at[-1]}' should be a share such as 25% or 0.25, saw {describe(written)}",
            where=source.at(at),
            fix="write a percentage, or a number from 0 to 1",
        )


def _check_expression(
    written: object, known: set[str], source: Located, at: Path_
) -> Iterator[SpecError]:
    if not isinstance(written, str):
        return
    try:
        names = names_in(written)
    except ExpressionError as error:
        yield SpecError(
            f"in the expression '{_short(written)}': {error.what}",
            where=source.at(at),
            fix=error.fix,
        )
        return
    for name in sorted(names - known - set(units.names())):
        yield _unknown(name, known | set(units.names()), f"'{_short(written)}'", source, at)


def _check_text(text: str, known: set[str], source: Located, at: Path_) -> Iterator[SpecError]:
    try:
        names = text_names(text)
    except TextError as error:
        where = source.at(at)
        line = (where.line or 1) + (error.line or 1)
        yield SpecError(
            f"in the text of '{at[-1]}': {error.what}",
            where=dataclasses.replace(where, line=line, column=None) if "\n" in text else where,
            fix="check the braces: {{ name }}",
        )
        return
    for name in sorted(names - known - set(units.names())):
        yield _unknown(name, known, f"the text of '{at[-1]}'", source, at)


def _unknown(name: str, known: set[str], inside: str, source: Located, at: Path_) -> SpecError:
    close = nearest(name, known)
    return SpecError(
        f"unknown name '{name}' in {inside}",
        where=source.at(at),
        fix=f"did you mean '{close}'?"
        if close
        else "define it under parameters or values; a part's answer needs 'uses'",
    )


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "…"
