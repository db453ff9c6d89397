"""Folders and zips of notebooks: whose each file is, and what is said about the rest."""

from __future__ import annotations

import os
import re
import socket
import stat
import subprocess
import sys
import warnings
import zipfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from grader import notebook
from grader.collect import CollectedSubmissions, collect, load_submission
from grader.collect import entries as found_files
from grader.errors import SetupError, SubmissionError
from grader.model import Student
from tests.helpers.folders import as_nobody, open_to_all
from tests.helpers.notebooks import a_notebook

ROSTER = {name: Student(id=name) for name in ("ada", "bob", "cyd", "Élodie")}
ONE, TWO = a_notebook("q1_x = 1"), a_notebook("q1_x = 2")


def a_folder(root: Path, files: Mapping[str, bytes]) -> Path:
    """Files in a folder, each a minute newer than the one before."""
    for n, (name, data) in enumerate(files.items()):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        os.utime(path, (1_700_000_000 + 60 * n,) * 2)
    return root


def a_zip(path: Path, files: Mapping[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for n, (name, data) in enumerate(files.items()):
            info = zipfile.ZipInfo(name, date_time=(2026, 11, 21, 10, n, 0))
            archive.writestr(info, data, zipfile.ZIP_DEFLATED)
    return path


SAVE = "open it in Jupyter, save it, and hand in the saved file"
AGAIN = "check that it opens in Jupyter, save it, and hand it in again"
LINK = "a symbolic link instead of a notebook; hand in the notebook itself"
NO_FILE = "this is not a regular file; hand in the notebook itself"
DAMAGED = (
    "the file can't be unpacked: the zip is damaged; hand it in again, or have the zip packed again"
)


def refusals(found: CollectedSubmissions) -> dict[str, str | None]:
    return {submission.student: submission.refusal for submission in found.submissions}


def students(found: CollectedSubmissions) -> list[str]:
    return [submission.student for submission in found.submissions]


def said(found: CollectedSubmissions) -> dict[str, str]:
    return {notice.path: notice.text for notice in found.notices}


LAYOUTS = {
    "flat": {"ada.ipynb": ONE, "bob.ipynb": TWO},
    "folders": {"ada/exam.ipynb": ONE, "bob/exam (1).ipynb": TWO},
    "nested": {"ada/attempt 3/x.ipynb": ONE, "bob/a/b/y.ipynb": TWO},
    "one folder on top": {"class/ada.ipynb": ONE, "class/bob/exam.ipynb": TWO},
    "another case": {"Ada.ipynb": ONE, "BOB/exam.IPYNB": TWO},
}


@pytest.mark.parametrize("files", LAYOUTS.values(), ids=LAYOUTS)
def test_every_layout_finds_the_same_students_and_bytes(
    tmp_path: Path, files: Mapping[str, bytes]
) -> None:
    folder = collect(a_folder(tmp_path / "f", files), ROSTER)
    packed = collect(a_zip(tmp_path / "s.zip", files), ROSTER)
    for found in (folder, packed):
        assert students(found) == ["ada", "bob"]
        assert [load_submission(s) for s in found.submissions] == [ONE, TWO]
        assert found.missing == ("cyd", "Élodie")
        assert found.notices == ()
    assert [s.sha256 for s in folder.submissions] == [s.sha256 for s in packed.submissions]


def test_the_time_of_a_file_is_recorded_in_utc(tmp_path: Path) -> None:
    found = collect(a_folder(tmp_path, {"ada.ipynb": ONE}), ROSTER)
    assert found.submissions[0].received == "2023-11-14T22:13:20+00:00"
    packed = collect(a_zip(tmp_path / "s.zip", {"ada.ipynb": ONE}), ROSTER)
    assert packed.submissions[0].received == "2026-11-21T10:00:00+00:00"


def test_a_single_notebook_is_a_class_of_one(tmp_path: Path) -> None:
    folder = a_folder(tmp_path, {"ada.ipynb": ONE, "bob.ipynb": TWO})
    assert students(collect(folder / "ada.ipynb", ROSTER)) == ["ada"]


def test_a_decomposed_name_is_the_same_name(tmp_path: Path) -> None:
    found = collect(a_zip(tmp_path / "s.zip", {"E\u0301lodie.ipynb": ONE}), ROSTER)
    assert students(found) == ["Élodie"]


def test_two_ids_that_look_the_same_match_no_file(tmp_path: Path) -> None:
    roster = {name: Student(id=name) for name in ("Zo\u00eb", "Zoe\u0308")}
    found = collect(a_folder(tmp_path, {"Zo\u00eb.ipynb": ONE}), roster)
    assert students(found) == []
    assert "are too similar" in said(found)["Zo\u00eb.ipynb"]


def test_two_ids_that_differ_in_case_alone_need_exact_names(tmp_path: Path) -> None:
    roster = {name: Student(id=name) for name in ("kim", "Kim")}
    found = collect(a_folder(tmp_path, {"Kim.ipynb": ONE, "KIM.ipynb": TWO}), roster)
    assert students(found) == ["Kim"]
    why = "ambiguous name: 'kim' and 'Kim' are too similar; rename the file"
    assert said(found) == {"KIM.ipynb": why}


def test_the_newest_attempt_is_graded_and_the_others_are_kept(tmp_path: Path) -> None:
    files = {"ada/new.ipynb": ONE, "ada/final.ipynb": TWO, "ada/first.ipynb": ONE}
    folder = a_folder(tmp_path, files)
    os.utime(folder / "ada/final.ipynb", (1_800_000_000,) * 2)
    found = collect(folder, ROSTER)
    assert [load_submission(s) for s in found.submissions] == [TWO]
    assert [Path(s.path).name for s in found.earlier] == ["first.ipynb", "new.ipynb"]
    assert said(found) == {
        "ada/final.ipynb": "'ada' handed in 3 notebooks; the newest is graded, "
        "not ada/first.ipynb, ada/new.ipynb"
    }


def test_of_two_attempts_of_the_same_time_the_last_name_is_graded(tmp_path: Path) -> None:
    folder = a_folder(tmp_path, {"ada/b.ipynb": ONE, "ada/a.ipynb": TWO})
    for file in folder.rglob("*.ipynb"):
        os.utime(file, (1_700_000_000,) * 2)
    assert load_submission(collect(folder, ROSTER).submissions[0]) == ONE


def test_unknown_students_and_foreign_files_are_named_and_nothing_stops(tmp_path: Path) -> None:
    files = {
        "ada.ipynb": ONE,
        "élodi.ipynb": ONE,
        "zoe/exam.ipynb": TWO,
        "ada/data.csv": b"1,2",
        ".DS_Store": b"",
        "bob/.ipynb_checkpoints/exam-checkpoint.ipynb": ONE,
        "__MACOSX/._ada.ipynb": b"x",
    }
    expected = {
        "élodi.ipynb": "'élodi' is not on the roster; did you mean 'Élodie'?",
        "zoe/exam.ipynb": "neither 'exam' nor its folder 'zoe' is on the roster",
        "ada/data.csv": "ignored: not a notebook",
    }
    for path in (a_folder(tmp_path / "f", files), a_zip(tmp_path / "s.zip", files)):
        found = collect(path, ROSTER)
        assert students(found) == ["ada"]
        assert said(found) == expected
        assert found.missing == ("bob", "cyd", "Élodie")


@pytest.mark.parametrize(
    "name",
    ["bob (1)", "bob(2)", "Bob - Copy", "bob - Copy (2)", "Copy of bob", "Copy of Copy of Bob"],
)
def test_a_copy_that_an_editor_named_is_the_students(tmp_path: Path, name: str) -> None:
    files = {f"{name}.ipynb": TWO, "ada.ipynb": ONE}
    for path in (a_folder(tmp_path / "f", files), a_zip(tmp_path / "s.zip", files)):
        found = collect(path, ROSTER)
        assert students(found) == ["ada", "bob"]
        assert load_submission(found.submissions[1]) == TWO
        assert said(found) == {f"{name}.ipynb": "named like a copy; attributed to 'bob'"}


def test_an_id_or_a_folder_comes_before_the_name_of_a_copy(tmp_path: Path) -> None:
    roster = {name: Student(id=name) for name in ("ada", "bob", "Copy of bob")}
    files = {"Copy of bob.ipynb": ONE, "ada/Copy of bob.ipynb": TWO, "zz (1).ipynb": TWO}
    found = collect(a_folder(tmp_path, files), roster)
    assert {s.student: load_submission(s) for s in found.submissions} == {
        "Copy of bob": ONE,
        "ada": TWO,
    }
    assert said(found) == {"zz (1).ipynb": "'zz (1)' is not on the roster"}


@pytest.mark.parametrize("name", ["bob-2", "bob_1", "Bob 3", "bob-2 (1)"])
def test_a_second_download_is_nobodys_and_the_notice_names_whose_it_may_be(
    tmp_path: Path, name: str
) -> None:
    files = {f"{name}.ipynb": ONE, "ada.ipynb": TWO}
    found = collect(a_folder(tmp_path, files), ROSTER)
    assert students(found) == ["ada"]
    assert said(found) == {
        f"{name}.ipynb": f"'{name}' is not on the roster; did you mean 'bob'? rename the file"
    }


def test_ids_that_end_in_a_number_are_not_taken_for_second_downloads(tmp_path: Path) -> None:
    roster = {name: Student(id=name) for name in ("team", "team-2")}
    found = collect(a_folder(tmp_path, {"team-2.ipynb": ONE, "1 (1).ipynb": TWO}), roster)
    assert students(found) == ["team-2"]
    assert said(found) == {"1 (1).ipynb": "'1 (1)' is not on the roster"}


def test_a_broken_notebook_of_a_known_student_is_a_submission_with_a_reason(tmp_path: Path) -> None:
    files = {"ada.ipynb": b"", "bob.ipynb": b"q1_x = 3", "cyd.ipynb": b"[" * 100_000}
    found = collect(a_folder(tmp_path, files), ROSTER)
    assert refusals(found) == {
        "ada": f"the file is empty; {AGAIN}",
        "bob": f"the file is not a notebook: not JSON at line 1, column 1; {AGAIN}",
        "cyd": f"the file is nested too deeply to be a notebook; {SAVE}",
    }
    assert {n.path for n in found.notices} == set(files)
    assert [load_submission(s) for s in found.submissions] == list(files.values())


@pytest.mark.parametrize(
    "name",
    ["bob.zip", "bob.docx", "bob/exam.PDF", "bob/exam.ipynb.txt", "bob.ipynb.json", "bob"],
)
def test_another_file_instead_of_a_notebook_is_a_submission_that_cannot_be_read(
    tmp_path: Path, name: str
) -> None:
    files = {"ada.ipynb": ONE, name: b"x", "cyd/readme.md": b"", "out/feedback/cyd.html": b""}
    for path in (a_folder(tmp_path / "f", files), a_zip(tmp_path / "s.zip", files)):
        found = collect(path, ROSTER)
        suffix = Path(name).suffix.lower()
        what = f"ends in '{suffix}' instead of '.ipynb'" if suffix else "has no extension"
        said = f"the file {what}; hand in the notebook itself"
        assert refusals(found) == {"ada": None, "bob": said}
        assert [(n.level, n.text) for n in found.notices if n.file] == [("warning", said)]
        # Or a notebook that is unpacked from it would be older, and not count.
        assert found.submissions[1].received is None
        assert load_submission(found.submissions[1]) == b""
        assert found.missing == ("cyd", "Élodie")


@pytest.mark.parametrize("notebook", ["bob.ipynb", "Copy of bob.ipynb"])
def test_another_file_beside_a_notebook_is_only_a_remark(tmp_path: Path, notebook: str) -> None:
    found = collect(a_folder(tmp_path, {notebook: ONE, "bob/exam.docx": b"x"}), ROSTER)
    assert refusals(found) == {"bob": None}
    assert said(found)["bob/exam.docx"] == "ignored: not a notebook"


def test_an_extension_twice_is_the_same_student(tmp_path: Path) -> None:
    assert students(collect(a_folder(tmp_path, {"bob.ipynb.ipynb": ONE}), ROSTER)) == ["bob"]


def test_symbolic_links_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret.ipynb").write_bytes(TWO)
    folder = a_folder(tmp_path / "f", {"bob.ipynb": ONE})
    (folder / "ada.ipynb").symlink_to(tmp_path / "secret.ipynb")
    (folder / "cyd.ipynb").symlink_to(folder / "bob.ipynb")
    (folder / "Élodie").symlink_to(tmp_path)
    found = collect(folder, ROSTER)
    assert refusals(found) == {"ada": LINK, "bob": None, "cyd": LINK}
    assert [load_submission(s) for s in found.submissions] == [b"", ONE, b""]
    assert said(found)["Élodie"] == "symbolic link, not followed"


def test_a_pipe_that_is_called_a_notebook_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "ada.ipynb")
    assert refusals(collect(tmp_path, ROSTER)) == {"ada": NO_FILE}


def test_a_file_that_is_too_large_is_not_read_whole(tmp_path: Path) -> None:
    with (tmp_path / "ada.ipynb").open("wb") as file:
        file.truncate(10**12)  # a sparse file takes no space
    found = collect(tmp_path, ROSTER)
    assert refusals(found) == {
        "ada": "the file has 1000000 MB; at most 64 MB are read; "
        "clear the outputs of the notebook, save it, and hand it in again"
    }


@pytest.mark.thorough
def test_a_zip_bomb_is_refused_by_what_it_declares_and_by_what_it_holds(tmp_path: Path) -> None:
    size = notebook.MAX_BYTES + 10
    honest = a_zip(tmp_path / "honest.zip", {"ada.ipynb": b" " * size, "bob.ipynb": ONE})
    lying = tmp_path / "lying.zip"
    lying.write_bytes(honest.read_bytes().replace(size.to_bytes(4, "little"), b"\x10\0\0\0"))
    for path in (honest, lying):
        found = collect(path, ROSTER)
        ada, bob = found.submissions
        assert ada.refusal is not None
        assert bob.refusal is None


def test_paths_that_lead_out_of_a_zip_are_refused_by_name(tmp_path: Path) -> None:
    names = ["../ada.ipynb", "/ada.ipynb", "a/../../ada.ipynb", "C:\\ada.ipynb", "..\\ada.ipynb"]
    found = collect(a_zip(tmp_path / "s.zip", dict.fromkeys(names, ONE)), ROSTER)
    assert found.submissions == ()
    assert len(found.notices) == len(names)
    assert {n.text for n in found.notices} == {"not read: the path leads out of the zip"}


def test_links_encryption_and_damage_in_a_zip_cost_one_student_each(tmp_path: Path) -> None:
    path = tmp_path / "s.zip"
    with zipfile.ZipFile(path, "w") as archive:
        link = zipfile.ZipInfo("ada.ipynb")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "/etc/passwd")
        archive.writestr("bob.ipynb", a_notebook("q1_x = 'damaged'"))
        archive.writestr("cyd.ipynb", ONE)
    path.write_bytes(path.read_bytes().replace(b"damaged", b"DAMAGED"))
    ada, bob, cyd = collect(path, ROSTER).submissions
    assert ada.refusal == LINK
    assert bob.refusal == DAMAGED
    assert cyd.refusal is None
    encrypted = path.read_bytes().replace(
        b"PK\x01\x02\x14\x03\x14\0\0\0", b"PK\x01\x02\x14\x03\x14\0\1\0"
    )
    path.write_bytes(encrypted)
    locked = "the file is encrypted with a password; hand it in without a password"
    assert refusals(collect(path, ROSTER)) == {"ada": LINK, "bob": locked, "cyd": locked}


