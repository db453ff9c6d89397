"""The search for leaks: finds what is planted, and nothing in what is clean."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import lzma
import os
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest

from grader.bank.folders import Bank
from grader.cli import main
from grader.kinds import kinds
from grader.model import Release, Student
from grader.release.rendering import key_data, make_release, write_notebooks
from grader.security.leaks import SearchLimits, SearchResult, prepare_search, search_folder
from tests.helpers.leaks import (
    ENCODINGS,
    FILES,
    PLAIN,
    PLANTS,
    SIZE,
    Course,
    git,
    in_a_deleted_file,
    png,
    repository,
    said,
    write,
    zipped,
)


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Course:
    return Course(tmp_path_factory.mktemp("course"))


@pytest.mark.thorough
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_an_encoded_key_is_found(course: Course, tmp_path: Path, encoding: str) -> None:
    text = f'# a file\nDATA = "see below"\n\n{ENCODINGS[encoding](said(course))}\n'
    write(tmp_path, "tools/data.py", text)
    found = course.found(tmp_path)
    assert [(f.kind, f.path, f.line) for f in found.findings][:1] == [("key", "tools/data.py", 4)]


@pytest.mark.parametrize("name", FILES)
def test_a_key_is_found_in_files_of_every_type(course: Course, tmp_path: Path, name: str) -> None:
    write(tmp_path, name, FILES[name](said(course).encode()))
    found = course.found(tmp_path)
    assert found.findings[0].kind == "key"
    assert found.findings[0].path.startswith(name)


def test_leaks_are_listed_in_the_order_of_numbers(course: Course, tmp_path: Path) -> None:
    for name in ("cell 10", "cell 9"):
        write(tmp_path, name, f"# {name}\n{said(course)}")
    places = [f.path for f in course.found(tmp_path).findings if f.kind == "key"]
    assert places == ["cell 9", "cell 10"]


@pytest.mark.thorough
@pytest.mark.parametrize("name", PLANTS)
def test_what_is_planted_is_found(course: Course, tmp_path: Path, name: str) -> None:
    kind, where, hide = PLANTS[name]
    hide(course, tmp_path)
    found = course.found(tmp_path)
    told = [(f.kind, f.place) for f in found.findings]
    assert any(kind in k and where in place for k, place in told), told


# What is clean ---------------------------------------------------------------------------------


def clean_release(home: Path, exam: str, seed: int, students: int) -> tuple[Release, Path]:
    bank = Bank.open(())
    listed = tuple(Student(id=f"student-{n}") for n in range(students))
    release = make_release(bank, exam, listed, home, f"seed {seed}").release
    write_notebooks(release, listed, home, bank)
    return release, home / "notebooks"


@pytest.mark.thorough
@pytest.mark.parametrize("exam", ["midterm", "lab", "practice", "workshop"])
def test_clean_notebooks_of_every_set_are_clean(tmp_path: Path, exam: str) -> None:
    release, folder = clean_release(tmp_path, exam, 0, 2)
    found = search_folder(folder, prepare_search(release, Bank.open(())))
    assert (found.findings, found.unread, found.files) == ((), (), 2)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 6))
@pytest.mark.parametrize("exam", ["midterm", "lab", "practice", "workshop"])
def test_clean_notebooks_of_many_seeds_are_clean(tmp_path: Path, exam: str, seed: int) -> None:
    release, folder = clean_release(tmp_path, exam, seed, 6)
    found = search_folder(folder, prepare_search(release, Bank.open(())))
    assert (found.findings, found.unread, found.files) == ((), (), 6)


HARMLESS = {
    "points": '{"q1_per_gpu": 2, "q1_fits": 1, "q2_stored_plain": 2, "q2_largest_batch": 2}',
    "names": "q1_per_gpu\nq1_fits\nq2_stored_plain\n",
    "table of points": "| answer | points |\n|---|---|\n| q1_per_gpu | 2 |\n| q1_fits | 1 |\n",
    "dates and ports": "2024-05-17 12:30, 2026, port 8888, 127.0.0.1:5432, 1920x1080, 4096, 65536",
    "versions": 'torch==2.3.1\nnumpy>=1.26.4\n"node_modules/x": "4.17.21"\n',
    "digests": "\n".join(hashlib.sha256(str(n).encode() + b"lock").hexdigest() for n in range(200)),
    "empty assertions": "assert q1_per_gpu is not ...\nassert 'q1_fits' in names\n",
    "prose": "Question 1 (a) asks for memory. Answer A or B. In 3b you may compute: 2 * 3.\n" * 20,
    "numbers": " ".join(str(n * 7919 % 9973 + 0.5) for n in range(3000)),
    "measurements": "\n".join(f"{n},{(n * 7907 % 9973) / 997:.6f}" for n in range(2000)),
}


@pytest.mark.parametrize("name", HARMLESS)
def test_what_is_in_any_repository_is_no_leak(course: Course, tmp_path: Path, name: str) -> None:
    write(tmp_path, "file.txt", HARMLESS[name])
    assert course.found(tmp_path).findings == ()


def test_a_picture_and_compiled_code_are_no_leak(course: Course, tmp_path: Path) -> None:
    write(tmp_path, "a.png", png("a plot"))
    write(tmp_path, "noise.bin", np.random.default_rng(3).bytes(300_000))
    write(tmp_path, "a.so", Path(np.__file__).with_suffix(".py").read_bytes() * 3)
    assert course.found(tmp_path).is_clean


def test_another_students_number_in_a_file_of_a_student_is_found(
    course: Course, tmp_path: Path
) -> None:
    value = key_data(course.release, "bo")[PLAIN]["value"]
    write(tmp_path, "ada.md", f"{PLAIN} = {value}\n")
    assert [f.kind for f in course.found(tmp_path).findings] == ["key"]


# Hostile folders -------------------------------------------------------------------------------


def reasons(found: SearchResult) -> str:
    return "; ".join(f"{path}: {why}" for path, why in found.unread)


def test_links_are_not_followed(course: Course, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    write(outside, "secret.txt", said(course))
    folder = tmp_path / "given"
    folder.mkdir()
    (folder / "out").symlink_to(outside)
    (folder / "file").symlink_to(outside / "secret.txt")
    (folder / "loop").symlink_to(folder)
    (folder / "nowhere").symlink_to("/no/such/file")
    os.mkfifo(folder / "pipe")
    assert course.found(folder).is_clean


@pytest.mark.thorough
def test_a_bomb_is_named_and_costs_little(course: Course, tmp_path: Path) -> None:
    write(tmp_path, "bomb.gz", gzip.compress(bytes(80_000_000), mtime=0))
    write(tmp_path, "bomb.zip", zipped("zeros", bytes(80_000_000)))
    write(tmp_path, "bomb.txt", base64.b64encode(gzip.compress(bytes(80_000_000), mtime=0)))
    start = time.process_time()
    found = course.found(tmp_path, file_bytes=4_000_000, unpacked_bytes=10_000_000)
    assert time.process_time() - start < 60
    assert {path for path, _ in found.unread} >= {"bomb.gz", "bomb.zip > zeros"}
    assert "too large" in reasons(found)


def test_a_text_of_blanks_takes_no_time(course: Course, tmp_path: Path) -> None:
    """The patterns that look for names and for seams of strings were once slow on these."""
    write(tmp_path, "blank.txt", " " * 60_000)
    write(tmp_path, "lines.txt", '"' + "\n" * 60_000 + "x")
    write(tmp_path, "label.txt", "3" + " " * 60_000 + "b" + " " * 60_000 + "?")
    start = time.process_time()
    assert course.found(tmp_path).is_clean
    assert time.process_time() - start < 20


@pytest.mark.parametrize("names", [b"gitdir: a\0b", b"\xff\xfe", b"gitdir: work", b"gitdir: a"])
def test_a_file_that_names_no_repository(course: Course, tmp_path: Path, names: bytes) -> None:
    write(tmp_path, "folder/work/commondir", b"\xff\0..\n")
    write(tmp_path, "folder/.git", names)
    write(tmp_path, "folder/notes.txt", said(course))
    (tmp_path / "folder" / "a").symlink_to("a")  # a loop
    found = course.found(tmp_path / "folder")
    assert [f.path for f in found.findings] == ["notes.txt"]


@pytest.mark.thorough
def test_what_nobody_could_open_is_named(course: Course, tmp_path: Path) -> None:
    write(tmp_path, "all.7z", b"7z\xbc\xaf\x27\x1c" + bytes(range(256)))
    write(tmp_path, "all.xz", lzma.compress(b"nothing"))
    with zipfile.ZipFile(tmp_path / "packed.zip", "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr("a.txt", "nothing")
    found = course.found(tmp_path)
    assert {path for path, _ in found.unread} == {"all.7z", "all.xz", "packed.zip > a.txt"}


def test_the_same_file_in_two_hands(course: Course, tmp_path: Path) -> None:
    """Clean for two students, and not for the one in whose folder it lies as well."""
    keys = key_data(course.release, "cy")
    text = f"{SIZE} = {keys[SIZE]['value']:.3g}"
    write(tmp_path, "ada/bo/x.txt", text)
    assert course.found(tmp_path).is_clean
    write(tmp_path, "ada/bo/cy/x.txt", text)
    assert [f.path for f in course.found(tmp_path).findings] == ["ada/bo/cy/x.txt"]


def test_archives_in_archives_end_somewhere(course: Course, tmp_path: Path) -> None:
    data = said(course).encode()
    for number in range(12):
        data = zipped(f"{number}.zip", data)
    write(tmp_path, "deep.zip", data)
    found = course.found(tmp_path)
    assert "too deep" in reasons(found)


def test_a_quine_of_archives_ends(course: Course, tmp_path: Path) -> None:
    write(tmp_path, "many.zip", zipped("a", b"x" * 1000) * 200)
    assert course.found(tmp_path, seconds=30).files == 1


def test_what_is_locked_or_broken_is_not_said_to_be_clean(course: Course, tmp_path: Path) -> None:
    whole = zipped("a.txt", b"hello " * 1000)
    at = whole.index(b"PK\x01\x02")
    locked = bytearray(whole)
    locked[6] |= 1
    locked[at + 8] |= 1
    write(tmp_path, "locked.zip", bytes(locked))
    write(tmp_path, "cut.gz", gzip.compress(os.urandom(5000), mtime=0)[:3000])
    found = course.found(tmp_path)
    assert "locked.zip > a.txt: it is encrypted" in reasons(found)
    assert "cut.gz: it ends too early" in reasons(found)
    assert not found.is_clean


def test_a_file_beyond_the_bounds_is_named(course: Course, tmp_path: Path) -> None:
    with (tmp_path / "huge.bin").open("wb") as file:
        file.truncate(10_000_000_000)  # takes no room on the disk
    found = course.found(tmp_path, file_bytes=1_000_000)
    assert "huge.bin: it has more than 1000000 bytes" in reasons(found)


def test_too_many_files_are_named(course: Course, tmp_path: Path) -> None:
    for number in range(30):
        write(tmp_path, f"{number}.txt", "x")
    assert "more than 20 files" in reasons(course.found(tmp_path, entries=20))


@pytest.mark.thorough
def test_the_time_is_bounded(course: Course, tmp_path: Path) -> None:
    for number in range(50):
        write(tmp_path, f"{number}.txt", f"{number} some words and 12.5 numbers; " * 3000)
    start = time.monotonic()
    found = course.found(tmp_path, seconds=1.0)
    assert time.monotonic() - start < 20
    assert "the time limit was reached" in reasons(found)


def test_nothing_of_a_hostile_repository_is_run(course: Course, tmp_path: Path) -> None:
    folder = tmp_path / "given"
    folder.mkdir()
    repository(folder)
    ran = tmp_path / "ran"
    config = folder / ".git/config"
    config.write_text(
        "[core]\n\trepositoryformatversion = 1\n"
        f'\tfsmonitor = "touch {ran}; false"\n\tpager = touch {ran}\n\thooksPath = .git/hooks\n'
        f"\tsshCommand = touch {ran}\n"
        f"[include]\n\tpath = /dev/zero\n[extensions]\n\tpartialClone = origin\n"
        f'[remote "origin"]\n\tpromisor = true\n\turl = ext::touch {ran}\n'
        '[protocol "ext"]\n\tallow = always\n'
    )
    hook = write(folder, ".git/hooks/post-checkout", f"#!/bin/sh\ntouch {ran}\n")
    hook.chmod(0o755)
    # An object that is missing, which a partial clone would fetch.
    tree = git_free(folder)
    found = course.found(folder)
    assert found.objects >= 2, tree
    assert not ran.exists()


def git_free(folder: Path) -> list[str]:
    """Takes one loose object away."""
    loose = sorted(p for p in (folder / ".git/objects").glob("??/*"))
    loose[0].unlink()
    return [p.name for p in loose]


def test_a_repository_of_somebody_else_is_read(course: Course, tmp_path: Path) -> None:
    in_a_deleted_file(course, tmp_path)
    os.chown(tmp_path / ".git", 12345, 12345) if os.geteuid() == 0 else None
    assert any(":secret/answers.txt" in f.path for f in course.found(tmp_path).findings)


def test_a_damaged_repository_is_not_said_to_be_clean(course: Course, tmp_path: Path) -> None:
    repository(tmp_path)
    for path in (tmp_path / ".git/objects").glob("??/*"):
        path.chmod(0o644)
        path.write_bytes(b"no object")
    assert not course.found(tmp_path).is_clean


def test_a_repository_outside_of_the_folder_is_named(course: Course, tmp_path: Path) -> None:
    main_tree = tmp_path / "main"
    main_tree.mkdir()
    repository(main_tree)
    git(main_tree, "worktree", "add", "-q", str(tmp_path / "other"))
    found = course.found(tmp_path / "other")
    assert [path for path, _ in found.unread] == [".git"]
    assert "names a repository outside of the folder" in reasons(found)


# The command -----------------------------------------------------------------------------------


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        main([str(one) for one in arguments])
    out, err = capsys.readouterr()
    return int(stop.value.code or 0), out, err


def test_the_command_says_where_and_masks_what(
    course: Course, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, "notes.md", f"one\n{PLAIN} = {course.value(PLAIN, 9)}\n")
    code, out, err = run(capsys, "classroom", "leaks", tmp_path, "--release", course.home)
    assert code == 1
    assert out.startswith("notes.md:2: key: the key of q2_stored_plain (ada), ")
    assert course.value(PLAIN, 5) not in out + err
    assert "1 leak of release" in err
    assert "fix: remove them" in err


def test_the_command_says_it_in_json(
    course: Course, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, "notes.md", base64.b64encode(said(course, PLAIN).encode()))
    code, out, _ = run(capsys, "classroom", "leaks", tmp_path, "--release", course.home, "--json")
    data = json.loads(out)
    assert code == 1
    assert not data["clean"]
    first = data["findings"][0]
    assert (first["path"], first["line"], first["kind"]) == ("notes.md", 1, "key")
    assert "base64" in first["encodings"]


@pytest.mark.thorough
def test_the_command_is_content_with_what_is_clean(
    course: Course, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = course.home / "notebooks"
    code, out, _ = run(capsys, "classroom", "leaks", folder, "--release", course.home)
    assert code == 0
    assert out.startswith(f"Found no secrets of release {course.release.id} in 3 files")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("no-such-folder", "--release", "{home}"), "this folder does not exist"),
        (("{home}/release.json", "--release", "{home}"), "this is not a folder"),
        (("{home}", "--release", "nowhere"), "can't read the release"),
        (("{home}", "--release", "{home}", "--student", "eve"), "has no student 'eve'"),
        (("{home}",), "Missing option '--release'"),
    ],
)
def test_wrong_use_is_told_apart(
    course: Course, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], told: str
) -> None:
    filled = [one.format(home=course.home) for one in arguments]
    code, _, err = run(capsys, "classroom", "leaks", *filled)
    assert code == 2
    assert told in err


def test_no_answer_is_printed_in_full(course: Course, tmp_path: Path) -> None:
    write(tmp_path, "keys.json", json.dumps(course.keys))
    write(tmp_path, "release.json", (course.home / "release.json").read_bytes())
    told = "\n".join(f"{f.place} {f.detail}" for f in course.found(tmp_path).findings)
    secrets = [repr(k["value"]) for k in course.keys.values() if isinstance(k["value"], float)]
    assert not [one for one in secrets if len(one) > 5 and one in told]
    assert course.release.private_key.hex() not in told


def test_every_answer_of_a_solved_notebook_is_found(course: Course, tmp_path: Path) -> None:
    from grader.release.solved import solve

    solve(course.release, "ada", tmp_path / "ada.ipynb", course.bank)
    told = " ".join(f.detail for f in course.found(tmp_path).findings)
    judged = [n for n, k in course.keys.items() if not kinds.find(k["kind"]).needs_solution]
    assert [name for name in judged if name not in told] == []


@pytest.mark.thorough
def test_hidden_cases_that_cannot_be_made_are_named(tmp_path: Path) -> None:
    from dataclasses import replace

    release, folder = clean_release(tmp_path, "lab", 0, 1)
    name, problem = next((n, p) for n, p in release.problems.items() if n == "online-softmax")
    broken = problem.solution + "\n\ndef row_stats_cases(rng, given):\n    yield 1 / 0\n"
    problems = {**release.problems, name: replace(problem, solution=broken)}
    search = prepare_search(replace(release, problems=problems), Bank.open(()))
    found = search_folder(folder, search)
    assert [path for path, _ in found.unread] == ["hidden cases of q1_row_stats"]
    assert not found.is_clean


def test_the_search_says_how_far_it_is_and_what_to_do_when_the_time_is_up(
    course: Course, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from grader.cli.classrooms.leaks import _print_result

    for number in range(3):
        write(tmp_path, f"{number}.txt", "x")
    seen: list[str] = []
    assert search_folder(tmp_path, course.search, on_piece=seen.append).is_clean
    assert sorted(seen) == ["0.txt", "1.txt", "2.txt"]
    late = search_folder(tmp_path, course.search, SearchLimits(seconds=0.0))
    assert late.is_late
    _print_result(late, 1.0)
    assert "the time limit of 1 s was reached; raise it with --seconds" in capsys.readouterr().err
