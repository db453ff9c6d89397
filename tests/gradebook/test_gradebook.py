from __future__ import annotations

import gzip
import hashlib
import json
import math
import os
import resource
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy.exc import DBAPIError, IntegrityError

from grader.errors import GraderError, SetupError
from grader.files import write_atomic
from grader.gradebook import (
    Gradebook,
    evidence_from_json,
    evidence_to_json,
    list_mark_changes,
)
from grader.gradebook.address import find_address
from grader.gradebook.engines import open_engine
from grader.gradebook.evidence_files import limit_size
from grader.gradebook.opening import open_gradebook
from grader.grading.storage import would_lose_marks
from grader.model import (
    Answer,
    CellRun,
    Evidence,
    Grade,
    Mark,
    Outcome,
    Override,
    Student,
    Submission,
    Verdict,
)

SHA = "a" * 64


def a_mark(name="q1_size", points=2.0, **changes):
    fields = {
        "problem": "memory",
        "part": name.split("_", 1)[1],
        "name": name,
        "kind": "numeric",
        "points": points,
        "max_points": 2.0,
        "verdict": Verdict.CORRECT,
        "mistake": None,
        "answer": "28 GB",
        "feedback": "Within 1 %.",
    }
    return Mark(**fields | changes)


def a_grade(student="ada", marks=None, **changes):
    fields = {
        "student": student,
        "exam": "midterm",
        "submission_sha256": SHA,
        "marks": (a_mark(), a_mark("q2_time", 0.0)) if marks is None else tuple(marks),
        "engine": "0.1.0",
        "release": "r1",
        "environment": {"python": "3.11", "limits": {"cell_seconds": 60}},
    }
    return Grade(**fields | changes)


def some_evidence(**changes):
    fields: dict[str, Any] = {
        "submission_sha256": SHA,
        "outcome": Outcome.FINISHED,
        "answers": {
            "q1_size": Answer(name="q1_size", raw={"t": "float", "v": "28.0"}),
            "q2_time": Answer(name="q2_time", raw=None, absent="cell 4 raised"),
        },
        "cells": (
            CellRun(index=1, outcome=Outcome.FINISHED, seconds=0.25, output="hi"),
            CellRun(index=3, outcome=Outcome.TIMEOUT, seconds=60.0, error="TimeoutError", line=2),
        ),
        "seconds": 61.5,
        "note": "a limit was hit",
        "environment": {"python": "3.11", "packages": ["numpy 2.1"]},
    }
    return Evidence(**fields | changes)


def opened_book(folder, at=None):
    ticks = iter(range(10_000))
    with (
        patch("grader.gradebook.book.now", lambda: f"t{next(ticks):04d}"),
        Gradebook.open(folder, create=True, at=at) as book,
    ):
        book.add_students([Student(id="ada", name="Ada"), Student(id="bob")])
        yield book


@pytest.fixture
def file_book(tmp_path):
    yield from opened_book(tmp_path)


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.thorough)])
def book(request, tmp_path):
    at = None if request.param == "sqlite" else request.getfixturevalue("postgres").address()
    yield from opened_book(tmp_path, at)


@contextmanager
def other_program(book):
    """A connection to the gradebook's database that is not the gradebook's."""
    engine = open_engine(find_address(book.folder))
    with engine.connect() as connection:
        yield connection
    engine.dispose()


def reopened(book):
    return Gradebook.open(book.folder)


