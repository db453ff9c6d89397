"""A course's policies on graded exams: deductions, attempts, extensions, slip days, exemptions."""

from __future__ import annotations

import csv
import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from grader.gradebook import Gradebook
from grader.grading.course_policy import apply_policy, compares_answers, policy_of
from grader.grading.manual import criteria_of
from grader.grading.other_files import other_files_of
from grader.grading.sources import rows_of, source_of
from grader.grading.tally import tally
from grader.model import Submission, Verdict
from grader.model.course import TimeSource
from grader.model.result import Standing
from grader.release.papers import SEATS
from tests.helpers.banks import a_bank, a_roster
from tests.helpers.commands import fails, ok, run

HEAD = """\
id: systems
time_zone: Europe/Berlin
staff: {kim: {role: instructor}}
"""
LATE = "late: {grace: 10 min, deduct: 25%}\n"
DUE = "sets:\n  quiz: {due: 2026-10-05 23:59, closes: 2026-10-20}\n"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release, and a submission with full points of each of two students."""
    made = tmp_path_factory.mktemp("made")
    a_bank(made / "bank")
    ok(
        "render", "quiz", "--roster", a_roster(made), "--out", made / "release",
        "--bank", made / "bank",
    )  # fmt: skip
    for student in ("ada", "bo"):
        path = made / "in" / student / "1.ipynb"
        ok("solve", made / "release", "--student", student, "--out", path, "--bank", made / "bank")
        os.utime(path, (1_700_000_001,) * 2)
    return made


@pytest.fixture
def home(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return tmp_path


def hand_in(home: Path, student: str, name: str, *, wrong: bool = False, code: str = "") -> None:
    """Adds an attempt, newer than those with smaller names; right, or *wrong* in every answer, or
    with *code* at its end."""
    data = json.loads((home / "in" / student / "1.ipynb").read_text())
    path = home / "in" / student / f"{name}.ipynb"
    added = "q1_share = 1e-30\nq1_bound = None" if wrong else code or f"attempt = {name}"
    cell = next(c for c in reversed(data["cells"]) if c["cell_type"] == "code")
    data["cells"].append({**cell, "id": f"added-{name}", "source": added, "metadata": {}})
    path.write_text(json.dumps(data))
    os.utime(path, (1_700_000_000 + int(name),) * 2)


def graded(home: Path, course: str = HEAD + LATE + DUE, times: str = "", folder: str = "in") -> str:
    (home / "course.yaml").write_text(course)
    given: list[object] = []
    if times:
        (home / "times.csv").write_text(times)
        given = ["--times", home / "times.csv"]
    result = ok(
        "grade", home / folder, "--release", home / "release", "--out", home / "results",
        "--bank", home / "bank", "--course", home / "course.yaml", *given,
    )  # fmt: skip
    return result.stdout


def noted(home: Path, times: str, course: str = HEAD + LATE + DUE) -> str:
    """What `grader grade` says to stderr."""
    (home / "course.yaml").write_text(course)
    (home / "times.csv").write_text(times or "student,received\n")
    shutil.rmtree(home / "results", ignore_errors=True)
    return ok(
        "grade", home / "in", "--release", home / "release", "--out", home / "results",
        "--bank", home / "bank", "--course", home, "--times", home / "times.csv",
    ).stderr  # fmt: skip


def grade_of(home: Path, student: str = "ada") -> dict:  # type: ignore[type-arg]
    return json.loads((home / "results" / "grades" / f"{student}.json").read_text())


def line_of(home: Path, student: str) -> dict[str, str]:
    with (home / "results" / "grades.csv").open() as file:
        return next(line for line in csv.DictReader(file) if line["student"] == student)


def page_of(home: Path, student: str = "ada") -> str:
    return (home / "results" / "feedback" / f"{student}.html").read_text()


def score_of(home: Path, student: str = "ada") -> float:
    return grade_of(home, student)["score"] / grade_of(home, student)["max_score"]


TWO_DAYS_LATE = "student,received\nada,2026-10-07 12:00\nbo,2026-10-05 12:00\n"


@pytest.mark.thorough
def test_a_late_submission_shows_points_deduction_and_reason_everywhere(home: Path) -> None:
    graded(home, times=TWO_DAYS_LATE)
    ada, bo = grade_of(home), grade_of(home, "bo")
    assert score_of(home) == pytest.approx(0.5)
    assert ada["raw_score"] == ada["max_score"]
    assert ada["deduction"]["slip_days"] == 0
    assert "1 day 12 h after the due date" in ada["deduction"]["why"]
    assert score_of(home, "bo") == 1
    assert "deduction" not in bo
    one, two = line_of(home, "ada"), line_of(home, "bo")
    assert float(one["total"]) + float(one["deduction"]) == float(one["raw"])
    assert two["deduction"] == ""
    assert "are deducted. Handed in Oct 7, 2026, 12:00 CEST" in page_of(home)
    assert "deducted" not in page_of(home, "bo")


@pytest.mark.thorough
def test_a_deduction_goes_when_its_reason_goes(home: Path) -> None:
    graded(home, times=TWO_DAYS_LATE)
    evidence = sorted((home / "results" / "evidence").rglob("*"))
    ok(
        "course", "grant", "ada", "--set", "quiz", "--until", "2026-10-07 23:59",
        "--why", "illness", "--by", "kim", "--course", home / "course.yaml",
    )  # fmt: skip
    preview = ok(
        "score", home / "results", "--course", home / "course.yaml", "--dry-run", "--json",
        "--bank", home / "bank",
    )  # fmt: skip
    [change] = json.loads(preview.stdout)["changes"]
    assert (change["student"], change["after"]) == ("ada", 2 * change["before"])
    assert score_of(home) == 0.5, "a preview changes nothing"
    ok("score", home / "results", "--course", home / "course.yaml", "--bank", home / "bank")
    assert score_of(home) == 1
    assert "deducted" not in page_of(home)
    assert "Due date extended to Oct 7, 2026, 23:59 CEST by kim." in page_of(home)
    assert "illness" not in page_of(home)
    assert sorted((home / "results" / "evidence").rglob("*")) == evidence, "nothing was executed"


@pytest.mark.thorough
def test_without_a_trusted_time_nothing_is_deducted_and_the_command_says_so(home: Path) -> None:
    graded(home)  # the files are years older than the due date, and could as well be newer
    lines = json.loads(ok("course", "late", home / "results", "--json").stdout)
    assert [one["received"] for one in lines] == [None, None]
    assert score_of(home) == 1


@pytest.mark.thorough
def test_grading_says_once_how_many_times_are_unknown(home: Path) -> None:
    said = noted(home, "")
    assert said.count("2 submissions have no trusted time, so nobody can be late") == 1
    assert "1 submission has no trusted time" in noted(
        home, TWO_DAYS_LATE.split("bo,", maxsplit=1)[0]
    )
    assert "trusted time" not in noted(home, TWO_DAYS_LATE)
    assert "trusted time" not in noted(home, "", HEAD + "sets: {quiz: {}}\n")


@pytest.mark.thorough
def test_the_worksheet_of_moodle_gives_times(home: Path) -> None:
    sheet = """\
