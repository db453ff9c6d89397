"""The dates and policies that apply to one student in one set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from zoneinfo import ZoneInfo

from grader.course.times import find_zone, local_text, parse_time
from grader.model import Student
from grader.model.course import Course, CourseSet, Grant, Rules


def rules_for(course: Course, set_id: str, student: Student) -> Rules:
    """Returns the rules of *student* in the set *set_id*, with all exceptions that apply.

    Of several exceptions, the most generous counts, whatever their order. A later due date moves
    the closing date by the same time. A set that the course doesn't list has no dates. The notes
    leave out the reasons of exceptions, which may be private.
    """
    zone = find_zone(course.time_zone)
    grants = [grant for grant in course.grants if _is_for(grant, set_id, student)]
    rules = usual_rules(course, set_id)
    for change in (_extend_due_date, _extend_minutes, _raise_limit, _set_received, _exempt_student):
        rules = change(rules, grants, zone)
    return rules


def usual_rules(course: Course, set_id: str) -> Rules:
    """Returns the rules of the set *set_id* for a student without exceptions."""
    course_set = course.sets.get(set_id, CourseSet())
    zone = find_zone(course.time_zone)
    slip = (
        course.slip_days
        if course_set.slip_days is None
        else min(course_set.slip_days, course.slip_days)
    )
    return Rules(
        opens=_instant(course_set.opens, zone, opening=True),
        due=_instant(course_set.due, zone),
        closes=_instant(course_set.closes, zone),
        minutes=course_set.minutes,
        late=course_set.late or course.late,
        attempts=course_set.attempts or course.attempts,
        slip_days=slip,
    )


def _instant(text: str | None, zone: ZoneInfo, *, opening: bool = False) -> datetime | None:
    return None if text is None else parse_time(text, zone, opening=opening)


def _is_for(grant: Grant, set_id: str, student: Student) -> bool:
    names_student = grant.student == student.id or (
        grant.section is not None and grant.section == student.section
    )
    return names_student and grant.set in (None, set_id)


def _extend_due_date(rules: Rules, grants: Sequence[Grant], zone: ZoneInfo) -> Rules:
    """Returns *rules* with the latest due date of *grants*, and closing later by the same time."""
    later = [
        (until, grant.by)
        for grant in grants
        if (until := _instant(grant.until, zone)) and rules.due and until > rules.due
    ]
    if not later or rules.due is None:
        return rules
    until, by = max(later)
    closes = rules.closes and rules.closes + (until - rules.due)
    note = f"Due date extended to {local_text(until, zone)} by {by}."
    return replace(rules, due=until, closes=closes, notes=(*rules.notes, note))


def _extend_minutes(rules: Rules, grants: Sequence[Grant], _zone: ZoneInfo) -> Rules:
    """Returns *rules* with the time limit multiplied by the largest factor of *grants*."""
    factors = [(grant.time, grant.by) for grant in grants if grant.time and grant.time > 1]
    if not factors or rules.minutes is None:
        return rules
    factor, by = max(factors)
    note = f"{factor:g} times the usual time, granted by {by}."
    return replace(rules, minutes=rules.minutes * factor, notes=(*rules.notes, note))


def _raise_limit(rules: Rules, grants: Sequence[Grant], _zone: ZoneInfo) -> Rules:
    """Returns *rules* with the highest limit on attempts of *grants*."""
    usual = rules.attempts.limit
    limits = [(g.attempts, g.by) for g in grants if g.attempts and usual and g.attempts > usual]
    if not limits:
        return rules
    limit, by = max(limits)
    note = f"Up to {limit} attempts, granted by {by}."
    attempts = replace(rules.attempts, limit=limit)
    return replace(rules, attempts=attempts, notes=(*rules.notes, note))


def _set_received(rules: Rules, grants: Sequence[Grant], zone: ZoneInfo) -> Rules:
    """Returns *rules* with the earliest time of submission that *grants* state."""
    stated = [(when, grant.by) for grant in grants if (when := _instant(grant.received, zone))]
    if not stated:
        return rules
    when, by = min(stated)
    note = f"Handed in on {local_text(when, zone)}, according to {by}."
    return replace(rules, received=when, notes=(*rules.notes, note))


def _exempt_student(rules: Rules, grants: Sequence[Grant], _zone: ZoneInfo) -> Rules:
    """Returns *rules* with the exemption from the set, if one of *grants* exempts."""
    people = [grant.by for grant in grants if grant.exempt]
    if not people:
        return rules
    note = f"Exempted from this set by {min(people)}."
    return replace(rules, exempt=True, notes=(*rules.notes, note))


def set_dates(course: Course) -> dict[str, dict[str, str | None]]:
    """Returns the dates of every set, as people in the course's time zone write them."""
    zone = find_zone(course.time_zone)
    return {
        id_: {
            name: local_text(parse_time(text, zone, opening=opening), zone) if text else None
            for name, text, opening in (
                ("opens", dates.opens, True),
                ("due", dates.due, False),
                ("closes", dates.closes, False),
                ("feedback", dates.feedback, True),
            )
        }
        for id_, dates in course.sets.items()
    }