class TestOpening:
    def test_a_folder_without_a_gradebook_is_an_error_that_says_what_to_name(self, tmp_path):
        with pytest.raises(SetupError, match="no gradebook here") as caught:
            Gradebook.open(tmp_path)
        assert str(tmp_path / "gradebook.sqlite") in str(caught.value)
        assert "grader grade" in caught.value.fix

    def test_a_file_that_is_something_else_is_named_and_left_alone(self, tmp_path):
        path = tmp_path / "gradebook.sqlite"
        path.write_bytes(b"student,total\nada,3\n" * 100)
        with pytest.raises(SetupError, match="is not a gradebook"):
            Gradebook.open(tmp_path, create=True)
        assert path.read_bytes().startswith(b"student,total")

    def test_a_path_that_can_not_be_opened_is_named(self, tmp_path):
        (tmp_path / "gradebook.sqlite").mkdir()
        with pytest.raises(SetupError, match="can't be opened: unable to open") as caught:
            Gradebook.open(tmp_path, create=True)
        assert str(tmp_path) in str(caught.value)

    @pytest.mark.parametrize("name", ["a?b", "a%20b", "a#b", "a&mode=ro", "é ü", "file:x"])
    def test_a_folder_may_have_any_name(self, tmp_path, name):
        folder = tmp_path / name
        with Gradebook.open(folder, create=True) as book:
            book.add_students([Student(id="ada")])
        assert (folder / "gradebook.sqlite").stat().st_size > 0
        assert [path.name for path in tmp_path.iterdir()] == [name]
        with Gradebook.open(folder) as book:
            assert list(book.students()) == ["ada"]

    def test_a_database_of_somebody_else_is_refused(self, tmp_path):
        with sqlite3.connect(tmp_path / "gradebook.sqlite") as other:
            other.execute("CREATE TABLE recipes (name TEXT)")
        with pytest.raises(SetupError, match="it has other tables"):
            Gradebook.open(tmp_path, create=True)

    @pytest.mark.parametrize(
        ("version", "age", "fix"),
        [
            (99, "a newer version", "upgrade the grader"),
            (-1, "an older version", "grade into a new"),
        ],
    )
    def test_another_schema_version_says_which_and_what_to_do(self, tmp_path, version, age, fix):
        Gradebook.open(tmp_path, create=True).close()
        with sqlite3.connect(tmp_path / "gradebook.sqlite") as raw:
            raw.execute("UPDATE schema_version SET version = ?", [version])
        with pytest.raises(SetupError, match=age) as caught:
            Gradebook.open(tmp_path)
        assert fix in caught.value.fix

    def test_an_empty_file_left_by_a_kill_becomes_a_gradebook(self, tmp_path):
        (tmp_path / "gradebook.sqlite").touch()
        with Gradebook.open(tmp_path, create=True) as book:
            assert book.students() == {}

    def test_a_file_that_another_process_is_creating_is_read_once_it_has_contents(self, tmp_path):
        (tmp_path / "gradebook.sqlite").touch()
        creating = threading.Timer(0.2, lambda: Gradebook.open(tmp_path, create=True).close())
        creating.start()
        with Gradebook.open(tmp_path) as book:
            assert book.students() == {}
        creating.join()

    def test_it_survives_being_opened_for_the_first_time_by_many_threads(self, tmp_path):
        failed = []

        def open_it():
            try:
                Gradebook.open(tmp_path, create=True).close()
            except Exception as error:
                failed.append(error)

        threads = [threading.Thread(target=open_it) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failed == []

    def test_the_file_uses_a_write_ahead_log_and_foreign_keys(self, file_book):
        with sqlite3.connect(file_book.folder / "gradebook.sqlite") as raw:
            assert raw.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        with pytest.raises(SetupError, match="not in the gradebook"):
            file_book.add_submissions([Submission(student="eve", path="eve.ipynb", sha256=SHA)])


class TestTrouble:
    """What goes wrong with the file while it is in use."""

    def test_a_gradebook_that_goes_away_is_named_before_anything_is_written(self, file_book):
        file_book.put_evidence(some_evidence(), "cpu")
        file_book.folder.rename(file_book.folder.parent / "away")
        for write in (
            lambda: file_book.put_evidence(some_evidence(seconds=2.0), "cpu"),
            lambda: file_book.put_grades([a_grade()], why=""),
            lambda: file_book.set_setting("published", True),
        ):
            with pytest.raises(SetupError, match="moved or deleted while it was in use") as caught:
                write()
            assert str(file_book.folder) in str(caught.value)
        assert not file_book.folder.exists()

    def test_another_file_in_its_place_is_not_taken_for_it(self, file_book):
        (file_book.folder / "gradebook.sqlite").rename(file_book.folder / "old.sqlite")
        Gradebook.open(file_book.folder, create=True).close()
        with pytest.raises(SetupError, match="moved or deleted"):
            file_book.begin_run("late")

    def test_a_file_that_is_damaged_in_use_is_a_sentence(self, file_book):
        file_book.add_students(Student(id=f"s{n:05d}") for n in range(5_000))
        file_book.close()  # so that nothing of it is in memory any more
        file = file_book.folder / "gradebook.sqlite"
        data = bytearray(file.read_bytes())
        for at in range(4096, len(data), 512):
            data[at : at + 64] = b"\xff" * 64
        file.write_bytes(data)
        with pytest.raises(SetupError) as caught:
            file_book.students()
        assert "damaged" in str(caught.value)
        assert "restore it from a backup" in str(caught.value)

    def test_a_lock_that_is_never_given_back_is_a_sentence(self, tmp_path):
        Gradebook.open(tmp_path, create=True).close()
        file = tmp_path / "gradebook.sqlite"
        engine = open_gradebook(find_address(tmp_path), create=False)
        with sqlite3.connect(file, isolation_level=None) as other, engine.connect() as mine:
            other.execute("BEGIN IMMEDIATE")
            mine.exec_driver_sql("PRAGMA busy_timeout = 50")
            with pytest.raises(SetupError, match="has locked the gradebook") as caught:
                mine.exec_driver_sql("BEGIN IMMEDIATE")
            assert str(file) in str(caught.value)
            other.execute("ROLLBACK")
        engine.dispose()

    def test_bugs_of_ours_are_not_explained_away(self, file_book):
        with pytest.raises(IntegrityError), file_book._write_transaction() as connection:
            connection.exec_driver_sql("UPDATE audit SET who = 'nobody'")

    def test_evidence_is_on_disk_before_its_row_and_so_is_its_folder(self, file_book, monkeypatch):
        steps = []
        monkeypatch.setattr(os, "fsync", lambda descriptor: steps.append(kind(descriptor)))

        def kind(descriptor):
            return "folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file"

        write_atomic(file_book.folder / "new" / "deep" / "x.json", b"{}", durable=True)
        # The file, the folder that names it, and the folders that name the new folders.
        assert steps == ["file", "folder", "folder", "folder"]
        steps.clear()
        write_atomic(file_book.folder / "new" / "deep" / "x.json", b"{}", durable=True)
        assert steps == ["file", "folder"]


class TestStudentsAndSubmissions:
    def test_adding_students_again_updates_names_and_removes_nobody(self, book):
        book.add_students([Student(id="bob", name="Bob", section="B")])
        assert book.students() == {
            "ada": Student(id="ada", name="Ada"),
            "bob": Student(id="bob", name="Bob", section="B"),
        }

    def test_adding_a_student_by_id_alone_keeps_what_is_known(self, book):
        known = Student(id="bob", name="Bob", email="bob@example.edu", section="B")
        book.add_students([known])
        book.add_students([Student(id="bob")])
        assert book.students()["bob"] == known

    def test_every_attempt_is_kept_and_the_latest_is_last(self, book):
        first = Submission(student="ada", path="a.ipynb", sha256="1" * 64)
        second = Submission(student="ada", path="a.ipynb", sha256="2" * 64, received="now")
        book.add_submissions([first, second])
        assert book.submissions("ada") == (first, second)
        again = replace(first, received="later", refusal="not a notebook")
        book.add_submissions([again])
        assert book.submissions("ada") == (second, again)
        assert book.submissions("bob") == ()
        assert book.submissions() == (second, again)

    def test_of_one_file_handed_in_twice_in_a_batch_the_last_place_counts(self, book):
        one = Submission(student="ada", path="a.ipynb", sha256="1" * 64)
        two = Submission(student="ada", path="a.ipynb", sha256="2" * 64)
        book.add_submissions(iter([one, two, one]))
        assert book.submissions() == (two, one)

    def test_a_batch_is_kept_wholly_or_not_at_all(self, book):
        book.add_submissions([])
        with pytest.raises(SetupError, match="'eve'"):
            book.add_submissions(
                Submission(student=student, path="a", sha256=SHA) for student in ("ada", "eve")
            )
        assert book.submissions() == ()

    def test_the_same_bytes_under_another_name_are_another_attempt(self, book):
        one = Submission(student="ada", path="a.ipynb", sha256=SHA)
        other = replace(one, path="b.ipynb")
        book.add_submissions([one, other])
        assert book.submissions("ada") == (one, other)

    def test_a_refusal_and_a_path_that_is_not_text_are_kept(self, book):
        odd = Submission(student="ada", path="a\udcff", sha256=SHA, refusal="not \ud800 JSON")
        book.add_submissions([odd])
        book.add_submissions([odd])
        (kept,) = book.submissions()
        assert kept.path == r"a\udcff"
        assert kept.refusal == r"not \ud800 JSON"

    def test_an_unknown_student_is_named_with_a_suggestion(self, book):
        with pytest.raises(SetupError, match="'adda'") as caught:
            book.add_submissions([Submission(student="adda", path="a", sha256=SHA)])
        assert caught.value.fix == "did you mean 'ada'?"


class TestEvidence:
    def test_it_is_known_by_submission_and_by_how_it_was_executed(self, book):
        assert book.find_evidence(SHA, "cpu") is None
        book.put_evidence(some_evidence(), "cpu")
        assert book.find_evidence(SHA, "cpu") == some_evidence()
        assert book.find_evidence(SHA, "cuda") is None
        assert book.find_evidence("b" * 64, "cpu") is None
        with reopened(book) as again:
            assert again.evidence(SHA) == some_evidence()
        assert book.evidence(SHA, "cuda") is None

    def test_the_audit_log_knows_every_execution(self, book):
        book.put_evidence(some_evidence(), "cpu")
        book.put_evidence(some_evidence(submission_sha256="b" * 64), "cuda")
        told = [line.detail for line in book.audit() if line.what == "submission executed"]
        assert told == [
            {"submission_sha256": SHA, "outcome": "finished", "fingerprint": "cpu"},
            {"submission_sha256": "b" * 64, "outcome": "finished", "fingerprint": "cuda"},
        ]

    def test_a_later_execution_wins_and_the_earlier_file_stays(self, book):
        book.put_evidence(some_evidence(), "cpu")
        book.put_evidence(some_evidence(seconds=2.0), "cuda")
        assert book.evidence(SHA).seconds == 2.0
        assert book.evidence(SHA, "cpu").seconds == 61.5
        assert len(list((book.folder / "evidence").iterdir())) == 2

    def test_a_truncated_file_is_named_and_counts_as_not_executed(self, book):
        book.put_evidence(some_evidence(), "cpu")
        (file,) = (book.folder / "evidence").iterdir()
        file.write_bytes(file.read_bytes()[:100])
        assert book.find_evidence(SHA, "cpu") is None
        with pytest.raises(GraderError, match="evidence is damaged") as caught:
            book.evidence(SHA)
        assert str(file) in str(caught.value)
        assert "grader grade" in caught.value.fix

    def test_a_changed_byte_is_found_out(self, book):
        book.put_evidence(some_evidence(), "cpu")
        (file,) = (book.folder / "evidence").iterdir()
        text = gzip.decompress(file.read_bytes())
        file.write_bytes(gzip.compress(text.replace(b"28.0", b"29.0")))
        assert book.find_evidence(SHA, "cpu") is None
        with pytest.raises(GraderError, match="evidence is damaged: the file has other content"):
            book.evidence(SHA)

    def test_a_lost_file_is_executed_again_and_heals(self, book):
        book.put_evidence(some_evidence(), "cpu")
        (file,) = (book.folder / "evidence").iterdir()
        file.unlink()
        assert book.find_evidence(SHA, "cpu") is None
        with pytest.raises(GraderError, match="missing"):
            book.evidence(SHA)
        book.put_evidence(some_evidence(), "cpu")
        assert book.find_evidence(SHA, "cpu") == some_evidence()

    def test_the_summary_tells_how_it_went_without_reading_the_file(self, book):
        book.put_evidence(some_evidence(note="used \ud800 much"), "cpu")
        for file in (book.folder / "evidence").iterdir():
            file.unlink()
        (summary,) = book.evidence_summaries().values()
        assert summary.outcome is Outcome.FINISHED
        assert summary.seconds == 61.5
        assert summary.failed_cells == 1
        assert summary.first_error == "code cell 2, line 2: TimeoutError"
        assert summary.note == r"used \ud800 much"

    def test_no_temporary_file_stays_behind(self, book):
        book.put_evidence(some_evidence(), "cpu")
        assert [f.suffixes for f in (book.folder / "evidence").iterdir()] == [[".json", ".gz"]]

    def test_equal_evidence_has_equal_bytes_and_they_are_compressed(self, book):
        book.put_evidence(some_evidence(note="x" * 5000), "cpu")
        (file,) = (book.folder / "evidence").iterdir()
        before = file.read_bytes()
        assert len(before) < 2000
        assert hashlib.sha256(gzip.decompress(before)).hexdigest() == file.name.split(".")[0]
        book.put_evidence(some_evidence(note="x" * 5000), "cuda")
        assert [f.read_bytes() for f in (book.folder / "evidence").iterdir()] == [before]

    def test_a_small_file_that_unpacks_to_gigabytes_is_damaged_evidence(self, book):
        book.put_evidence(some_evidence(), "cpu")
        (file,) = (book.folder / "evidence").iterdir()
        file.write_bytes(gzip.compress(bytes(200_000_000), 1))
        assert book.find_evidence(SHA) is None

    def test_evidence_of_earlier_versions_is_read(self, book):
        book.put_evidence(some_evidence(), "cpu")
        (file,) = (book.folder / "evidence").iterdir()
        file.with_suffix("").write_bytes(gzip.decompress(file.read_bytes()))
        file.unlink()
        assert book.evidence(SHA) == some_evidence()
        assert set(book.evidence_digests([SHA])) == {SHA}


class TestBounds:
    """A kernel that forges its messages can say much more than an honest one."""

    def huge(self, **changes):
        answers = {
            f"q{n}": Answer(name=f"q{n}", raw={"t": "str", "v": "x" * size})
            for n, size in enumerate((10, 90_000, 20, 70_000))
        }
        cells = tuple(
            CellRun(index=n, outcome=Outcome.FINISHED, seconds=0.1, output="o" * 9_000)
            for n in range(10)
        )
        return some_evidence(answers=answers, cells=cells, **changes)

    def test_what_fits_is_kept_as_it_is(self):
        assert limit_size(self.huge()) == (self.huge(), evidence_to_json(self.huge()))

    def test_what_was_printed_goes_first(self):
        kept, data = limit_size(self.huge(), 170_000)
        assert [cell.output for cell in kept.cells] == [""] * 10
        assert kept.answers == self.huge().answers
        assert evidence_from_json(data) == kept

    def test_then_the_largest_answers_go_and_say_so(self):
        kept, data = limit_size(self.huge(), 80_000)
        assert kept.answers["q1"].absent == "the value of q1 is too large to be stored"
        assert kept.answers["q3"] == self.huge().answers["q3"]
        assert len(data) <= 80_000
        kept, data = limit_size(self.huge(), 5_000)
        assert [name for name, a in kept.answers.items() if a.raw is None] == ["q1", "q3"]
        assert len(data) <= 5_000

    def test_the_gradebook_keeps_what_fits_and_says_what_that_is(self, book):
        raw = {"t": "str", "v": "x" * 17_000_000}
        evidence = some_evidence(answers={"q1": Answer(name="q1", raw=raw)})
        kept = book.put_evidence(evidence, "cpu")
        assert kept.answers["q1"].raw is None
        assert book.evidence(SHA) == kept
        assert book.put_evidence(some_evidence(), "cpu") == some_evidence()


class TestEvidenceAsJson:
    def test_what_a_student_can_put_into_a_string_survives(self):
        odd = 'lone \ud800 surrogate, NUL \x00, "quotes", \u2028, </script>'
        evidence = some_evidence(
            answers={"q": Answer(name="q", raw={"t": "str", "v": odd, "cut": False})}, note=odd
        )
        assert evidence_from_json(evidence_to_json(evidence)) == evidence

    def test_equal_evidence_has_equal_bytes(self):
        one = some_evidence(environment={"a": 1, "b": 2})
        two = some_evidence(environment={"b": 2, "a": 1})
        assert evidence_to_json(one) == evidence_to_json(two)

    @given(
        st.recursive(
            st.none()
            | st.booleans()
            | st.integers(-(2**70), 2**70)
            | st.text(max_size=8)
            | st.floats(allow_nan=False, allow_infinity=False),
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.dictionaries(st.text(max_size=5), inner, max_size=3)
            ),
            max_leaves=12,
        )
    )
    @settings(max_examples=60)
    def test_any_plain_data_survives(self, value):
        evidence = some_evidence(
            answers={"q": Answer(name="q", raw={"t": "list", "v": value})},
            environment={"x": value},
        )
        assert evidence_from_json(evidence_to_json(evidence)) == evidence

    @pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
    def test_numbers_that_are_not_finite_are_refused_on_the_way_out(self, number):
        with pytest.raises(GraderError, match="can't be written"):
            evidence_to_json(some_evidence(environment={"x": number}))

    def test_things_that_are_not_plain_data_are_refused_on_the_way_out(self):
        with pytest.raises(GraderError, match="object is not plain data"):
            evidence_to_json(some_evidence(environment={"x": object()}))

    @pytest.mark.parametrize(
        ("change", "complaint"),
        [
            (lambda d: d | {"seconds": math.nan}, "NaN is not a finite number"),
            (lambda d: d | {"extra": 1}, "missing or unknown fields: extra"),
            (lambda d: {k: v for k, v in d.items() if k != "note"}, "fields: note"),
            (lambda d: d | {"seconds": "1"}, "'seconds' is not a number"),
            (lambda d: d | {"seconds": True}, "'seconds' is not a number"),
            (lambda d: d | {"seconds": -1}, "'seconds' is not a number"),
            (lambda d: d | {"outcome": "perfect"}, "perfect"),
            (lambda d: d | {"format": 2}, "format 2 is not known"),
            (lambda d: d | {"cells": {}}, "'cells' is not a list"),
            (lambda d: d | {"cells": [1]}, "a cell is not an object"),
            (lambda d: d | {"answers": []}, "'answers' is not an object"),
            (
                lambda d: d | {"answers": {"q9": {"name": "q1", "raw": None, "absent": None}}},
                "filed under another name",
            ),
        ],
    )
    def test_anything_else_is_refused_on_the_way_in(self, change, complaint):
        data = json.dumps(change(json.loads(evidence_to_json(some_evidence()))))
        with pytest.raises(GraderError, match="evidence is damaged") as caught:
            evidence_from_json(data.encode(), where="evidence/x.json")
        assert complaint in caught.value.what
        assert caught.value.where == "evidence/x.json"

    @pytest.mark.parametrize(
        "data",
        [b"", b"{", b"\xff\xfe", b"[" * 100_000, b'{"a": 1, "a": 2}', b"1e999", b"9" * 5000],
    )
    def test_broken_json_is_refused_on_the_way_in(self, data):
        with pytest.raises(GraderError, match="evidence is damaged"):
            evidence_from_json(data)


