"""Several notebooks of one student: the exam counts. Another student's: everybody is warned."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path

import pytest

from grader.bank.folders import Bank
from grader.collect import CollectedSubmissions, collect, entries
from grader.gradebook import Gradebook
from grader.grading.ownership import exam_fit, owner_check
from grader.grading.sources import NOTICES, collect_warnings
from grader.integrations.csv_totals import Csv
from grader.integrations.exporting import class_results
from grader.integrations.github.actions import annotations_of, summary_of
from grader.integrations.github.classroom50 import SubmissionIdentity, result_files
from grader.integrations.github.results import reporter_files, runners
from grader.integrations.gradescope.results import Tiers, export_notes, results_json
from grader.model import Release
from grader.release.file import load_release
from grader.release.rendering import Notebooks
from tests.helpers.banks import a_bank, a_roster
from tests.helpers.commands import ok
from tests.helpers.gradebooks import canvas_gradebook
from tests.helpers.notebooks import without_metadata

HOMEWORK = json.dumps(
    {
        "cells": [
            {"cell_type": "code", "source": "loss = 1\nquantity_1 = 2", "metadata": {},
             "outputs": [], "execution_count": None}
        ],
        "metadata": {}, "nbformat": 4, "nbformat_minor": 5,
    }
).encode()  # fmt: skip


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("course")
    a_bank(home / "bank")
    for release in ("release", "other"):
        ok(
            "render", "quiz", "--roster", a_roster(home), "--out", home / release,
            "--bank", home / "bank",
        )  # fmt: skip
    return home


@pytest.fixture(scope="module")
def release(course: Path) -> Release:
    return load_release(course / "release")


@pytest.fixture(scope="module")
def made(course: Path, release: Release) -> Notebooks:
    return Notebooks(release, Bank.open((str(course / "bank"),)))


def collected(release: Release, folder: Path, **files: bytes) -> CollectedSubmissions:
    """Ada's *files*, each newer than the one before."""
    for number, (name, data) in enumerate(files.items()):
        path = folder / "ada" / f"{name}.ipynb"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
        os.utime(path, (1_700_000_000 + number,) * 2)
    return collect(folder, release.students, None, owner_check(release), exam_fit(release))


def graded(found: CollectedSubmissions) -> str:
    [one] = found.submissions
    return Path(one.path).stem


def test_the_exam_counts_beside_a_newer_notebook_that_is_none(
    release: Release, made: Notebooks, tmp_path: Path
) -> None:
    exam = made.of(release.students["ada"])
    found = collected(release, tmp_path, exam=exam, homework=HOMEWORK)
    assert graded(found) == "exam"
    [notice] = found.notices
    assert notice.level == "warning"
    assert notice.text == (
        "'ada' handed in 2 notebooks; the newest that belongs to this exam is graded, "
        "not ada/homework.ipynb"
    )


def test_the_exam_counts_beside_a_newer_one_of_another_release(
    course: Path, release: Release, made: Notebooks, tmp_path: Path
) -> None:
    other = (course / "other" / "notebooks" / "ada.ipynb").read_bytes()
    exam = made.of(release.students["ada"])
    assert graded(collected(release, tmp_path, exam=exam, other=other)) == "exam"


def test_a_students_own_counts_beside_a_newer_one_of_somebody_else(
    release: Release, made: Notebooks, tmp_path: Path
) -> None:
    own, bos = (made.of(release.students[name]) for name in ("ada", "bo"))
    assert graded(collected(release, tmp_path, own=own, bos=bos)) == "own"


def test_of_two_that_are_the_exam_the_newest_counts_whatever_an_editor_dropped(
    release: Release, made: Notebooks, tmp_path: Path
) -> None:
    exam = made.of(release.students["ada"])
    bare = json.loads(without_metadata(exam))
    bare["cells"] = bare["cells"][:-1]  # the check, which says whose it is
    newest = json.dumps(bare).encode()
    found = collected(release, tmp_path, exam=exam, newest=newest)
    assert graded(found) == "newest"
    assert [notice.level for notice in found.notices] == ["info"]


