"""Loads `course.yaml`, and checks its dates, people, and exceptions."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from zoneinfo import ZoneInfo, available_timezones

from grader.bank.shape import adapter, shape
from grader.bank.yaml12 import Located, Path_, read_yaml
from grader.course.people import check_grading, check_known
from grader.course.times import DURATION_FIX, TIME_FIX, TimeError, find_zone, parse_duration
from grader.course.times import parse_time as instant_of
from grader.errors import SetupError, SpecError, SpecErrors
from grader.model.course import AttemptPolicy, Course, Grant, LatePolicy
from grader.registry import suggest

FILE = "course.yaml"
_ZONE_FIX = (
    "use a name such as America/New_York; if time zone data is missing, `pip install tzdata`"
)
_DATES = {"opens": True, "due": False, "closes": False, "feedback": True}
"""The dates of a set, and whether each begins something."""
_MOST_MINUTES = 1_000_000
"""The longest time limit, almost two years: a number by mistake, such as 1e12, would overflow."""
_MOST_FACTOR = 1_000
"""The largest factor on a time limit, for the same reason."""


def find_course(named: Path | None, banks: tuple[Path, ...]) -> Path | None:
    """Returns the course file: *named*, or the one beside the first of *banks* that has one."""
    if named is not None:
        return named_course(named)
    return next((bank / FILE for bank in banks if (bank / FILE).is_file()), None)


def named_course(named: Path) -> Path:
    """Returns the course file *named*, or the one in the folder *named*. Raises SetupError if there
    is none."""
    path = named / FILE if named.is_dir() else named
    if not path.is_file():
        fix = "name a course.yaml file, or the folder that contains it"
        raise SetupError("there is no course file here", where=str(path), fix=fix)
    return path


def load_course(path: Path) -> Course:
    """Returns the course in the YAML file at *path*. Raises SpecErrors with all errors in the
    file."""
    return course_from(read_yaml(path))


def course_from_plain(data: object) -> Course:
    """Returns the course that `dataclasses.asdict` converted to *data*."""
    course: Course = adapter(Course).validate_json(json.dumps(data), strict=True)
    return course


def course_from(source: Located) -> Course:
    """Returns the course that *source* describes, as in `load_course`."""
    shaped = shape(Course, source.data, source, ())
    errors = list(shaped.errors)
    course = shaped.record
    if isinstance(course, Course):
        errors += _check_course(course, source)
    if errors or not isinstance(course, Course):
        raise SpecErrors(tuple(errors))
    return course


def _check_course(course: Course, source: Located) -> Iterator[SpecError]:
    """Yields what is wrong with *course*, at the places where *source* has it."""
    try:
        zone = find_zone(course.time_zone)
    except TimeError as error:
        fix = suggest(course.time_zone.replace(" ", "_"), available_timezones(), _ZONE_FIX)
        yield source.error(("time_zone",), str(error), fix)
        zone = ZoneInfo("UTC")
    yield from _check_late(course.late, source, ("late",))
    yield from _check_attempts(course.attempts, source, ("attempts",))
    if course.slip_days < 0:
        fix = "write 0 or more"
        yield source.error(("slip_days",), "the number of slip days can't be negative", fix)
    yield from _check_sets(course, source, zone)
    for id_, person in course.staff.items():
        for index, section in enumerate(person.sections):
            at = ("staff", id_, "sections", index)
            yield from check_known(section, course.sections, "section", source, at)
    yield from check_grading(course.grading, course, source, ("grading",))
    for index, grant in enumerate(course.grants):
        yield from _check_grant(grant, course, source, ("grants", index), zone)


def _check_sets(course: Course, source: Located, zone: ZoneInfo) -> Iterator[SpecError]:
    """Yields what is wrong with the sets of *course*, whose time zone is *zone*."""
    for id_, course_set in course.sets.items():
        at: Path_ = ("sets", id_)
        dates = {name: getattr(course_set, name) for name in _DATES}
        errors = list(_check_times(dates, source, at, zone))
        yield from errors
        if not errors:
            yield from _check_order(dates, source, at, zone)
        if course_set.late is not None:
            yield from _check_late(course_set.late, source, (*at, "late"))
        if course_set.attempts is not None:
            yield from _check_attempts(course_set.attempts, source, (*at, "attempts"))
        if course_set.grading is not None:
            yield from check_grading(course_set.grading, course, source, (*at, "grading"))
        if course_set.minutes is not None and not 0 < course_set.minutes <= _MOST_MINUTES:
            what = f"a time limit can't be {course_set.minutes:g} minutes"
            fix = f"write a number above 0 and up to {_MOST_MINUTES}, or omit 'minutes:'"
            yield source.error((*at, "minutes"), what, fix)
        if course_set.slip_days is not None and course_set.slip_days < 0:
            what = "the number of slip days can't be negative"
            yield source.error((*at, "slip_days"), what, "write 0 or more")


def _check_times(
    dates: Mapping[str, str | None], source: Located, at: Path_, zone: ZoneInfo
) -> Iterator[SpecError]:
    """Yields an error for each of *dates* that can't be read."""
    for name, text in dates.items():
        if text is not None:
            try:
                instant_of(text, zone, opening=_DATES.get(name, False))
            except TimeError as error:
                yield source.error((*at, name), f"{name}: {error}", TIME_FIX)