class TestGrades:
    def test_what_is_put_in_comes_out_in_order_of_student(self, book):
        grades = [a_grade("bob"), a_grade("ada", environment={})]
        assert book.put_grades(grades, why="first") == 2
        assert list(book.grades()) == [grades[1], grades[0]]
        assert book.grade("bob") == grades[0]
        assert book.grade("nobody") is None

    def test_open_marks_empty_grades_and_odd_text_survive(self, book):
        odd = a_mark(points=None, verdict=Verdict.UNSETTLED, answer="a\ud800", mistake="slip:GiB")
        book.put_grades([a_grade("ada", [odd]), a_grade("bob", [], submission_sha256=None)], why="")
        assert book.grade("ada").marks == (replace(odd, answer=r"a\ud800"),)
        assert not book.grade("ada").complete
        assert book.grade("bob") == a_grade("bob", [], submission_sha256=None)

    def test_a_regrade_replaces_the_current_grade_and_keeps_the_history(self, book):
        run = book.begin_run("grade")
        assert book.put_grade(a_grade(), run=run)
        better = a_grade(marks=[a_mark(), a_mark("q2_time", 1.0, verdict=Verdict.PARTIAL)])
        book.put_grades([better], why="tolerance corrected", by="prof")
        assert book.grade("ada") == better
        history = book.history("ada")
        assert [filed.grade for filed in history] == [a_grade(), better]
        assert [filed.run for filed in history] == [run, run + 1]

    def test_a_grade_that_is_withdrawn_stays_in_the_history(self, book):
        book.put_grades([a_grade()], why="one")
        assert book.withdraw_grade("ada", by="prof", why="of another student")
        assert book.grade("ada") is None
        assert list(book.grades()) == []
        assert [filed.grade for filed in book.history("ada")] == [a_grade()]
        line = book.audit()[-1]
        assert (line.what, line.who, line.why) == ("grade withdrawn", "prof", "of another student")
        assert not book.withdraw_grade("ada", by="prof", why="again")
        assert book.put_grades([a_grade()], why="two") == 1
        assert book.grade("ada") == a_grade()

    def test_an_equal_grade_is_not_filed_twice(self, book):
        book.put_grades([a_grade()], why="one")
        assert book.put_grades([a_grade()], why="two") == 0
        assert not book.put_grade(a_grade(), run=book.begin_run("three"))
        assert len(book.history("ada")) == 1

    def test_either_all_grades_of_a_call_are_filed_or_none(self, book):
        book.put_grades([a_grade("ada")], why="one")

        def grades():
            yield a_grade("ada", [a_mark(points=0.0)])
            yield a_grade("bob")
            raise RuntimeError("the pipeline broke")

        with pytest.raises(RuntimeError):
            book.put_grades(grades(), why="two")
        assert list(book.grades()) == [a_grade("ada")]
        assert [line.what for line in book.audit()].count("grading run") == 1

    def test_the_last_of_two_grades_of_one_student_in_a_call_counts(self, book):
        book.put_grades([a_grade(), a_grade(marks=[])], why="")
        assert book.grade("ada").marks == ()

    def test_a_grade_of_a_stranger_is_an_error(self, book):
        with pytest.raises(SetupError, match="not in the gradebook"):
            book.put_grades([a_grade("eve")], why="")
        with pytest.raises(SetupError, match="'eve'"):
            book.put_grade(a_grade("eve"), run=book.begin_run(""))

    def test_a_stranger_among_many_is_named_and_nothing_is_filed(self, book):
        book.add_students(Student(id=f"s{n:05d}") for n in range(700))
        grades = [a_grade(f"s{n:05d}") for n in range(700)]
        with pytest.raises(SetupError, match="'s0069'") as caught:
            book.put_grades([*grades, a_grade("s0069")], why="")
        assert "did you mean 's00" in caught.value.fix
        assert list(book.grades()) == []

    def test_a_grade_settles_the_file_it_is_of_unless_all_of_it_is_open(self, book):
        waits = a_mark("q2_why", None, verdict=Verdict.UNSETTLED)
        failed = a_grade(marks=[a_mark(points=None, verdict=Verdict.UNSETTLED), waits])
        assert not would_lose_marks(book, failed)
        book.put_grades([a_grade(marks=[waits])], why="our fault")
        assert not would_lose_marks(book, failed)
        book.put_grades([a_grade(marks=[a_mark(), waits])], why="again")
        assert would_lose_marks(book, failed)
        assert not would_lose_marks(book, a_grade(marks=[a_mark(), waits]))
        assert not would_lose_marks(book, replace(failed, submission_sha256="b" * 64))
        assert not would_lose_marks(book, replace(failed, student="bob"))
        book.put_grades([a_grade(submission_sha256="b" * 64)], why="a newer file")
        assert not would_lose_marks(book, failed)

    def test_points_that_are_not_finite_never_get_in(self, book):
        with pytest.raises(GraderError, match="can't store this"):
            book.put_grades([a_grade(marks=[a_mark(points=math.nan)])], why="")
        assert list(book.grades()) == []

    def test_reading_while_another_thread_writes_sees_one_state(self, book):
        book.put_grades([a_grade("ada"), a_grade("bob")], why="")
        reading = book.grades()
        first = next(reading)
        writer = threading.Thread(
            target=book.put_grades, args=([a_grade("bob", [])],), kwargs={"why": "later"}
        )
        writer.start()
        writer.join()
        assert [first, *reading] == [a_grade("ada"), a_grade("bob")]
        assert book.grade("bob").marks == ()

    def test_people_can_read_the_marks_with_other_tools(self, book):
        book.put_grades([a_grade()], why="")
        with other_program(book) as raw:
            found = raw.exec_driver_sql("SELECT student, name, points FROM current_marks").all()
        assert found == [("ada", "q1_size", 2.0), ("ada", "q2_time", 0.0)]


