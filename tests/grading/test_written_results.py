"""A results folder's files: nothing is done twice, nothing that changed is left as it was."""

from __future__ import annotations

import csv
import json
import shutil
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from grader.bank.folders import Bank
from grader.gradebook import Gradebook
from grader.grading import results
from grader.grading.cache_keys import KEPT
from grader.grading.manual import list_waiting
from grader.grading.results import set_published, write_results
from grader.grading.sources import NOTICES
from grader.model import Override, Student, Submission
from grader.report import pages, write_class_report, write_csv, write_feedback
from tests.helpers.banks import ESSAY, a_bank, a_roster
from tests.helpers.commands import fails, ok

Change = Callable[[Path], object]


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An exam of three students, two of whom have a grade with a mark that waits for a person."""
    home = tmp_path_factory.mktemp("course")
    bank = a_bank(home / "bank", ESSAY.replace("points: 4}", "points: 4, rubric: The cause.}"))
    ok("render", "quiz", "--roster", a_roster(home), "--out", home / "release", "--bank", bank)
    for student in ("ada", "bo"):
        ok(
            "solve", home / "release", "--student", student, "--bank", bank,
            "--out", home / "in" / f"{student}.ipynb",
        )  # fmt: skip
    ok(
        "grade", home / "in", "--release", home / "release", "--out", home / "results",
        "--bank", bank,
    )  # fmt: skip
    return home


@pytest.fixture
def home(course: Path, tmp_path: Path) -> Path:
    """The same, for one test to change; what it was written from is known."""
    shutil.copytree(course, tmp_path / "home")
    written(tmp_path / "home")
    return tmp_path / "home"


def written(home: Path) -> results.WrittenResults:
    return write_results(home / "results", Bank.open((str(home / "bank"),)))


def contents(home: Path) -> dict[str, bytes]:
    """Every file that is written for people or machines to read."""
    out = home / "results"
    names = ("grades.csv", "report/index.html", "feedback/*.html", "grades/*.json")
    return {str(p.relative_to(out)): p.read_bytes() for name in names for p in out.glob(name)}


def times(home: Path) -> dict[str, int]:
    return {name: (home / "results" / name).stat().st_mtime_ns for name in contents(home)}


@pytest.mark.thorough
def test_what_has_not_changed_is_neither_read_nor_written(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, before = written(home), times(home)
    monkeypatch.setattr(Gradebook, "grades", lambda _: pytest.fail("marks were read"))
    assert written(home) == first
    assert times(home) == before
    assert first.summary.startswith("3 students, 2 graded, 1 no submission. Mean ")
    assert [(t["student"], t["complete"]) for t in first.figures.totals] == [
        ("ada", False), ("bo", False), ("cy", False),
    ]  # fmt: skip


def test_beside_the_pages_of_students_lies_nothing_of_the_class(home: Path) -> None:
    names = {path.name for path in (home / "results" / "feedback").iterdir()}
    assert names == {"ada.html", "bo.html", "cy.html"}


def with_book(change: Callable[[Gradebook], object]) -> Change:
    def act(home: Path) -> None:
        with Gradebook.open(home / "results") as book:
            change(book)

    return act


def given(points: float, why: str) -> Change:
    override = Override(
        student="ada", name="q1_why", points=points, reason=why, by="staff", at="2026-01-01"
    )
    return with_book(lambda book: book.put_overrides([override]))


def a_lower_mark(book: Gradebook) -> None:
    grade = book.grade("bo")
    assert grade is not None
    marks = (replace(grade.marks[0], points=0.0), *grade.marks[1:])
    book.put_grades([replace(grade, marks=marks)], why="test")


def executed_again(book: Gradebook) -> None:
    grade = book.grade("ada")
    assert grade is not None
    assert grade.submission_sha256 is not None
    made = book.evidence(grade.submission_sha256)
    assert made is not None
    book.put_evidence(replace(made, seconds=made.seconds + 100), "test")


def called_otherwise(home: Path) -> None:
    file = home / "release" / "release.json"
    file.write_text(file.read_text().replace('"name": "Ada', '"name": "Countess Ada'))
    assert "Countess" in file.read_text()


def a_template_of_ones_own(home: Path) -> None:
    ours = next(f for f in Bank.open(()).templates if (f / "report").is_dir()) / "report"
    mine = home / "bank" / "templates" / "report"
    shutil.copytree(ours, mine)
    page = mine / "feedback.html.j2"
    page.write_text(page.read_text().replace("<h1", "<p>Our own words</p><h1"))


def a_template_that_was_put_aside(home: Path) -> None:
    """One of a bank's own, under a name that counts for nothing; then under the one that does."""
    a_template_of_ones_own(home)
    page = home / "bank" / "templates" / "report" / "feedback.html.j2"
    page.rename(aside := page.with_name("feedback.html.j2.old"))
    written(home)
    aside.rename(page)


