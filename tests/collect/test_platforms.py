"""Downloads of submissions from Canvas and Moodle: whose each is, by the platform's word alone."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

import pytest

from grader.collect import collect
from grader.collect.platforms import parse_sender
from grader.collect.roster import Roster
from grader.errors import SetupError, SpecError
from grader.model import Student
from grader.release.people import load_numbers
from tests.helpers.notebooks import a_notebook

KNOWN = {
    s.id: s
    for s in (
        Student(id="jane", name="Jane Doe", email="jane@example.edu"),
        Student(id="bo", name="Lindqvist, Bo", email="bo@example.edu"),
        Student(id="kim1", name="Kim Lee"),
        Student(id="kim2", name="Lee, Kim"),
        Student(id="åse", name="Åse Ørjan-Strand"),
        Student(id="team_1_2_x"),
    )
}


@pytest.mark.parametrize(
    ("name", "student"),
    [
        ("doejane_1001_23456_midterm.ipynb", "jane"),
        ("doejane_LATE_1001_23456_midterm-2.ipynb", "jane"),
        ("janedoe_1001_23456_bo.ipynb", "jane"),
        ("lindqvistbo_1002_23457_jane.ipynb", "bo"),
        ("ørjanstrandåse_1003_23458_x.ipynb", "åse"),
        ("Jane Doe_12345_assignsubmission_file_/bo.ipynb", "jane"),
        ("Jane Doe_12345_assignsubmission_file_/deep/bo.ipynb", "jane"),
        ("Jane Doe_12345_assignsubmission_file_bo.ipynb", "jane"),
        ("Midterm/Bo Lindqvist_12346_assignsubmission_file/x.ipynb", "bo"),
        ("midterm_2026_11_23_submissions/bo.ipynb", "bo"),
        ("submissions_2026_11_hw/jane/hw1.ipynb", "jane"),
        ("doejane_2026_23456_midterm.ipynb", "jane"),
        ("team_1_2_x.ipynb", "team_1_2_x"),
        ("team_1_2_x/doejane_1001_23456_bo.ipynb", "team_1_2_x"),
        ("leekim_1004_23459_kim1.ipynb", None),
        ("nobody_1005_23460_jane.ipynb", None),
        ("No Body_12347_assignsubmission_file_/jane.ipynb", None),
    ],
)
def test_whose_a_file_is_the_platform_says_and_not_its_student(
    name: str, student: str | None
) -> None:
    assert Roster(KNOWN).find(PurePosixPath(name)) == student


FORGED = [
    # What the student called the file begins with "x_", or with "assignsubmission".
    "doejane_1001_23456_x_4002_assignsubmission_file_a.ipynb",
    "doejane_LATE_1001_23456_x_4002_assignsubmission_file_a.ipynb",
    "doejane_1001_4002_assignsubmission_file_a.ipynb",
    "_1001_23456_x_4002_assignsubmission_file_a.ipynb",
    # What the student is called, and then the file.
    "x_4002_assignsubmission_file_Jane_12345_assignsubmission_file_a.ipynb",
    "x_4002_5_Jane_12345_assignsubmission_file_/a.ipynb",
    "Jane Doe_12345_assignsubmission_file_x_4002_assignsubmission_file_a.ipynb",
]


@pytest.mark.parametrize("name", FORGED)
def test_no_name_of_a_students_choice_makes_a_file_somebody_elses(
    name: str, tmp_path: Path
) -> None:
    known = {s.id: s for s in (*KNOWN.values(), Student(id="4002"), Student(id="bo2"))}
    for users in ({}, {"4002": "bo2", "1001": "jane"}):
        roster = Roster(known, users)
        assert roster.find(PurePosixPath(name)) is None
        assert "ambiguous name" in roster.unknown_notice(PurePosixPath(name)).text
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(a_notebook("q1_x = 1"))
    (tmp_path / "4002.ipynb").write_bytes(a_notebook("q1_x = 2"))
    found = collect(tmp_path, known)
    assert [Path(s.path).name for s in found.submissions] == ["4002.ipynb"]
    assert not found.earlier


def test_people_of_the_same_name_are_not_taken_for_one_student(tmp_path: Path) -> None:
    # Where people choose what they are called, the newest file would be graded.
    names = ("doejane_1001_1_x.ipynb", "doejane_1002_2_y.ipynb", "doejane_LATE_1002_3_z.ipynb")
    for n, name in enumerate((*names, "lindqvistbo_1003_4_x.ipynb", "lindqvistbo_1003_5_y.ipynb")):
        (tmp_path / name).write_bytes(a_notebook(f"q1_x = {n}"))
    found = collect(tmp_path, KNOWN)
    assert [one.student for one in found.submissions] == ["bo"]
    assert "jane" in found.missing
    said = {one.path: one.text for one in found.notices if one.level == "warning"}
    assert set(said) == set(names)
    why = "several Canvas users (1001, 1002) have the name of 'jane'"
    assert all(why in text for text in said.values())
    # A number that the instructor gave stands, and the other is still nobody's.
    found = collect(tmp_path, KNOWN, {"1001": "jane"})
    taken = {one.student: Path(one.path).name for one in found.submissions}
    assert taken["jane"] == "doejane_1001_1_x.ipynb"
    assert not [one for one in found.earlier if one.student == "jane"]
    found = collect(tmp_path, KNOWN, {"1001": "jane", "1002": "kim1"})
    assert {one.student for one in found.submissions} == {"jane", "kim1", "bo"}


def test_a_file_of_moodles_may_have_numbers_in_its_own_name() -> None:
    name = "Jane Doe_12345_assignsubmission_file_hw_1_2_x.ipynb"
    assert Roster(KNOWN).find(PurePosixPath(name)) == "jane"


def test_numbers_tell_what_names_do_not() -> None:
    users = {"1004": "kim2", "12347": "kim1"}
    roster = Roster(KNOWN, users)
    assert roster.find(PurePosixPath("leekim_1004_23459_kim1.ipynb")) == "kim2"
    moodle = PurePosixPath("Kim Lee_12347_assignsubmission_file_/x.ipynb")
    assert roster.find(moodle) == "kim1"
    by_id = Roster({"1004": Student(id="1004")})
    assert by_id.find(PurePosixPath("leekim_1004_23459_x.ipynb")) == "1004"


def test_what_belongs_to_nobody_says_why_and_what_to_do() -> None:
    roster = Roster(KNOWN)
    said = roster.unknown_notice(PurePosixPath("leekim_1004_23459_kim1.ipynb")).text
    assert "'kim1', 'kim2' all have the Canvas name 'leekim'" in said
    assert "--names FILE" in said
    said = roster.unknown_notice(PurePosixPath("nobody_1005_2_jane.ipynb")).text
    assert "no student on the roster is Canvas's 'nobody' (number 1005)" in said


def test_late_is_seen() -> None:
    late = parse_sender("doejane_LATE_1001_23456_midterm.ipynb")
    assert late is not None
    assert late.late
    assert parse_sender("ada.ipynb") is None
    assert parse_sender("x" * 5000 + "_1_2_a.ipynb") is None


def test_a_folder_that_looks_like_a_sender_is_named_as_what_to_rename() -> None:
    said = Roster(KNOWN).unknown_notice(PurePosixPath("hw_1_2026_submissions/bo.ipynb")).text
    assert said.endswith("use --names FILE, or rename the folder 'hw_1_2026_submissions'")


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        (
            "Student,ID,SIS User ID,SIS Login ID,Section,HW (1)\n    Points Possible,,,,,10\n"
            '"Doe, Jane",1001,S1,jane,A,\n"Lee, Kim",1004,S2,kim2,A,\n"X, Y",1,S9,zz,A,\n',
            {"1001": "jane", "1004": "kim2"},
        ),
        (
            "Identifier,Full name,Email address,Status,Grade,Maximum Grade\n"
            "Participant 12345,Somebody,jane@example.edu,-,,10\n"
            "Participant 12346,Lindqvist, Bo@x,-,,10\nParticipant 9,Kim Lee,,-,,10\n",
            {"12345": "jane", "9": "kim1"},
        ),
        ("number;student\n7;BO\n8;bo@example.edu\n", {"7": "bo", "8": "bo"}),
    ],
)
def test_numbers_are_read_from_the_platforms_own_tables(
    text: str, numbers: Mapping[str, str], tmp_path: Path
) -> None:
    (tmp_path / "names.csv").write_text(text, encoding="utf-8-sig")
    assert load_numbers(tmp_path / "names.csv", KNOWN) == numbers


@pytest.mark.parametrize("text", ["", "a,b\n1,2\n", "id\n1\n", "student\nbo\n"])
def test_a_table_that_says_nothing_of_the_kind_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "names.csv").write_text(text)
    with pytest.raises(SpecError, match="no columns that map numbers to students"):
        load_numbers(tmp_path / "names.csv", KNOWN)


@pytest.mark.parametrize("text", ["id,email\nada,ada@x.edu\n", "number,student\n17,nobody\n"])
def test_a_table_that_maps_no_number_to_a_student_is_an_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "names.csv").write_text(text)
    with pytest.raises(SpecError, match="no line of this file has both a number, in the column"):
        load_numbers(tmp_path / "names.csv", KNOWN)


def test_a_zip_as_it_is_downloaded(tmp_path: Path) -> None:
    file = tmp_path / "submissions.zip"
    with zipfile.ZipFile(file, "w") as packed:
        packed.writestr("doejane_1001_1_midterm.ipynb", a_notebook("q1_a = 1"))
        packed.writestr("lindqvistbo_LATE_1002_2_jane.ipynb", a_notebook("q1_a = 2"))
        packed.writestr("leekim_1004_3_kim1.ipynb", a_notebook("q1_a = 3"))
    found = collect(file, KNOWN, {"1004": "kim2"})
    assert [s.student for s in found.submissions] == ["bo", "jane", "kim2"]
    assert not [n for n in found.notices if n.level == "warning"]


CANVAS = (
    "Student,ID,SIS Login ID,Section,HW (1)\n    Points Possible,,,,10\n"
    '"Doe, Jane",1001,jane,A,\n"Lee, Kim",1004,kim2,A,\n'
)
MOODLE = (
    "Identifier,Full name,Email address,Status,Grade,Maximum Grade\n"
    "Participant 1001,Kim Lee,kim1,-,,10\nParticipant 1004,Jane Doe,jane@example.edu,-,,10\n"
)
OWN = "number,student\n1001,jane\n1004,kim2\n"
FILES = {
    "Canvas": ("doejane_1001_1_x.ipynb", "leekim_1004_3_x.ipynb"),
    "Moodle": (
        "Jane Doe_1004_assignsubmission_file_/x.ipynb",
        "Kim Lee_1001_assignsubmission_file_/x.ipynb",
    ),
}


def downloaded(folder: Path, table: str, *platforms: str) -> tuple[Path, Mapping[str, str]]:
    folder.mkdir(exist_ok=True)
    (folder / "names.csv").write_text(table)
    file = folder / "submissions.zip"
    with zipfile.ZipFile(file, "w") as packed:
        for name in (name for platform in platforms for name in FILES[platform]):
            packed.writestr(name, a_notebook("q1_a = 1"))
    return file, load_numbers(folder / "names.csv", KNOWN)


@pytest.mark.parametrize(
    ("table", "own", "handed_in", "expected"),
    [
        (MOODLE, "Moodle", "Canvas", "the gradebook that Canvas exports"),
        (CANVAS, "Canvas", "Moodle", "the grading worksheet that Moodle offers"),
    ],
    ids=["worksheet for Canvas", "gradebook for Moodle"],
)
def test_another_platforms_table_is_refused(
    tmp_path: Path, table: str, own: str, handed_in: str, expected: str
) -> None:
    """Its numbers are other people's: here they even have the same ones."""
    file, users = downloaded(tmp_path, table, handed_in)
    with pytest.raises(SetupError) as refused:
        collect(file, KNOWN, users)
    assert f"user numbers of {own}" in str(refused.value)
    assert f"come from {handed_in}" in str(refused.value)
    assert expected in str(refused.value.fix)
    assert refused.value.where == str(tmp_path / "names.csv")


