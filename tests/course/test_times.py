"""Tables of submission times: our own, Moodle's, and Gradescope's."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from grader.course import read_times
from grader.errors import GraderError
from grader.model.course import TimeSource

BERLIN = ZoneInfo("Europe/Berlin")
MOODLE = """\
\ufeffIdentifier,"Full name","ID number","Email address",Status,Grade,"Last modified (submission)"
"Participant 31","Ada Lovelace",ada,ada@example.edu,"Submitted for grading",,"{when}"
"Participant 32","Bo Chen",bo,bo@example.edu,"No submission",,-
"""
GRADESCOPE = """\
---
submission_101:
  :submitters:
  - :name: Ada Lovelace
    :sid: '4711'
    :email: ada@example.edu
  - :name: Bo Chen
    :sid:
    :email: bo@example.edu
  :created_at: 2026-10-05 20:15:30.123456000 Z
  :score: 3.0
  :results:
    tests:
    - name: q1
      output: ":created_at: not a time"
  :history:
  - :id: 100
    :created_at: 2026-10-01 10:00:00.000000000 Z
submission_102:
  :submitters:
  - :name: Cy
    :email: cy@example.edu
  :created_at: !ruby/object:ActiveSupport::TimeWithZone
    utc: &1 2026-10-06 05:00:00.000000000 Z
    zone: &2 !ruby/object:ActiveSupport::TimeZone
      name: Pacific Time (US & Canada)
    time: 2026-10-05 22:00:00.000000000 Z
submission_103:
  :submitters:
  - :name: Di
  :created_at: 2026-10-05 23:00:00.000000000 -07:00
"""


@pytest.fixture
def read(tmp_path):
    def lines(text, name="times.csv"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return read_times(path, BERLIN)

    return lines


@pytest.mark.parametrize(
    "when",
    [
        "Monday, 5 October 2026, 11:59 PM",
        "Monday, October 5, 2026, 11:59 PM",
        "Monday, 5 October 2026, 23:59",
        "Monday, 5 Oct 2026, 11:59 PM",
    ],
)
def test_moodles_worksheet_has_local_times_to_the_minute(read, when):
    [line] = read(MOODLE.format(when=when), "Grades-Midterm.csv")
    assert line.received == datetime(2026, 10, 5, 21, 59, tzinfo=UTC)
    assert line.people == ("ada", "ada@example.edu", "Ada Lovelace")
    assert line.source is TimeSource.PLATFORM


def test_a_worksheet_in_another_language_says_what_to_do(read):
    with pytest.raises(GraderError) as caught:
        read(MOODLE.format(when="Montag, 5. Oktober 2026, 23:59"))
    assert "times.csv:2" in str(caught.value.where)
    assert "language in Moodle to English" in str(caught.value.fix)


def test_a_time_that_occurs_twice_is_read_as_the_earlier_one(read):
    [line] = read(MOODLE.format(when="Sunday, 25 October 2026, 2:30 AM"))
    assert line.received == datetime(2026, 10, 25, 0, 30, tzinfo=UTC)


def test_gradescopes_metadata_has_the_time_of_every_submitter(read):
    ada, bo, cy, di = read(GRADESCOPE, "submission_metadata.yml")
    assert ada.people == ("4711", "ada@example.edu", "Ada Lovelace")
    assert bo.people == ("bo@example.edu", "Bo Chen")
    assert ada.received == bo.received == datetime(2026, 10, 5, 20, 15, 30, 123456, tzinfo=UTC)
    assert cy.received == datetime(2026, 10, 6, 5, 0, tzinfo=UTC)
    assert di.received == datetime(2026, 10, 6, 6, 0, tzinfo=UTC)
    assert (ada.where.line, cy.where.line) == (2, 19)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: [:submitters: :created_at:", "not Gradescope's submission_metadata.yml"),
        ("x:\n  :submitters: []\n  :created_at: soon\n", "no ':created_at:' that is a time"),
        ('student,received\n"ada,2026-10-05\n', "not CSV"),
        ("", "no submission times"),
    ],
)
def test_a_file_that_cannot_be_read_is_one_error(read, text, said):
    with pytest.raises(GraderError, match=said):
        read(text)


def test_our_own_table_may_use_semicolons(read):
    [line] = read("student;received;by\nada;2026-10-05 23:59;kim\n")
    assert (line.student, line.by) == ("ada", "kim")
    assert line.received == datetime(2026, 10, 5, 21, 59, tzinfo=UTC)


def test_an_entry_of_gradescope_without_a_submitter_names_nobody(read):
    text = "s_1:\n  :submitters:\n  -\n  :created_at: 2026-10-05 21:59:00 Z\n"
    assert read(text) == ()
