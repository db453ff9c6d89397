"""Totals: what overrides change, what is open, and who handed in nothing."""

from __future__ import annotations

import pytest

from grader.grading.tally import pooled_numbers, tally
from grader.model import ExamSet, Override, Slot, Student, Submission, Verdict
from grader.model.result import Standing
from tests.helpers.report import a_grade, a_mark

ROSTER = {name: Student(id=name, name=name.title()) for name in ("ada", "bob", "cy")}


def an_override(name="q1_size", points=1.0, **changes):
    fields = {"student": "ada", "reason": "argued well", "by": "prof", "at": "now"}
    return Override(name=name, points=points, **fields | changes)


WORTH = dict.fromkeys(ROSTER, 4.0)


def rows_of(grades, **more):
    return {
        row.student.id: row
        for row in tally(ROSTER, grades, **{"max_points": WORTH.__getitem__} | more)
    }


def an_attempt(sha256, student="ada", **changes):
    return Submission(student=student, path=f"{sha256[:4]}.ipynb", sha256=sha256, **changes)


def test_every_student_of_the_roster_has_a_row():
    rows = rows_of([a_grade("bob", a_mark())])
    assert set(rows) == {"ada", "bob", "cy"}
    assert rows["bob"].standing is Standing.GRADED
    assert (rows["bob"].score, rows["bob"].max_score, rows["bob"].complete) == (2.0, 2.0, True)


def test_handing_in_nothing_is_not_the_same_as_earning_nothing():
    rows = rows_of([a_grade("bob", a_mark(points=0.0)), a_grade("cy", a_mark())])
    assert rows["ada"].score == rows["bob"].score == 0
    assert rows["ada"].standing is Standing.MISSING
    assert rows["ada"].grade is None
    assert rows["bob"].standing is Standing.GRADED


def test_a_paper_without_a_grade_is_worth_what_it_is_worth_and_not_what_others_are():
    grades = [a_grade("bob", a_mark()), a_grade("cy", a_mark())]
    assert rows_of(grades, max_points={"ada": 7.0}.__getitem__)["ada"].max_score == 7.0
    nobody = rows_of([], max_points={"ada": 7.0, "bob": 4.0, "cy": 4.0}.__getitem__)
    assert [row.max_score for row in nobody.values()] == [7.0, 4.0, 4.0]


def test_a_student_of_whose_paper_nothing_is_known_is_not_given_a_maximum():
    with pytest.raises(KeyError, match="ada"):
        rows_of([a_grade("bob", a_mark()), a_grade("cy", a_mark())], max_points={}.__getitem__)


def test_a_total_is_open_while_any_mark_is_unsettled():
    waiting = a_mark("q2_why", None, verdict=Verdict.UNSETTLED)
    row = rows_of([a_grade("ada", a_mark(), waiting)])["ada"]
    assert (row.score, row.max_score, row.complete, row.unsettled) == (2.0, 4.0, False, 1)


def test_a_submission_without_a_grade_waits_or_was_refused():
    submissions = [
        Submission(student="ada", path="a", sha256="1"),
        Submission(student="bob", path="b", sha256="2"),
        Submission(student="bob", path="b", sha256="3", refusal="this is not a notebook"),
    ]
    rows = rows_of([], submissions=submissions)
    assert (rows["ada"].standing, rows["ada"].complete) == (Standing.WAITING, False)
    assert (rows["bob"].standing, rows["bob"].complete) == (Standing.REFUSED, False)
    assert rows["bob"].refusal == "this is not a notebook"
    assert rows["cy"].standing is Standing.MISSING


def test_the_latest_attempt_says_whether_there_is_a_refusal():
    bad = Submission(student="ada", path="a", sha256="1", refusal="not a notebook")
    good = Submission(student="ada", path="a", sha256="2")
    assert rows_of([], submissions=[bad, good])["ada"].standing is Standing.WAITING


