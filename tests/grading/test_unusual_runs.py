"""Runs that can't begin, results that were damaged, and failures of the grader."""

from __future__ import annotations

import csv
import dataclasses
import gc
import json
import shutil
from pathlib import Path

import pytest

from grader.bank.folders import Bank
from grader.errors import PackageError, SetupError
from grader.gradebook import Gradebook
from grader.grading import kept_marks, run
from grader.grading.batch import refused_evidence
from grader.grading.cache_keys import KEPT
from grader.grading.manual import enter_points, write_table
from grader.grading.rescoring import rescore
from grader.grading.results import write_results
from grader.grading.score import score
from grader.grading.settings import Settings
from grader.grading.sources import rows_of, source_of, sources
from grader.grading.storage import store_evidence
from grader.model import Limits, Outcome
from grader.model.result import Standing
from grader.release.papers import RELEASE, SEATS
from tests.helpers.banks import SPEC, a_bank, a_roster
from tests.helpers.commands import fails, ok
from tests.helpers.scores import evidence


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three students, of whom Ada and Bo handed in the right answers, which are graded."""
    home = tmp_path_factory.mktemp("course")
    bank = a_bank(home / "bank")
    ok("render", "quiz", "--roster", a_roster(home), "--out", home / "release", "--bank", bank)
    for student in ("ada", "bo"):
        ok(
            "solve", home / "release", "--student", student, "--bank", bank,
            "--out", home / "in" / f"{student}.ipynb",
        )  # fmt: skip
    ok(*arguments(home))
    return home


@pytest.fixture
def home(course: Path, tmp_path: Path) -> Path:
    shutil.copytree(course, tmp_path / "home")
    return tmp_path / "home"


@pytest.fixture
def ungraded(home: Path) -> Path:
    shutil.rmtree(home / "results")
    return home


def arguments(home: Path, *more: object) -> list[object]:
    return [
        "grade", home / "in", "--release", home / "release", "--out", home / "results",
        "--bank", home / "bank", *more,
    ]  # fmt: skip


def points(home: Path) -> dict[str, list[float | None]]:
    with Gradebook.open(home / "results") as book:
        return {grade.student: [mark.points for mark in grade.marks] for grade in book.grades()}


RIGHT = {"ada": [2.0, 1.0], "bo": [2.0, 1.0]}
OPEN = {"ada": [None, None], "bo": [None, None]}


def test_a_folder_without_a_notebook_is_an_error(
    ungraded: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.rmtree(ungraded / "in")
    (ungraded / "in").mkdir()
    said = fails(capsys, *arguments(ungraded))
    assert "there is no notebook here" in said
    assert "STUDENT.ipynb" in said
    assert not (ungraded / "results").exists()


def test_only_the_named_students_are_graded_and_an_unknown_one_is_an_error(
    ungraded: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "'bob'" in fails(capsys, *arguments(ungraded, "--student", "ada", "--student", "bob"))
    assert points(ungraded) == {}
    ok(*arguments(ungraded, "--student", "ada"))
    assert points(ungraded) == {"ada": RIGHT["ada"]}


def test_notebooks_are_not_graded_into_the_results_of_an_exam_on_paper(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Gradebook.open(home / "results") as book:
        book.set_setting(SEATS, {"ada": "A"})
    assert "these results are for a paper exam" in fails(capsys, *arguments(home))


def test_what_a_student_wrote_on_a_line_that_was_cleared_since_counts_no_more(home: Path) -> None:
    bank = Bank.open((str(home / "bank"),))
    with Gradebook.open(home / "results") as book:
        book.set_setting(SEATS, {"ada": "A", "bo": None})
        book.withdraw_grade("bo", by="lin", why="absent")
        (row,) = (row for row in rows_of(book, source_of(book)) if row.student.id == "bo")
    assert row.standing is Standing.MISSING
    write_results(home / "results", bank)
    table = csv.DictReader((home / "results" / "grades.csv").read_text().splitlines())
    assert {line["student"]: line["standing"] for line in table}["bo"] == "no submission"


def test_a_score_that_fails_leaves_all_marks_open_and_the_next_run_settles_them(
    ungraded: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails_on_answers(paper, found):
        if found.outcome is not Outcome.REFUSED:
            raise ZeroDivisionError("the key is 42")
        return score(paper, found)

    with monkeypatch.context() as patch:
        patch.setattr(run, "score", fails_on_answers)
        ok(*arguments(ungraded))
    assert points(ungraded) == OPEN
    with Gradebook.open(ungraded / "results") as book:
        said = {mark.feedback for grade in book.grades() for mark in grade.marks}
    assert said == {"we could not score this notebook (ZeroDivisionError); no points are deducted"}
    data = json.loads(ok(*arguments(ungraded, "--json")).output)
    assert data["executed"] == 0
    assert points(ungraded) == RIGHT


def test_what_is_wrong_with_the_whole_set_up_stops_the_run(
    ungraded: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails_for_all(*_: object) -> None:
        raise SetupError("the release can't be read any more")

    monkeypatch.setattr(run, "score", fails_for_all)
    assert "the release can't be read any more" in fails(capsys, *arguments(ungraded))


def test_a_missing_package_leaves_the_grade_as_it_was(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def needs_torch(*_: object) -> None:
        raise PackageError("'share' can't be judged here")

    (home / "in" / "bo.ipynb").unlink()
    monkeypatch.setattr(run, "score", needs_torch)
    ok(*arguments(home, "--again"))
    assert points(home) == RIGHT


def test_evidence_that_is_no_plain_data_is_a_failure_of_the_grader(tmp_path: Path) -> None:
    odd = dataclasses.replace(evidence(share=1.75), seconds=float("nan"))
    with Gradebook.open(tmp_path / "results", create=True) as book:
        found = store_evidence(book, odd, "as usual")
        assert book.find_evidence(odd.submission_sha256) is None
    assert found.outcome is Outcome.REFUSED
    assert found.note
    assert found.note.startswith("its results could not be stored: ")


def test_whose_evidence_is_damaged_keeps_the_grade_and_is_named(home: Path) -> None:
    with Gradebook.open(home / "results") as book:
        sha = {grade.student: grade.submission_sha256 for grade in book.grades()}
        digest = book.evidence_digests([sha["ada"]])[sha["ada"]]
        Path(book.evidence_files.where(digest)).write_bytes(b"{")
    a_bank(home / "bank", SPEC.replace("points: 2", "points: 5"))
    found = rescore(home / "results", current=Bank.open((str(home / "bank"),)))
    assert found.skipped_students == ("ada",)
    assert points(home) == {"ada": [2.0, 1.0], "bo": [5.0, 1.0]}


def test_evidence_that_goes_away_while_it_is_scored_costs_nobody_a_mark(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    a_bank(home / "bank", SPEC.replace("points: 2", "points: 5"))
    with monkeypatch.context() as patch:
        patch.setattr(Gradebook, "find_evidence", lambda *_: None)
        found = rescore(home / "results", current=Bank.open((str(home / "bank"),)))
    assert found.skipped_students == ("ada", "bo")
    assert points(home) == RIGHT


@pytest.mark.parametrize("error", [SetupError("no solution here"), ZeroDivisionError("the key")])
def test_regrading_leaves_marks_open_for_a_bug_and_stops_for_the_set_up(
    home: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    a_bank(home / "bank", SPEC.replace("points: 2", "points: 5"))
    current = Bank.open((str(home / "bank"),))

    def fails_on_answers(paper, found):
        if found.outcome is not Outcome.REFUSED:
            raise error
        return score(paper, found)

    monkeypatch.setattr(kept_marks, "score", fails_on_answers)
    if isinstance(error, SetupError):
        with pytest.raises(SetupError, match="no solution here"):
            rescore(home / "results", current=current)
        assert points(home) == RIGHT
    else:
        rescore(home / "results", current=current)
        assert points(home) == OPEN


def test_an_evidence_of_another_release_is_shown_with_the_specs_it_was_scored_with(
    home: Path,
) -> None:
    bank = Bank.open((str(home / "bank"),))
    with Gradebook.open(home / "results") as book:
        sha = {grade.student: grade.submission_sha256 for grade in book.grades()}
        digest = book.evidence_digests([sha["ada"]])[sha["ada"]]
        Path(book.evidence_files.where(digest)).write_bytes(b"{")
    a_bank(home / "bank", SPEC.replace("two bytes", "2 bytes").replace("points: 2", "points: 5"))
    rescore(home / "results", current=Bank.open((str(home / "bank"),)))
    write_results(home / "results", bank)
    maximum = {
        name: json.loads((home / "results" / "grades" / f"{name}.json").read_text())["max_score"]
        for name in ("ada", "bo")
    }
    assert maximum == {"ada": 3.0, "bo": 6.0}


def test_results_that_can_not_be_written_are_an_error_with_the_folder(home: Path) -> None:
    folder = (home / "results" / KEPT).parent
    shutil.rmtree(folder)
    folder.write_text("a file")
    with pytest.raises(SetupError, match="a file is where a folder should be") as caught:
        write_results(home / "results", Bank.open((str(home / "bank"),)))
    assert str(folder) in str(caught.value.where)


def test_a_caller_that_has_paused_the_garbage_collector_finds_it_paused(home: Path) -> None:
    (home / "results" / "grades.csv").unlink()
    gc.disable()
    try:
        write_results(home / "results", Bank.open((str(home / "bank"),)))
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_a_failure_of_the_grader_is_not_stored_and_a_full_disk_stops_the_run(home: Path) -> None:
    found = evidence(share=1.75)
    refused = refused_evidence(found.submission_sha256, "no kernel could be started")
    with Gradebook.open(home / "results") as book:
        assert store_evidence(book, refused, "as usual") is refused
        assert book.find_evidence(found.submission_sha256) is None
        shutil.rmtree(home / "results" / "evidence")
        (home / "results" / "evidence").write_text("a file")
        with pytest.raises(SetupError):
            store_evidence(book, found, "as usual")


def test_points_are_entered_for_several_answers_of_one_student_and_once(home: Path) -> None:
    a_bank(home / "bank", SPEC.replace("points: 2", "points: 5"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kept_marks, "score", lambda paper, _: score(paper, refused_evidence("0", "")))
        rescore(home / "results", current=Bank.open((str(home / "bank"),)))
    assert points(home) == OPEN
    file = home / "points.csv"
    assert write_table(home / "results", file) == 4
    rows = list(csv.DictReader(file.read_text(encoding="utf-8-sig").splitlines()))
    with file.open("w", newline="") as out:
        table = csv.DictWriter(out, list(rows[0]))
        table.writeheader()
        table.writerows({**row, "points": "1", "why": "read"} for row in rows)
    assert enter_points(home / "results", file, by="lin") == 4
    assert enter_points(home / "results", file, by="lin") == 0


def test_results_of_another_system_have_a_source_of_their_own_and_no_specs(home: Path) -> None:
    with Gradebook.open(home / "results") as book:
        book.set_setting(RELEASE, "lines:ps1")
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(sources._registered, "lines", lambda book: ("lines", book))
            assert source_of(book) == ("lines", book)
    with pytest.raises(SetupError, match="the lines assignment 'ps1' has no specs") as caught:
        rescore(home / "results")
    assert "--format lines" in str(caught.value.fix)


def test_a_notebook_runs_again_if_its_number_of_processes_changes() -> None:
    usual, more = Settings(), Settings(limits=Limits(processes=64))
    assert usual.fingerprint(("q1_x",)) != more.fingerprint(("q1_x",))
