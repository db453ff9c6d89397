"""Versions that students share: who gets which, and that nobody is graded by another's numbers."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import ntpath
import os
from pathlib import Path

import pytest

from grader.bank.folders import Bank
from grader.collect import collect
from grader.draw import paper
from grader.errors import GraderError, SetupError, SubmissionError
from grader.gradebook import Gradebook
from grader.grading.ownership import owner_check
from grader.grading.settings import Settings
from grader.integrations.github.autograding import GradedSubmission, grade_submission
from grader.integrations.paper.printing import print_exam
from grader.model import Release, Student
from grader.notebook import read
from grader.notebook.self_description import read_description
from grader.release.file import add_students_to, load_release
from grader.release.papers import bind, papers_of
from grader.release.rendering import Notebooks, make_release
from grader.release.roster import load_roster
from grader.release.versions import assign_versions, of_version, sample_student
from tests.helpers.banks import a_bank, a_roster
from tests.helpers.commands import fails, ok
from tests.helpers.notebooks import SENTENCE, without_metadata

MIXED = "id,name,version\nada,Ada,A\nbo,Bo,B\ncy,Cy,A\ndi,Di,\nem,Em,B\n"


@pytest.fixture(scope="module")
def bank(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return a_bank(tmp_path_factory.mktemp("bank"))


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory, bank: Path) -> Path:
    """Two who share A, two who share B, and one with numbers of their own."""
    home = tmp_path_factory.mktemp("mixed")
    ok(
        "render", "quiz", "--roster", a_roster(home, MIXED), "--out", home / "release",
        "--private-key", "versions", "--bank", bank,
    )  # fmt: skip
    return home


def numbers(release: Release, student: str) -> object:
    mine = paper(release, release.students[student])
    return [q.variant.draw.parameters for q in mine.questions]


def sits(*names: str) -> tuple[Student, ...]:
    return tuple(Student(id=name) for name in names)


def versions(students: tuple[Student, ...]) -> str:
    return "".join(s.version or "-" for s in students)


def test_the_same_version_has_the_same_numbers(mixed: Path) -> None:
    release = load_release(mixed / "release")
    ada, bo, cy, di = (numbers(release, name) for name in ("ada", "bo", "cy", "di"))
    assert ada == cy
    assert ada != bo != di != ada
    files = {p.stem: p.read_bytes() for p in (mixed / "release").glob("*/*.ipynb")}
    assert files["ada"] == files["cy"] == files["quiz-A"]
    assert files["bo"] == files["em"] == files["quiz-B"]
    assert set(files) == {"ada", "bo", "cy", "di", "em", "quiz-A", "quiz-B"}


def test_who_has_no_version_is_drawn_as_ever(mixed: Path, bank: Path, tmp_path: Path) -> None:
    """By the id, whatever others share; and the release has no word more of such a student."""
    alone = make_release(
        Bank.open((str(bank),)), "quiz", sits("di", "ada"), tmp_path, "versions"
    ).release
    assert numbers(alone, "di") == numbers(load_release(mixed / "release"), "di")
    assert numbers(alone, "ada") != numbers(load_release(mixed / "release"), "ada")
    listed = json.loads((mixed / "release" / "release.json").read_bytes())["students"]
    assert [sorted(s) for s in listed if s["id"] in ("di", "bo")] == [
        ["email", "id", "name", "section", "version"],
        ["email", "id", "name", "section"],
    ]


def test_a_shared_notebook_names_nobody(bank: Path, tmp_path: Path) -> None:
    roster = "id,name,email\nqwfpgj,Zarathustra,qwfpgj@example.edu\nvbkmxz,Persephone,\n"
    out = tmp_path / "release"
    ok(
        "render", "quiz", "--shared", "--roster", a_roster(tmp_path, roster), "--out", out,
        "--bank", bank,
    )  # fmt: skip
    first, second = ((out / "notebooks" / f"{n}.ipynb").read_bytes() for n in ("qwfpgj", "vbkmxz"))
    assert first == second
    for name in (b"qwfpgj", b"vbkmxz", b"Zarathustra", b"Persephone"):
        assert name not in first
    assert "**Version A**" in read(first).cells[0].source
    assert "yours alone" not in first.decode()
    known = read_description(read(first))
    assert (known.student, known.version) == ("", "A")


def test_versions_are_dealt_evenly_and_the_same_every_time() -> None:
    students = sits(*"abcdefg")
    assert versions(assign_versions(students, 3, {})) == "ABCABCA"
    assert assign_versions(students, 3, {}) == assign_versions(students, 3, {})
    assert versions(assign_versions(students, 1, {})) == "AAAAAAA"
    assert versions(assign_versions(students, None, {})) == "-------"
    named = (Student(id="x", version="B"), Student(id="y", version="B"), *sits(*"abcd"))
    assert versions(assign_versions(named, 2, {})) == "BBAAAB"


def test_who_comes_later_joins_and_nobody_moves() -> None:
    before = {s.id: s for s in assign_versions(sits("a", "b", "c"), 2, {})}
    later = assign_versions(sits("d", "c", "b", "e", "a"), None, before)
    assert {s.id: s.version for s in later} == {"a": "A", "b": "B", "c": "A", "d": "B", "e": "A"}
    assert {s.id: s.version for s in assign_versions(sits("a", "z"), 3, before)} == {
        "a": "A",
        "z": "C",
    }
    some = {**before, "own": Student(id="own")}
    assert versions(assign_versions(sits("d", "own"), 2, some)) == "B-"
    assert versions(assign_versions(sits("d"), None, some)) == "-"


def test_render_again_keeps_what_was_handed_out(
    bank: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "release"
    command = ("render", "quiz", "--out", out, "--bank", bank)
    ok(*command, "--student", "ada", "--student", "bo", "--versions", "2")
    before = (out / "notebooks" / "bo.ipynb").read_bytes()
    made = json.loads(ok(*command, "--student", "bo", "--student", "cy", "--json").output)
    assert made["versions"] == {"A": ["ada", "cy"], "B": ["bo"]}
    assert "1 student added" in made["notes"][0]
    assert "1 with version A" in made["notes"][0]
    assert (out / "notebooks" / "bo.ipynb").read_bytes() == before
    roster = a_roster(tmp_path, "id,version\nbo,A\n")
    said = fails(capsys, *command, "--roster", roster)
    assert "'bo' has version B in this release, not version A" in said
    assert "--shared means one version, but --versions is 3" in fails(
        capsys, *command, "--student", "x", "--shared", "--versions", "3"
    )


def test_render_again_keeps_what_a_shorter_roster_leaves_out(bank: Path, tmp_path: Path) -> None:
    out = tmp_path / "release"
    full = "id,name,email,section,version\nada,Ada,ada@example.edu,1,A\nbo,Bo,bo@example.edu,2,\n"
    command = ("render", "quiz", "--out", out, "--bank", bank, "--json")
    ok(*command, "--roster", a_roster(tmp_path, full))
    before = load_release(out).students
    shorter = a_roster(tmp_path, "id,section\nbo,\nada\n")
    for again in (("--student", "ada"), ("--roster", shorter)):
        assert json.loads(ok(*command, *again).output)["notes"] == []
        assert load_release(out).students == before
    later = a_roster(tmp_path, "id,email,section\nada,a@new.edu,\nbo,,3\n")
    (note,) = json.loads(ok(*command, "--roster", later).output)["notes"]
    assert "ada (email from 'ada@example.edu' to 'a@new.edu'), bo (section from '2' to '3')" in note
    assert load_release(out).students == {
        "ada": Student(id="ada", name="Ada", email="a@new.edu", section="1", version="A"),
        "bo": Student(id="bo", name="Bo", email="bo@example.edu", section="3"),
    }


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("id,version\na,B\nb,b\n", "'B' and 'b' differ only in case"),
        ("id,version\na,Sample\n", "for practice"),
        ("id,version\na,x/y\n", "can't be a file name"),
        ("id,version\na,\nb,a\n", "'a' is both a version and the id of a student"),
    ],
)
def test_versions_that_mean_two_things_are_refused(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "roster.csv").write_text(text)
    with pytest.raises(GraderError) as error:
        load_roster(tmp_path / "roster.csv")
    assert said in str(error.value)
    assert "roster.csv" in str(error.value)
    assert "fix" in str(error.value)


def test_a_student_whose_id_looks_like_another_is_not_added(bank: Path, tmp_path: Path) -> None:
    out = tmp_path / "release"
    ok(
        "render",
        "quiz",
        "--out",
        out,
        "--bank",
        bank,
        "--roster",
        a_roster(tmp_path, "id\nZo\u00eb"),
    )
    with pytest.raises(SetupError, match="look the same, and so would files"):
        add_students_to(load_release(out), (Student(id="Zoe\u0308"),))


def test_an_id_and_a_version_are_kept_apart_without_a_roster_too() -> None:
    students = (Student(id="A"), Student(id="x", version="A"))
    with pytest.raises(SetupError, match="'A' is both a version and the id of a student"):
        assign_versions(students, None, {})
    with pytest.raises(SetupError, match="'A' is both a version"):
        assign_versions(students[:1], None, {"x": students[1], "o": Student(id="o")})
    assert versions(assign_versions(students, 1, {})) == "AA"


def test_a_version_on_paper_has_the_numbers_of_the_notebook(bank: Path, tmp_path: Path) -> None:
    opened, key = Bank.open((str(bank),)), "a private key of many characters"
    students = (Student(id="ada", version="B"), Student(id="bo"), Student(id="cy", version="Z"))
    printed = print_exam(opened, "quiz", 3, tmp_path / "p", students=students, private_key=key)
    shared = make_release(opened, "quiz", sits(*"abc"), tmp_path / "n", key, versions=3).release
    assert numbers(printed.release, "B") == numbers(shared, "b") != numbers(shared, "a")
    sheet = next(path for path in printed.files if path.suffix == ".csv").read_text("utf-8-sig")
    rows = {row["student"]: row["version"] for row in csv.DictReader(io.StringIO(sheet))}
    assert rows == {"ada": "B", "bo": "", "cy": ""}
    assert "the roster names versions that are not printed: Z" in printed.notes


def test_the_sample_has_numbers_of_nobodys(bank: Path, tmp_path: Path) -> None:
    students = sits("sample", "ada")
    release = make_release(Bank.open((str(bank),)), "quiz", students, tmp_path, "k").release
    mine = [q.variant.draw.seed for q in paper(release, sample_student()).questions]
    for student in students:
        assert mine != [q.variant.draw.seed for q in paper(release, student).questions]
    made = Notebooks(release, Bank.open((str(bank),))).of(sample_student())
    first = read(made).cells[0].source
    assert "sample for practice" in first
    assert "**This notebook is not graded.**" in first


@pytest.fixture(scope="module")
def graded(mixed: Path, bank: Path) -> Path:
    """Everybody's notebook solved, and handed in as it is or by somebody else."""
    handed, release = mixed / "handed", mixed / "release"
    for student in ("ada", "bo", "cy", "di"):
        target = handed / f"{student}.ipynb"
        ok("solve", release, "--student", student, "--out", target, "--bank", bank)
    (handed / "em.ipynb").write_bytes((handed / "ada.ipynb").read_bytes())
    ok("grade", handed, "--release", release, "--out", mixed / "results", "--bank", bank)
    return mixed