def a_template_included(home: Path) -> None:
    """What lies beside the folder of the pages, and one of them includes."""
    a_template_of_ones_own(home)
    page = home / "bank" / "templates" / "report" / "feedback.html.j2"
    beside = home / "bank" / "templates" / "ours.html"
    beside.write_text("<p>Ask us on Monday.</p>")
    page.write_text(page.read_text().replace("<h1", "{% include 'ours.html' %}<h1"))
    written(home)
    beside.write_text("<p>Ask us on Tuesday.</p>")
    pages._environment.cache_clear()  # as another command would begin


def handed_in(book: Gradebook) -> None:
    student = Submission(student="cy", path="cy.ipynb", sha256="0" * 64)
    book.add_submissions([student])


def refused(book: Gradebook) -> None:
    file = Submission(student="cy", path="cy.ipynb", sha256="0" * 64, refusal="not a notebook")
    book.add_submissions([file])


def edited(home: Path) -> None:
    with (home / "results" / "grades.csv").open("a") as file:
        file.write("mallory,100,100\n")


CHANGES: dict[str, tuple[Change, int]] = {
    "points by hand": (given(3, "nearly"), 2),
    "no points by hand": (given(0, "no"), 2),
    "another mark": (with_book(a_lower_mark), 2),
    "withdrawn": (
        with_book(lambda book: book.withdraw_grade("bo", by="staff", why="test")),
        2,
    ),
    "executed again": (with_book(executed_again), 2),
    "published": (lambda home: set_published(home / "results", True), 6),
    "called otherwise": (called_otherwise, 2),
    "own template": (a_template_of_ones_own, 6),
    "own template put aside": (a_template_that_was_put_aside, 6),
    "template included": (a_template_included, 6),
    "handed in": (with_book(handed_in), 2),
    "refused": (with_book(refused), 2),
    "a notice": (
        with_book(
            lambda book: book.set_setting(
                NOTICES, [{"level": "warning", "path": "x.txt", "text": "is no notebook"}]
            )
        ),
        0,
    ),
    "table edited": (edited, 0),
    "table gone": (lambda home: (home / "results" / "grades.csv").unlink(), 0),
    "report gone": (lambda home: (home / "results" / "report" / "index.html").unlink(), 0),
    "page gone": (lambda home: (home / "results" / "feedback" / "bo.html").unlink(), 2),
    "grade gone": (lambda home: (home / "results" / "grades" / "cy.json").unlink(), 2),
    "all pages gone": (lambda home: shutil.rmtree(home / "results" / "feedback"), 6),
}


@pytest.mark.thorough
@pytest.mark.parametrize("name", CHANGES)
def test_whatever_changes_ends_as_if_all_were_written_anew(home: Path, name: str) -> None:
    change, of_students = CHANGES[name]
    change(home)
    before = times(home)
    said = written(home)
    quick, after = contents(home), times(home)
    files = {n for n in after if after[n] != before.get(n)}
    assert sum(n.startswith(("feedback/", "grades/")) for n in files) == of_students
    assert {"grades.csv", "report/index.html"} <= files
    (home / "results" / KEPT).unlink()
    assert written(home) == said
    assert contents(home) == quick


def test_what_an_editor_leaves_beside_a_template_stops_nothing(home: Path) -> None:
    a_template_of_ones_own(home)
    report = home / "bank" / "templates" / "report"
    (report / ".ipynb_checkpoints").mkdir()
    (report / ".#feedback.html.j2").symlink_to("someone@here.4711")
    written(home)
    assert all(b"Our own words" in page for n, page in contents(home).items() if "feedback/" in n)