def _check_order(
    dates: Mapping[str, str | None], source: Located, at: Path_, zone: ZoneInfo
) -> Iterator[SpecError]:
    """Yields an error for each of *dates*, all readable, that is before one that it must follow."""
    order = [name for name in ("opens", "due", "closes") if dates[name]]
    for first, second in pairwise(order):
        earlier = instant_of(str(dates[first]), zone, opening=_DATES[first])
        if instant_of(str(dates[second]), zone) < earlier:
            what = f"the set {_VERBS[second]} before it {_VERBS[first]}"
            yield source.error((*at, second), what, f"make '{second}' later than '{first}'")


_VERBS = {"opens": "opens", "due": "is due", "closes": "closes"}


def _check_late(late: LatePolicy, source: Located, at: Path_) -> Iterator[SpecError]:
    """Yields what is wrong with the late policy *late*."""
    try:
        parse_duration(late.grace)
    except TimeError as error:
        yield source.error((*at, "grace"), f"grace: {error}", DURATION_FIX)
    if not late.accept and late.deduct:
        fix = "remove 'deduct:', or accept late submissions"
        yield source.error(
            (*at, "deduct"), "there is no deduction if late submissions are not accepted", fix
        )


def _check_attempts(policy: AttemptPolicy, source: Located, at: Path_) -> Iterator[SpecError]:
    if policy.limit is not None and policy.limit < 1:
        fix = "write 1 or more, or omit 'limit:'"
        yield source.error((*at, "limit"), "at least one attempt must count", fix)


def _check_grant(
    grant: Grant, course: Course, source: Located, at: Path_, zone: ZoneInfo
) -> Iterator[SpecError]:
    """Yields what is wrong with the exception *grant*."""
    if (grant.student is None) == (grant.section is None):
        fix = "write 'student: ID' or 'section: ID'"
        yield source.error(at, "an exception must name either a student or a section", fix)
    if grant.section is not None:
        yield from check_known(grant.section, course.sections, "section", source, (*at, "section"))
    if grant.set is not None:
        yield from check_known(grant.set, tuple(course.sets), "set", source, (*at, "set"))
    yield from check_known(grant.by, tuple(course.staff), "staff member", source, (*at, "by"))
    for name in ("student", "section", "why", "by"):
        if getattr(grant, name) == "":
            yield source.error((*at, name), f"'{name}' is empty", f"fill in '{name}:'")
    dates = {"until": grant.until, "received": grant.received}
    yield from _check_times(dates, source, at, zone)
    yield from _check_effect(grant, course, source, at)


def _check_effect(grant: Grant, course: Course, source: Located, at: Path_) -> Iterator[SpecError]:
    """Yields an error if *grant* changes nothing, or changes what its set does not have."""
    values = (grant.until, grant.time, grant.attempts, grant.received)
    if not grant.exempt and all(value is None for value in values):
        fix = "add 'until:', 'time:', 'attempts:', 'received:', or 'exempt: true'"
        yield source.error(at, "this exception changes nothing", fix)
    if grant.received is not None and (grant.student is None or grant.set is None):
        fix = "add 'student: ID' and 'set: ID'"
        yield source.error((*at, "received"), "'received' needs one student and one set", fix)
    if grant.until is not None and grant.set is None:
        fix = "add 'set: ID'"
        yield source.error((*at, "until"), "'until' needs a set", fix)
    dated = course.sets.get(grant.set) if grant.set is not None else None
    if grant.until is not None and dated is not None and dated.due is None:
        fix = "give the set 'due:', or remove 'until:'"
        yield source.error((*at, "until"), f"the set '{grant.set}' has no due date to extend", fix)
    if grant.time is not None:
        yield from _check_factor(grant, course, source, (*at, "time"))
    if grant.attempts is not None and grant.attempts < 1:
        yield source.error((*at, "attempts"), "at least one attempt must count", "write 1 or more")


def _check_factor(grant: Grant, course: Course, source: Located, at: Path_) -> Iterator[SpecError]:
    """Yields an error if the time factor of *grant* is below 1 or too large, or if its set has no
    time limit."""
    if grant.time is not None and not 1 <= grant.time <= _MOST_FACTOR:
        fix = f"write a number from 1 to {_MOST_FACTOR}, such as 1.5"
        yield source.error(at, f"the time factor can't be {grant.time:g}", fix)
    timed = course.sets.get(grant.set) if grant.set is not None else None
    if timed is not None and timed.minutes is None:
        fix = "use 'until:' for a later due date, or give the set 'minutes:'"
        yield source.error(at, f"the set '{grant.set}' has no time limit to extend", fix)