Identifier,"Full name","Email address",Grade,"Last modified (submission)"
"Participant 1",{ada},-,,"Wednesday, 7 October 2026, 12:00 PM"
"Participant 2","Somebody Else",x@example.edu,,"Monday, 5 October 2026, 9:00 AM"
"""
    graded(home, times=sheet.format(ada='"ada"'))
    assert score_of(home) == pytest.approx(0.5)
    assert grade_of(home)["deduction"]["late_seconds"] == 36 * 3600 + 1
    (home / "times.csv").write_text(sheet.format(ada='"Nobody"'))
    result = run(
        "grade", home / "in", "--release", home / "release", "--out", home / "results",
        "--bank", home / "bank", "--course", home, "--times", home / "times.csv",
    )  # fmt: skip
    assert "names no student of the release" in str(result.exception or result.stderr)


@pytest.mark.thorough
def test_times_of_commits_count_only_if_the_course_says_so(home: Path) -> None:
    times = "student,received,source\nada,2026-10-06 12:00,commit\n"
    graded(home, times=times)
    assert score_of(home) == 1
    graded(home, HEAD + "file_dates: true\n" + LATE + DUE, times)
    assert score_of(home) == pytest.approx(0.75)


def test_what_staff_hand_in_for_a_student_is_not_late(home: Path) -> None:
    graded(home, times="student,received,by\nada,2026-10-09 12:00,kim\n")
    assert score_of(home) == 1


TIMED = "sets:\n  quiz: {opens: 2026-10-05 09:00, due: 2026-10-05 18:00, minutes: 60}\n"


def test_a_timed_set_counts_from_when_the_student_got_it(home: Path) -> None:
    times = (
        "student,started,received\nada,2026-10-05 10:00,2026-10-05 11:20\n"
        "bo,2026-10-01 10:00,2026-10-05 09:50\n"
    )
    graded(home, HEAD + LATE + TIMED, times)
    assert score_of(home) == pytest.approx(0.75)
    assert "20 min after the due date" in grade_of(home)["deduction"]["why"]
    assert score_of(home, "bo") == 1, "bo got it before it opened"
    extra = "grants:\n- {student: ada, time: 1.5, why: needs, by: kim}\n"
    graded(home, HEAD + LATE + TIMED + extra, times)
    assert score_of(home) == 1


CLOCKS_BACK = "sets:\n  quiz: {due: 2026-10-25 02:30}\n"  # 2:30 occurs twice


@pytest.mark.parametrize(
    ("course", "received", "late"),
    [
        (CLOCKS_BACK, "2026-10-25T02:30:59+01:00", False),  # the second 2:30
        (CLOCKS_BACK, "2026-10-25T02:50:00+02:00", False),  # between the two
        (CLOCKS_BACK, "2026-10-25T02:45:00+01:00", True),
        ("sets:\n  quiz: {due: 2026-10-05 24:00}\n", "2026-10-06 00:00:00", False),
        ("sets:\n  quiz: {due: 2026-10-05}\n", "2026-10-05 23:59:59", False),
        ("sets:\n  quiz: {due: 2026-10-05}\n", "2026-10-06 00:00:00", True),
    ],
)
def test_midnight_and_the_hour_that_occurs_twice(
    home: Path, course: str, received: str, late: bool
) -> None:
    graded(home, HEAD + "late: {deduct: 25%}\n" + course, f"student,received\nada,{received}\n")
    assert (score_of(home) < 1) == late


@pytest.mark.thorough
def test_the_course_never_changes_a_mark(home: Path) -> None:
    hand_in(home, "ada", "2", wrong=True)
    times = ATTEMPTS.format(second="2026-10-07 13:00")
    graded(home, HEAD + "sets: {}\n", times)
    before = grade_of(home)
    graded(home, times=times)
    after = grade_of(home)
    assert after["marks"] == before["marks"]
    assert "deduction" not in before
    assert after.get("raw_score", after["score"]) == before["score"]


def test_a_regrade_with_the_same_course_changes_nothing(home: Path) -> None:
    graded(home, times=TWO_DAYS_LATE)
    before = {path: path.read_bytes() for path in (home / "results").rglob("*.*") if path.is_file()}
    again = ("score", home / "results", "--course", home, "--bank", home / "bank")
    assert ok(*again).stdout == "0 totals changed.\n"
    for path, data in before.items():
        if path.suffix in (".html", ".csv", ".json"):
            assert path.read_bytes() == data, path


def test_the_preview_of_a_course_without_the_set_shows_what_it_takes_back(home: Path) -> None:
    graded(home, times=TWO_DAYS_LATE)
    (home / "course.yaml").write_text(HEAD + "sets: {exam: {due: 2026-10-05}}\n")
    preview = ok(
        "score", home / "results", "--course", home, "--dry-run", "--json", "--bank", home / "bank"
    )
    [change] = json.loads(preview.stdout)["changes"]
    assert (change["student"], change["why"]) == ("ada", "The deduction no longer applies.")
    assert score_of(home) == pytest.approx(0.5)


@pytest.mark.thorough
def test_the_date_of_a_file_counts_only_if_the_course_says_so(home: Path) -> None:
    os.utime(home / "in" / "ada" / "1.ipynb", (1_791_280_000,) * 2)  # Oct 6, 2026
    graded(home)
    assert score_of(home) == 1
    graded(home, HEAD + "file_dates: true\n" + LATE + DUE)
    assert score_of(home) == pytest.approx(0.75)


ATTEMPTS = "student,file,received\nada,1.ipynb,2026-10-05 12:00\nada,2.ipynb,{second}\n"


def attempts(policy: str) -> str:
    return HEAD + LATE + f"attempts: {policy}\n" + DUE


@pytest.mark.thorough
def test_the_newest_or_the_best_attempt_counts_as_the_policy_says(home: Path) -> None:
    hand_in(home, "ada", "2", wrong=True)
    times = ATTEMPTS.format(second="2026-10-05 13:00")
    graded(home, attempts("{count: newest}"), times)
    assert score_of(home) == 0
    graded(home, attempts("{count: best}"), times)
    assert score_of(home) == 1
    first = grade_of(home)["submission_sha256"]
    graded(home, attempts("{count: mean}"), times)
    assert score_of(home) == pytest.approx(0.5)
    assert "Mean of 2 attempts" in page_of(home)
    graded(home, attempts("{count: newest, limit: 1}"), times)
    assert (score_of(home), grade_of(home)["submission_sha256"]) == (1, first)


def test_on_paper_the_latest_typed_answers_count_whatever_the_policy(home: Path) -> None:
    graded(home, attempts("{count: best}"))
    with Gradebook.open(home / "results") as book:
        notebooks = policy_of(book, "quiz")
        book.set_setting(SEATS, {"ada": "A"})
        paper = policy_of(book, "quiz")
    assert notebooks is not None
    assert notebooks.needs_all_attempts
    assert paper is not None
    assert not paper.needs_all_attempts


def test_of_a_late_file_and_one_in_time_the_policy_decides(home: Path) -> None:
    hand_in(home, "ada", "2")
    times = ATTEMPTS.format(second="2026-10-06 12:00")
    graded(home, attempts("{count: newest}"), times)
    assert score_of(home) == pytest.approx(0.75)
    graded(home, attempts("{count: in-time}"), times)
    assert score_of(home) == 1


def test_a_file_after_the_set_closed_does_not_replace_one_in_time(home: Path) -> None:
    hand_in(home, "ada", "2", wrong=True)
    times = ATTEMPTS.format(second="2026-10-25 12:00")
    graded(home, times=times)
    assert score_of(home) == 1
    assert "deduction" not in grade_of(home)
    graded(home, HEAD + "late: {accept: false}\n" + DUE, times)
    assert score_of(home) == 1
    # The newer file counts from the extension on, which needs no kernel.
    until = ("--until", "2026-10-26", "--why", "illness", "--by", "kim")
    ok("course", "grant", "ada", "--set", "quiz", *until, "--course", home / "course.yaml")
    ok("score", home / "results", "--course", home / "course.yaml", "--bank", home / "bank")
    assert score_of(home) == 0


def test_trusted_times_decide_which_file_is_the_newest(home: Path) -> None:
    hand_in(home, "ada", "2", wrong=True)
    graded(home, times=ATTEMPTS.format(second="2026-10-05 11:00"))
    assert score_of(home) == 1


def test_a_manual_change_is_explained_once(home: Path) -> None:
    hand_in(home, "ada", "2", wrong=True)
    graded(home, attempts("{count: best}"), ATTEMPTS.format(second="2026-10-05 13:00"))
    ok(
        "mark", home / "results", "--student", "ada", "--answer", "q1_share", "--points", "0.5",
        "--why", "half right", "--bank", home / "bank",
    )  # fmt: skip
    marks = {one["name"]: one for one in grade_of(home)["marks"]}
    assert marks["q1_share"]["points"] == 0.5
    assert marks["q1_share"]["feedback"].count("half right") == 1


def test_a_second_run_changes_nothing(home: Path) -> None:
    hand_in(home, "ada", "2", wrong=True)
    times = ATTEMPTS.format(second="2026-10-05 13:00")
    graded(home, attempts("{count: best}"), times)
    before = grade_of(home)
    said = graded(home, attempts("{count: best}"), times)
    assert grade_of(home) == before
    assert "2 graded" in said


def test_a_regrade_scores_every_attempt_and_chooses_again(home: Path) -> None:
    hand_in(home, "ada", "2", wrong=True)
    times = ATTEMPTS.format(second="2026-10-05 13:00")
    graded(home, attempts("{count: best}"), times)
    ok("score", home / "results", "--bank", home / "bank")
    assert score_of(home) == 1


def test_slip_days_are_shared_by_the_sets_of_the_course(home: Path) -> None:
    sets = "slip_days: 2\nsets:\n  first: {due: 2026-09-01, results: first}\n" + DUE[6:]
    graded(home, HEAD + LATE + sets, TWO_DAYS_LATE)
    assert score_of(home) == 1
    assert grade_of(home)["deduction"]["slip_days"] == 2
    (home / "results").rename(home / "used")
    # As if the same students had used their days in a set that is due before.
    earlier = HEAD + LATE + "slip_days: 2\nsets:\n  before: {due: 2026-09-01, results: used}\n"
    graded(home, earlier + DUE[6:], TWO_DAYS_LATE)
    assert score_of(home) == pytest.approx(0.5)


def test_an_exempt_student_has_no_total(home: Path) -> None:
    grants = "grants:\n- {student: ada, set: quiz, exempt: true, why: transfer, by: kim}\n"
    graded(home, HEAD + LATE + DUE + grants)
    ada, bo = line_of(home, "ada"), line_of(home, "bo")
    assert (ada["total"], ada["standing"], bo["total"] != "") == ("", "exempt", True)
    assert "You are exempt" in page_of(home)


def test_solutions_appear_when_the_course_says(home: Path) -> None:
    graded(home, HEAD + "sets:\n  quiz: {feedback: 2999-01-01}\n")
    hidden = page_of(home)
    graded(home, HEAD + "sets:\n  quiz: {feedback: 2020-01-01}\n")
    assert "Worked solution" in page_of(home)
    assert "Worked solution" not in hidden


def test_a_wrong_table_of_times_names_its_line(home: Path) -> None:
    for times, said in [
        ("student,when\n", "times.csv:1: unknown column 'when'"),
        ("student,received\nada,soon\n", "times.csv:2: 'soon' is not a time"),
        ("student,received\neve,2026-10-05\n", "times.csv:2: there is no student 'eve'"),
        ("student,received,source\nada,2026-10-05,post\n", "times.csv:2: unknown source 'post'"),
        ("student,file,received\nada,9.ipynb,2026-10-05\n", "'ada' has no file called '9.ipynb'"),
        ("student,received\nada,2026-10-05\n,2026-10-06\n", "csv:3: this row names no student"),
        (
            "student,received\nada,2026-10-05\nbo,2026-10-05\nada,2026-10-06\n",
            "times.csv:4: 'ada' has two times for the same file",
        ),
        ("student,received,received\nada,2026-10-05,\n", "two columns are named 'received'"),
    ]:
        (home / "times.csv").write_text(times)
        (home / "course.yaml").write_text(HEAD + DUE)
        result = run(
            "grade", home / "in", "--release", home / "release", "--out", home / "results",
            "--bank", home / "bank", "--course", home, "--times", home / "times.csv",
        )  # fmt: skip
        assert said in str(result.exception or result.stderr)


def test_where_no_attempt_counts_all_points_are_deducted_and_it_says_why(home: Path) -> None:
    hand_in(home, "ada", "2", wrong=True)
    closed = ATTEMPTS.format(second="2026-10-22 13:00").replace("10-05 12:00", "10-21 12:00")
    for policy in ("{count: newest}", "{count: best}", "{count: mean}"):
        graded(home, attempts(policy), closed)
        ada = grade_of(home)
        assert ada["score"] == 0
        assert "closed" in ada["deduction"]["why"]
        assert score_of(home, "bo") == 1


def test_points_by_hand_decide_which_attempt_is_the_best(home: Path) -> None:
    hand_in(home, "ada", "2", wrong=True)
    times = ATTEMPTS.format(second="2026-10-05 13:00")
    graded(home, attempts("{count: best}"), times)
    ok(
        "mark", home / "results", "--student", "ada", "--answer", "q1_share", "--points", "0.5",
        "--why", "copied", "--by", "kim",
    )  # fmt: skip
    ok("score", home / "results", "--bank", home / "bank")
    assert grade_of(home)["score"] == 1.5


def test_a_file_that_waits_for_its_grade_leaves_the_order_as_it_is(home: Path) -> None:
    graded(home, attempts("{count: best}"))
    with Gradebook.open(home / "results") as book:
        before = source_of(book)
        book.add_submissions([Submission(student="ada", path="2.ipynb", sha256="2" * 64)])
        rows = {row.student.id: row for row in rows_of(book, before)}
    assert rows["ada"].standing is Standing.WAITING
    assert rows["ada"].score == rows["bo"].score


def test_a_grade_without_its_file_is_left_as_it_is(home: Path) -> None:
    graded(home, times=TWO_DAYS_LATE)
    with Gradebook.open(home / "results") as book:
        policy = policy_of(book, "quiz")
        plain = list(tally(book.students(), book.grades(), max_points=lambda _: 3.0))
    assert policy is not None
    assert [row.score for row in apply_policy(policy, plain, (), {})] == [
        row.score for row in plain
    ]


def test_a_course_that_no_longer_has_the_set_takes_its_deductions_back(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    graded(home, times=TWO_DAYS_LATE)
    assert score_of(home) == pytest.approx(0.5)
    (home / "course.yaml").write_text(HEAD + LATE + "sets:\n  other: {due: 2026-10-05}\n")
    ok("score", home / "results", "--course", home / "course.yaml", "--bank", home / "bank")
    assert "these results have no course with dates" in fails(
        capsys, "course", "late", home / "results"
    )


def test_slip_days_need_the_results_of_the_sets_before(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sets = "slip_days: 2\nsets:\n  before: {due: 2026-09-01, results: used}\n" + DUE[6:]
    graded(home, HEAD + LATE + sets, TWO_DAYS_LATE)
    (home / "used").mkdir()
    course = ("--course", home / "course.yaml")
    said = fails(capsys, "score", home / "results", *course, "--bank", home / "bank")
    assert "the slip days of the set 'before' are unknown: there is no gradebook here" in said
    # No set comes before one without a due date.
    graded(home, HEAD + LATE + sets.replace("due: 2026-10-05 23:59, ", ""))
    assert score_of(home) == 1


def test_answers_are_compared_only_if_the_course_or_the_set_says_so(home: Path) -> None:
    with Gradebook.open(home / "new", create=True) as book:
        assert not compares_answers(book, "quiz"), "there is no course"
    graded(home)
    with Gradebook.open(home / "results") as book:
        assert not compares_answers(book, "quiz")
        assert criteria_of(book, "ada", "q1_share") == (), "a number has no rubric"
    graded(home, HEAD + "shared_answers: true\n" + DUE)
    with Gradebook.open(home / "results") as book:
        assert compares_answers(book, "quiz")
        assert compares_answers(book, "another")
    graded(home, HEAD + "shared_answers: true\nsets:\n  quiz: {shared_answers: false}\n")
    with Gradebook.open(home / "results") as book:
        assert not compares_answers(book, "quiz")
        assert compares_answers(book, "another")


def test_a_single_attempt_counts_whatever_the_policy(home: Path) -> None:
    graded(home, attempts("{count: best}"))
    with Gradebook.open(home / "results") as book:
        policy = policy_of(book, "quiz")
        ada = book.students()["ada"]
    assert policy is not None
    only = Submission(student="ada", path=str(home / "in" / "ada" / "1.ipynb"), sha256="0" * 64)
    assert policy.order(ada, [only]) == (only,)


@pytest.mark.parametrize("has_times", [False, True])
def test_a_file_that_is_collected_again_is_no_further_attempt(home: Path, has_times: bool) -> None:
    times = ATTEMPTS.format(second="2026-10-05 13:00") if has_times else ""
    first = times and "student,file,received\nada,1.ipynb,2026-10-05 12:00\n"
    graded(home, attempts("{limit: 2}"), first)
    hand_in(home, "ada", "2", wrong=True)
    shutil.copytree(home / "in", home / "again")
    graded(home, attempts("{limit: 2}"), times, folder="again")
    assert "deduction" not in grade_of(home)
    assert score_of(home) == 0, "the second attempt counts"
    graded(home, attempts("{count: mean, deduct: 10%}"), times, folder="again")
    assert "Mean of 2 attempts: " in grade_of(home)["deduction"]["why"]


def test_after_a_set_without_a_due_date_closed_nothing_counts(home: Path) -> None:
    closes = HEAD + LATE + "sets:\n  quiz: {closes: 2026-10-05 23:59}\n"
    times = "student,received\nada,2026-10-06 00:05\nbo,2026-10-05 12:00\n"
    graded(home, closes, times)
    assert (score_of(home), score_of(home, "bo")) == (0, 1)
    said = "5 min 1 s after the closing date (Oct 5, 2026, 23:59:59 CEST), so this attempt does not"
    assert said in grade_of(home)["deduction"]["why"]
    assert "2 submissions have no trusted time" in noted(home, "", closes)


def test_the_mean_of_late_attempts_uses_up_slip_days(home: Path) -> None:
    hand_in(home, "ada", "2", wrong=True)
    times = ATTEMPTS.format(second="2026-10-06 12:00")
    graded(home, "slip_days: 2\n" + attempts("{count: mean}"), times)
    deduction = grade_of(home)["deduction"]
    assert (deduction["slip_days"], deduction["late_seconds"]) == (1, 12 * 3600 + 1)
    assert score_of(home) == pytest.approx(0.5)


def test_an_older_file_replaces_an_unreadable_one_only_if_that_does_not_count(home: Path) -> None:
    hand_in(home, "ada", "2", wrong=True)
    damaged = home / "in" / "ada" / "3.ipynb"
    damaged.write_text("{")
    os.utime(damaged, (1_700_000_003,) * 2)
    graded(home, HEAD + "sets: {quiz: {}}\n")
    assert grade_of(home)["complete"] is False, "as without a course"
    times = ATTEMPTS.format(second="2026-10-05 13:00") + "ada,3.ipynb,2026-10-21 13:00\n"
    graded(home, times=times)
    assert grade_of(home)["complete"] is True, "it came after the set closed"
    assert score_of(home) == 0


def test_a_withdrawn_grade_stays_withdrawn_when_the_course_or_the_specs_change(home: Path) -> None:
    hand_in(home, "ada", "2", wrong=True)
    graded(home, attempts("{count: best}"), ATTEMPTS.format(second="2026-10-05 13:00"))
    with Gradebook.open(home / "results") as book:
        book.withdraw_grade("ada", by="kim", why="of another student")
    ok("score", home / "results", "--bank", home / "bank")
    ok("score", home / "results", "--course", home / "course.yaml", "--bank", home / "bank")
    with Gradebook.open(home / "results") as book:
        assert [grade.student for grade in book.grades()] == ["bo"]


def test_a_table_with_one_kind_of_time_keeps_the_stored_times_of_the_other(home: Path) -> None:
    course = HEAD + LATE + TIMED
    graded(home, course, "student,started\nada,2026-10-05 10:00\n")
    graded(home, course, "student,received,source\nada,2026-10-05 11:20,forge\n")
    assert score_of(home) == pytest.approx(0.75)
    graded(home, course, "student,started\nada,2026-10-05 10:30\n")
    assert score_of(home) == 1
    with Gradebook.open(home / "results") as book:
        [stored] = book.times()
    assert (stored.source, stored.received) == (TimeSource.FORGE, "2026-10-05T09:20:00+00:00")


def test_the_start_of_one_file_leaves_the_time_of_all_files_of_its_student(home: Path) -> None:
    graded(home, times=TWO_DAYS_LATE)
    graded(home, times="student,file,started\nada,1.ipynb,2026-10-07 11:00\n")
    assert score_of(home) == pytest.approx(0.5)


def test_a_table_of_times_names_copies_and_files_with_exclamation_marks(home: Path) -> None:
    shutil.copy(home / "in" / "ada" / "1.ipynb", home / "in" / "ada" / "copy!.ipynb")
    times = "student,file,received\nada,1.ipynb,{}\nada,copy!.ipynb,{}\n"
    for first, second in (("07", "05"), ("05", "07")):
        graded(home, times=times.format(f"2026-10-{first} 12:00", f"2026-10-{second} 12:00"))
        assert score_of(home) == 1, "the earliest time of equal files counts"


@pytest.mark.parametrize(
    "policy", ["limit: 1", "count: best, limit: 2", "count: best, deduct: 10%"]
)
def test_attempts_without_times_are_numbered_by_the_dates_of_their_files(
    home: Path, policy: str
) -> None:
    hand_in(home, "ada", "2", wrong=True)
    hand_in(home, "ada", "3", wrong=True)
    graded(home, attempts(f"{{{policy}}}"))
    assert score_of(home) == 1, "the first attempt counts, and it is not the third"
    assert "deduction" not in grade_of(home)


def test_the_best_attempt_is_chosen_by_the_points_of_the_parts_that_count(home: Path) -> None:
    hand_in(home, "ada", "2", code="q1_share *= 2")  # a mistake that keeps a quarter
    hand_in(home, "ada", "3")
    shutil.copy(home / "in" / "ada" / "2.ipynb", home / "in" / "ada" / "1.ipynb")
    os.utime(home / "in" / "ada" / "1.ipynb", (1_700_000_001,) * 2)
    (home / "in" / "ada" / "2.ipynb").unlink()
    graded(home, attempts("{count: best, deduct: 60%}"))
    assert grade_of(home)["score"] == 1.5, "3 - 60% of 3 is less"
    drop = ("--drop", "sample/bound", "--apply", "--why", "unclear", "--by", "kim")
    ok("what-if", home / "results", *drop, "--bank", home / "bank")
    assert grade_of(home)["score"] == pytest.approx(2 - 0.6 * 2), "which is more than 0.5"


def damage(home: Path, name: str) -> None:
    """Adds an attempt of ada that can't be read, newer than those with smaller names."""
    path = home / "in" / "ada" / f"{name}.ipynb"
    path.write_text("{")
    os.utime(path, (1_700_000_000 + int(name),) * 2)


