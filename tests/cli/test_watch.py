"""`grader watch` grades what arrives, as `grader grade` does."""

from __future__ import annotations

import subprocess
import time

import pytest

from tests.helpers.batch import a_class, rows
from tests.helpers.commands import fails, ok
from tests.helpers.kernels import until


def watch_of(home, out, *more):
    grade = [word for word in home.command(out, *more) if word != "--json"]
    return [*grade[:3], "watch", *grade[4:], "--every", "0.1"]


@pytest.mark.thorough
def test_what_arrives_or_changes_is_graded_and_nothing_else(tmp_path):
    home, out = a_class(tmp_path, 3), tmp_path / "out"
    late = (home.submissions / "s02.ipynb").rename(tmp_path / "s02.ipynb")
    with subprocess.Popen(watch_of(home, out), stderr=subprocess.PIPE, text=True) as watching:

        def executed():
            return len(rows(out, "SELECT number FROM evidence"))

        assert until(lambda: executed() == 2, 60)
        late.rename(home.submissions / "s02.ipynb")
        assert until(lambda: executed() == 3, 60)
        assert until(lambda: "s02" in (out / "grades.csv").read_text(), 60)
        time.sleep(3)  # nothing changes, so nothing runs
        watching.terminate()
        said = watching.stderr.read()
    assert len(rows(out, "SELECT number FROM runs")) == said.count("grading ") == 2
    assert "Traceback" not in said


@pytest.mark.thorough
def test_it_stops_when_nothing_has_arrived_for_long(tmp_path):
    home, out = a_class(tmp_path, 1), tmp_path / "out"
    done = subprocess.run(
        watch_of(home, out, "--stop-after", "0.05"), capture_output=True, timeout=120, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "1 student, 1 graded" in done.stdout


def test_a_folder_that_does_not_exist_yet_is_told(tmp_path):
    options = ("--out", tmp_path / "out", "--every", "0.1", "--stop-after", "0")
    said = ok("watch", tmp_path / "nosuch", *options).stderr
    assert f"warning: {tmp_path / 'nosuch'} does not exist yet" in said


def test_a_wrong_setting_is_an_error_at_once(tmp_path, capsys):
    (tmp_path / "subs").mkdir()
    (tmp_path / "subs" / "ada.ipynb").write_text("{}")
    said = fails(
        capsys, "watch", tmp_path / "subs", "--release", tmp_path / "none", "--out", tmp_path / "o"
    )
    assert "none" in said


@pytest.mark.thorough
def test_the_sets_of_a_course_are_watched_together(tmp_path):
    home = a_class(tmp_path, 2)
    two = a_class(tmp_path / "second", 1)
    course = tmp_path / "course.yaml"
    course.write_text(
        "id: mlsys\n"
        "sets:\n"
        "  quiz: {submissions: submissions, release: release, results: one}\n"
        "  lab: {submissions: second/submissions, release: second/release, results: two}\n"
        "  exam: {due: 2030-01-01}\n"
    )
    watch = [*home.command(tmp_path)[:3], "watch", "--course", str(course), "--every", "0.1",
             "--stop-after", "0.05", "--bank", str(home.home / "bank")]  # fmt: skip
    done = subprocess.run(watch, capture_output=True, timeout=120, text=True)
    assert done.returncode == 0, done.stderr
    assert two.students == ("s00",)
    assert len(rows(tmp_path / "one", "SELECT student FROM grades")) == 2
    assert len(rows(tmp_path / "two", "SELECT student FROM grades")) == 1


def test_a_course_without_folders_says_what_to_write(tmp_path, capsys):
    (tmp_path / "course.yaml").write_text("id: mlsys\nsets:\n  quiz: {due: 2030-01-01}\n")
    said = fails(capsys, "watch", "--course", tmp_path / "course.yaml")
    assert "`submissions:`" in said


def test_a_folder_needs_an_out(tmp_path, capsys):
    assert "--out" in fails(capsys, "watch", tmp_path, "--release", tmp_path)