class TestOverrides:
    def an_override(self, **changes):
        fields: dict[str, Any] = {
            "student": "ada",
            "name": "q2_time",
            "points": 1.5,
            "reason": "argued well",
            "by": "prof",
            "at": "2026-11-01T10:00:00Z",
        }
        return Override(**fields | changes)

    def test_a_regrade_does_not_touch_them(self, book):
        book.put_grades([a_grade()], why="")
        book.put_overrides([self.an_override()])
        book.put_grades([a_grade(engine="0.2.0")], why="again")
        assert book.overrides() == (self.an_override(),)
        assert book.grade("ada").marks[1].points == 0.0

    def test_a_new_one_replaces_the_old_and_the_audit_log_knows_both(self, book):
        book.put_overrides([self.an_override()])
        book.put_overrides([self.an_override(points=2.0, reason="more")])
        assert [one.points for one in book.overrides()] == [2.0]
        assert book.withdraw_override("ada", "q2_time", by="prof", why="a mix-up")
        assert not book.withdraw_override("ada", "q2_time", by="prof", why="again")
        assert book.overrides() == ()
        told = [(line.what, line.why, line.detail.get("before")) for line in book.audit()[1:]]
        assert told == [
            ("override set", "argued well", None),
            ("override set", "more", 1.5),
            ("override withdrawn", "a mix-up", 2.0),
        ]

    @pytest.mark.parametrize("points", [-1.0, math.nan, math.inf])
    def test_impossible_points_are_refused(self, book, points):
        with pytest.raises(SetupError, match="can't be given"):
            book.put_overrides([self.an_override(points=points)])

    def test_a_stranger_is_refused(self, book):
        with pytest.raises(SetupError, match="'eve'"):
            book.put_overrides([self.an_override(student="eve")])