@pytest.mark.parametrize("count", ["best", "mean"])
def test_the_only_older_file_counts_where_all_attempts_do(home: Path, count: str) -> None:
    graded(home, attempts(f"{{count: {count}}}"))
    damage(home, "2")
    for _ in range(2):  # with the older file graded already, and then without any results
        graded(home, attempts(f"{{count: {count}}}"))
        assert (grade_of(home)["complete"], score_of(home)) == (True, 1)
        shutil.rmtree(home / "results")


def test_an_unreadable_file_after_the_set_closed_does_not_replace_the_only_other(
    home: Path,
) -> None:
    damage(home, "2")
    graded(home, times=ATTEMPTS.format(second="2026-10-21 13:00"))
    assert (grade_of(home)["complete"], score_of(home)) == (True, 1)


def test_a_curve_adds_nothing_to_an_attempt_that_does_not_count(home: Path) -> None:
    times = "student,received\nada,2026-10-21 12:00\nbo,2026-10-06 12:00\n"
    graded(home, times=times)
    assert (score_of(home), score_of(home, "bo")) == (0, pytest.approx(0.75))
    curve = ("--curve", "1+0.5", "--apply", "--why", "The exam was long.", "--by", "kim")
    ok("what-if", home / "results", *curve, "--bank", home / "bank")
    assert (grade_of(home)["score"], grade_of(home, "bo")["score"]) == (0, 2.75)
    assert "Curve" not in grade_of(home)["deduction"]["why"]


