"""What a template holds for versions that students share, and for numbers of one's own."""

from __future__ import annotations

import csv
import io
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from grader.notebook import read
from tests.helpers.banks import a_bank, a_roster
from tests.helpers.classroom import Remote, parsed, run_step, runner
from tests.helpers.commands import fails, ok, run

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="paths of files as addresses")
SAMPLE = "sample/quiz-sample.ipynb"
WHEN = "2999-01-01T00:00:00Z"


class Class:
    """A release, and the folders that `classroom init` makes of it."""

    def __init__(self, home: Path, *options: str, roster: str = "id\nada\nbo\n"):
        self.home, self.bank = home, a_bank(home / "bank")
        self.roster, self.release = a_roster(home, roster), home / "release"
        self.made = home / "made"
        self.render(*options)

    def render(self, *options: str) -> None:
        shutil.rmtree(self.release, ignore_errors=True)
        ok(
            "render", "quiz", "--roster", self.roster, "--out", self.release,
            "--private-key", "class", "--bank", self.bank, *options,
        )  # fmt: skip

    def command(self, *options: str) -> tuple[object, ...]:
        bank = ("--bank", self.bank)
        return ("classroom", "init", self.made, "--release", self.release, *bank, *options)

    def init(self, *options: str) -> list[str]:
        """The notes of a run."""
        found = json.loads(ok(*self.command(*options), "--json").output)["notes"]
        assert isinstance(found, list)
        return found

    @property
    def template(self) -> Path:
        return self.made / "student-template"

    def notebooks(self) -> dict[str, bytes]:
        paths = self.template.rglob("*.ipynb")
        return {p.relative_to(self.template).as_posix(): p.read_bytes() for p in paths}

    def workflow(self, name: str = "grade") -> Any:
        text = (self.made / f"instructor/.github/workflows/{name}.yml").read_text(encoding="utf-8")
        return parsed(text)

    def is_clean(self) -> bool:
        folders = ("student-template", "students")
        wanted = ("--release", self.release, "--bank", self.bank)
        return not any(
            run("classroom", "leaks", self.made / one, *wanted).return_value for one in folders
        )


@pytest.fixture
def shared(tmp_path: Path) -> Class:
    made = Class(tmp_path, "--shared")
    made.init()
    return made


@pytest.fixture
def own(tmp_path: Path) -> Class:
    made = Class(tmp_path)
    made.init()
    return made


def totals(results: Path) -> dict[str, str]:
    rows = csv.DictReader(io.StringIO((results / "grades.csv").read_text(encoding="utf-8")))
    return {row["student"]: row["total"] for row in rows}


def accepted(course: Class, student: str) -> Remote:
    """The student's repository as the host makes it of the template."""
    remote = Remote(course.home, student)
    remote.push(
        {
            p.relative_to(course.template).as_posix(): p.read_bytes()
            for p in course.template.rglob("*")
            if p.is_file()
        }
    )
    return remote


def graded(course: Class) -> dict[str, str]:
    """The totals of what was collected with the instructor's own roster and addresses."""
    url = (course.home / "server").as_uri() + "/{id}.git"
    roster = course.made / "instructor" / "roster.csv"
    handed, results = course.home / "submissions", course.home / "results"
    notebook = course.workflow()["env"]["NOTEBOOK"]
    ok("classroom", "collect", roster, "--out", handed, "--url", url, "--notebook", notebook)
    ok("grade", handed, "--release", course.release, "--out", results, "--bank", course.bank)
    return totals(results)


@pytest.mark.thorough
def test_a_template_for_all_is_all_that_two_students_need(shared: Class) -> None:
    """From the template over two repositories to marks, with nothing handed out."""
    (name, notebook), *others = shared.notebooks().items()
    assert (name, others) == ("quiz.ipynb", [])
    for student in ("ada", "bo"):
        assert (shared.made / "students" / student / name).read_bytes() == notebook
    assert shared.is_clean()
    readme = (shared.template / "README.md").read_text(encoding="utf-8")
    assert "everything you need" in readme
    assert "sample" not in readme
    ada, bo = (accepted(shared, student) for student in ("ada", "bo"))
    solved = shared.home / "solved.ipynb"
    ok("solve", shared.release, "--student", "ada", "--out", solved, "--bank", shared.bank)
    ada.push({name: solved.read_bytes()})
    right = graded(shared)
    assert float(right["ada"]) > 0 == float(right["bo"])
    # The same answers are right for the other one too.
    bo.push({name: solved.read_bytes()})
    assert graded(shared) == {"ada": right["ada"], "bo": right["ada"]}