class TestSettingsAndAudit:
    def test_settings_survive_reopening_and_changes_are_logged_once(self, book):
        assert book.setting("published") is None
        book.set_setting("published", False)
        book.set_setting("published", True, by="prof", why="exam is over")
        book.set_setting("published", True, by="prof")
        with reopened(book) as again:
            assert again.setting("published") is True
        changes = [line for line in book.audit() if line.what == "setting changed"]
        assert [(line.who, line.why) for line in changes] == [
            ("grader", ""),
            ("prof", "exam is over"),
        ]

    def test_lines_say_when_what_who_and_why(self, book):
        book.record("exported", by="prof", why="for the office", detail={"format": "csv"})
        line = book.audit()[-1]
        assert (line.what, line.who, line.why) == ("exported", "prof", "for the office")
        assert line.detail == {"format": "csv"}
        assert line.at == "t0001"

    @pytest.mark.parametrize("deed", ["UPDATE audit SET who = 'nobody'", "DELETE FROM audit"])
    def test_the_log_only_grows(self, book, deed):
        with other_program(book) as raw, pytest.raises(DBAPIError, match="only grows"):
            raw.exec_driver_sql(deed)


class TestDifferences:
    def test_equal_marks_are_no_difference_even_from_another_engine(self):
        assert list_mark_changes(a_grade().marks, a_grade(engine="9").marks) == ()

    def test_it_says_which_marks_differ_and_why(self):
        before = a_grade(
            marks=[
                a_mark(points=0.0, verdict=Verdict.INCORRECT),
                a_mark("q2_time", 1.0),
                a_mark("q3_old"),
            ]
        )
        after = a_grade(
            marks=[
                a_mark(points=0.5, verdict=Verdict.MISTAKE, mistake="not-sharded"),
                a_mark("q2_time", None, verdict=Verdict.UNSETTLED),
                a_mark("q4_new", 1.0),
            ]
        )
        found = list_mark_changes(before.marks, after.marks)
        assert [(c.name, c.why) for c in found] == [
            ("q1_size", "incorrect became mistake (not-sharded)"),
            ("q2_time", "correct became unsettled"),
            ("q3_old", "no longer on the paper"),
            ("q4_new", "new on the paper"),
        ]

    @pytest.mark.parametrize(
        ("change", "why"),
        [
            ({"answer": "29 GB"}, "now read as 29 GB, previously as 28 GB"),
            ({"max_points": 3.0}, "now worth 3, previously 2"),
            ({"points": 1.0}, "credit for correct changed"),
            ({"problem": "other"}, "problem memory became other"),
            ({"feedback": "Well done."}, "only the feedback changed"),
        ],
    )
    def test_every_kind_of_change_has_its_reason(self, change, why):
        found = list_mark_changes([a_mark()], [a_mark(**change)])
        assert [c.why for c in found] == [why]