def test_a_time_that_staff_state_is_listed_as_theirs(home: Path) -> None:
    grant = "{student: ada, set: quiz, received: 2026-10-06 12:00, why: seen, by: kim}"
    graded(home, HEAD + LATE + DUE + f"grants:\n- {grant}\n", TWO_DAYS_LATE)
    lines = json.loads(ok("course", "late", home / "results", "--all", "--json").stdout)
    assert [(line["student"], line["source"]) for line in lines] == [
        ("ada", "staff"),
        ("bo", "platform"),
    ]
    assert score_of(home) == pytest.approx(0.75)


def test_an_open_mark_of_an_attempt_that_may_be_the_best_is_not_forgotten(home: Path) -> None:
    hand_in(home, "ada", "2", code="q1_bound = None")
    hand_in(home, "ada", "3", code="q1_share = 1e-30")
    (home / "in" / "ada" / "1.ipynb").unlink()
    graded(home, attempts("{count: best}"))
    assert (grade_of(home)["score"], grade_of(home)["complete"]) == (2, True)
    with Gradebook.open(home / "results") as book:
        [newest] = [g for g in book.attempt_grades() if g.student == "ada" and g.score == 1]
        marks = [
            replace(mark, points=None, verdict=Verdict.UNSETTLED) if mark.points == 0 else mark
            for mark in newest.marks
        ]
        counting = book.grade("ada")
        assert counting is not None
        book.put_grades([replace(newest, marks=tuple(marks)), counting], why="as for code")
    ok("score", home / "results", "--course", home / "course.yaml", "--bank", home / "bank")
    assert (grade_of(home)["score"], grade_of(home)["complete"]) == (1, False)
    given = ("--student", "ada", "--answer", "q1_share", "--points", "2", "--why", "right")
    ok("mark", home / "results", *given, "--by", "kim", "--bank", home / "bank")
    assert (grade_of(home)["score"], grade_of(home)["complete"]) == (3, True)