def test_of_two_members_with_the_same_name_the_last_is_taken(tmp_path: Path) -> None:
    path = tmp_path / "s.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("ada.ipynb", ONE)
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr("ada.ipynb", TWO)
    assert load_submission(collect(path, ROSTER).submissions[0]) == TWO


def test_a_path_that_holds_no_submissions_is_an_error_of_whoever_runs_it(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="does not exist"):
        collect(tmp_path / "none", ROSTER)
    other = tmp_path / "roster.csv"
    other.write_text("student\nada\n")
    with pytest.raises(SetupError, match="not a folder, a zip, or a notebook"):
        collect(other, ROSTER)


def test_a_damaged_zip_is_an_error_and_never_a_traceback(tmp_path: Path) -> None:
    good = a_zip(tmp_path / "s.zip", {"ada.ipynb": ONE, "bob.ipynb": TWO}).read_bytes()
    for at in range(0, len(good), 7):
        (tmp_path / "s.zip").write_bytes(good[:at] + b"\xff\xfe\xff" + good[at + 3 :])
        try:
            found = collect(tmp_path / "s.zip", ROSTER)
        except SetupError:
            continue
        for submission in found.submissions:
            if submission.refusal is None:
                assert load_submission(submission)


def test_a_notebook_that_changed_or_went_since_is_not_loaded(tmp_path: Path) -> None:
    found = collect(a_folder(tmp_path, {"ada.ipynb": ONE, "bob.ipynb": ONE}), ROSTER)
    (tmp_path / "ada.ipynb").write_bytes(TWO)
    (tmp_path / "bob.ipynb").unlink()
    with pytest.raises(SubmissionError, match="has changed"):
        load_submission(found.submissions[0])
    with pytest.raises(SubmissionError, match="can no longer be read"):
        load_submission(found.submissions[1])