def test_a_newer_file_that_is_not_graded_yet_makes_the_old_grade_wait():
    grade = a_grade("ada", a_mark())
    old = an_attempt(grade.submission_sha256)
    rows = rows_of([grade], submissions=[old, an_attempt("b" * 64)])
    row = rows["ada"]
    assert (row.standing, row.complete, row.score) == (Standing.WAITING, False, 2.0)
    assert row.grade == grade
    assert rows_of([grade], submissions=[old])["ada"].standing is Standing.GRADED


def test_an_old_file_that_is_handed_in_once_more_is_graded_already():
    grade = a_grade("ada", a_mark())
    attempts = [an_attempt("b" * 64), an_attempt(grade.submission_sha256)]
    row = rows_of([grade], submissions=attempts)["ada"]
    assert (row.standing, row.complete) == (Standing.GRADED, True)


def test_what_is_wrong_with_a_newer_file_is_never_said_of_the_marks_of_the_old_one():
    grade = a_grade("ada", a_mark())
    old = an_attempt(grade.submission_sha256)
    broken = an_attempt("b" * 64, refusal="this is not a notebook")
    row = rows_of([grade], submissions=[old, broken])["ada"]
    assert (row.standing, row.refusal) == (Standing.WAITING, None)
    assert row.score == 2.0


def test_what_was_wrong_with_the_graded_file_stays_with_its_marks_while_a_newer_one_waits():
    grade = a_grade("ada", a_mark(points=0.0, verdict=Verdict.UNREADABLE))
    broken = an_attempt(grade.submission_sha256, refusal="this is not a notebook")
    row = rows_of([grade], submissions=[broken, an_attempt("b" * 64)])["ada"]
    assert (row.standing, row.refusal) == (Standing.WAITING, "this is not a notebook")


def test_a_file_that_could_not_be_read_stands_so_until_a_person_gives_it_points():
    grade = a_grade("ada", a_mark(points=0.0, verdict=Verdict.UNREADABLE))
    broken = an_attempt(grade.submission_sha256, refusal="this is not a notebook")
    row = rows_of([grade], submissions=[broken])["ada"]
    assert (row.standing, row.complete, row.total) == (Standing.REFUSED, False, None)
    row = rows_of([grade], submissions=[broken], overrides=[an_override()])["ada"]
    assert (row.standing, row.score) == (Standing.GRADED, 1.0)


def test_a_file_that_could_not_be_read_is_open_even_where_an_old_gradebook_has_zeros():
    marks = [a_mark(name, 0.0, verdict=Verdict.UNREADABLE) for name in ("q1_size", "q2_why")]
    grade = a_grade("ada", *marks)
    broken = an_attempt(grade.submission_sha256, refusal="the file is a PDF")
    row = rows_of([grade], submissions=[broken])["ada"]
    assert [mark.points for mark in row.marks] == [None, None]
    assert (row.total, row.share, row.unsettled) == (None, None, 2)


def test_a_file_that_could_not_be_read_has_no_total_until_a_person_has_graded_all_of_it():
    grade = a_grade("ada", *(a_mark(name, None) for name in ("q1_size", "q2_why")))
    broken = an_attempt(grade.submission_sha256, refusal="the file is a PDF")
    one = an_override(points=0.0)
    row = rows_of([grade], submissions=[broken], overrides=[one])["ada"]
    assert (row.total, row.share, row.unsettled) == (None, None, 1)
    assert (row.standing, row.complete) == (Standing.REFUSED, False)
    both = [one, an_override("q2_why", 2.0)]
    row = rows_of([grade], submissions=[broken], overrides=both)["ada"]
    assert (row.total, row.share, row.unsettled) == (2.0, 0.5, 0)
    assert (row.standing, row.complete) == (Standing.GRADED, True)
    newer = an_attempt("b" * 64)
    row = rows_of([grade], submissions=[broken, newer], overrides=[one])["ada"]
    assert (row.standing, row.total, row.share) == (Standing.WAITING, None, None)


def test_a_grade_without_a_settled_mark_is_open_and_has_no_total():
    waiting = a_mark("q2_why", None, verdict=Verdict.UNSETTLED)
    row = rows_of([a_grade("ada", waiting)])["ada"]
    assert (row.standing, row.total, row.share) == (Standing.OPEN, None, None)