@pytest.mark.parametrize("hour", ["", "13:00", "11:00"])
@pytest.mark.parametrize("sets", ["quiz: {}", "other: {}"])
def test_the_newest_attempt_counts_again_without_the_policy_that_chose_another(
    home: Path, hour: str, sets: str
) -> None:
    hand_in(home, "ada", "1", code="q1_bound = None")
    hand_in(home, "ada", "2", wrong=True)
    newest = 2 if hour == "11:00" else 0
    policy = "{count: best}" if newest == 0 else "{count: mean}"
    graded(home, attempts(policy), hour and ATTEMPTS.format(second=f"2026-10-05 {hour}"))
    before = grade_of(home)["score"]
    (home / "course.yaml").write_text(HEAD + f"sets: {{{sets}}}\n")
    score = ("score", home / "results", "--course", home / "course.yaml", "--bank", home / "bank")
    [change] = json.loads(ok(*score, "--dry-run", "--json").stdout)["changes"]
    assert (change["before"], change["after"]) == (before, newest)
    ok(*score)
    assert (grade_of(home)["score"], line_of(home, "ada")["standing"]) == (newest, "graded")
    assert grade_of(home)["complete"] is True


@pytest.mark.parametrize("policy", ["limit: 1", "count: best, deduct: 40%", "count: mean"])
def test_a_file_that_could_not_be_read_in_an_earlier_run_is_no_attempt(
    home: Path, policy: str
) -> None:
    hand_in(home, "ada", "2")
    newest = (home / "in" / "ada" / "2.ipynb").rename(home / "2.ipynb")
    damage(home, "1")
    graded(home, attempts(f"{{{policy}}}"))
    assert grade_of(home)["complete"] is False
    shutil.copy2(newest, home / "in" / "ada")
    graded(home, attempts(f"{{{policy}}}"))
    assert (score_of(home), grade_of(home)["complete"]) == (1, True)
    assert "deduction" not in grade_of(home)