@pytest.mark.parametrize("name", ["class!", "class!/x!", "a.zip!", "!"])
def test_exclamation_marks_in_names_are_only_that(tmp_path: Path, name: str) -> None:
    files = {f"{name}/ada.ipynb": ONE, "bob!/exam!.ipynb": TWO}
    folder = a_folder(tmp_path / name, files)
    packed = a_zip(tmp_path / name / "all!.zip", files)
    roster = {**ROSTER, "bob!": Student(id="bob!")}
    for path in (folder, packed):
        found = collect(path, roster).submissions
        assert [load_submission(s) for s in found] == [ONE, TWO]


def test_a_zip_and_a_folder_that_read_alike_are_not_confused(tmp_path: Path) -> None:
    packed = a_zip(tmp_path / "s.zip", {"ada.ipynb": ONE})
    a_folder(tmp_path / "s.zip!", {"ada.ipynb": TWO})
    assert load_submission(collect(packed, ROSTER).submissions[0]) == ONE


def test_a_zip_that_was_replaced_is_read_anew_and_what_changed_is_refused(tmp_path: Path) -> None:
    path = a_zip(tmp_path / "s.zip", {"ada.ipynb": ONE, "bob.ipynb": ONE})
    ada, bob = collect(path, ROSTER).submissions
    assert load_submission(ada) == ONE
    a_zip(path, {"bob.ipynb": ONE, "ada.ipynb": TWO})
    with pytest.raises(SubmissionError, match="has changed"):
        load_submission(ada)
    assert load_submission(bob) == ONE
    path.unlink()
    with pytest.raises(SubmissionError, match="can no longer be read"):
        load_submission(bob)