def test_the_share_is_of_the_settled_points():
    waiting = a_mark("q2_why", None, verdict=Verdict.UNSETTLED)
    row = rows_of([a_grade("ada", a_mark(points=1.5), waiting)])["ada"]
    assert (row.standing, row.total, row.share) == (Standing.GRADED, 1.5, 0.75)


def test_points_given_by_hand_count_while_a_newer_file_waits():
    grade = a_grade("ada", a_mark(points=0.0))
    row = rows_of([grade], submissions=[an_attempt("b" * 64)], overrides=[an_override()])["ada"]
    assert (row.standing, row.complete, row.score) == (Standing.WAITING, False, 1.0)


def test_an_override_replaces_points_and_says_why_and_leaves_the_grade_alone():
    grade = a_grade("ada", a_mark(points=0.0, verdict=Verdict.INCORRECT), a_mark("q2_x"))
    row = rows_of([grade], overrides=[an_override()])["ada"]
    assert row.score == 3.0
    assert row.marks[0].points == 1.0
    assert row.marks[0].feedback == "Within 1 %.\n\nManually graded: argued well"
    assert row.marks[1] == grade.marks[1]
    assert row.overrides == {"q1_size": an_override()}
    assert grade.marks[0].points == 0.0


def test_an_override_settles_an_open_mark():
    grade = a_grade("ada", a_mark(points=None, verdict=Verdict.UNSETTLED))
    row = rows_of([grade], overrides=[an_override(points=2.0)])["ada"]
    assert row.complete
    assert row.score == 2.0


@pytest.mark.parametrize(
    ("engine", "points", "verdict"),
    [
        (Verdict.INCORRECT, 2.0, Verdict.CORRECT),
        (Verdict.INCORRECT, 3.0, Verdict.CORRECT),
        (Verdict.INCORRECT, 1.0, Verdict.PARTIAL),
        (Verdict.CORRECT, 1.0, Verdict.PARTIAL),
        (Verdict.MISTAKE, 1.0, Verdict.MISTAKE),
        (Verdict.MISTAKE, 2.0, Verdict.CORRECT),
        (Verdict.CORRECT, 0.0, Verdict.INCORRECT),
        (Verdict.UNSETTLED, 0.0, Verdict.INCORRECT),
        (Verdict.ABSENT, 0.0, Verdict.ABSENT),
        (Verdict.UNREADABLE, 0.0, Verdict.UNREADABLE),
    ],
)
def test_the_verdict_goes_with_the_points_given_by_hand(engine, points, verdict):
    grade = a_grade("ada", a_mark(verdict=engine))
    row = rows_of([grade], overrides=[an_override(points=points)])["ada"]
    assert row.marks[0].verdict is verdict


def test_points_by_hand_count_up_to_a_maximum_that_was_lowered_since():
    row = rows_of([a_grade("ada", a_mark())], overrides=[an_override(points=3.0)])["ada"]
    assert (row.score, row.max_score) == (2.0, 2.0)
    assert row.marks[0].verdict is Verdict.CORRECT
    assert row.overrides["q1_size"].points == 3.0, "what the person gave stays"


def test_an_override_for_a_mark_that_is_gone_is_kept_apart():
    lost = an_override("q9_gone", 5.0)
    row = rows_of([a_grade("ada", a_mark())], overrides=[lost])["ada"]
    assert row.score == 2.0
    assert row.stale == (lost,)
    assert rows_of([], overrides=[lost])["ada"].stale == (lost,)


def test_a_grade_of_somebody_who_left_the_roster_is_not_lost():
    rows = rows_of([a_grade("zoe", a_mark())])
    assert rows["zoe"].score == 2.0
    assert len(rows) == 4


def test_numbers_of_pools_count_every_problem_they_choose():
    exam = ExamSet(
        id="x",
        title="X",
        problems=(
            "one",
            Slot(pool=("a", "b", "c"), choose=2),
            Slot(problem="four"),
            Slot(pool=("d", "e"), choose=2),
            Slot(pool=("f", "g")),
        ),
    )
    assert pooled_numbers(exam) == {2, 3, 7}
