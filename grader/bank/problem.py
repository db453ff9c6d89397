"""Loads a problem from YAML, and checks its expressions and texts."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import keyword
import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from grader.bank.families import family_fix
from grader.bank.figures import check_figures, shape_figures
from grader.bank.names import check_names, check_parameters
from grader.bank.parts import check_part
from grader.bank.shape import PartialRecord, describe, shape, shape_list
from grader.bank.yaml12 import Located, read_yaml
from grader.errors import SpecError, SpecErrors
from grader.kinds import kinds
from grader.model import FAMILIES, Part, Problem
from grader.registry import suggest

_PROBLEM_ID = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*\Z")
# The ids of cells consist of an answer's name and up to 14 more characters; 64 are allowed.
_PART_ID = re.compile(r"[a-z][a-z0-9_]{,49}\Z")


def load_problem(path: Path, families: Collection[str] = FAMILIES) -> tuple[Problem, Located]:
    """Returns the problem in the YAML file at *path*, and its data with locations.

    *families* are those that the problem may belong to. Raises SpecErrors with all errors in the
    file, sorted by line.
    """
    source = read_yaml(path)
    problem = problem_from(source, families=families)
    if path.stem != problem.id:
        what = f"the id '{problem.id}' is not the file name '{path.stem}'"
        fix = "make them the same, since problems are found by file name"
        raise SpecErrors((source.error(("id",), what, fix),))
    return problem, source


def problem_from(
    source: Located,
    solution: str = "",
    *,
    checked: bool = False,
    families: Collection[str] = FAMILIES,
) -> Problem:
    """Returns the problem that *source* describes; raises SpecErrors.

    *solution* is the text of its solution file, for problems with code. If the problem was
    *checked* before, as in a release, only its shape is checked: checking names and texts is slow,
    and its family may be declared only in the original bank.
    """
    shaped, figures = [*_iter_parts(source)], [*shape_figures(source)]
    data = source.data
    if isinstance(data, dict) and "solution" in data:
        fix = "put the solution into the file solutions/FAMILY/ID.py"
        raise SpecErrors((source.error(("solution",), "unknown key 'solution'", fix, key=True),))
    if isinstance(data, dict):
        data = {**data, **{name: () for name in ("parts", "figures") if name in data}}
        if data.get("level") == "analyse":  # the spelling of version 0.1
            data = {**data, "level": "analyze"}
    whole = shape(Problem, data, source, (), _FILL)
    everything = (whole, *shaped, *figures)
    errors = [error for piece in everything for error in piece.errors]
    problem = whole.record
    if isinstance(problem, Problem):
        parts = tuple(p.record or _make_placeholder(source, n) for n, p in enumerate(shaped))
        drawn = tuple(figure.record for figure in figures if figure.record)
        problem = dataclasses.replace(problem, parts=parts, figures=drawn, solution=solution)
        if not checked:
            errors += _independent_errors(
                _check_problem(problem, source, families), source, everything
            )
    if errors or not isinstance(problem, Problem):
        raise SpecErrors(tuple(sorted(errors, key=_line_and_column)))
    return problem


# Placeholders, so that a missing key does not hide errors in the rest.
_FILL: Mapping[str, object] = {
    "id": "unnamed",
    "title": "",
    "family": "foundations",
    "prompt": "",
    "parts": (),
}


def _make_placeholder(source: Located, index: int) -> Part:
    """Returns a placeholder for an unreadable part, so that other parts may still use it."""
    listed = source.data["parts"]
    data = listed[index] if isinstance(listed, tuple) and index < len(listed) else None
    name = data.get("id") if isinstance(data, dict) else None
    return Part(id=name if isinstance(name, str) else f"unread_{index}", kind="", ask="")


def _independent_errors(
    errors: list[SpecError], source: Located, shaped: tuple[PartialRecord, ...]
) -> Iterator[SpecError]:
    """Yields the *errors* that are not on the lines of unreadable pieces."""
    broken = [path for piece in shaped for path in piece.error_paths]
    places = {
        source.at(path[:length], key=key)
        for path in broken
        for length in range(min(2, len(path)), len(path) + 1)
        for key in (True, False)
    }
    lines = {place.line for place in places if place.line}
    yield from (e for e in errors if getattr(e.where, "line", None) not in lines)


def digest(data: object) -> str:
    """Returns the SHA-256 of a spec's data, independent of comments, layout, and key order."""
    text = json.dumps(data, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def digest_of(data: object, solution: str) -> str:
    """Returns the SHA-256 of a spec's data and of its solution's text, if there is one."""
    return digest([data, solution] if solution else data)


def _line_and_column(error: SpecError) -> tuple[int, int]:
    """Returns the line and the column of *error*; 0 for one that is unknown."""
    where = error.where
    line = getattr(where, "line", None) or 0
    return line, getattr(where, "column", None) or 0


def _iter_parts(source: Located) -> Iterator[PartialRecord]:
    """Yields every part, validated by its kind."""
    if not isinstance(source.data, dict) or "parts" not in source.data:
        return  # the missing key is reported with the problem's keys
    if not source.data["parts"]:
        what = f"'parts' should be a list of parts, saw {describe(source.data['parts'])}"
        error = source.error(("parts",), what, "add '- id: …' lines")
        yield PartialRecord(None, (error,), (("parts",),))
        return
    yield from shape_list(source, "parts", "part", "kind", kinds)


def _check_problem(problem: Problem, source: Located, families: Collection[str]) -> list[SpecError]:
    """Returns the errors in ids, parameters, names, parts, and figures."""
    errors = list(_check_ids(problem, source))
    if problem.family not in families:
        what = f"'family' can't be '{problem.family}': there is no such family"
        fix = family_fix(problem.family, families)
        errors.append(source.error(("family",), what, fix))
    errors += check_parameters(problem, source)
    errors += check_names(problem, source)
    for index, part in enumerate(problem.parts):
        errors += check_part(part, problem.values, source, ("parts", index))
    errors += check_figures(problem, source)
    return errors


def _check_minutes(problem: Problem, source: Located) -> Iterator[SpecError]:
    """Yields an error if the minutes that parts state do not fit those of the problem."""
    stated = [part.minutes for part in problem.parts if part.minutes is not None]
    rest = problem.minutes - sum(stated)
    if stated and (rest <= 0 if len(stated) < len(problem.parts) else abs(rest) > 0.01):
        what = f"the parts state {sum(stated):g} minutes, but the problem takes {problem.minutes:g}"
        fix = "correct one of them; parts without 'minutes:' share the rest by points"
        yield source.error(("minutes",), what, fix)


def _check_concepts(problem: Problem, source: Located) -> Iterator[SpecError]:
    """Yields an error for each concept that no part examines, or only one that does not exist."""
    if not isinstance(problem.concepts, Mapping):
        return
    ids = {part.id for part in problem.parts}
    for concept, parts in problem.concepts.items():
        at = ("concepts", concept)
        if not parts:
            fix = f"name the parts that examine it, such as '{concept}: [{problem.parts[0].id}]'"
            yield source.error(at, f"no part examines '{concept}'", fix)
        for index, name in enumerate(parts):
            if name not in ids:
                fix = suggest(name, ids, f"the parts: {', '.join(sorted(ids))}")
                yield source.error((*at, index), f"there is no part '{name}'", fix)


def _check_ids(problem: Problem, source: Located) -> Iterator[SpecError]:
    """Yields errors in the ids, times, points, concepts, and uses of *problem* and its parts."""
    if not _PROBLEM_ID.match(problem.id):
        fix = "use lowercase letters, digits, and single hyphens, such as 'kv-cache-size'"
        yield source.error(("id",), f"'{problem.id}' is not a valid id", fix)
    if problem.minutes <= 0:
        what = f"a problem can't take {problem.minutes:g} minutes"
        yield source.error(("minutes",), what, "give the time that a student needs, in minutes")
    yield from _check_minutes(problem, source)
    yield from _check_concepts(problem, source)
    seen: set[str] = set()
    for index, part in enumerate(problem.parts):
        at = ("parts", index, "id")
        if not _PART_ID.match(part.id) or keyword.iskeyword(part.id):
            fix = "use up to 50 lowercase letters, digits, and underscores: it names a variable"
            yield source.error(at, f"'{part.id}' is not a valid id of a part", fix)
        if part.id in seen:
            yield source.error(at, f"two parts have the id '{part.id}'", "rename one of them")
        if part.points <= 0:
            what = f"a part can't be worth {part.points:g} points"
            yield source.error((*at[:-1], "points"), what, "use more than 0")
        if part.minutes is not None and part.minutes <= 0:
            what = f"a part can't take {part.minutes:g} minutes"
            yield source.error((*at[:-1], "minutes"), what, "use more than 0, or omit 'minutes:'")
        for used in part.uses:
            if used not in seen:
                fix = suggest(used, seen, "use only parts above this one")
                yield source.error((*at[:-1], "uses"), f"'{used}' is not an earlier part", fix)
        seen.add(part.id)