@pytest.mark.parametrize("policy", ["limit: 1", "count: best, deduct: 40%", "count: mean"])
def test_a_file_of_another_exam_in_an_earlier_run_is_no_attempt(home: Path, policy: str) -> None:
    path = home / "in" / "ada" / "1.ipynb"
    exam = json.loads(path.read_text())
    cell = next(one for one in exam["cells"] if one["cell_type"] == "code")
    other = {**exam, "cells": [{**cell, "source": "x = 1", "metadata": {}}], "metadata": {}}
    path.write_text(json.dumps(other))
    os.utime(path, (1_700_000_001,) * 2)
    graded(home, attempts(f"{{{policy}}}"))
    assert grade_of(home)["score"] == 0
    newer = path.with_name("2.ipynb")
    newer.write_text(json.dumps(exam))
    os.utime(newer, (1_700_000_002,) * 2)
    for _ in range(2):
        graded(home, attempts(f"{{{policy}}}"))
        assert (score_of(home), grade_of(home)["complete"]) == (1, True)
        assert "deduction" not in grade_of(home)
    newer.unlink()  # nothing is left but the other file, which is an attempt again
    graded(home, attempts(f"{{{policy}}}"))
    with Gradebook.open(home / "results") as book:
        assert other_files_of(book) == frozenset()


def test_a_mean_is_open_while_an_older_attempt_has_an_open_mark(home: Path) -> None:
    hand_in(home, "ada", "2", code="q1_bound = None")
    graded(home, attempts("{count: mean}"))
    assert (grade_of(home)["score"], grade_of(home)["complete"]) == (2.5, True)
    with Gradebook.open(home / "results") as book:
        [older] = [g for g in book.attempt_grades() if g.student == "ada" and g.score == 3]
        marks = [
            replace(mark, points=None, verdict=Verdict.UNSETTLED)
            if mark.name == "q1_share"
            else mark
            for mark in older.marks
        ]
        counting = book.grade("ada")
        assert counting is not None
        book.put_grades([replace(older, marks=tuple(marks)), counting], why="as for code")
    ok("score", home / "results", "--course", home / "course.yaml", "--bank", home / "bank")
    assert not grade_of(home)["complete"]
    given = ("--student", "ada", "--answer", "q1_share", "--points", "2", "--why", "right")
    ok("mark", home / "results", *given, "--by", "kim", "--bank", home / "bank")
    assert (grade_of(home)["score"], grade_of(home)["complete"]) == (2.5, True)
