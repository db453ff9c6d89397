"""`course.yaml`: what it may say, what is wrong with it and where, and how exceptions are added."""

from __future__ import annotations

import re
from dataclasses import asdict, replace
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.course import course_from_plain, load_course, rules_for
from grader.course.grants import add_grant
from grader.course.times import TimeError, parse_time
from grader.errors import SetupError, SpecErrors
from grader.model import Student
from grader.model.course import AttemptPolicy, Course, CourseSet, Grant

COURSE = """\
id: systems
time_zone: America/New_York
sections: [A, B]
staff:
  kim: {name: Kim Lee, role: instructor}
late: {grace: 15 min, deduct: 10%}
slip_days: 4
sets:
  midterm:   # the room is booked
    opens: 2026-10-05 09:00
    due: 2026-10-05 23:59
    closes: 2026-10-08
  quiz: {due: 2026-11-02, minutes: 60, slip_days: 0, attempts: {limit: 2}}
grants:
  - student: ada
    set: midterm
    until: 2026-10-07 23:59
    why: illness   # certificate seen
    by: kim
"""
NEW_YORK = ZoneInfo("America/New_York")


@pytest.fixture
def course_file(tmp_path):
    def write(text=COURSE):
        path = tmp_path / "course.yaml"
        path.write_text(text)
        return path

    return write


def errors_of(path):
    with pytest.raises(SpecErrors) as caught:
        load_course(path)
    return str(caught.value)


def test_an_extension_moves_the_closing_date_too(course_file):
    course = load_course(course_file())
    rules = rules_for(course, "midterm", Student(id="ada"))
    assert rules.due == datetime(2026, 10, 8, 3, 59, 59, tzinfo=UTC)
    assert rules.closes == datetime(2026, 10, 11, 3, 59, 59, tzinfo=UTC)
    assert rules.notes == ("Due date extended to Oct 7, 2026, 23:59 EDT by kim.",)
    usual = rules_for(course, "midterm", Student(id="bob"))
    assert usual.due == datetime(2026, 10, 6, 3, 59, 59, tzinfo=UTC)
    assert usual.notes == ()


def test_of_several_exceptions_the_most_generous_counts_in_any_order(course_file):
    more = """\
  - {section: A, set: midterm, until: 2026-10-06, why: fire, by: kim}
  - {section: A, time: 1.5, why: fire, by: kim}
  - {student: ada, set: quiz, time: 2, attempts: 5, why: needs, by: kim}
"""
    course = load_course(course_file(COURSE + more))
    ada = Student(id="ada", section="A")
    assert rules_for(course, "midterm", ada).due == datetime(2026, 10, 8, 3, 59, 59, tzinfo=UTC)
    quiz = rules_for(course, "quiz", ada)
    assert (quiz.minutes, quiz.attempts.limit) == (120, 5)
    bob = rules_for(course, "quiz", Student(id="bob", section="A"))
    assert (bob.minutes, bob.attempts.limit) == (90, 2)


def test_slip_days_of_a_set_are_at_most_those_of_the_course(course_file):
    course = load_course(course_file())
    assert rules_for(course, "midterm", Student(id="bob")).slip_days == 4
    assert rules_for(course, "quiz", Student(id="bob")).slip_days == 0


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ("time_zone: America/New_York", "time_zone: Atlantis", ":2:12: there is no time zone"),
        ("due: 2026-10-05 23:59", "due: soon", ":11:10: due: 'soon' is not a time"),
        ("due: 2026-10-05 23:59", "due: 2026-10-04", ":11:10: the set is due before it opens"),
        ("closes: 2026-10-08", "closes: 2026-10-01", ":12:13: the set closes before it is due"),
        ("grace: 15 min", "grace: a while", ":6:15: grace: 'a while' is not a duration"),
        (
            "deduct: 10%",
            "deduct: 10%, accept: false",
            ":6:31: there is no deduction if late submissions are not accepted",
        ),
        ("set: midterm", "set: midtrem", "the course has no set 'midtrem'"),
        ("set: midterm", "set: midtrem", "did you mean 'midterm'?"),
        ("    by: kim", "    by: kin", "did you mean 'kim'?"),
        ("why: illness", "why: ''", "'why' is empty"),
        ("until: 2026-10-07 23:59", "time: 1.5", "has no time limit to extend"),
        ("    until: 2026-10-07 23:59\n", "", "this exception changes nothing"),
        ("due: 2026-10-05 23:59", "", "has no due date to extend"),
        ("student: ada", "section: C", "the course has no section 'C'"),
        ("minutes: 60", "minutes: 1e12", ":13:36: a time limit can't be 1e+12 minutes"),
        (
            "set: midterm\n    until: 2026-10-07 23:59",
            "set: quiz\n    time: 1e12",
            "the time factor can't be 1e+12",
        ),
        ("limit: 2", "limit: 0", "at least one attempt must count"),
        ("slip_days: 4", "slip_dais: 4", "did you mean 'slip_days'?"),
        ("role: instructor", "role: boss", "'role' can't be the text 'boss'"),
    ],
)
def test_an_error_says_what_where_and_what_to_do(course_file, right, wrong, said):
    assert right in COURSE
    assert said in errors_of(course_file(COURSE.replace(right, wrong)))


