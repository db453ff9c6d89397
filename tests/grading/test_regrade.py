"""Regrading: what a correction may change, what it must not, and what survives it."""

from __future__ import annotations

import json
import math
import shutil
import stat
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from grader.cli import grader
from grader.errors import SetupError
from grader.gradebook import Gradebook
from grader.grading.batch import refused_evidence
from grader.grading.manual import give_points
from grader.grading.score import FAULT, score
from grader.kinds import kinds
from grader.release.file import load_release, release_bytes
from grader.release.papers import papers_of
from tests.helpers.banks import ESSAY, ROSTER, SPEC, a_bank, a_roster
from tests.helpers.code import CODE_EXAM, CODE_SPEC, SCALED
from tests.helpers.commands import ok, run


@pytest.fixture
def exam(tmp_path: Path) -> Path:
    """A graded exam with an explanation that waits for a person."""
    return graded(tmp_path, ESSAY)


def graded(tmp_path: Path, spec: str) -> Path:
    bank = a_bank(tmp_path / "bank", spec)
    ok(
        "render", "quiz", "--roster", a_roster(tmp_path), "--out", tmp_path / "release",
        "--bank", bank,
    )  # fmt: skip
    for student in ("ada", "bo"):
        ok(
            "solve", tmp_path / "release", "--student", student, "--bank", bank,
            "--out", tmp_path / "in" / f"{student}.ipynb",
        )  # fmt: skip
    regraded(tmp_path)
    return tmp_path


def regraded(home: Path, *more: object, code: int = 0) -> dict:  # type: ignore[type-arg]
    result = run(
        "grade", home / "in", "--release", home / "release", "--out", home / "results",
        "--bank", home / "bank", "--json", *more,
    )  # fmt: skip
    assert (result.exception, result.return_value) == (None, code)
    return json.loads(result.stdout)


def grade_of(home: Path, student: str = "ada") -> dict:  # type: ignore[type-arg]
    return json.loads((home / "results" / "grades" / f"{student}.json").read_text())


def correct(home: Path, spec: str) -> None:
    a_bank(home / "bank", spec)
    ok(
        "score", home / "results", "--specs", "current", "--bank", home / "bank", "--why", "test",
        "--unverified",
    )  # fmt: skip


def test_a_correction_keeps_nobody_who_is_forgotten(exam: Path) -> None:
    correct(exam, ESSAY.replace("points: 2", "points: 5"))
    [kept] = (exam / "results" / "corrected").iterdir()
    assert json.loads(kept.read_text())["students"] == []
    before = load_release(kept)
    students = load_release(exam / "release").students
    kept.write_bytes(release_bytes(replace(before, students=students)))  # as earlier versions did
    ok("forget", exam / "results", "ada", "--why", "asked", "--bank", exam / "bank")
    assert load_release(kept) == before
    assert grade_of(exam, "bo")["max_score"] == 10
    ok("forget", exam / "results", "bo", "--why", "asked", "--bank", exam / "bank")
    assert load_release(kept) == before


@pytest.mark.thorough
def test_a_correction_survives_the_next_run(exam: Path) -> None:
    correct(exam, ESSAY.replace("points: 2", "points: 5"))
    assert grade_of(exam)["score"] == 6
    again = regraded(exam)
    assert again["executed"] == 0
    assert grade_of(exam)["score"] == 6
    ok("score", exam / "results", "--bank", exam / "bank")
    assert grade_of(exam)["score"] == 6


def test_a_backup_has_the_correction_and_finds_the_release(exam: Path) -> None:
    correct(exam, ESSAY.replace("points: 2", "points: 5"))
    results, backup = exam / "results", exam / "backups" / "today"
    table = (results / "grades.csv").read_bytes()
    ok("gradebook", "backup", results, backup)
    shutil.rmtree(results)
    ok("report", backup, "--bank", exam / "bank")
    assert (backup / "grades.csv").read_bytes() == table
    ok("gradebook", "restore", backup, results)
    ok("report", results, "--bank", exam / "bank")
    assert (results / "grades.csv").read_bytes() == table
    [kept] = (results / "corrected").iterdir()
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600


