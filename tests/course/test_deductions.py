"""Deductions for lateness and further attempts, and the attempt that counts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.course import Attempt, choose_attempt, count_attempts, due_time
from grader.course.deductions import deduction_for
from grader.course.times import parse_time
from grader.model.course import AttemptPolicy, LatePolicy, Rules

NEW_YORK = ZoneInfo("America/New_York")
DUE = datetime(2026, 10, 6, 3, 59, 59, tzinfo=UTC)
TEN_PERCENT = LatePolicy(grace="15 min", deduct=0.1, cap=0.5)


def an_attempt(late=timedelta(0), score=8.0, sha256="a", **more):
    return Attempt(sha256=sha256, received=DUE + late, score=score, **more)


def rules(late=TEN_PERCENT, **more):
    return Rules(**{"due": DUE, "late": late} | more)


def lost(late, score=8.0, policy=TEN_PERCENT, most=10.0, **more):
    return deduction_for(rules(policy, **more), an_attempt(late, score), most, NEW_YORK).points


@pytest.mark.parametrize(
    ("late", "points"),
    [
        (timedelta(days=-1), 0),
        (timedelta(0), 0),
        (timedelta(minutes=15), 0),  # the grace period includes its end
        (timedelta(minutes=15, seconds=1), 1),  # then the first day has started
        (timedelta(days=1), 1),
        (timedelta(days=1, seconds=1), 2),
        (timedelta(days=4, hours=3), 5),
        (timedelta(days=30), 5),  # the cap
    ],
)
def test_each_started_day_costs_its_share_up_to_the_cap(late, points):
    assert lost(late) == pytest.approx(points)


def test_shares_of_the_points_earned():
    policy = LatePolicy(deduct=0.25, of="score")
    assert lost(timedelta(hours=1), 8.0, policy) == pytest.approx(2.0)


def test_hours_are_counted_as_hours():
    policy = LatePolicy(deduct=0.01, per="hour")
    assert lost(timedelta(hours=3, minutes=1), 8.0, policy) == pytest.approx(0.4)


def test_a_deduction_takes_no_total_below_the_floor_and_raises_none_above_what_was_earned():
    policy = LatePolicy(deduct=0.5, floor=0.3)
    assert 8 - lost(timedelta(days=2), 8.0, policy) == pytest.approx(3.0)
    assert lost(timedelta(days=2), 2.0, policy) == 0


def test_slip_days_cover_whole_days_and_the_rest_is_charged():
    policy = LatePolicy(deduct=0.1)
    found = deduction_for(
        rules(policy, slip_days=2), an_attempt(timedelta(days=2, hours=1)), 10.0, NEW_YORK
    )
    assert (found.slip_days, found.points) == (2, pytest.approx(1.0))
    assert "2 slip days used" in found.why
    few = deduction_for(rules(policy, slip_days=5), an_attempt(timedelta(hours=1)), 10.0, NEW_YORK)
    assert (few.slip_days, few.points) == (1, 0)


def test_slip_days_move_the_due_date_with_its_grace_period():
    two = rules(TEN_PERCENT, slip_days=2)
    end = timedelta(days=1, minutes=15)
    last = deduction_for(two, an_attempt(end), 10.0, NEW_YORK)
    after = deduction_for(two, an_attempt(end + timedelta(seconds=1)), 10.0, NEW_YORK)
    assert (last.slip_days, last.points) == (1, 0)
    assert (after.slip_days, after.points) == (2, 0)


@pytest.mark.parametrize(
    ("due", "received", "days"),
    [
        # Berlin sets its clocks back on October 25, 2026, and forward on March 28, 2027.
        ("2026-10-24 23:59", "2026-10-25 23:59", 1),
        ("2026-10-24 23:59", "2026-10-26 00:00", 2),
        ("2026-10-24 23:59", "2026-10-26 23:59", 2),
        ("2027-03-27 23:59", "2027-03-28 23:59", 1),
        ("2027-03-27 23:59", "2027-03-29 00:00", 2),
        ("2026-10-25 02:30", "2026-10-25 02:59", 1),
        (
            "2026-10-24 02:30",
            "2026-10-25 02:40+02:00",
            1,
        ),  # the first 2:40 is before the second 2:30
        ("2027-03-27 02:30", "2027-03-28 03:20", 1),  # 2:30 is skipped: 3:30 is a day later
        ("2027-03-27 02:30", "2027-03-28 03:31", 2),
    ],
)
def test_a_day_ends_at_the_same_time_of_day_even_if_clocks_change(due, received, days):
    berlin = ZoneInfo("Europe/Berlin")
    late = Attempt(sha256="a", received=parse_time(received, berlin), score=8.0)
    found = {
        slip: deduction_for(
            Rules(due=parse_time(due, berlin), late=LatePolicy(deduct=0.1), slip_days=slip),
            late,
            10.0,
            berlin,
        )
        for slip in (0, 1, 9)
    }
    assert found[0].points == pytest.approx(days)
    assert found[1].points == pytest.approx(days - 1)
    assert (found[9].points, found[9].slip_days) == (0, days)


def test_slip_days_count_where_other_late_work_is_not_accepted():
    strict = rules(LatePolicy(accept=False), slip_days=1)
    used = deduction_for(strict, an_attempt(timedelta(hours=5)), 10.0, NEW_YORK)
    assert (used.counts, used.slip_days, used.points) == (True, 1, 0)
    over = deduction_for(strict, an_attempt(timedelta(hours=25)), 10.0, NEW_YORK)
    assert (over.counts, over.slip_days) == (False, 0)


def test_no_slip_day_is_used_where_lateness_costs_nothing():
    free = rules(LatePolicy(), slip_days=3)
    assert deduction_for(free, an_attempt(timedelta(hours=1)), 10.0, NEW_YORK).slip_days == 0
    graced = rules(TEN_PERCENT, slip_days=3)
    assert deduction_for(graced, an_attempt(timedelta(minutes=5)), 10.0, NEW_YORK).slip_days == 0


def test_after_the_set_closed_an_attempt_does_not_count():
    closing = rules(closes=DUE + timedelta(days=3))
    last = deduction_for(closing, an_attempt(timedelta(days=3)), 10.0, NEW_YORK)
    after = deduction_for(closing, an_attempt(timedelta(days=3, seconds=1)), 10.0, NEW_YORK)
    assert (last.counts, after.counts) == (True, False)
    assert "after the set closed" in after.why


def test_without_a_due_date_only_the_closing_date_matters():
    closing = Rules(closes=DUE, minutes=60, late=TEN_PERCENT)
    for late, counts in ((timedelta(0), True), (timedelta(seconds=1), False)):
        found = deduction_for(closing, an_attempt(late), 10.0, NEW_YORK)
        assert (found.points, found.counts) == (0, counts)


def test_a_students_time_ends_when_the_set_closes():
    closing = Rules(closes=DUE, minutes=60, late=TEN_PERCENT)
    started = DUE - timedelta(minutes=10)
    for late, counts in ((timedelta(0), True), (timedelta(seconds=1), False)):
        found = deduction_for(closing, an_attempt(late, started=started), 10.0, NEW_YORK)
        assert (found.points, found.counts) == (0, counts)
    ended = an_attempt(timedelta(hours=-2), started=DUE - timedelta(hours=4))
    assert deduction_for(closing, ended, 10.0, NEW_YORK).points == pytest.approx(1.0)


def test_where_late_work_is_not_accepted_the_grace_period_still_holds():
    strict = rules(LatePolicy(accept=False, grace="5 min"))
    assert deduction_for(strict, an_attempt(timedelta(minutes=5)), 10.0, NEW_YORK).counts
    assert not deduction_for(strict, an_attempt(timedelta(minutes=6)), 10.0, NEW_YORK).counts


def test_without_a_trusted_time_nothing_is_deducted():
    unknown = Attempt(sha256="a", received=None, score=8.0)
    assert deduction_for(rules(), unknown, 10.0, NEW_YORK).points == 0


def test_what_staff_hand_in_for_a_student_is_not_late():
    assert (
        deduction_for(rules(), an_attempt(timedelta(days=3), by_staff=True), 10.0, NEW_YORK).points
        == 0
    )


def test_the_word_of_the_staff_replaces_the_time():
    stated = rules(received=DUE)
    assert deduction_for(stated, an_attempt(timedelta(days=3)), 10.0, NEW_YORK).points == 0


def test_a_timed_set_is_due_when_the_students_time_ends_and_never_after_the_due_date():
    timed = rules(minutes=60)
    early, late = DUE - timedelta(hours=5), DUE - timedelta(minutes=20)
    assert due_time(timed, early) == early + timedelta(hours=1)
    assert due_time(timed, late) == DUE
    assert due_time(timed, None) == DUE
    opens = DUE - timedelta(hours=3)
    assert due_time(rules(minutes=60, opens=opens), early) == opens + timedelta(hours=1)


def test_the_sentence_says_when_how_late_and_what_it_costs():
    found = deduction_for(rules(), an_attempt(timedelta(days=1, hours=2)), 10.0, NEW_YORK)
    assert found.why == (
        "Handed in Oct 7, 2026, 01:59 EDT, 1 day 2 h after the due date (Oct 5, 2026, 23:59 EDT). "
        "Deduction: 10% of the maximum points per day or part of a day, 20% in total."
    )


def test_seconds_of_lateness_are_counted_from_a_time_with_seconds():
    late = an_attempt(timedelta(minutes=10, seconds=1))
    why = deduction_for(rules(), late, 10.0, NEW_YORK).why
    assert "10 min 1 s after the due date (Oct 5, 2026, 23:59:59 EDT)" in why


@given(
    late=st.timedeltas(timedelta(days=-3), timedelta(days=40)),
    score=st.floats(0, 10),
    deduct=st.floats(0, 1),
    cap=st.floats(0, 1),
    floor=st.floats(0, 1),
    of=st.sampled_from(["maximum", "score"]),
    slip=st.integers(0, 5),
)
def test_a_deduction_is_never_negative_and_never_more_than_was_earned(
    late, score, deduct, cap, floor, of, slip
):
    policy = LatePolicy(deduct=deduct, cap=cap, floor=floor, of=of)
    found = deduction_for(rules(policy, slip_days=slip), an_attempt(late, score), 10.0, NEW_YORK)
    assert 0 <= found.points <= score + 1e-6
    assert 0 <= found.slip_days <= slip
    more = timedelta(days=1)
    later = deduction_for(
        rules(policy, slip_days=slip), an_attempt(late + more, score), 10.0, NEW_YORK
    )
    assert later.points >= found.points - 1e-9


def three(*scores, late=(0, 0, 0)):
    return [
        an_attempt(timedelta(hours=hours), score, sha256=name)
        for name, score, hours in zip("abc", scores, late, strict=False)
    ]


def chosen(policy, attempts, late=TEN_PERCENT):
    every = count_attempts(rules(late, attempts=policy), attempts, 10.0, NEW_YORK)
    found = choose_attempt(rules(late, attempts=policy), every)
    return (found.attempt.sha256, found.final) if found else None


def test_the_newest_attempt_counts_unless_the_policy_says_otherwise():
    assert chosen(AttemptPolicy(), three(9, 5, 7)) == ("c", 7)
    assert chosen(AttemptPolicy(count="best"), three(9, 5, 7)) == ("a", 9)


def test_of_a_late_file_and_one_in_time_the_policy_decides():
    attempts = three(5, 9, late=(0, 48))
    assert chosen(AttemptPolicy(), attempts) == ("b", 7)
    assert chosen(AttemptPolicy(count="in-time"), attempts) == ("a", 5)
    assert chosen(AttemptPolicy(count="best"), attempts) == ("b", 7)
    assert chosen(AttemptPolicy(count="in-time"), three(9, late=(48,))) == ("a", 7)


def test_of_equal_attempts_the_newest_counts():
    assert chosen(AttemptPolicy(count="best"), three(7, 7, 5)) == ("b", 7)


def test_attempts_above_the_limit_do_not_count():
    assert chosen(AttemptPolicy(limit=2), three(4, 5, 9)) == ("b", 5)


def test_an_attempt_that_does_not_count_uses_up_no_attempt():
    closing = Rules(due=DUE, closes=DUE, attempts=AttemptPolicy(limit=1))
    late, good = three(9, 5, late=(1, -1))
    every = count_attempts(closing, [late, good], 10.0, NEW_YORK)
    assert [one.deduction.counts for one in every] == [False, True]


def test_each_further_attempt_costs_its_share():
    policy = AttemptPolicy(count="best", deduct=0.1, cap=0.15)
    every = count_attempts(rules(attempts=policy), three(5, 6, 9), 10.0, NEW_YORK)
    assert [one.final for one in every] == [5, 5, 7.5]
    assert "Attempt 3: deduction of 15% of the maximum points" in every[-1].deduction.why


def test_if_no_attempt_counts_none_is_chosen():
    strict = LatePolicy(accept=False)
    assert chosen(AttemptPolicy(), three(9, late=(1,)), strict) is None