def test_all_errors_are_listed_at_once(course_file):
    text = COURSE.replace("Lee, role: instructor", "Lee, role: boss").replace("deduct: 10%", "a: 1")
    said = errors_of(course_file(text))
    assert "boss" in said
    assert "unknown key 'a'" in said


def test_the_clock_is_set_back_in_favor_of_the_student():
    assert parse_time("2026-11-01 01:30", NEW_YORK).hour == 6
    assert parse_time("2026-11-01 01:30", NEW_YORK, opening=True).hour == 5


def test_a_time_that_does_not_exist_is_an_error():
    with pytest.raises(TimeError, match="2026-03-08 02:30 does not exist in America/New_York"):
        parse_time("2026-03-08 02:30", NEW_YORK)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("20261005", "is not a time"),
        ("2026-W41-1", "is not a time"),
        ("2026-10-05 10:00 24:00", "is not a time"),
        ("2026-13-05", "is not a time"),
        ("9999-12-31", "is too early or too late"),
        ("9999-12-31 24:00", "is too early or too late"),
        ("0001-01-01 00:00+14:00", "is too early or too late"),
    ],
)
def test_a_time_in_another_form_is_an_error_instead_of_another_time(text: str, why: str) -> None:
    with pytest.raises(TimeError, match=f"'{re.escape(text)}' {why}"):
        parse_time(text, NEW_YORK)


def test_midnight_is_written_as_the_end_or_as_the_start_of_a_day():
    end = parse_time("2026-10-05 24:00", NEW_YORK)
    assert end == datetime(2026, 10, 6, 4, 0, tzinfo=UTC)
    assert parse_time("2026-10-06 00:00:00", NEW_YORK) == end
    assert parse_time("2026-10-05", NEW_YORK) == datetime(2026, 10, 6, 3, 59, 59, tzinfo=UTC)


def test_a_course_survives_being_stored(course_file):
    course = load_course(course_file())
    assert course_from_plain(asdict(course)) == course


GRANT = Grant(student="bob", set="quiz", time=1.5, why='says "ok": yes', by="kim")


def test_an_added_exception_leaves_the_rest_of_the_file_as_it_is(course_file):
    path = course_file(COURSE.replace("staff:", "# people\nstaff:") + "\n# the end\n")
    before = path.read_text()
    course = add_grant(path, GRANT)
    after = path.read_text()
    assert course.grants[-1] == GRANT == load_course(path).grants[-1]
    added = after.replace(before.rstrip().removesuffix("\n# the end").rstrip(), "", 1)
    assert added.startswith("\n  - student: bob\n    set: quiz\n    time: 1.5\n")
    for line in before.splitlines():
        assert line in after.splitlines()


@pytest.mark.parametrize(
    "text",
    [
        COURSE[: COURSE.index("grants:")],
        "grants:\n- {student: ada, set: quiz, time: 2, why: x, by: kim}\n"
        + COURSE[: COURSE.index("grants:")],
        COURSE.replace("  - student", "  -   student").replace("\n    ", "\n      "),
        COURSE + "...\n",
        COURSE[: COURSE.index("grants:")] + "... # the end\n",
    ],
)
def test_an_exception_is_added_wherever_the_list_is(course_file, text):
    path = course_file(text)
    before = load_course(path)
    assert add_grant(path, GRANT).grants == (*before.grants, GRANT)


def test_an_exception_with_an_error_leaves_the_file_unchanged(course_file):
    path = course_file()
    says = f"^{re.escape(str(path))}: the exception was not added: the course has no set 'final'"
    with pytest.raises(SpecErrors, match=says):  # without a line, which the file does not have
        add_grant(path, Grant(student="bob", set="final", time=1.5, why="x", by="kim"))
    assert path.read_text() == COURSE


def test_an_exception_that_would_make_no_yaml_is_not_added(course_file):
    path = course_file("{id: systems, staff: {kim: {role: instructor}}}\n")
    with pytest.raises(SpecErrors, match=f"^{re.escape(str(path))}: the exception was not added"):
        add_grant(path, Grant(student="bob", exempt=True, why="x", by="kim"))


