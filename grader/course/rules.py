"""The dates and policies that apply to one student in one set."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from zoneinfo import ZoneInfo

from grader.course.times import find_zone, local_text, parse_time
from grader.model import Student
from grader.model.course import Course, CourseSet, Grant, Rules


def rules_for(course: Course, set_id: str, student: Student) -> Rules:
    """Returns the rules of *student* in the set *set_id*, with all exceptions that apply.

    Of several exceptions, the most generous counts. A later due date moves the closing date by the
    same time. A set that the course doesn't list has no dates.
    """
    one = course.sets.get(set_id, CourseSet())
    zone = find_zone(course.time_zone)
    slip = course.slip_days if one.slip_days is None else min(one.slip_days, course.slip_days)
    rules = Rules(
        opens=_instant(one.opens, zone, opening=True),
        due=_instant(one.due, zone),
        closes=_instant(one.closes, zone),
        minutes=one.minutes,
        late=one.late or course.late,
        attempts=one.attempts or course.attempts,
        slip_days=slip,
    )
    for grant in _grants_of(course, set_id, student):
        rules = _with_grant(rules, grant, one, zone)
    return rules


def _instant(text: str | None, zone: ZoneInfo, *, opening: bool = False) -> datetime | None:
    return None if text is None else parse_time(text, zone, opening=opening)


def _grants_of(course: Course, set_id: str, student: Student) -> Iterator[Grant]:
    for grant in course.grants:
        theirs = grant.student == student.id or (
            grant.section is not None and grant.section == student.section
        )
        if theirs and grant.set in (None, set_id):
            yield grant


def _with_grant(rules: Rules, grant: Grant, one: CourseSet, zone: ZoneInfo) -> Rules:
    said = list(_sentences(rules, grant, zone))
    until = _instant(grant.until, zone)
    if until is not None and (rules.due is None or until > rules.due):
        usual, closes = _instant(one.due, zone), _instant(one.closes, zone)
        if closes is not None and usual is not None:
            rules = replace(rules, closes=max(closes, closes + (until - usual)))
        rules = replace(rules, due=until)
    if grant.time is not None and one.minutes is not None:
        rules = replace(rules, minutes=max(rules.minutes or 0.0, one.minutes * grant.time))
    if grant.attempts is not None and rules.attempts.limit is not None:
        limit = max(rules.attempts.limit, grant.attempts)
        rules = replace(rules, attempts=replace(rules.attempts, limit=limit))
    if grant.received is not None:
        rules = replace(rules, received=_instant(grant.received, zone))
    exempt = rules.exempt or grant.exempt
    return replace(rules, exempt=exempt, notes=(*rules.notes, *said))


def _sentences(rules: Rules, grant: Grant, zone: ZoneInfo) -> Iterator[str]:
    """Yields what *grant* changes, without its reason, which may be private."""
    if grant.until is not None:
        until = parse_time(grant.until, zone)
        if rules.due is None or until > rules.due:
            yield f"Extended to {local_text(until, zone)} by {grant.by}."
    if grant.time is not None and rules.minutes is not None:
        yield f"{grant.time:g} times the usual time, granted by {grant.by}."
    if grant.attempts is not None and rules.attempts.limit is not None:
        yield f"{grant.attempts} attempts, granted by {grant.by}."
    if grant.received is not None:
        received = local_text(parse_time(grant.received, zone), zone)
        yield f"Handed in on {received}, according to {grant.by}."
    if grant.exempt:
        yield f"Exempt from this set, granted by {grant.by}."


def set_dates(course: Course) -> dict[str, dict[str, str | None]]:
    """Returns the dates of every set, as people in the course's time zone write them."""
    zone = find_zone(course.time_zone)
    found: dict[str, dict[str, str | None]] = {}
    for id_, one in course.sets.items():
        dates = {
            "opens": _instant(one.opens, zone, opening=True),
            "due": _instant(one.due, zone),
            "closes": _instant(one.closes, zone),
            "feedback": _instant(one.feedback, zone, opening=True),
        }
        found[id_] = {name: local_text(at, zone) if at else None for name, at in dates.items()}
    return found