def test_an_untouched_notebook_that_is_newer_than_finished_work_is_a_warning(
    release: Release, made: Notebooks, tmp_path: Path
) -> None:
    untouched = made.of(release.students["ada"])
    finished = untouched.replace(b" = ...", b" = 3")
    found = collected(release, tmp_path, finished=finished, untouched=untouched)
    assert graded(found) == "untouched"
    [notice] = found.notices
    assert (notice.level, notice.text) == (
        "warning",
        "'ada' handed in 2 notebooks; the newest is graded, not ada/finished.ipynb; "
        "an older one has more answers, so check which one should count",
    )
    [notice] = collected(release, tmp_path, finished=untouched, untouched=finished).notices
    assert notice.level == "info"


def test_a_newer_file_that_can_not_be_read_may_be_the_exam(
    release: Release, made: Notebooks, tmp_path: Path
) -> None:
    exam = made.of(release.students["ada"])
    assert graded(collected(release, tmp_path, exam=exam, damaged=b"{")) == "damaged"


def test_files_of_other_exams_are_no_attempts_if_not_all_files_were_examined(
    release: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(entries, "MAX_EACH", 3)
    found = collected(release, tmp_path, first=HOMEWORK, second=HOMEWORK, third=HOMEWORK)
    assert graded(found) == "…"
    assert found.same_exam == {}


def test_of_nothing_but_other_notebooks_the_newest_counts(release: Release, tmp_path: Path) -> None:
    assert graded(collected(release, tmp_path, first=HOMEWORK, second=HOMEWORK)) == "second"


def test_a_warning_stays_with_its_file_whatever_the_names(
    course: Path, release: Release, made: Notebooks, tmp_path: Path
) -> None:
    long = "x" * 170
    (tmp_path / "in" / "ada").mkdir(parents=True)
    for name, data in {
        "ada.ipynb": b"not json",  # the end of the path of the next
        "ada/ada.ipynb": made.of(release.students["ada"]),
        f"bo_{long}.ipynb": b"not json",
    }.items():
        (tmp_path / "in" / name).write_bytes(data)
        os.utime(tmp_path / "in" / name, (1_700_000_000 + len(name),) * 2)
    found = collect(tmp_path / "in", release.students, None)
    with Gradebook.open(tmp_path / "book", create=True) as book:
        book.set_setting(NOTICES, [asdict(notice) for notice in found.notices])
        warnings = collect_warnings(book, found.submissions)
    good = next(s for s in found.submissions if s.path.endswith("/ada/ada.ipynb"))
    assert (good.student, good.sha256) not in warnings


def test_a_warning_about_another_students_notebook_reaches_every_export(
    course: Path, release: Release, made: Notebooks, tmp_path: Path
) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "bo.ipynb").write_bytes(made.of(release.students["ada"]))
    ok(
        "grade", tmp_path / "in", "--release", course / "release", "--out", tmp_path / "results",
        "--bank", course / "bank",
    )  # fmt: skip
    found = class_results(tmp_path / "results")
    [bo] = [one for one in found.results if one.feedback.student.id == "bo"]
    said = "identifies itself as the notebook of 'ada'"
    whose = SubmissionIdentity(
        classroom="c", assignment="a", assignment_type="individual", owner="bo",
        submission="submit/1", commit="u", release="u", review="u",
    )  # fmt: skip
    table = b"Student,ID,SIS Login ID,Quiz (1)\nPoints Possible,,,%d\nB,2,bo,\n"
    worth = int(bo.feedback.max_score)
    told = {
        "page": (tmp_path / "results" / "feedback" / "bo.html").read_text().replace("&#39;", "'"),
        "gradescope": json.loads(results_json(bo))["output"],
        "gradescope's notes": " ".join(export_notes(bo, Tiers())),
        "classroom50": result_files(bo, whose).files["release-body.md"].decode(),
        "actions": summary_of(bo),
        "annotations": " ".join(one.message for one in annotations_of(bo, "bo.ipynb")),
        "github": str(runners(bo)[0].payload["message"]),
        "github's notes": " ".join(reporter_files(bo).notes),
        "csv": " ".join(Csv().export(found).notes),
        "canvas": " ".join(canvas_gradebook(found, table % worth, "g.csv", column="Quiz").notes),
    }
    plain = {name: text.replace("\\", "") for name, text in told.items()}
    assert [name for name, text in plain.items() if said not in text] == []
    assert all(not r.feedback.warnings for r in found.results if r is not bo)