@pytest.mark.thorough
def test_two_that_write_at_once_leave_no_old_file_that_is_taken_for_new(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "results" / KEPT).unlink()
    has_read, has_written = threading.Event(), threading.Event()
    slow = threading.Thread(target=written, args=(home,))
    quick = threading.Thread(target=written, args=(home,))

    def write_table(*arguments: Any, **more: Any) -> object:
        if threading.current_thread() is slow:
            has_read.set()  # all that it writes, before there are points by hand
            has_written.wait(1)
        done = write_csv(*arguments, **more)
        if threading.current_thread() is quick:
            has_written.set()
        return done

    def write_report(*arguments: Any) -> object:
        if threading.current_thread() is quick:
            slow.join(30)
        return write_class_report(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(results, "write_csv", write_table)
        patch.setattr(results, "write_class_report", write_report)
        slow.start()
        assert has_read.wait(30)
        given(0, "no")(home)
        quick.start()
        slow.join(60)
        quick.join(60)
    written(home)
    found = contents(home)
    (home / "results" / KEPT).unlink()
    written(home)
    assert contents(home) == found


def test_a_person_of_another_name_in_the_gradebook_alone_changes_nothing(home: Path) -> None:
    before = times(home)
    with_book(lambda book: book.add_students([Student(id="ada", name="Someone")]))(home)
    written(home)
    assert times(home) == before  # the roster of the release is what counts


@pytest.mark.parametrize(
    "kept",
    [
        b"",
        b"\xff\xfe",
        b"[]",
        b"7",
        b"{}",
        b'{"ada": "0123456789abcdef"}',  # as an earlier version wrote it
        b'{"whole": "", "students": [], "files": [], "short": {}}',
        b'{"whole": "", "students": {}, "files": {"a": 1}, "short": {}}',
        b"[" * 100_000,
    ],
)
def test_without_a_word_on_what_was_written_all_is_written(home: Path, kept: bytes) -> None:
    before = contents(home)
    for name in before:
        (home / "results" / name).write_bytes(b"old")
    (home / "results" / KEPT).write_bytes(kept)
    written(home)
    assert contents(home) == before


@pytest.mark.thorough
def test_what_a_kill_left_half_published_is_taken_back(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = contents(home)
    set_published(home / "results", True)
    pages = 0

    def dies(*arguments: Any, **more: Any) -> object:
        nonlocal pages
        pages += 1
        if pages == 3:
            raise KeyboardInterrupt
        return write_feedback(*arguments, **more)

    with monkeypatch.context() as patch:
        patch.setattr(results, "write_feedback", dies)
        with pytest.raises(KeyboardInterrupt):
            written(home)
    assert contents(home) != before  # someone's answers are on a page
    set_published(home / "results", False)
    written(home)
    assert contents(home) == before


def test_who_waits_for_a_person_is_read_without_the_other_marks(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Gradebook.open(home / "results") as book:
        marks = [(grade.student, mark) for grade in book.grades() for mark in grade.marks]
        assert book.open_marks() == [(who, mark) for who, mark in marks if mark.points is None]
    monkeypatch.setattr(Gradebook, "grades", lambda _: pytest.fail("marks were read"))
    assert [(w["student"], w["answer"], w["points"]) for w in list_waiting(home / "results")] == [
        ("ada", "q1_why", "4"), ("bo", "q1_why", "4"),
    ]  # fmt: skip
    given(3, "nearly")(home)
    assert [w["student"] for w in list_waiting(home / "results")] == ["bo"]
    kept = json.loads((home / "results" / KEPT).read_text())
    assert set(kept["students"]) == {"ada", "bo", "cy"}


# Manual grading


def the_table(home: Path) -> tuple[Path, list[dict[str, str]]]:
    file = home / "marks.csv"
    file.unlink(missing_ok=True)
    ok("mark", home / "results", "--table", file)
    return file, list(csv.DictReader(file.open(encoding="utf-8-sig", newline="")))


def test_a_table_with_points_in_it_is_not_replaced(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, _ = the_table(home)
    before = file.read_bytes()
    said = fails(capsys, "mark", home / "results", "--table", file)
    assert "this table exists already" in said
    assert "--from" in said
    assert file.read_bytes() == before


def filled_in(home: Path, **columns: list[str]) -> Path:
    """The table of what waits, with other cells in these columns; one for each row."""
    file, rows = the_table(home)
    for name, cells in columns.items():
        for row, cell in zip(rows, cells, strict=True):
            row[name] = cell
    with file.open("w", encoding="utf-8", newline="") as out:
        writer = csv.DictWriter(out, rows[0], delimiter=";")  # as a German spreadsheet saves it
        writer.writeheader()
        writer.writerows(rows)
    return file


def overrides(home: Path) -> dict[str, tuple[float, str, str]]:
    with Gradebook.open(home / "results") as book:
        return {o.student: (o.points, o.reason, o.by) for o in book.overrides()}


def test_what_waits_is_shown_with_its_question_and_rubric(home: Path) -> None:
    for extra in ((), ("--answer", "q1_why")):
        said = ok("mark", home / "results", "--student", "ada", *extra).output
        for text in ("ada, q1_why: 4 points", "Why?", "The cause.", "--answer q1_why --points P"):
            assert text in said
    (one,) = json.loads(ok("mark", home / "results", "--student", "ada", "--json").output)
    assert (one["rubric"], one["max_points"], one["points"]) == ("The cause.", 4, None)
    given(3, "nearly")(home)
    assert (
        "staff gave 3: nearly"
        in ok("mark", home / "results", "--student", "ada", "--answer", "q1_why").output
    )
    assert (
        "No answers of 'ada' need manual grading"
        in ok("mark", home / "results", "--student", "ada").output
    )


def test_a_table_of_what_waits_is_filled_in_and_entered(home: Path) -> None:
    _, rows = the_table(home)
    assert [(r["student"], r["answer"], r["max_points"], r["points"]) for r in rows] == [
        ("ada", "q1_why", "4", ""), ("bo", "q1_why", "4", ""),
    ]  # fmt: skip
    assert rows[0]["rubric"] == "The cause."
    assert rows[0]["text"]
    file = filled_in(home, points=["2,5", ""], why=["=names the cause", ""])
    assert "1 mark entered" in ok("mark", home / "results", "--from", file, "--by", "lin").output
    assert overrides(home) == {"ada": (2.5, "=names the cause", "lin")}
    assert [row["student"] for row in the_table(home)[1]] == ["bo"]
    grade = json.loads((home / "results" / "grades" / "ada.json").read_text())
    assert grade["complete"]
    # The same table again is no change, and so no line in the log.
    ok("mark", home / "results", "--from", file, "--by", "kim")
    lines = json.loads(ok("audit", home / "results", "--student", "ada", "--json").output)
    sets = [line for line in lines if line["what"] == "override set"]
    assert [(line["who"], line["why"]) for line in sets] == [("lin", "=names the cause")]
    assert sets[0]["detail"]["points"] == 2.5


@pytest.mark.parametrize(
    ("column", "cell", "said"),
    [
        ("points", "five", "'five' is not a number of points"),
        ("points", "-1", "'-1' is not a number of points"),
        ("points", "inf", "'inf' is not a number of points"),
        ("points", "4.5", "4.5 is more than the 4 points of 'q1_why'"),
        ("student", "bob", "did you mean 'bo'?"),
        ("student", "ada", "'ada' has points for 'q1_why' in line 2"),
        ("answer", "q1_what", "did you mean 'q1_why'?"),
        ("submission", "sha256:0", "submitted again"),
    ],
)
def test_if_one_row_is_wrong_nothing_is_entered(
    home: Path, capsys: pytest.CaptureFixture[str], column: str, cell: str, said: str
) -> None:
    columns = {"points": ["1", "1"]}
    first = the_table(home)[1][0][column]
    columns[column] = [columns.get(column, [first])[0], cell]
    file = filled_in(home, **columns)
    told = fails(capsys, "mark", home / "results", "--from", file)
    assert f"{file}:3: " in told
    assert said in told
    assert overrides(home) == {}


def test_the_maximum_as_it_is_shown_is_the_maximum(home: Path) -> None:
    with Gradebook.open(home / "results") as book:
        grade = book.grade("ada")
        assert grade is not None
        marks = [replace(m, max_points=20 / 3) if m.name == "q1_why" else m for m in grade.marks]
        book.put_grades([replace(grade, marks=tuple(marks))], why="test")
    file = filled_in(home, points=["6.67", ""])
    ok("mark", home / "results", "--from", file)
    assert overrides(home)["ada"][0] == 20 / 3


def test_a_table_without_its_columns_is_refused(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = home / "marks.csv"
    file.write_text("student,answer,point\nada,q1_why,1\n")
    told = fails(capsys, "mark", home / "results", "--from", file)
    assert f"{file}:1: there is no column 'points'" in told
    assert "rename 'point'" in told
    assert "can't be used together" in fails(
        capsys, "mark", home / "results", "--from", file, "--table", home / "x.csv"
    )


def test_the_audit_log_is_printed_for_all_and_for_one(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given(3, "nearly")(home)
    said = ok("audit", home / "results").output
    for text in ("students added", "submission executed", "grading run", "override set", "nearly"):
        assert text in said
    of_bo = json.loads(ok("audit", home / "results", "--student", "bo", "--json").output)
    assert [line["what"] for line in of_bo] == ["submission executed"]
    assert "did you mean 'bo'?" in fails(capsys, "audit", home / "results", "--student", "bob")