_KILLED = """
import sys
from pathlib import Path
from grader.gradebook import Gradebook
from grader.model import Answer, Evidence, Outcome, Student

with Gradebook.open(Path(sys.argv[1]), create=True) as book:
    book.add_students([Student(id="ada")])
    number = 0
    while True:
        sha = f"{number:064x}"
        raw = {"t": "str", "v": "x" * 20000}
        answers = {"q": Answer(name="q", raw=raw)}
        book.put_evidence(Evidence(submission_sha256=sha, outcome=Outcome.FINISHED,
                                   answers=answers, cells=(), seconds=1.0), "cpu")
        print(number, flush=True)
        number += 1
"""


@pytest.mark.slow
def test_a_kill_at_any_instant_loses_nothing_that_was_reported(tmp_path):
    for attempt in range(4):
        folder = tmp_path / str(attempt)
        child = subprocess.Popen(
            [sys.executable, "-c", _KILLED, str(folder)], stdout=subprocess.PIPE, text=True
        )
        told = [int(child.stdout.readline()) for _ in range(3 + 2 * attempt)]
        time.sleep(0.003 * attempt)
        os.kill(child.pid, signal.SIGKILL)
        told += [int(line) for line in child.stdout.read().split()]
        child.wait()
        child.stdout.close()
        with Gradebook.open(folder) as book:
            for number in told:
                sha = f"{number:064x}"
                assert book.find_evidence(sha, "cpu").submission_sha256 == sha
            book.put_evidence(some_evidence(), "cpu")


