"""Checks what a course file says about who grades what, and the names that it refers to."""

from __future__ import annotations

import re
from collections.abc import Iterator

from grader.bank.yaml12 import Located, Path_
from grader.errors import SpecError
from grader.model.course import Course, GradingPlan, Role
from grader.registry import suggest

_PART = re.compile(r"[^/\s]+(/[^/\s]+)?")
_STAFF = "staff member"


def check_grading(
    plan: GradingPlan, course: Course, source: Located, at: Path_
) -> Iterator[SpecError]:
    """Yields what is wrong with *plan*."""
    yield from _check_people(plan.graders, course, source, (*at, "graders"))
    for part, people in plan.parts.items():
        here = (*at, "parts", part)
        yield from _check_part(part, source, here)
        yield from _check_people(people, course, source, here)
        if not people:
            yield source.error(here, f"nobody grades '{part}'", "name somebody, or remove the line")
    for index, part in enumerate(plan.double_parts):
        yield from _check_part(part, source, (*at, "double_parts", index))
    if plan.divide == "parts" and not plan.parts:
        fix = "add 'parts:' with the graders of each part"
        yield source.error((*at, "divide"), "the file does not say who grades which part", fix)
    if plan.parts and plan.divide != "parts":
        fix = "add 'divide: parts'"
        yield source.error((*at, "parts"), "'parts' has no effect without 'divide: parts'", fix)
    people = course.graders_of(plan)
    sections = [course.staff[id_].sections for id_ in people if id_ in course.staff]
    if plan.divide == "sections" and not any(sections):
        fix = "add 'sections:' to the staff"
        yield source.error((*at, "divide"), "none of the graders has sections", fix)
    elif plan.divide == "evenly" and not people:
        fix = "give somebody the role 'grader', or add 'graders:'"
        yield source.error((*at, "divide"), "nobody on the staff grades", fix)
    yield from _check_double(plan, course, source, at)


def _check_double(
    plan: GradingPlan, course: Course, source: Located, at: Path_
) -> Iterator[SpecError]:
    """Yields an error for double grading without two graders, or a tolerance without effect."""
    able = [id_ for id_, member in course.staff.items() if member.role is not Role.OBSERVER]
    name = "double" if plan.double else "double_parts"
    if (plan.double or plan.double_parts) and len(able) < 2:
        fix = "add another grader to 'staff:'"
        yield source.error((*at, name), "double grading needs two people who may grade", fix)
    if plan.tolerance and not (plan.double or plan.double_parts):
        fix = "add 'double:' or 'double_parts:'"
        what = "'tolerance' has no effect without double grading"
        yield source.error((*at, "tolerance"), what, fix)


def _check_people(
    people: tuple[str, ...], course: Course, source: Located, at: Path_
) -> Iterator[SpecError]:
    """Yields an error for each of *people* who may not grade."""
    for index, id_ in enumerate(people):
        here = (*at, index)
        yield from check_known(id_, tuple(course.staff), _STAFF, source, here)
        if id_ in course.staff and course.staff[id_].role is Role.OBSERVER:
            yield source.error(here, f"'{id_}' is an observer", "give the person the role 'grader'")
        elif not course.staff:
            yield source.error(here, "the course lists no staff", "list the person under 'staff:'")


def _check_part(part: str, source: Located, at: Path_) -> Iterator[SpecError]:
    if not _PART.fullmatch(part):
        fix = "write PROBLEM or PROBLEM/PART, with the ids of both"
        yield source.error(at, f"'{part}' is not the name of a part", fix)


def check_known(
    name: str, known: tuple[str, ...], noun: str, source: Located, at: Path_
) -> Iterator[SpecError]:
    """Yields an error if *name* is not among the *known* names."""
    if known and name not in known:
        fix = suggest(name, known, "known: " + ", ".join(known))
        yield source.error(at, f"the course has no {noun} '{name}'", fix)
    elif not known and noun in ("section", "set"):
        fix = f"list it under '{noun}s:'"
        yield source.error(at, f"the course lists no {noun}s", fix)
