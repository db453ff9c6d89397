"""Gradebooks in a PostgreSQL database, and copies of gradebooks."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from grader.errors import SetupError
from grader.gradebook import Gradebook
from grader.gradebook.address import display_address, find_address, parse_address, wanted_address
from grader.gradebook.copying import copy_gradebook, place_of
from grader.model import Student
from grader.model.course import Course
from tests.helpers.batch import a_class, gradebook_of, rows
from tests.helpers.commands import fails, ok


class TestAddresses:
    @pytest.mark.parametrize(
        ("text", "complaint"),
        [
            ("mysql://host/grades", "can't be stored in mysql"),
            ("postgresql://host", "no database is named"),
            ("postgresql://host/grades?schema=Mid-Term", "can't be named 'Mid-Term'"),
            ("postgresql://host/grades", "no schema is named"),
            ("postgresql//host/grades", "not the address of a database"),
            ("postgresql://host:port/grades", "not the address of a database"),
        ],
    )
    def test_what_is_wrong_with_an_address_is_said(self, text, complaint):
        with pytest.raises(SetupError, match=complaint) as caught:
            parse_address(text)
        assert caught.value.fix

    def test_each_set_of_a_course_gets_a_schema_of_its_own(self, tmp_path):
        course = Course(id="mlsys-f26", gradebook="postgresql://host/grades")
        url = wanted_address(tmp_path, "", "midterm-1", course)
        assert url is not None
        assert display_address(url) == "postgresql://host/grades?schema=mlsys_f26_midterm_1"

    def test_a_course_moves_no_gradebook_that_is_there(self, tmp_path):
        Gradebook.open(tmp_path, create=True).close()
        course = Course(id="mlsys", gradebook="postgresql://host/grades")
        assert wanted_address(tmp_path, "", "midterm", course) is None

    @pytest.mark.parametrize("text", ["postgresql://kim:a@b@host:x/grades", "pg//kim:a@b@host/x"])
    def test_a_malformed_address_is_shown_without_its_password(self, text):
        with pytest.raises(SetupError, match=r"//kim:\*\*\*@host") as caught:
            parse_address(text)
        assert "a@b" not in str(caught.value)

    def test_a_folder_with_a_gradebook_takes_no_other(self, tmp_path):
        Gradebook.open(tmp_path, create=True).close()
        at = parse_address("postgresql://host/grades?schema=midterm")
        with pytest.raises(SetupError, match="has a gradebook already") as caught:
            Gradebook.open(tmp_path, create=True, at=at)
        assert "grader gradebook copy" in str(caught.value.fix)

    def test_a_pointer_that_is_nonsense_is_named(self, tmp_path):
        (tmp_path / "gradebook.url").write_text("nonsense")
        with pytest.raises(SetupError, match="not the address of a database"):
            Gradebook.open(tmp_path)

    def test_a_server_that_does_not_answer_is_a_sentence_and_leaves_nothing(self, tmp_path, capsys):
        home = a_class(tmp_path, 1)
        said = fails(capsys, *home.command(tmp_path / "out", "--gradebook",
            "postgresql://127.0.0.1:1/grades")[3:])  # fmt: skip
        assert "the database can't be reached" in said
        assert not (tmp_path / "out" / "gradebook.url").exists()


class TestCopies:
    @pytest.mark.thorough
    def test_a_backup_of_a_folder_is_a_folder_that_grades_on(self, tmp_path):
        home = a_class(tmp_path, 2)
        home.graded(tmp_path / "out")
        ok("gradebook", "copy", tmp_path / "out", tmp_path / "backup")
        again = home.graded(tmp_path / "backup")
        assert again["executed"] == 0
        assert gradebook_of(tmp_path / "backup") == gradebook_of(tmp_path / "out")

    @pytest.mark.thorough
    def test_a_backup_elsewhere_finds_the_release_and_has_the_corrected_specs(
        self, tmp_path, capsys
    ):
        home = a_class(tmp_path, 1)
        home.graded(tmp_path / "out")
        spec = next((home.home / "bank/problems").glob("*/sample.yaml"))
        spec.write_text(spec.read_text().replace("points: 2", "points: 7"))
        ok("score", tmp_path / "out", "--bank", home.home / "bank", "--specs", "current")
        (tmp_path / "out/assignment.json").write_text("{}")
        ok("gradebook", "backup", tmp_path / "out", tmp_path / "backups/1")
        ok("report", tmp_path / "backups/1")
        (tmp_path / "backups").rename(tmp_path / "moved")
        ok("gradebook", "restore", tmp_path / "moved/1", tmp_path / "new/results")
        ok("report", tmp_path / "new/results")
        assert (tmp_path / "new/results/assignment.json").read_text() == "{}"
        with Gradebook.open(tmp_path / "new/results") as book:
            assert next(mark.max_points for grade in book.grades() for mark in grade.marks) == 7
        shutil.rmtree(tmp_path / "new/results/corrected")
        said = fails(capsys, "report", tmp_path / "new/results")
        assert "results/corrected: the corrected specs are not here" in said

    def test_it_never_writes_over_a_gradebook(self, tmp_path):
        for name in ("a", "b"):
            with Gradebook.open(tmp_path / name, create=True) as book:
                book.add_students([Student(id=name)])
        with pytest.raises(SetupError, match="there is a gradebook already"):
            copy_gradebook(place_of(str(tmp_path / "a")), place_of(str(tmp_path / "b")))
        with Gradebook.open(tmp_path / "b") as book:
            assert list(book.students()) == ["b"]

    def test_only_a_folder_can_switch(self, tmp_path, capsys):
        with Gradebook.open(tmp_path / "a", create=True) as book:
            book.add_students([Student(id="ada")])
        said = fails(capsys, "gradebook", "copy", tmp_path / "a", tmp_path / "b", "--switch")
        assert "leave out --switch" in said

    @pytest.mark.thorough
    def test_a_gradebook_goes_to_a_database_and_back(self, tmp_path, postgres):
        home = a_class(tmp_path, 8)
        home.graded(tmp_path / "out")
        with Gradebook.open(tmp_path / "out") as book:
            book.add_students([Student(id="zoë", name="Zoë \x00 nothing")])
            book.add_students([Student(id="_a"), Student(id="B"), Student(id="a")])
        before = gradebook_of(tmp_path / "out")
        address = display_address(postgres.address())
        ok("gradebook", "copy", tmp_path / "out", address, "--switch")
        assert gradebook_of(tmp_path / "out") | {"students": None} == before | {"students": None}
        with Gradebook.open(tmp_path / "out") as book:
            assert list(book.students()) == list(before["students"])
            book.begin_run("numbers go on after the copy")
        ok("gradebook", "copy", tmp_path / "out", tmp_path / "back")
        assert rows(tmp_path / "back", "SELECT max(number) FROM runs") == [(2,)]


@pytest.mark.thorough
class TestPostgresql:
    def test_it_has_the_same_grades_as_a_file(self, tmp_path, postgres):
        home = a_class(tmp_path, 8)
        home.graded(tmp_path / "file")
        home.graded(tmp_path / "base", "--gradebook", display_address(postgres.address()))
        assert not (tmp_path / "base" / "gradebook.sqlite").exists()
        assert gradebook_of(tmp_path / "base") == gradebook_of(tmp_path / "file")
        assert home.graded(tmp_path / "base")["executed"] == 0

    def test_a_password_is_not_stored(self, tmp_path, postgres):
        at = postgres.address().set(password="hunter2")
        Gradebook.open(tmp_path, create=True, at=at).close()
        assert "hunter2" not in (tmp_path / "gradebook.url").read_text()

    def test_an_unknown_database_is_named(self, tmp_path, postgres):
        with pytest.raises(SetupError, match="the server has no such database"):
            Gradebook.open(tmp_path, create=True, at=postgres.address().set(database="none"))

    def test_who_may_not_create_is_told_so(self, tmp_path, postgres):
        postgres.execute("CREATE ROLE guest LOGIN")
        with pytest.raises(SetupError, match="may not do this") as caught:
            Gradebook.open(tmp_path, create=True, at=postgres.address().set(username="guest"))
        assert "CREATE" in str(caught.value.fix)

    def test_many_processes_write_at_once_and_nothing_is_lost(self, tmp_path, postgres):
        at = postgres.address()
        with Gradebook.open(tmp_path, create=True, at=at) as book:
            book.add_students([Student(id="ada")])
        writers = [
            subprocess.Popen([sys.executable, "-c", _WRITER, str(tmp_path), str(n)])
            for n in range(4)
        ]
        assert [one.wait() for one in writers] == [0] * 4
        with Gradebook.open(tmp_path) as book:
            runs = [line for line in book.audit() if line.what == "grading run"]
        assert sorted(line.why for line in runs) == sorted(
            f"{n} {k}" for n in range(4) for k in range(25)
        )
        assert [line.detail["run"] for line in runs] == list(range(1, 101))

    def test_two_gradebooks_in_one_database_know_nothing_of_each_other(self, tmp_path, postgres):
        for name in ("one", "two"):
            with Gradebook.open(tmp_path / name, create=True, at=postgres.address()) as book:
                book.add_students([Student(id=name)])
        for name in ("one", "two"):
            with Gradebook.open(tmp_path / name) as book:
                assert list(book.students()) == [name]

    def test_a_server_that_dies_meanwhile_costs_no_grade(self, tmp_path, postgres):
        home = a_class(tmp_path, 8, extra="import time; time.sleep(0.3)")
        out, at = tmp_path / "out", display_address(postgres.address())
        run = subprocess.Popen(
            home.command(out, "--gradebook", at),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        _wait_for(lambda: any((out / "evidence").glob("*.json.gz")))
        postgres.stop()
        try:
            _, said = run.communicate(timeout=60)
        finally:
            postgres.start()
        assert run.returncode == 2
        assert "database" in said
        assert "Traceback" not in said
        home.graded(out)
        home.graded(tmp_path / "undisturbed")
        assert gradebook_of(out) == gradebook_of(tmp_path / "undisturbed")

    def test_a_coordinator_that_is_killed_leaves_a_gradebook_that_goes_on(self, tmp_path, postgres):
        home = a_class(tmp_path, 8, extra="import time; time.sleep(0.2)")
        out, at = tmp_path / "out", display_address(postgres.address())
        run = subprocess.Popen(home.command(out, "--gradebook", at), start_new_session=True)
        _wait_for(lambda: any((out / "evidence").glob("*.json.gz")))
        os.killpg(run.pid, signal.SIGKILL)
        run.wait()
        home.graded(out)
        home.graded(tmp_path / "undisturbed")
        assert gradebook_of(out) == gradebook_of(tmp_path / "undisturbed")


_WRITER = """
import sys
from pathlib import Path
from grader.gradebook import Gradebook
with Gradebook.open(Path(sys.argv[1])) as book:
    for k in range(25):
        book.begin_run(f"{sys.argv[2]} {k}")
"""


def _wait_for(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_the_address_of_a_file_is_its_path():
    assert display_address(find_address(Path("results"))) == "results/gradebook.sqlite"
