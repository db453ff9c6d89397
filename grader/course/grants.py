"""Adds an exception to `course.yaml` and leaves the rest of the file as it is."""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from dataclasses import fields
from itertools import takewhile
from pathlib import Path

from grader.bank.yaml12 import Located, parse_yaml, read_yaml, scalar
from grader.course.load import course_from
from grader.course.rules import rules_for
from grader.errors import SetupError, SpecError, SpecErrors
from grader.files import exclusive_lock, write_atomic
from grader.model import Student
from grader.model.course import Course, Grant
from grader.registry import nearest

_END = re.compile(r"\.\.\.(\s|\Z)")
"""The line that ends a YAML document."""
_KEY = re.compile(
    r"^(until|received)(?=:)|'(section|set|until|time|attempts|exempt|received|why|by)"
    r"(?:: true|: (ID)|:)?'"
)
"""A key of an exception in the message of an error."""
_BARE = ("student", "section", "set", "by")
"""Fields whose values are ids, which usually need no quotes."""


def add_grant(path: Path, grant: Grant) -> Course:
    """Appends *grant* to the exceptions in the course file at *path*, and returns the new course.

    The file keeps its comments and layout. If the file or the exception has errors, raises
    SpecErrors and leaves the file unchanged; SetupError if the exception would change nothing.
    """
    target = path.resolve()  # a link stays one
    with exclusive_lock(target.parent):
        source = read_yaml(path)
        before = course_from(source)  # the errors that are there already
        text = path.read_bytes().decode("utf-8-sig")
        changed = _insert_grant(text, source, grant)
        if "\r\n" in text:
            changed = changed.replace("\n", "\r\n")
        try:
            course = course_from(parse_yaml(changed.encode(), str(path)))
        except SpecError as wrong:
            # Without their lines, which the file does not have.
            errors = (
                SpecError(
                    f"the exception was not added: {_name_options(e.what)}",
                    where=str(path),
                    fix=_name_options(e.fix or "") or None,
                )
                for e in wrong.errors
            )
            raise SpecErrors(tuple(errors)) from None
        _require_effect(before, course, grant, path)
        write_atomic(target, changed.encode())
    return course


def _name_options(text: str) -> str:
    """Returns *text* with the options of `grader course grant` in place of the keys of the file.

    >>> _name_options("until: add 'student: ID' and 'set: ID', or 'until:'")
    "--until: add a student's id and --set ID, or --until"
    """
    text = text.replace("'student: ID'", "a student's id")
    return _KEY.sub(lambda key: f"--{key[1] or key[2]}{' ID' if key[3] else ''}", text)


def _require_effect(before: Course, after: Course, grant: Grant, path: Path) -> None:
    """Raises SetupError if the rules of all sets are the same with *grant* as without."""
    student = Student(id=grant.student or "", section=grant.section or "")
    sets = after.sets if grant.set is None else (grant.set,)
    if sets and all(rules_for(before, s, student) == rules_for(after, s, student) for s in sets):
        raise SetupError(
            "the exception was not added, because it would change nothing",
            where=str(path),
            fix="grant more than the set or an earlier exception already allows, such as a later "
            "due date",
        )


def unknown_students(course: Course, set_id: str, students: Collection[str]) -> list[str]:
    """Returns a sentence for each exception for *set_id* whose student is not in *students*."""
    unknown = []
    for grant in course.grants:
        if grant.set in (None, set_id) and grant.student and grant.student not in students:
            similar = nearest(grant.student, students)
            meant = f"; did you mean '{similar}'?" if similar else ""
            unknown.append(
                f"an exception names '{grant.student}', who is not in the release of "
                f"'{set_id}'{meant}"
            )
    return unknown


def _insert_grant(text: str, source: Located, grant: Grant) -> str:
    """Returns the *text* of a course file with *grant* added as the last exception."""
    all_lines = text.splitlines()
    lines = list(takewhile(lambda line: not _END.match(line), all_lines))
    after = all_lines[len(lines) :]
    if "grants" not in source.data:
        return "\n".join([*lines, "", "grants:", *_grant_lines(grant, 2), *after]) + "\n"
    if not source.data["grants"] or _is_inline(source, lines):
        fix = "under 'grants:', start each exception on its own line with '- '"
        raise SetupError(
            "can't add an exception to a list in this form",
            where=str(source.at(("grants",))),
            fix=fix,
        )
    first = source.values["grants", 0][0]
    indent = lines[first - 1].index("-")
    at = _find_end(source, lines)
    return "\n".join([*lines[:at], *_grant_lines(grant, indent), *lines[at:], *after]) + "\n"


def _is_inline(source: Located, lines: list[str]) -> bool:
    line, column = source.values["grants", 0]
    return lines[line - 1][: column - 1].strip() != "-"


def _find_end(source: Located, lines: list[str]) -> int:
    """Returns the number of lines of the file up to the end of its exceptions."""
    start = source.keys[("grants",)][0]
    later = [line for path, (line, _) in source.keys.items() if len(path) == 1 and line > start]
    return len(_without_end(lines[: min(later) - 1 if later else len(lines)]))


def _without_end(lines: list[str]) -> list[str]:
    """Returns *lines* without the blank lines and unindented comments at the end."""
    while lines and (not lines[-1].strip() or lines[-1].startswith("#")):
        lines = lines[:-1]
    return lines


def _grant_lines(grant: Grant, indent: int) -> list[str]:
    """Returns *grant* as an item of a YAML list, indented by *indent* spaces."""
    values = {f.name: getattr(grant, f.name) for f in fields(grant)}
    order = ("student", "section", "set", "until", "time", "attempts", "exempt", "received", "why")
    names = [
        name for name in (*order, "by") if values[name] is not None and values[name] is not False
    ]
    texts = [f"{name}: {_yaml_scalar(name, values[name])}" for name in names]
    space = " " * indent
    return [f"{space}- {texts[0]}", *(f"{space}  {text}" for text in texts[1:])]


def _yaml_scalar(name: str, value: object) -> str:
    """Returns *value* as YAML. Quotes a text unless it is plainly an id."""
    if isinstance(value, bool):
        return "true"
    if not isinstance(value, str):
        return str(value)
    # Only letters may begin an id without quotes: `007` and `1e5` would be read as numbers.
    plain = name in _BARE and value[:1].isalpha() and value.replace("-", "").isalnum()
    return value if plain and scalar(value) == value else json.dumps(value, ensure_ascii=False)