def test_a_correction_keeps_the_numbers_that_were_handed_out(exam: Path) -> None:
    before = json.loads(ok("key", exam / "release", "--student", "ada", "--json").output)
    correct(exam, ESSAY.replace("[1.3, 2.7, 6.7, 13, 30]", "[40]"))
    assert grade_of(exam)["score"] == 3
    assert before["q1_share"]["value"] < 10


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            "      - {id: bf16, text: bfloat16, correct: true}\n"
            "      - {id: fp32, text: float32, feedback: That has 4 bytes.}\n",
            "      - {id: fp32, text: float32, feedback: That has 4 bytes.}\n"
            "      - {id: bf16, text: bfloat16, correct: true}\n",
            "students saw",
        ),
        (
            "      - {id: fp8, text: 8-bit float, feedback: That has 1 byte.}\n",
            "      - {id: fp8, text: 8-bit float, feedback: That has 1 byte.}\n"
            "      - {id: fp4, text: 4-bit float}\n",
            "the number of choices of",
        ),
        ("id: bound", "id: form", "which the released notebooks do not"),
        ("unit: GB", "unit: GiB", "students saw 'GB'"),
    ],
)
def test_a_correction_that_changes_what_students_wrote_is_refused(
    exam: Path, old: str, new: str, words: str
) -> None:
    assert old in ESSAY
    a_bank(exam / "bank", ESSAY.replace(old, new))
    before = grade_of(exam)
    result = CliRunner().invoke(
        grader,
        ["score", str(exam / "results"), "--specs", "current", "--bank", str(exam / "bank")],
        standalone_mode=False,
    )
    # With three options some students' letters may stay what they were by chance: try all.
    assert isinstance(result.exception, SetupError), result.output
    assert words in str(result.exception)
    assert grade_of(exam) == before


@pytest.mark.thorough
def test_points_by_hand_settle_a_total_and_survive_a_regrade(exam: Path) -> None:
    waiting = json.loads(ok("mark", exam / "results", "--json").output)
    assert {(w["student"], w["answer"]) for w in waiting} == {("ada", "q1_why"), ("bo", "q1_why")}
    assert grade_of(exam)["complete"] is False
    ok(
        "mark", exam / "results", "--student", "ada", "--answer", "q1_why", "--points", 3,
        "--why", "names the format", "--bank", exam / "bank",
    )  # fmt: skip
    grade = grade_of(exam)
    assert (grade["score"], grade["complete"]) == (6, True)
    assert "names the format" in grade["marks"][2]["feedback"]
    correct(exam, ESSAY.replace("points: 2", "points: 5"))
    assert grade_of(exam)["score"] == 9
    ok(
        "mark", exam / "results", "--student", "ada", "--answer", "q1_why", "--withdraw",
        "--bank", exam / "bank",
    )  # fmt: skip
    assert grade_of(exam)["complete"] is False


@pytest.mark.thorough
def test_a_preview_shows_the_totals_of_the_table_of_grades(exam: Path) -> None:
    """With manual points, and with the maximum if it changes."""
    ok(
        "mark", exam / "results", "--student", "ada", "--answer", "q1_why", "--points", 3,
        "--why", "names the format", "--bank", exam / "bank",
    )  # fmt: skip
    a_bank(exam / "bank", ESSAY.replace("points: 2", "points: 5"))
    preview = (
        "score",
        exam / "results",
        "--specs",
        "current",
        "--dry-run",
        "--bank",
        exam / "bank",
    )
    changes = {one["student"]: one for one in json.loads(ok(*preview, "--json").stdout)["changes"]}
    totals = ("before", "after", "max_before", "max_after")
    assert [changes["ada"][name] for name in totals] == [6, 9, 7, 10]
    lines = [line.split() for line in ok(*preview).stdout.splitlines()]
    assert ["ada", "6/7", "9/10"] in [line[:3] for line in lines]
    assert ["bo", "3/7", "+?", "6/10", "+?"] in [line[:5] for line in lines]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--student", "adda", "--answer", "q1_why", "--points", 1), "did you mean 'ada'?"),
        (("--student", "ada", "--answer", "q1_wy", "--points", 1), "did you mean 'q1_why'?"),
        (("--student", "ada", "--answer", "q1_why", "--points", 9), "more than the 4 points"),
        (("--student", "ada", "--answer", "q1_why", "--points", "1e30"), "1e+30 is more than"),
        (("--student", "ada", "--points", 1), "either --points or --withdraw"),
        (("--student", "ada", "--answer", "q1_why", "--withdraw"), "no manual points"),
        (("--student", "zoe", "--answer", "q1_why", "--points", 1), "there is no student 'zoe'"),
        (("--student", "cy", "--answer", "q1_why", "--points", 1), "'cy' has no grade yet"),
    ],
)
def test_a_mark_by_hand_that_can_not_be_says_why(
    exam: Path, arguments: tuple[object, ...], words: str
) -> None:
    result = CliRunner().invoke(
        grader, ["mark", str(exam / "results"), *map(str, arguments)], standalone_mode=False
    )
    assert isinstance(result.exception, SetupError)
    assert words in str(result.exception)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("points", "words"), [(math.inf, "inf is more than the 4 points"), (math.nan, "not a number")]
)
def test_points_that_are_no_number_are_refused(exam: Path, points: float, words: str) -> None:
    with pytest.raises(SetupError, match=words):
        give_points(exam / "results", "ada", "q1_why", points, by="kim", why="")