def test_a_large_zip_is_listed_once_and_read_by_many_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    students = {f"s{n}": Student(id=f"s{n}") for n in range(200)}
    path = a_zip_of_many(tmp_path / "s.zip", students)
    opened: list[object] = []
    original = zipfile.ZipFile.__init__

    def counted(self: zipfile.ZipFile, *args: Any, **more: Any) -> None:
        opened.append(self)
        original(self, *args, **more)

    monkeypatch.setattr(zipfile.ZipFile, "__init__", counted)
    found = collect(path, students).submissions
    with ThreadPoolExecutor(8) as executor:
        data = list(executor.map(load_submission, found))
    assert data == [a_notebook(f"q1_x = {s.student[1:]}") for s in found]
    assert len(opened) == 1, "to read the list of a large zip again takes long"


def a_zip_of_many(path: Path, students: Mapping[str, Student]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for student in students:
            archive.writestr(f"{student}.ipynb", a_notebook(f"q1_x = {student[1:]}"))
    return path


# --- What strangers make of folders


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs users and permissions")
def test_what_may_not_be_opened_is_our_business_and_no_refusal() -> None:
    with open_to_all() as root:
        _check_unopened(root)


def _check_unopened(root: Path) -> None:
    folder = a_folder(root / "f", {"ada.ipynb": ONE, "bob.ipynb": TWO, "cyd/x.ipynb": ONE})
    (folder / "ada.ipynb").chmod(0)
    (folder / "cyd").chmod(0)

    def work() -> object:
        found = collect(folder, ROSTER)
        try:
            load_submission(found.submissions[0])
        except SubmissionError as error:
            return [refusals(found), said(found), error.what, found.missing]
        return None

    assert as_nobody(work) == [
        {"ada": None, "bob": None},
        {
            "ada.ipynb": "the file can't be opened: permission denied",
            "cyd": "the folder can't be opened: permission denied",
        },
        "the notebook can no longer be read: permission denied",
        ["cyd", "Élodie"],
    ]


@pytest.mark.skipif(sys.platform == "win32", reason="needs pipes, sockets and devices")
def test_pipes_sockets_and_devices_are_not_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = a_folder(tmp_path / "f", {"cyd.ipynb": ONE})
    os.mkfifo(folder / "ada.ipynb")
    with socket.socket(socket.AF_UNIX) as server:
        monkeypatch.chdir(folder)  # the path of a socket may not be long
        server.bind("bob.ipynb")
        expected = {"ada": NO_FILE, "bob": NO_FILE, "cyd": None}
        if os.getuid() == 0:
            os.mknod(folder / "Élodie.ipynb", stat.S_IFCHR | 0o666, os.makedev(1, 5))  # /dev/zero
            expected["Élodie"] = NO_FILE
        assert refusals(collect(folder, ROSTER)) == expected


def test_a_notebook_that_becomes_a_link_or_a_pipe_after_it_was_listed_is_not_followed(
    tmp_path: Path,
) -> None:
    folder = a_folder(tmp_path / "f", {"ada.ipynb": ONE, "bob.ipynb": ONE})
    found = collect(folder, ROSTER).submissions
    for submission in found:
        Path(submission.path).unlink()
    (tmp_path / "key.json").write_bytes(ONE)
    (folder / "ada.ipynb").symlink_to(tmp_path / "key.json")
    os.mkfifo(folder / "bob.ipynb")
    for submission in found:
        with pytest.raises(SubmissionError, match="this is not a regular file"):
            load_submission(submission)


def test_a_hard_link_is_a_file_like_any_other(tmp_path: Path) -> None:
    # It is found under the name of the student that it is filed for, and scored by that key.
    folder = a_folder(tmp_path / "f", {"ada.ipynb": ONE})
    os.link(folder / "ada.ipynb", folder / "bob.ipynb")
    assert refusals(collect(folder, ROSTER)) == {"ada": None, "bob": None}


def test_a_link_to_the_folder_above_does_not_go_round_in_circles(tmp_path: Path) -> None:
    folder = a_folder(tmp_path / "f", {"ada/exam.ipynb": ONE})
    (folder / "ada" / "up").symlink_to("..")
    found = collect(folder, ROSTER)
    assert refusals(found) == {"ada": None}
    assert said(found) == {"ada/up": "symbolic link, not followed"}


@pytest.mark.thorough
def test_folders_without_end_are_left_with_a_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = a_folder(tmp_path / "f", {"ada/exam.ipynb": ONE})
    monkeypatch.chdir(folder / "ada")
    for _ in range(1_500):  # deeper than a path may be long, and than Python may recurse
        Path("d").mkdir()
        os.chdir("d")
    monkeypatch.undo()
    try:
        found = collect(folder, ROSTER)
    finally:
        subprocess.run(["rm", "-rf", folder], check=True)
    assert refusals(found) == {"ada": None}
    assert list(said(found).values()) == ["not searched: the path is too long or too deep"]


@pytest.mark.thorough
def test_a_student_with_thousands_of_files_costs_only_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(found_files, "MAX_EACH", 1_200)
    folder = a_folder(tmp_path / "f", {"ada/exam.ipynb": ONE, "bob.ipynb": TWO})
    (folder / "ada" / "z").mkdir()
    for number in range(found_files.MAX_EACH + 50):
        (folder / "ada" / "z" / str(number)).touch()
    found = collect(folder, ROSTER)
    assert refusals(found) == {"ada": None, "bob": None}
    assert said(found)["ada"] == "'ada' has more than 1,200 files; the rest is ignored"
    assert len(found.notices) <= 1_000
    last = found.notices[-1]
    assert re.fullmatch(r"and \d+ more notices, of these \d+ about 'ada'", last.text)


NAMES = {
    "escape": "ada\x1b[2J\x1b[31m",
    "new line": "x\nwarning: bob.ipynb: everything is lost",
    "other way round": "\u202eada",
    "bell": "\x07\x08\x7f",
}


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_nothing_in_a_name_reaches_the_terminal_as_a_command(tmp_path: Path, name: str) -> None:
    files = {
        f"{name}.ipynb": ONE,
        f"{name}.csv": b"",
        f"ada/{name}.ipynb": b"",
        f"{name}/y.ipynb": ONE,
    }
    for path in (a_folder(tmp_path / "f", files), a_zip(tmp_path / "s.zip", files)):
        found = collect(path, ROSTER)
        assert refusals(found) == {"ada": f"the file is empty; {AGAIN}"}
        assert len(found.notices) == 4
        assert all(n.path.isprintable() and n.text.isprintable() for n in found.notices)


# --- What strangers make of zips


def test_a_notebook_that_is_packed_once_more_is_named_as_what_it_is(tmp_path: Path) -> None:
    inner = a_zip(tmp_path / "inner.zip", {"ada.ipynb": ONE}).read_bytes()
    found = collect(a_zip(tmp_path / "s.zip", {"ada.ipynb": inner}), ROSTER)
    said = "the file is a zip archive, not a notebook; hand in the .ipynb file of the notebook"
    assert refusals(found) == {"ada": said}


def test_a_zip_in_a_zip_is_a_warning(tmp_path: Path) -> None:
    inner = a_zip(tmp_path / "inner.zip", {"ada.ipynb": ONE}).read_bytes()
    found = collect(a_zip(tmp_path / "s.zip", {"all.zip": inner}), ROSTER)
    assert [(n.level, n.path) for n in found.notices if "archive" in n.text] == [
        ("warning", "all.zip")
    ]


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_methods_that_unpack_gigabytes_at_once_are_not_used(tmp_path: Path, method: int) -> None:
    path = tmp_path / "s.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("ada.ipynb", b" " * 10_000_000, method)
        archive.writestr("bob.ipynb", ONE, zipfile.ZIP_DEFLATED)
    found = collect(path, ROSTER)
    assert refusals(found) == {
        "ada": "the zip uses an unsupported compression method; "
        "create an ordinary zip, or hand in the notebook itself",
        "bob": None,
    }


def test_many_large_attempts_of_one_student_are_not_all_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("grader.collect.submissions.MAX_ATTEMPTS_BYTES", 200_000)
    files = {f"ada/{n}.ipynb": b" " * 80_000 for n in range(6)}
    found = collect(a_zip(tmp_path / "s.zip", {**files, "bob.ipynb": ONE}), ROSTER)
    empty = f"the file is empty; {AGAIN}"
    assert refusals(found) == {"ada": empty, "bob": None}
    too_much = "not read: newer attempts already have 0 MB together"
    assert [s.refusal for s in found.earlier] == [empty, empty, too_much, too_much, too_much]


def test_members_that_share_their_bytes_are_damage_of_one_student_each(tmp_path: Path) -> None:
    path = a_zip(tmp_path / "s.zip", {"ada.ipynb": ONE, "bob.ipynb": TWO, "cyd.ipynb": ONE})
    data = bytearray(path.read_bytes())
    first = data.index(b"PK\x01\x02")
    second = data.index(b"PK\x01\x02", first + 4)
    data[second + 42 : second + 46] = data[first + 42 : first + 46]  # where bob's bytes begin
    path.write_bytes(data)
    assert refusals(collect(path, ROSTER)) == {"ada": None, "bob": DAMAGED, "cyd": None}


def test_a_zip_that_is_cut_off_says_so(tmp_path: Path) -> None:
    path = a_zip(tmp_path / "s.zip", {"ada.ipynb": ONE, "bob.ipynb": TWO})
    path.write_bytes(path.read_bytes()[:-60])
    with pytest.raises(SetupError, match="damaged or incomplete") as caught:
        collect(path, ROSTER)
    assert caught.value.fix


def test_names_that_differ_in_case_alone_are_attempts_of_one_student(tmp_path: Path) -> None:
    files = {"ada.ipynb": ONE, "ADA.ipynb": TWO, "Ada/exam.ipynb": ONE}
    found = collect(a_zip(tmp_path / "s.zip", files), ROSTER)
    assert students(found) == ["ada"]
    assert found.submissions[0].path.endswith("Ada/exam.ipynb")
    assert len(found.earlier) == 2


def test_of_members_with_the_same_name_the_instructor_hears(tmp_path: Path) -> None:
    path = tmp_path / "s.zip"
    with zipfile.ZipFile(path, "w") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for data in (ONE, TWO, ONE):
            archive.writestr("ada.ipynb", data)
    assert said(collect(path, ROSTER)) == {
        "ada.ipynb": "appears 3 times in the zip; the last one is used"
    }


def test_names_of_enormous_length_are_not_followed(tmp_path: Path) -> None:
    files = {
        "a" * 60_000 + ".ipynb": ONE,
        "ada/" + "b/" * 30_000 + "x.ipynb": ONE,
        "ada/" + "c.ipynb/" * 5_000 + "x.ipynb": ONE,
        "bob.ipynb": TWO,
    }
    found = collect(a_zip(tmp_path / "s.zip", files), ROSTER)
    why = "the path of a notebook is too long; hand in the notebook itself"
    assert refusals(found) == {"ada": why, "bob": None}
    assert {n.text for n in found.notices} == {"not read: the path is too long"}
    assert max(len(n.path) for n in found.notices) < 200


@pytest.mark.slow
def test_a_hundred_thousand_members_are_listed_in_seconds(tmp_path: Path) -> None:
    path = tmp_path / "s.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("ada.ipynb", ONE)
        for number in range(100_000):
            archive.writestr(f"nobody/{number}.ipynb", b"")
    found = collect(path, ROSTER)
    assert refusals(found) == {"ada": None}
    assert len(found.notices) == 1_000


def test_files_of_nobody_without_end_are_an_error_of_whoever_names_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(found_files, "MAX_FILES", 100)
    folder = a_folder(tmp_path / "f", {f"{n}.txt": b"" for n in range(101)})
    with pytest.raises(SetupError, match="more than 100 files that belong to no student"):
        collect(folder, ROSTER)


def test_a_copy_counts_only_where_there_is_nothing_else(tmp_path: Path) -> None:
    known = {"ada": Student(id="ada"), "bo": Student(id="bo")}
    for name in ("ada.ipynb", "ada (1).ipynb", "Copy of bo.ipynb", "bo (2).ipynb"):
        (tmp_path / name).write_bytes(a_notebook(f"q1_a = {name!r}"))
    os.utime(tmp_path / "ada.ipynb", (0, 0))
    os.utime(tmp_path / "Copy of bo.ipynb", (0, 0))
    found = collect(tmp_path, known)
    taken = {one.student: Path(one.path).name for one in found.submissions}
    assert taken == {"ada": "ada.ipynb", "bo": "bo (2).ipynb"}
    (warning,) = [one for one in found.notices if one.level == "warning"]
    assert warning.path == "ada (1).ipynb"
    assert "if this is the one to grade, rename it" in warning.text