@pytest.mark.thorough
def test_a_sample_is_for_practice_and_the_handout_comes_beside_it(own: Class) -> None:
    assert list(own.notebooks()) == [SAMPLE]
    assert own.is_clean()
    remote = accepted(own, "ada")
    practised = b'{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}'
    remote.push({SAMPLE: practised})
    url = (own.home / "server").as_uri() + "/{id}.git"
    hand_out = (
        *("classroom", "handout", own.made / "instructor" / "roster.csv"),
        *("--from", own.made / "students", "--url", url, "--student", "ada"),
    )
    ok(*hand_out)
    clone = own.home / "clone"
    subprocess.run(["git", "clone", "--quiet", remote.url, clone], check=True)
    assert (clone / SAMPLE).read_bytes() == practised
    handed = own.made / "students" / "ada" / "quiz.ipynb"
    assert (clone / "quiz.ipynb").read_bytes() == handed.read_bytes()
    # And what a student has done in the meantime stays, however often it is handed out.
    (clone / "quiz.ipynb").write_bytes(practised)
    git = ["git", "-c", "user.name=ada", "-c", "user.email=ada@example.edu"]
    subprocess.run([*git, "commit", "--quiet", "-am", "work"], cwd=clone, check=True)
    subprocess.run(["git", "push", "--quiet"], cwd=clone, check=True)
    ok(*hand_out)
    assert remote_file(remote, "quiz.ipynb") == practised


def remote_file(remote: Remote, path: str) -> bytes:
    shown = ["git", "show", f"main:{path}"]
    return subprocess.run(shown, cwd=remote.bare, capture_output=True, check=True).stdout


@pytest.mark.thorough
def test_a_sample_that_is_filled_in_and_handed_in_is_nobodys_work(own: Class) -> None:
    """Even with the student's own right answers in it."""
    from tests.helpers.notebooks import SENTENCE

    solved = own.home / "solved.ipynb"
    ok("solve", own.release, "--student", "ada", "--out", solved, "--bank", own.bank)
    filled = json.loads(own.notebooks()[SAMPLE])
    mine = json.loads(solved.read_bytes())
    filled["cells"][1:-1] = mine["cells"][1:-1]
    remote = accepted(own, "ada")
    remote.push({"quiz.ipynb": json.dumps(filled)})
    Remote(own.home, "bo")
    got = graded(own)
    assert got["ada"] == ""  # not a zero, but nothing that can be graded
    grade = json.loads((own.home / "results" / "grades" / "ada.json").read_text(encoding="utf-8"))
    said = "this is the practice sample, which is not graded" + SENTENCE
    assert {m["feedback"] for m in grade["marks"]} == {said}
    remote.push({"quiz.ipynb": solved.read_bytes()})
    assert float(graded(own)["ada"]) > 0


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform != "linux", reason="its runners are Linux")
def test_the_workflow_checks_the_sample_until_the_exam_is_there(own: Class) -> None:
    workspace = own.home / "repository"
    shutil.copytree(own.template, workspace)
    workflow = parsed((workspace / ".github/workflows/check.yml").read_text(encoding="utf-8"))
    step = next(s for s in workflow["jobs"]["check"]["steps"] if s["name"] == "Check")
    environment = runner(own.home, workspace)
    first = run_step(step, workspace, environment)
    assert "::warning::quiz.ipynb is not here" in first.stdout
    assert f"file={SAMPLE},line=" in first.stdout
    shutil.copy(own.made / "students" / "ada" / "quiz.ipynb", workspace)
    second = run_step(step, workspace, environment)
    assert "is not here" not in second.stdout
    assert "file=quiz.ipynb,line=" in second.stdout


@pytest.mark.thorough
def test_pytest_shows_the_sample_until_the_exam_is_there(own: Class) -> None:
    def shown() -> str:
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_exam.py"]
        done = subprocess.run(command, cwd=own.template, capture_output=True, text=True)
        return done.stdout

    before = shown()
    assert "quiz-sample.ipynb is for practice and is not graded." in before
    assert "1 passed" in before  # test_notebook; the answers are empty
    shutil.copy(own.made / "students" / "ada" / "quiz.ipynb", own.template)
    assert "for practice" not in shown()


def test_a_sample_can_be_left_out(own: Class) -> None:
    notes = own.init("--no-sample")
    assert own.notebooks() == {}
    assert any(SAMPLE in note and "removed" in note for note in notes)
    assert "sample" not in (own.template / "README.md").read_text(encoding="utf-8")
    again = own.workflow("handout")["jobs"]["handout"]["steps"]
    assert any("--no-sample" in step.get("run", "") for step in again)
    assert any("--no-sample" in note for note in own.init())
    assert own.notebooks() == {}
    own.init("--sample")
    assert list(own.notebooks()) == [SAMPLE]


def test_a_notebook_of_an_earlier_release_does_not_stay_in_the_template(own: Class) -> None:
    own.render("--shared")
    notes = own.init()
    assert list(own.notebooks()) == ["quiz.ipynb"]
    assert any("removed" in note for note in notes)
    own.render()
    own.init("--notebook", "exam.ipynb")
    assert list(own.notebooks()) == ["sample/exam-sample.ipynb"]
    # What somebody else has put there is left alone.
    other = own.template / "notes.ipynb"
    other.write_text("{}")
    own.init()
    assert other.exists()


