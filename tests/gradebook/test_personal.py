"""One student's data, exported and removed."""

from __future__ import annotations

import json
import os
import sqlite3
import sys
import zipfile
from pathlib import Path

import pytest
from sqlalchemy.exc import DBAPIError

from grader.gradebook import Gradebook
from grader.gradebook.address import display_address, find_address
from grader.gradebook.engines import open_engine
from grader.model import Override
from tests.helpers.batch import Class, a_class
from tests.helpers.commands import fails, ok


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.thorough)])
def graded(request, tmp_path) -> tuple[Class, Path]:
    """A graded class whose student s00 also has an override and a setting about them."""
    home, out = a_class(tmp_path, 3), tmp_path / "out"
    more: tuple[str, ...] = ()
    if request.param == "postgresql":
        more = ("--gradebook", display_address(request.getfixturevalue("postgres").address()))
    home.graded(out, *more)
    with Gradebook.open(out) as book:
        mark = next(iter(book.grades())).marks[0].name
        given = Override(
            student="s00", name=mark, points=1.0, reason="s00 was ill", by="kim", at="t"
        )
        book.put_overrides([given])
        grants = [{"student": "s00", "why": "ill"}, {"student": "s01", "why": "late"}]
        book.set_setting("exceptions", {"grants": grants, "used": {"s00": 1, "s02": 2}})
    return home, out


def test_an_archive_has_everything_and_nothing_of_others(graded, tmp_path):
    _, out = graded
    ok("archive", out, "s00", "--out", tmp_path / "s00.zip")
    with zipfile.ZipFile(tmp_path / "s00.zip") as zipped:
        names = zipped.namelist()
        stored = json.loads(zipped.read("gradebook.json"))
        everything = b"".join(zipped.read(name) for name in names)
    assert {"grades/s00.json", "feedback/s00.html"} <= set(names)
    assert sum(name.startswith("evidence/") for name in names) == 1
    assert {"students", "submissions", "grades", "marks", "overrides", "evidence", "audit"} <= set(
        stored
    )
    assert "override set" in {line["what"] for line in stored["audit"]}
    assert b"s01" not in everything


@pytest.mark.thorough
def test_what_is_forgotten_is_nowhere_in_the_folder(graded):
    home, out = graded
    before = home.graded(out)["grades"]
    ok("forget", out, "s00", "--why", "asked for it", "--by", "kim")
    with Gradebook.open(out) as book:
        assert list(book.students()) == ["s01", "s02"]
        log = book.audit()
        assert book.setting("exceptions") == {
            "grants": [{"student": "s01", "why": "late"}],
            "used": {"s02": 2},
        }
        assert [grade.student for grade in book.grades()] == ["s01", "s02"]
    assert (log[-1].what, log[-1].who, log[-1].why) == ("student forgotten", "kim", "asked for it")
    given = next(line for line in log if line.what == "override set")
    assert (given.who, given.why) == ("kim", "")
    assert str(given.detail["student"]).startswith("forgotten-")
    holding = [p for p in out.rglob("*") if p.is_file() and b"s00" in p.read_bytes()]
    assert [p.name for p in holding if not p.name.startswith("gradebook.sqlite-")] == []
    # The student is still in the release, and the notebook in the folder.
    assert home.graded(out)["grades"] == [one for one in before if one["student"] != "s00"]


def test_exports_about_a_student_who_is_forgotten_are_removed(tmp_path):
    home, out = a_class(tmp_path, 2), tmp_path / "out"
    home.graded(out)
    ok("export", "csv", out)
    ok("export", "gradescope", out)
    ok("export", "gradescope", out, "--student", "s00")
    ok("forget", out, "s00", "--why", "asked for it")
    left = [p.relative_to(out / "exports").as_posix() for p in (out / "exports").rglob("*")]
    assert sorted(left) == ["gradescope", "gradescope/s01", "gradescope/s01/results.json"]
    (out / "exports").rename(tmp_path / "elsewhere")
    (out / "exports").symlink_to(tmp_path / "elsewhere")
    ok("forget", out, "s01", "--why", "asked for it")
    assert (tmp_path / "elsewhere" / "gradescope" / "s01" / "results.json").exists()


@pytest.mark.thorough
def test_the_audit_log_refuses_changes_again_afterwards(graded):
    _, out = graded
    ok("forget", out, "s00", "--why", "asked for it")
    if (out / "gradebook.sqlite").exists():
        with (
            sqlite3.connect(out / "gradebook.sqlite") as raw,
            pytest.raises(sqlite3.IntegrityError, match="only grows"),
        ):
            raw.execute("DELETE FROM audit")
    else:
        engine = open_engine(find_address(out))
        with engine.connect() as raw, pytest.raises(DBAPIError, match="only grows"):
            raw.exec_driver_sql("DELETE FROM audit")
        engine.dispose()


@pytest.mark.thorough
def test_evidence_that_another_student_has_as_well_stays(tmp_path):
    home, out = a_class(tmp_path, 2), tmp_path / "out"
    one, two = (home.submissions / f"s0{n}.ipynb" for n in (0, 1))
    two.write_bytes(one.read_bytes())
    home.graded(out, code=0)
    before = set((out / "evidence").iterdir())
    ok("forget", out, "s00", "--why", "asked for it")
    assert set((out / "evidence").iterdir()) == before
    assert home.graded(out, "--student", "s01")["executed"] == 0


@pytest.mark.thorough
def test_an_unknown_student_is_named_and_a_file_is_not_overwritten(tmp_path, capsys):
    home, out = a_class(tmp_path, 1), tmp_path / "out"
    home.graded(out)
    assert "did you mean 's00'?" in fails(capsys, "forget", out, "s0O", "--why", "asked")
    (tmp_path / "s00.zip").write_text("mine")
    said = fails(capsys, "archive", out, "s00", "--out", tmp_path / "s00.zip")
    assert "exists already" in said
    assert (tmp_path / "s00.zip").read_text() == "mine"


@pytest.mark.skipif(sys.platform != "linux", reason="a file that opens but can't be read")
def test_an_archive_takes_old_dates_and_a_failed_one_is_not_in_the_way(tmp_path, capsys):
    out = tmp_path / "out"
    a_class(tmp_path, 1).graded(out)
    page = out / "feedback" / "s00.html"
    data = page.read_bytes()
    page.unlink()
    page.symlink_to("/proc/self/mem")
    archive = ("archive", out, "s00", "--out", tmp_path / "s00.zip")
    fails(capsys, *archive)
    page.unlink()
    page.write_bytes(data)
    os.utime(page, (0, 0))
    ok(*archive)
    with zipfile.ZipFile(tmp_path / "s00.zip") as zipped:
        assert zipped.read("feedback/s00.html") == data
    assert "this file exists already" in fails(capsys, *archive)
