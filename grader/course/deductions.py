"""Deductions for lateness and for further attempts, and the attempt that counts."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from grader.course.times import duration_text, local_text, parse_duration
from grader.model.course import Deduction, LatePolicy, Rules, TimeSource
from grader.text.words import count_of, points

_NO_DEDUCTION = Deduction(points=0.0, why="")


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """What policies know of one attempt of a student."""

    sha256: str
    received: datetime | None
    """When it was handed in, in UTC; None if no trusted time is known."""
    source: TimeSource | None = None
    by_staff: bool = False
    """Whether staff handed it in for the student; then it is never late."""
    started: datetime | None = None
    """For a timed set: when the student got it."""
    score: float | None = None
    """The points before deductions; None if it is not graded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedAttempt:
    """An attempt, its deduction, and the points that it earns."""

    attempt: Attempt
    deduction: Deduction

    @property
    def final(self) -> float | None:
        """The points after deductions, or None if the attempt is not graded or doesn't count."""
        if self.attempt.score is None or not self.deduction.counts:
            return None
        return round(max(0.0, self.attempt.score - self.deduction.points), 6)


def due_time(rules: Rules, started: datetime | None) -> datetime | None:
    """Returns when an attempt is due: the due date or, in a timed set, the end of the student's
    time if that is earlier.

    A student who got the set before it opens starts when it opens.
    """
    if rules.minutes is None or started is None:
        return rules.due
    begins = started if rules.opens is None else max(started, rules.opens)
    end = begins + timedelta(minutes=rules.minutes)
    return end if rules.due is None else min(end, rules.due)


def deduction_for(rules: Rules, attempt: Attempt, max_score: float, zone: ZoneInfo) -> Deduction:
    """Returns what lateness takes from *attempt*, out of *max_score* points.

    Without a trusted time, nothing is deducted.
    """
    due, closes = due_time(rules, attempt.started), rules.closes
    # Without a due date, nothing is late, but nothing counts after closing.
    closes_first = closes is not None and (due is None or closes < due)
    deadline = closes if closes_first else due
    received = rules.received or attempt.received
    if deadline is None or received is None or attempt.by_staff or received <= deadline:
        return _NO_DEDUCTION
    late = _Lateness(due=deadline, received=received, zone=zone)
    if closes_first:
        why = f"{late.describe('closing date')}, so this attempt does not count."
        return replace(late.deduction(why), counts=False)
    grace = parse_duration(rules.late.grace)
    if late.span <= grace:
        return late.deduction(f"{late}; within the grace period of {rules.late.grace}.")
    if closes is not None and received > closes:
        return late.rejection("after the set closed")
    if rules.late.accept and not rules.late.deduct:
        return late.deduction(f"{late}; nothing is deducted.")
    return _charge_lateness(rules, late, attempt.score or 0.0, max_score)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Lateness:
    """A submission that was received after it was due; both times are in UTC."""

    due: datetime
    received: datetime
    zone: ZoneInfo

    @property
    def span(self) -> timedelta:
        return self.received - self.due

    def __str__(self) -> str:
        return self.describe("due date")

    def describe(self, deadline: str) -> str:
        """Returns when it was handed in, and how long after *deadline*, which is its due time."""
        received, span = local_text(self.received, self.zone), duration_text(self.span)
        # With seconds in one of the two, readers who subtract must find them in the other as well.
        due = local_text(self.due, self.zone, exact=span.endswith(" s"))
        return f"Handed in {received}, {span} after the {deadline} ({due})"

    def deduction(self, why: str, *, points: float = 0.0, slip_days: int = 0) -> Deduction:
        seconds = self.span.total_seconds()
        return Deduction(points=points, why=why, late_seconds=seconds, slip_days=slip_days)

    def rejection(self, reason: str) -> Deduction:
        """Returns the deduction of an attempt that does not count, for *reason*."""
        why = f"{self}; {reason}, so this attempt does not count."
        return replace(self.deduction(why), counts=False)

    def started_days(self) -> int:
        """Returns how many days have begun since it was due.

        A day ends at the same time of day in the zone: it has 25 hours when clocks are set back.
        """
        span = _local(self.received, self.zone) - _local(self.due, self.zone)
        days = max(1, math.ceil(span / timedelta(days=1)))
        # If that time of day occurs twice, the day ends with the second.
        has_begun = days == 1 or self.with_slip_days(days - 1).span > timedelta(0)
        return days if has_begun else days - 1

    def with_slip_days(self, days: int) -> _Lateness:
        """Returns the lateness if the due date were *days* later, at the same time of day."""
        later = (_local(self.due, self.zone) + timedelta(days=days)).replace(tzinfo=self.zone)
        # A time that occurs twice means the second, and one that is skipped the one an hour later.
        return replace(self, due=max(later.replace(fold=f).astimezone(UTC) for f in (0, 1)))