def test_several_versions_are_said_to_need_a_handout(tmp_path: Path) -> None:
    course = Class(tmp_path, "--versions", "2", roster="id\nada\nbo\ncy\n")
    notes = course.init()
    assert list(course.notebooks()) == [SAMPLE]
    assert any("several versions (A, B)" in note for note in notes)
    rows = csv.DictReader((course.made / "instructor" / "roster.csv").read_text().splitlines())
    assert {row["id"]: row["version"] for row in rows} == {"ada": "A", "bo": "B", "cy": "A"}
    found = {
        s: read((course.made / "students" / s / "quiz.ipynb").read_bytes()).cells[0].source
        for s in ("ada", "bo", "cy")
    }
    assert found["ada"] == found["cy"] != found["bo"]
    assert course.is_clean()


def said_to_workflows(course: Class) -> Iterator[str]:
    grade = course.workflow()
    yield grade["env"]["DEADLINE"]
    yield (grade["on"].get("schedule") or [{"cron": ""}])[0]["cron"]
    yield grade["env"]["URL"]


def test_init_again_keeps_to_what_it_was_told(own: Class) -> None:
    told = [WHEN, "5 23 * * *", "https://github.com/org/quiz-{id}.git"]
    own.init("--deadline", WHEN, "--schedule", "5 23 * * *", "--owner", "org")
    notes = own.init()
    assert [*said_to_workflows(own)] == told
    kept = next(note for note in notes if note.startswith("kept"))
    for option in (f"--deadline {WHEN}", "--schedule '5 23 * * *'", "--owner org"):
        assert option in kept
    later = "2999-02-01T00:00:00Z"
    notes = own.init("--deadline", later)
    assert [*said_to_workflows(own)] == [later, *told[1:]]
    assert not any("--deadline" in note for note in notes)
    own.init("--deadline", "", "--schedule", "", "--branch", "work")
    assert [*said_to_workflows(own)] == ["", "", told[2]]
    own.init("--branch", "")
    options = json.loads((own.made / "instructor" / "classroom.json").read_bytes())["options"]
    assert options == {"owner": "org"}
    # The workflow that hands out makes the same files, wherever it runs.
    steps = own.workflow("handout")["jobs"]["handout"]["steps"]
    assert any("--owner org" in step.get("run", "") for step in steps)


def test_what_was_told_is_for_the_instructor_alone(own: Class) -> None:
    own.init("--owner", "org")
    assert [p.parent.name for p in own.made.rglob("classroom.json")] == ["instructor"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"schema": "systems-grader/classroom/v1", "options": {"scale": "9"}}',
        "\x00",
    ],
    ids=["empty", "list", "object", "a wrong type", "zero"],
)
def test_what_was_told_and_is_damaged_is_not_guessed(
    own: Class, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (own.made / "instructor" / "classroom.json").write_text(text)
    assert "classroom.json" in fails(capsys, *own.command())


def test_students_who_would_not_be_collected_are_named(own: Class) -> None:
    assert not any("have no line" in note for note in own.init())
    own.roster.write_text("id\nada\nbo\ncy\n")
    ok("render", "quiz", "--roster", own.roster, "--out", own.release, "--bank", own.bank)
    notes = own.init()
    assert "1 student has no line in instructor/roster.csv: cy" in notes
    assert "cy" not in (own.made / "instructor" / "roster.csv").read_text()


def test_a_pack_of_an_earlier_run_is_still_said_to_be_there(own: Class) -> None:
    pack, key = own.home / "exam.pack", own.home / "key"
    ok("classroom", "seal", own.release, "--out", pack, "--key-file", key)
    own.init("--host", "classroom50", "--classroom", "mlsys", "--pack", str(pack))
    before = (own.made / "classroom50" / "README.md").read_text(encoding="utf-8")
    own.init()
    assert (own.made / "classroom50" / "README.md").read_text(encoding="utf-8") == before
    assert "encrypted" in before


@pytest.mark.slow
@pytest.mark.parametrize(("exam", "key"), [("workshop", "k0"), ("practice", "k4")])
def test_what_a_sample_shows_is_no_leak(tmp_path: Path, exam: str, key: str) -> None:
    """Its words may be on no student's paper, and its numbers may be somebody's answer."""
    out = ("--out", tmp_path / "release", "--private-key", key)
    ok("render", exam, "--student", "s0", "--student", "s1", *out)
    ok("classroom", "init", tmp_path / "made", "--release", tmp_path / "release")
    template = tmp_path / "made" / "student-template"
    search = ("classroom", "leaks", template, "--release", tmp_path / "release")
    found = run(*search)
    assert found.return_value == 0, found.output
    # Which excuses no student's answers in it.
    solved = template / "sample" / f"{exam}-sample.ipynb"
    solved.unlink()
    ok("solve", tmp_path / "release", "--student", "s0", "--out", solved)
    assert run(*search).return_value == 1
