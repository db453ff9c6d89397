"""What one student hands in, however odd, costs and hides nothing of another's."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

import pytest

from grader import notebook
from grader.collect import CollectedSubmissions, collect
from grader.collect.entries import Notice
from grader.collect.notices import EACH, MOST, Notices
from grader.collect.roster import Roster
from grader.errors import SubmissionError
from grader.integrations.nbgrader.collecting import collect_assignment
from grader.model import Student
from grader.notebook import Notebook
from grader.notebook.self_description import SelfDescription, read_description, read_owner
from tests.helpers.notebooks import a_notebook

ROSTER = {name: Student(id=name) for name in ("ada", "bob", "cyd")}
ONE, TWO = a_notebook("q1_x = 1"), a_notebook("q1_x = 2")


def both(root: Path, files: Mapping[str, bytes]) -> tuple[Path, Path]:
    """The files in a folder and in a zip, each a minute newer than the one before."""
    folder, packed = root / "folder", root / "s.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        for n, (name, data) in enumerate(files.items()):
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            os.utime(path, (1_700_000_000 + 60 * n,) * 2)
            archive.writestr(zipfile.ZipInfo(name, (2026, 11, 21, 10, n, 0)), data)
    return folder, packed


def taken(found: CollectedSubmissions) -> dict[str, str]:
    """The file of each student that is to be graded, by its name within the folder or zip."""
    return {s.student: s.path.split("//")[-1].split("/folder/")[-1] for s in found.submissions}


def warned(found: CollectedSubmissions) -> dict[str, str]:
    return {one.path: one.text for one in found.notices if one.level == "warning"}


# --- What a notebook says of itself

ODD = {
    "a dict in a set": "({{}},)",
    "a list as a key": "({[]: 1}, 'r', 'ada')",
    "a sum that is too large": f"(1{'0' * 400} + 1j,)",
    "too deep": f"({'-' * 1_900}1,)",
    "too many brackets": f"({'(' * 900}{')' * 900},)",
    "too many digits": f"({'1' * 1_900},)",
    "a zero byte": "('a\0b',)",
    "half an escape": r"('\x', 'r', 'ada')",
    "a text with a value in it": "('e', 'r', f'ada')",
    "a call": "('e', 'r', open('/etc/passwd'))",
    "no tuple": "('e')",
}


@pytest.mark.parametrize("written", ODD.values(), ids=ODD)
def test_nothing_in_the_place_of_a_notebooks_words_is_more_than_unknown(written: str) -> None:
    source = f"\n_public_check(\n    {written},\n)"
    read = notebook.read(a_notebook("q1_x = 1", source))
    assert read_owner(read) == SelfDescription()
    assert read_description(read) == SelfDescription(sheets={"q1_x": None})


def test_the_words_that_we_write_are_read() -> None:
    written = repr(("exam", "r1", 'it\'s "ada" \\ \n é'))
    read = notebook.read(a_notebook(f"\n_public_check(\n    {written},\n)"))
    assert read_owner(read) == SelfDescription(
        exam="exam", release="r1", student='it\'s "ada" \\ \n é'
    )


@pytest.mark.parametrize("name", ["student", "version", "release", "set"])
def test_words_of_the_metadata_that_are_no_text_are_unknown(name: str) -> None:
    deep: list[object] = []
    for _ in range(5_000):
        deep = [deep]
    said = {"version": "A", name: deep}
    found = read_owner(Notebook(cells=(), metadata={"grader": said}))
    assert found == SelfDescription(version="" if name == "version" else "A")


def test_what_looking_at_one_notebook_sets_off_costs_nobody_else(tmp_path: Path) -> None:
    def look(student: str, _: Notebook) -> None:
        if student == "bob":
            raise TypeError("unhashable type: 'dict'")
        if student == "cyd":
            raise SubmissionError("this is the sample")

    files = {"ada.ipynb": ONE, "bob.ipynb": TWO, "cyd.ipynb": ONE}
    for path in both(tmp_path, files):
        found = collect(path, ROSTER, look=look)
        assert [(s.student, s.refusal) for s in found.submissions] == [
            ("ada", None), ("bob", None), ("cyd", "this is the sample"),
        ]  # fmt: skip
        assert warned(found) == {
            "bob.ipynb": "its student can't be checked because of an internal error: TypeError",
            "cyd.ipynb": "this is the sample",
        }


@pytest.mark.parametrize("error", [TypeError("x"), RecursionError(), MemoryError()])
def test_what_reading_one_notebook_sets_off_costs_nobody_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    real = notebook.read

    def read(data: bytes) -> Notebook:
        if data == TWO:
            raise error
        return real(data)

    monkeypatch.setattr(notebook, "read", read)
    for path in both(tmp_path, {"ada.ipynb": ONE, "bob.ipynb": TWO}):
        found = collect(path, ROSTER)
        assert [(s.student, s.refusal) for s in found.submissions] == [("ada", None), ("bob", None)]
        said = f"the file can't be read because of an internal error: {type(error).__name__}"
        assert warned(found) == {"bob.ipynb": said}
        theirs = collect_assignment(path, "ps1", ["problem1"])
        assert set(theirs.submissions) == {"ada", "bob"}
        assert [n.text for n in theirs.notices] == [said]


def test_a_batch_can_still_be_stopped_while_notebooks_are_looked_at(tmp_path: Path) -> None:
    def look(_: str, __: Notebook) -> None:
        raise KeyboardInterrupt

    (folder, _) = both(tmp_path, {"ada.ipynb": ONE})
    with pytest.raises(KeyboardInterrupt):
        collect(folder, ROSTER, look=look)


# --- Whose a file is

JANE = "doejane_1001_23456_midterm.ipynb"
OWNERS = {
    "ADA/bob.ipynb": "ada",
    "Ada/deep/bob.ipynb": "ada",
    "class/ADA/bob.ipynb": "ada",
    "ADA/bob/cyd.ipynb": "ada",
    "ADA/Copy of bob.ipynb": "ada",
    "ada (1)/bob.ipynb": "ada",
    "Copy of ADA/bob.ipynb": "ada",
    "ada.ipynb/bob.ipynb": "ada",
    "Ada.IPYNB/deep/bob.ipynb": "ada",
    "bob.ipynb/notes/ADA.ipynb": "bob",
    f"ADA/{JANE}": "ada",
    f"ada (1)/{JANE}": "ada",
    f"ADA/Jane Doe_12345_assignsubmission_file_/{JANE}": "ada",
    "Jane Doe_12345_assignsubmission_file_/ADA/ada.ipynb": "jane",
    "doejane_1001_23456_ada/ada/ada.ipynb": "jane",
    "No Body_12345_assignsubmission_file_/ada/ada.ipynb": None,
    "KIM/bob.ipynb": None,
    "kim/bob.ipynb": "kim",
    "j.doe/bob.ipynb": "j.doe",
    "J.Doe.ipynb": "j.doe",
}


@pytest.mark.parametrize("name", OWNERS)
def test_a_file_is_the_outermost_students_whatever_is_further_in(name: str) -> None:
    known = {name: Student(id=name) for name in ("ada", "bob", "cyd", "kim", "Kim", "j.doe")}
    roster = Roster({**known, "jane": Student(id="jane", name="Jane Doe")})
    assert roster.find(PurePosixPath(name)) == OWNERS[name]


@pytest.mark.parametrize("own", ["ADA", "Ada", "class/aDa", "ada (1)", "Ada.ipynb"])
def test_a_file_in_a_students_folder_is_never_another_students(tmp_path: Path, own: str) -> None:
    files = {"bob.ipynb": ONE, f"{own}/mine.ipynb": TWO, f"{own}/bob.ipynb": TWO}
    for path in both(tmp_path, files):
        found = collect(path, ROSTER)
        assert taken(found) == {"ada": f"{own}/bob.ipynb", "bob": "bob.ipynb"}
        assert [Path(s.path).name for s in found.earlier] == ["mine.ipynb"]


def test_a_folder_that_may_be_two_students_is_nobodys_and_says_so(tmp_path: Path) -> None:
    known = {name: Student(id=name) for name in ("bob", "kim", "Kim")}
    for path in both(tmp_path, {"bob.ipynb": ONE, "KIM/bob.ipynb": TWO}):
        found = collect(path, known)
        assert taken(found) == {"bob": "bob.ipynb"}
        why = "ambiguous name: 'kim' and 'Kim' are too similar; rename the file"
        assert warned(found) == {"KIM/bob.ipynb": why}


# --- What is said


@pytest.mark.thorough
def test_one_students_files_silence_nothing_about_another(tmp_path: Path) -> None:
    folder, _ = both(tmp_path, {"bob.ipynb": b"", "zoe.ipynb": ONE, "cyd.ipynb": b"{}"})
    for name in ("ada", "ADA"):
        (folder / name).mkdir()
        for n in range(1_100):
            (folder / name / f"{n}.txt").symlink_to("nothing")
    found = collect(folder, ROSTER)
    others = {p: t for p, t in warned(found).items() if not p.casefold().startswith("ada/")}
    assert set(others) == {"bob.ipynb", "zoe.ipynb", "cyd.ipynb", "…"}
    assert others["…"] == f"and {2_200 - EACH} more notices, of these {2_200 - EACH} about 'ada'"
    assert len(found.notices) == EACH + 4


@pytest.mark.thorough
def test_one_students_files_silence_nothing_about_another_of_an_assignment(tmp_path: Path) -> None:
    folder, _ = both(tmp_path, {"bob/problem1.ipynb": b""})
    (folder / "ada").mkdir()
    for n in range(1_100):
        (folder / "ada" / f"{n}.txt").symlink_to("nothing")
    notices = collect_assignment(folder, "ps1", ["problem1"]).notices
    assert len(notices) == EACH + 2
    assert [n.path for n in notices if not n.path.startswith("ada/")] == ["bob/problem1.ipynb", "…"]


def said_of(*groups: tuple[str | None, int, str]) -> tuple[Notice, ...]:
    """What is left of so many notices of one level about the same student's files, in order."""
    notices = Notices()
    for owner, count, level in groups:
        for n in range(count):
            one = Notice(
                level="info" if level == "info" else "warning", path=f"{owner}/{n}", text=""
            )
            notices.add(owner, one)
    return notices.all()