@pytest.mark.thorough
def test_ten_thousand_submissions_are_kept_in_seconds(tmp_path):
    batch = [
        Submission(student=f"s{n % 5000:05d}", path=f"{n}.ipynb", sha256=f"{n:064x}")
        for n in range(10_000)
    ]
    with Gradebook.open(tmp_path, create=True) as book:
        book.add_students(Student(id=f"s{n:05d}") for n in range(5000))
        start = time.process_time()
        book.add_submissions(batch)
        book.add_submissions(reversed(batch))
        spent = time.process_time() - start
        assert book.submissions() == tuple(reversed(batch))
    # CPU seconds; many times what it needs, and far below what a scan for each would.
    assert spent < 4


def a_class(students, parts):
    for s in range(students):
        marks = [
            a_mark(
                f"q{p // 4 + 1}_part{p % 4}",
                points=float((s * 7 + p) % 3),
                problem=f"problem-{p // 4}",
                answer=f"{(s * 31 + p * 17) % 1000 / 7:.4g} GB",
                verdict=list(Verdict)[(s + p) % 5],
                feedback=f"That is the whole model state; each GPU keeps 1/{2 ** (s % 7)} of it.",
            )
            for p in range(parts)
        ]
        yield a_grade(f"s{s:05d}", marks, submission_sha256=f"{s:064x}")


@pytest.mark.slow
def test_ten_thousand_students_with_forty_parts_are_read_in_seconds_and_little_memory(tmp_path):
    with Gradebook.open(tmp_path, create=True) as book:
        book.add_students(Student(id=f"s{s:05d}") for s in range(10_000))
        assert book.put_grades(a_class(10_000, 40), why="") == 10_000
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        start = time.process_time()
        total = sum(len(grade.marks) for grade in book.grades())
        spent = time.process_time() - start
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        start = time.process_time()
        assert book.grade("s05000").student == "s05000"
        assert len(book.students()) == 10_000
        quick = time.process_time() - start
    assert total == 400_000
    # CPU seconds; twice what a desktop of 2020 needs, so that a busy machine passes.
    assert spent < 3
    assert quick < 0.5
    assert grown < 60