@pytest.mark.thorough
def test_one_point_is_one(exam: Path) -> None:
    [name, *_] = (mark["name"] for mark in grade_of(exam)["marks"] if mark["max_points"] == 1)
    with pytest.raises(SetupError, match=f"2 is more than the 1 point of '{name}'"):
        give_points(exam / "results", "ada", name, 2, by="kim", why="")


@pytest.mark.skipif(sys.platform == "win32", reason="no such permissions")
def test_files_that_hold_answers_are_closed_to_other_users(exam: Path) -> None:
    correct(exam, ESSAY.replace("points: 2", "points: 5"))
    secret = [exam / "release" / "release.json", *(exam / "results" / "corrected").glob("*")]
    assert len(secret) == 2
    assert {stat.S_IMODE(path.stat().st_mode) for path in secret} == {0o600}


@pytest.mark.thorough
def test_a_copy_of_another_students_notebook_is_judged_by_each_ones_own_paper(
    tmp_path: Path,
) -> None:
    pooled = (
        "id: quiz\ntitle: A quiz\nproblems:\n  - {pool: [sample, second], choose: 1, points: 6}\n"
    )
    other = SPEC.replace("id: sample", "id: second").replace("id: share", "id: held")
    other = other.replace("{{ share", "{{ held")
    a_bank(tmp_path / "bank", other)
    a_bank(tmp_path / "bank", exam=pooled)
    many = "id\n" + "".join(f"s{i}\n" for i in range(8))
    ok(
        "render", "quiz", "--roster", a_roster(tmp_path, many), "--out", tmp_path / "release",
        "--bank", tmp_path / "bank",
    )  # fmt: skip
    solved = tmp_path / "solved.ipynb"
    ok(
        "solve", tmp_path / "release", "--student", "s0", "--out", solved,
        "--bank", tmp_path / "bank",
    )  # fmt: skip
    (tmp_path / "in").mkdir()
    for number in range(8):
        (tmp_path / "in" / f"s{number}.ipynb").write_bytes(solved.read_bytes())
    regraded(tmp_path)
    first = {s: grade_of(tmp_path, s)["score"] for s in ("s0", "s1", "s2", "s3")}
    assert first["s0"] == 6
    regraded(tmp_path)
    ok("score", tmp_path / "results", "--bank", tmp_path / "bank")
    assert {s: grade_of(tmp_path, s)["score"] for s in first} == first


@pytest.mark.thorough
def test_code_that_several_students_hand_in_is_judged_by_the_calls_that_each_of_them_needs(
    tmp_path: Path,
) -> None:
    bank = a_bank(tmp_path / "bank", CODE_SPEC, SCALED, CODE_EXAM)
    ok(
        "render", "quiz", "--roster", a_roster(tmp_path), "--out", tmp_path / "release",
        "--bank", bank,
    )  # fmt: skip
    solved = tmp_path / "in" / "ada.ipynb"
    ok("solve", tmp_path / "release", "--student", "ada", "--out", solved, "--bank", bank)
    for other in ("bo", "cy"):
        (tmp_path / "in" / f"{other}.ipynb").write_bytes(solved.read_bytes())
    regraded(tmp_path)
    first = {s: grade_of(tmp_path, s)["marks"] for s in ("ada", "bo", "cy")}
    assert {mark["verdict"] for marks in first.values() for mark in marks} == {"correct"}
    said = json.loads(ok("score", tmp_path / "results", "--bank", bank, "--json").stdout)
    assert said["changes"] == []
    assert {s: grade_of(tmp_path, s)["marks"] for s in first} == first


def test_marks_left_open_by_a_fault_of_ours_are_settled_by_evidence_that_is_there(
    exam: Path,
) -> None:
    # As after a kill between filing the evidence and filing the grade of a second try.
    before = grade_of(exam)
    with Gradebook.open(exam / "results") as book:
        papers = papers_of(book)
        fault = refused_evidence(before["submission_sha256"], "we could not start a kernel")
        book.put_grade(score(papers.of("ada"), fault), run=book.begin_run("a fault"))
    assert regraded(exam)["executed"] == 0
    assert grade_of(exam) == before