@pytest.mark.parametrize(
    ("table", "handed_in", "students"),
    [
        (CANVAS, ["Canvas"], ["jane", "kim2"]),
        (MOODLE, ["Moodle"], ["jane", "kim1"]),
        (OWN, ["Canvas"], ["jane", "kim2"]),
        (OWN.replace("jane", "kim2").replace("4,kim2", "4,jane"), ["Moodle"], ["jane", "kim2"]),
        # Of two platforms together the table is one's, and says nothing of the other's people.
        (CANVAS, ["Canvas", "Moodle"], ["jane", "jane", "kim2"]),
    ],
    ids=["gradebook", "worksheet", "own for Canvas", "own for Moodle", "both"],
)
def test_a_table_that_fits_is_taken(
    tmp_path: Path, table: str, handed_in: list[str], students: list[str]
) -> None:
    file, users = downloaded(tmp_path, table, *handed_in)
    found = collect(file, KNOWN, users)
    assert sorted(s.student for s in (*found.submissions, *found.earlier)) == students


def test_files_of_no_platform_are_taken_beside_any_table(tmp_path: Path) -> None:
    """`team_1_2_x` looks like a name of Canvas's and is a student's id."""
    file, users = downloaded(tmp_path, MOODLE)
    with zipfile.ZipFile(file, "w") as packed:
        for name in ("jane.ipynb", "team_1_2_x.ipynb", "bo/x.ipynb"):
            packed.writestr(name, a_notebook("q1_a = 1"))
    found = collect(file, KNOWN, users)
    assert [s.student for s in found.submissions] == ["bo", "jane", "team_1_2_x"]