def test_an_exception_with_a_factor_of_0_is_not_added_without_it(course_file):
    with pytest.raises(SpecErrors, match="the time factor can't be 0"):
        add_grant(course_file(), replace(GRANT, time=0, attempts=3))


@pytest.mark.parametrize(
    "change",
    [
        Grant(student="ada", set="midterm", until="2026-10-06", why="x", by="kim"),
        Grant(student="bob", set="midterm", until="2026-10-01", why="x", by="kim"),
        Grant(student="bob", set="midterm", attempts=9, why="x", by="kim"),
        Grant(student="bob", attempts=2, why="x", by="kim"),
    ],
)
def test_an_exception_without_effect_is_not_added(course_file, change):
    path = course_file()
    with pytest.raises(SetupError, match="it would change nothing"):
        add_grant(path, change)
    assert path.read_text() == COURSE


def test_an_exception_for_all_sets_may_change_one_of_them(course_file):
    change = Grant(section="B", attempts=3, why="x", by="kim")
    assert add_grant(course_file(), change).grants[-1] == change


def test_an_exemption_from_all_sets_of_a_course_without_sets_is_added(course_file):
    change = Grant(student="bob", exempt=True, why="x", by="kim")
    assert add_grant(course_file("id: systems\n"), change).grants == (change,)


def test_errors_of_a_new_exception_name_options(course_file):
    with pytest.raises(SpecErrors) as caught:
        add_grant(course_file(), Grant(student="ada", until="soon", why="", by="kim"))
    said = [(error.what.removeprefix("the exception was not added: "), error.fix)
            for error in caught.value.errors]  # fmt: skip
    assert said == [
        ("--why is empty", "fill in --why"),
        (
            "--until: 'soon' is not a time",
            "write 2026-10-05 23:59, or 2026-10-05 for the end of that day",
        ),
        ("--until needs a set", "add --set ID"),
    ]


def test_a_link_to_a_private_course_file_stays_one(course_file, tmp_path):
    path = course_file()
    path.chmod(0o600)
    link = tmp_path / "elsewhere" / "course.yaml"
    link.parent.mkdir()
    link.symlink_to(path)
    add_grant(link, GRANT)
    assert link.is_symlink()
    assert load_course(path).grants[-1] == GRANT
    assert path.stat().st_mode & 0o777 == 0o600


def test_line_ends_of_windows_stay(course_file):
    path = course_file()
    path.write_bytes(COURSE.replace("\n", "\r\n").encode())
    add_grant(path, GRANT)
    assert path.read_bytes().count(b"\n") == path.read_bytes().count(b"\r\n")


def test_a_list_on_one_line_is_not_changed(course_file):
    path = course_file(COURSE[: COURSE.index("grants:")] + "grants: []\n")
    with pytest.raises(SetupError, match="can't add an exception"):
        add_grant(path, GRANT)


@pytest.mark.parametrize("id_", ["4711", "007", "1e5", "null", "0x1F", "true", "-x", "Ada L."])
def test_an_id_that_looks_like_a_number_stays_text(course_file, id_):
    added = add_grant(course_file(), Grant(student=id_, set="quiz", time=2, why="x", by="kim"))
    assert added.grants[-1].student == id_


EXCEPTIONS = st.lists(
    st.builds(
        Grant,
        why=st.just("x"),
        by=st.sampled_from(["kim", "lee"]),
        student=st.just("ada"),
        set=st.sampled_from([None, "quiz"]),
        until=st.sampled_from([None, "2026-11-01", "2026-11-04", "2026-11-04 12:00", "2026-11-09"]),
        time=st.sampled_from([None, 1.25, 1.5, 2.0]),
        attempts=st.sampled_from([None, 1, 3, 5]),
        exempt=st.booleans(),
        received=st.sampled_from([None, "2026-11-02 10:00", "2026-11-03 10:00"]),
    ),
    max_size=5,
)


@given(grants=EXCEPTIONS, random=st.randoms(use_true_random=False))
def test_the_order_of_exceptions_does_not_matter(grants, random):
    quiz = CourseSet(due="2026-11-02", closes="2026-11-05", minutes=60)
    course = Course(
        id="x", sets={"quiz": quiz}, attempts=AttemptPolicy(limit=2), grants=tuple(grants)
    )
    ada = Student(id="ada")
    rules = rules_for(course, "quiz", ada)
    random.shuffle(grants)
    assert rules_for(replace(course, grants=tuple(grants)), "quiz", ada) == rules
    usual = rules_for(course, "quiz", Student(id="bo"))
    assert rules.due >= usual.due, "an exception never makes a rule stricter"
    assert rules.closes - rules.due == usual.closes - usual.due
    assert rules.attempts.limit >= usual.attempts.limit
    assert rules.minutes >= usual.minutes