def totals(results: Path) -> dict[str, str]:
    rows = csv.DictReader(io.StringIO((results / "grades.csv").read_text(encoding="utf-8")))
    return {row["student"]: row["total"] for row in rows}


@pytest.mark.thorough
def test_all_who_share_a_version_are_graded_and_another_one_is_named(graded: Path) -> None:
    got = totals(graded / "results")
    full = got["di"]
    assert float(full) > 0
    assert got == {"ada": full, "bo": full, "cy": full, "di": full, "em": ""}
    grade = json.loads((graded / "results" / "grades" / "em.json").read_text(encoding="utf-8"))
    said = "this is the notebook of version A, and yours is version B; not graded" + SENTENCE
    assert {mark["feedback"] for mark in grade["marks"]} == {said}


@pytest.mark.thorough
def test_grading_again_changes_nothing_about_students(graded: Path) -> None:
    """Versions are kept by the release alone."""

    def added() -> int:
        with Gradebook.open(graded / "results") as book:
            return sum(entry.what == "students added" for entry in book.audit())

    before = added()
    ok("grade", graded / "handed", "--release", graded / "release", "--out", graded / "results")
    assert added() == before


@pytest.mark.parametrize("change", [bytes, without_metadata], ids=["as it is", "metadata lost"])
def test_whose_notebook_is_refused(graded: Path, bank: Path, tmp_path: Path, change) -> None:
    release = load_release(graded / "release")
    look = owner_check(release)
    made = Notebooks(release, Bank.open((str(bank),)))

    def said(student: str, data: bytes) -> str | None:
        try:
            return look(student, read(change(data)))
        except SubmissionError as error:
            return error.what

    a, b = made.of(of_version("A")), made.of(of_version("B"))
    di, sample = made.of(release.students["di"]), made.of(sample_student())
    assert [said(s, n) for s, n in (("ada", a), ("cy", a), ("bo", b), ("di", di))] == [None] * 4
    assert "of version B, and yours is version A" in str(said("ada", b))
    assert "of version A, and yours is one with your own numbers" in str(said("di", a))
    assert "with one student's individual numbers, and yours is version A" in str(said("ada", di))
    for student in ("ada", "di"):
        assert "practice sample" in str(said(student, sample))