def _local(time: datetime, zone: ZoneInfo) -> datetime:
    return time.astimezone(zone).replace(tzinfo=None, fold=0)


def _charge_lateness(rules: Rules, late: _Lateness, score: float, max_score: float) -> Deduction:
    """Returns what lateness costs: slip days, then points, or the attempt if refused."""
    policy = rules.late
    grace = parse_duration(policy.grace)
    needed = replace(late, received=late.received - grace).started_days()
    slip = min(rules.slip_days, needed)
    if slip == needed:
        return late.deduction(f"{late}; {count_of(slip, 'slip day')} used.", slip_days=slip)
    if not policy.accept:
        return late.rejection("late submissions are not accepted")
    slip_note = f"{late}; {count_of(slip, 'slip day')} used." if slip else f"{late}."
    rest = late.with_slip_days(slip) if slip else late
    hours = math.ceil(rest.span / timedelta(hours=1))
    periods = rest.started_days() if policy.per == "day" else hours
    lost = _lost_points(policy, periods, score, max_score)
    why = f"{slip_note} {_describe_charge(policy, periods)}"
    return late.deduction(why, points=lost, slip_days=slip)


def _lost_points(policy: LatePolicy, periods: int, score: float, max_score: float) -> float:
    share = min(policy.deduct * periods, policy.cap)
    lost = share * (max_score if policy.of == "maximum" else score)
    minimum = min(score, policy.floor * max_score)
    return round(max(0.0, min(lost, score - minimum)), 6)


def _describe_charge(policy: LatePolicy, periods: int) -> str:
    """Returns a sentence on what the late policy deducts for *periods* days or hours."""
    base = "the maximum points" if policy.of == "maximum" else "the points earned"
    share = min(policy.deduct * periods, policy.cap)
    capped = ", which is the maximum" if policy.deduct * periods > policy.cap else ""
    article = "an" if policy.per == "hour" else "a"
    each = f"{_percent(policy.deduct)} of {base} per {policy.per} or part of {article} {policy.per}"
    return f"Deduction: {each}, {_percent(share)} in total{capped}."


def _percent(share: float) -> str:
    return f"{points(100 * share)}%"


def count_attempts(
    rules: Rules, attempts: Sequence[Attempt], max_score: float, zone: ZoneInfo
) -> tuple[CountedAttempt, ...]:
    """Returns *attempts*, oldest first, with the deductions for lateness and for further attempts.

    Attempts that staff handed in are not further attempts. Attempts above the limit don't count.
    """
    counted = []
    number = 0
    for attempt in attempts:
        charged = deduction_for(rules, attempt, max_score, zone)
        if charged.counts and not attempt.by_staff:
            number += 1
            charged = _charge_attempt(charged, number, rules, attempt, max_score)
        counted.append(CountedAttempt(attempt=attempt, deduction=charged))
    return tuple(counted)


def _charge_attempt(
    charged: Deduction, number: int, rules: Rules, attempt: Attempt, max_score: float
) -> Deduction:
    """Returns *charged* with the deduction for attempt *number* added."""
    policy = rules.attempts
    if policy.limit is not None and number > policy.limit:
        why = f"This is attempt {number}, and the limit is {policy.limit}, so it does not count."
        return replace(charged, points=0.0, why=why, counts=False)
    share = min(policy.deduct * (number - 1), policy.cap)
    if not share:
        return charged
    lost = min(share * max_score, max(0.0, (attempt.score or 0.0) - charged.points))
    why = f"Attempt {number}: deduction of {_percent(share)} of the maximum points."
    reasons = " ".join(text for text in (charged.why, why) if text)
    return replace(charged, points=round(charged.points + lost, 6), why=reasons)


def choose_attempt(
    rules: Rules, counted: Sequence[CountedAttempt], unsettled: Collection[str] = ()
) -> CountedAttempt | None:
    """Returns the attempt of *counted*, oldest first, whose marks are shown, or None if none
    counts.

    For the mean, this is the newest of those whose SHA-256 is in *unsettled*, which have open
    marks, so that somebody settles them; if there are none, the newest.
    """
    valid = [attempt for attempt in counted if attempt.deduction.counts]
    if not valid:
        return None
    policy = rules.attempts.count
    if policy == "in-time":
        in_time = [attempt for attempt in valid if not attempt.deduction.late_seconds]
        return (in_time or valid)[-1]
    if policy == "best":
        graded = [attempt for attempt in valid if attempt.final is not None]
        if graded:  # of equal ones the newest
            return max(reversed(graded), key=lambda attempt: attempt.final or 0.0)
    if policy == "mean":
        waiting = [attempt for attempt in valid if attempt.attempt.sha256 in unsettled]
        return (waiting or valid)[-1]
    return valid[-1]