@pytest.mark.thorough
def test_an_answer_that_could_not_be_judged_is_judged_by_the_next_run(
    exam: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settled = grade_of(exam)["marks"]
    choice = type(kinds.find("choice"))
    with Gradebook.open(exam / "results") as book:
        book.withdraw_grade("ada", by="staff", why="test")
    with monkeypatch.context() as patch:
        patch.setattr(choice, "judge", lambda *_: 1 / 0)
        assert regraded(exam, code=1)["unsettled"] == 1
        marks = grade_of(exam)["marks"]
        open_ = [mark["name"] for mark in marks if mark["feedback"].startswith(FAULT)]
        assert open_ == [m["name"] for m in settled if m["kind"] == "choice"]
        others = [m for m in marks if m["name"] not in open_]
        assert others == [m for m in settled if m["name"] not in open_]
    done = regraded(exam)
    assert (done["executed"], done["unsettled"]) == (0, 0)
    assert grade_of(exam)["marks"] == settled


@pytest.mark.thorough
def test_a_fault_that_is_mended_settles_its_mark_while_another_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    more = "  - {id: fits, kind: integer, ask: 'How many?', answer: gpus}\nexplanation: |"
    exam = graded(tmp_path, SPEC.replace("explanation: |", more))
    settled = {mark["name"]: mark for mark in grade_of(exam)["marks"]}
    with Gradebook.open(exam / "results") as book:
        book.withdraw_grade("ada", by="staff", why="test")

    def open_by_fault() -> list[str]:
        regraded(exam, code=1)
        marks = grade_of(exam)["marks"]
        found = [mark["name"] for mark in marks if mark["feedback"].startswith(FAULT)]
        assert all(settled[m["name"]] == m for m in marks if m["name"] not in found)
        return found

    broken = {"share", "bound"}
    for kind in (kinds.find("choice"), kinds.find("numeric")):
        own = type(kind).judge
        monkeypatch.setattr(
            type(kind),
            "judge",
            lambda self, value, key, judge=own: (
                1 / 0 if key.part.id in broken else judge(self, value, key)
            ),
        )
    assert open_by_fault() == ["q1_share", "q1_bound"]
    broken.remove("share")
    assert open_by_fault() == ["q1_bound"]
    broken.add("share")
    assert open_by_fault() == ["q1_bound"]  # what was settled once stays


def test_a_student_id_can_not_lead_out_of_the_folder(tmp_path: Path) -> None:
    bank = a_bank(tmp_path / "bank")
    for name in ("../../evil", "a/b", ".hidden", "x" * 300):
        result = CliRunner().invoke(
            grader,
            [
                "render",
                "quiz",
                "--student",
                name,
                "--out",
                str(tmp_path / "r"),
                "--bank",
                str(bank),
            ],
            standalone_mode=False,
        )
        assert isinstance(result.exception, SetupError), name
        assert "can't be a file name" in str(result.exception)


def test_students_who_differ_in_capitals_only_are_refused(tmp_path: Path) -> None:
    bank = a_bank(tmp_path / "bank")
    out = tmp_path / "release"
    ok("render", "quiz", "--roster", a_roster(tmp_path, ROSTER), "--out", out, "--bank", bank)
    result = CliRunner().invoke(
        grader,
        ["render", "quiz", "--student", "ADA", "--out", str(out), "--bank", str(bank)],
        standalone_mode=False,
    )
    assert isinstance(result.exception, SetupError)
    assert "differ only in case" in str(result.exception)


@pytest.mark.thorough
def test_results_are_not_written_into_the_folder_that_is_handed_out(exam: Path) -> None:
    release = exam / "release"
    before = sorted(release.rglob("*"))
    for named in (release, release / "release.json"):
        failed = run(
            "grade", exam / "in", "--release", named, "--out", release, "--bank", exam / "bank"
        )
        assert isinstance(failed.exception, SetupError)
        assert "can't be in the folder of the release" in str(failed.exception)
    assert sorted(release.rglob("*")) == before


@pytest.mark.thorough
def test_the_list_of_open_answers_has_the_points_of_all_in_a_row(exam: Path) -> None:
    (exam / "in" / "bo.ipynb").write_text("no notebook")
    regraded(exam)
    rows = [line.split() for line in ok("mark", exam / "results").output.splitlines()]
    assert ["bo", "q1_share", "and", "2", "more", "7"] in [row[:6] for row in rows]


@pytest.mark.thorough
def test_who_withdraws_the_wrong_points_reads_which_there_are(exam: Path) -> None:
    mark = ("mark", exam / "results", "--bank", exam / "bank", "--student", "ada")
    ok(*mark, "--answer", "q1_why", "--points", 3, "--why", "good")
    failed = run(*mark, "--answer", "q1_share", "--withdraw", "--why", "typing error")
    assert isinstance(failed.exception, SetupError)
    assert failed.exception.fix == "withdraw one of these: q1_why"