def test_of_two_with_numbers_of_their_own_the_instructor_hears(bank: Path, tmp_path: Path) -> None:
    """It is graded by the numbers of whoever handed it in, as ever."""
    opened = Bank.open((str(bank),))
    release = make_release(opened, "quiz", sits("ada", "bo"), tmp_path / "r").release
    data = Notebooks(release, opened).of(release.students["ada"])
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "bo.ipynb").write_bytes(data)
    found = collect(tmp_path / "in", release.students, None, owner_check(release))
    assert found.submissions[0].refusal is None
    assert [n.text for n in found.notices] == [
        "the file identifies itself as the notebook of 'ada'; it is graded with the numbers of 'bo'"
    ]


@pytest.mark.thorough
def test_a_sample_beside_ones_own_costs_nothing(mixed: Path, bank: Path, tmp_path: Path) -> None:
    """A clone of a repository holds both, often with the same time."""
    made = Notebooks(load_release(mixed / "release"), Bank.open((str(bank),)))
    for name, student in (("a", "A"), ("b", "B")):
        (tmp_path / f"{name}.ipynb").write_bytes(made.of(of_version(student)))
    (tmp_path / "z.ipynb").write_bytes(made.of(sample_student()))

    def graded() -> GradedSubmission:
        found = grade_submission(tmp_path, "ada", mixed / "release", Settings(executor="inline"))
        assert found is not None
        return found

    own = made.of(of_version("A"))
    assert graded().result.submission_sha256 == hashlib.sha256(own).hexdigest()
    notes = (*graded().notes, *graded().result.feedback.warnings)
    assert any("handed in 3 notebooks" in note for note in notes)
    # Nor where an editor has dropped what the notebook said of itself.
    (tmp_path / "b.ipynb").unlink()
    plain = without_metadata(own)
    (tmp_path / "a.ipynb").write_bytes(plain)
    os.utime(tmp_path / "a.ipynb", (1, 1))
    assert graded().result.submission_sha256 == hashlib.sha256(plain).hexdigest()


def test_a_release_on_another_drive_is_found_by_its_absolute_path(
    bank: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ok("render", "quiz", "--student", "ada", "--out", tmp_path / "release", "--bank", bank)
    release = load_release(tmp_path / "release")
    # As on Windows, where no relative path leads from one drive to another.
    monkeypatch.setattr(os.path, "relpath", lambda *_: ntpath.relpath("C:/release", "D:/results"))
    with Gradebook.open(tmp_path / "results", create=True) as book:
        bind(book, release, tmp_path / "release")
        assert papers_of(book).release == release