def test_what_is_not_too_much_is_said_in_its_order() -> None:
    groups = (("ada", EACH - 1, "info"), (None, MOST - EACH, "info"), ("ada", 1, "warning"))
    assert [n.path for n in said_of(*groups)] == [
        f"{owner}/{n}" for owner, count, _ in groups for n in range(count)
    ]


def test_nobodys_files_silence_nothing_about_a_students() -> None:
    notices = said_of((None, 5 * MOST, "warning"), ("bob", 3, "warning"), ("ada", 2, "info"))
    assert len(notices) == MOST
    assert [n.path for n in notices if n.path.startswith("bob")] == ["bob/0", "bob/1", "bob/2"]
    assert notices[-1] == Notice(
        level="warning", path="…", text="and 4006 more notices, of these 2 about 'ada'"
    )


def test_many_students_together_silence_no_others_first_warning() -> None:
    crowd = [(f"s{n}", 2 * EACH, "warning") for n in range(MOST + 100)]
    notices = said_of(*crowd, ("bob", 2, "info"), ("bob", 1, "warning"))
    assert {n.path for n in notices[:-1]} == {f"{name}/0" for name, *_ in crowd} | {"bob/0"}
    assert len(notices) == MOST + 102
    assert "of these 39 about 's0', 39 about 's1'" in notices[-1].text


def test_warnings_about_a_student_come_before_all_else_about_them() -> None:
    notices = said_of(("ada", 100, "info"), ("ada", 2, "warning"))
    assert [n.level for n in notices] == ["warning"] * 2 + ["info"] * (EACH - 2) + ["info"]
    assert notices[-1].text == "and 82 more notices, of these 82 about 'ada'"
