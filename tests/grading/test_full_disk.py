"""Disks that are full, read-only or gone, and graders that meet: nothing is lost."""

from __future__ import annotations

import json
import os
import resource
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from grader.errors import SetupError
from grader.files import exclusive_lock, remove_partial_files, write_atomic
from grader.gradebook import Gradebook
from tests.helpers.batch import Class, a_class, assert_sound, gradebook_of, same
from tests.helpers.commands import fails, ok
from tests.helpers.folders import OWN_MOUNTS, as_nobody, can_mount, open_to_all

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs mounts and limits of Linux")


needs_mounts = pytest.mark.skipif(not can_mount(), reason="needs user namespaces to mount a disk")


@pytest.fixture(scope="module")
def home() -> Iterator[Path]:
    with open_to_all() as folder:
        yield folder


@pytest.fixture(scope="module")
def course(home: Path) -> tuple[Class, dict[str, Any]]:
    """Three students, and their gradebook after a run on a disk with enough space."""
    made = a_class(home / "course", 3)
    made.graded(home / "plain", "--sandbox", "off")
    return made, gradebook_of(home / "plain")


@pytest.fixture(scope="module")
def unread(home: Path) -> tuple[Class, dict[str, Any]]:
    """The same with files that are no notebooks, so that no kernel has to start."""
    made = a_class(home / "unread", 3)
    for path in made.submissions.iterdir():
        path.write_bytes(b"no notebook")
    made.graded(home / "plain-unread", "--sandbox", "off")
    return made, gradebook_of(home / "plain-unread")


def one_screen(said: str) -> None:
    """What a person can read: no traceback, a path, and what to do."""
    assert "Traceback" not in said
    assert len(said.splitlines()) <= 6, said
    assert "fix:" in said


def on_a_small_disk(made: Class, out: Path, folder: str, kilobytes: int) -> list[str]:
    """Runs twice, with *folder* of the results on a disk of its own that then grows.

    What the first run said, and its exit code; fails when the second does not end well.
    """
    script = """
        mkdir -p "$OUT/$FOLDER"
        mount -t tmpfs -o size=${SIZE}k none "$OUT/$FOLDER"
        code=0; "$@" > "$OUT.said" 2>&1 || code=$?
        mount -o remount,size=64M "$OUT/$FOLDER"
        "$@" > "$OUT.again" 2> "$OUT.wrong" || { cat "$OUT.wrong"; exit 1; }
        cp -a "$OUT" "$OUT.kept"
        echo "$code"
    """
    done = subprocess.run(
        [*OWN_MOUNTS, "sh", "-ec", script, "sh", *made.command(out, "--sandbox", "off")],
        env={**os.environ, "OUT": str(out), "FOLDER": folder, "SIZE": str(kilobytes)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return [Path(f"{out}.said").read_text(), done.stdout.split()[-1]]


STAGES = {
    # What is on the small disk, how small it is, and whether kernels are needed.
    "no room for a gradebook": (".", 16, "gradebook.sqlite"),
    "pages": ("feedback", 4, "feedback/"),
    "report": ("report", 4, "report/index.html"),
}
CASES = [
    pytest.param(*how, id=name, marks=[pytest.mark.slow] if name == "report" else [])
    for name, how in STAGES.items()
]


@pytest.mark.thorough
@needs_mounts
@pytest.mark.parametrize(("folder", "kilobytes", "where"), CASES)
def test_a_full_disk_is_named_and_the_next_run_ends_with_the_same_gradebook(
    unread: tuple[Class, dict[str, Any]],
    tmp_path: Path,
    folder: str,
    kilobytes: int,
    where: str,
) -> None:
    made, plain = unread
    said, code = on_a_small_disk(made, tmp_path / "out", folder, kilobytes)
    one_screen(said)
    assert where in said
    assert "there is no space left on the disk" in said
    assert "free some space, then run the same command again" in said
    assert code == "2"
    assert_sound(tmp_path / "out.kept")
    same(gradebook_of(tmp_path / "out.kept"), plain)


@pytest.mark.thorough
@needs_mounts
def test_evidence_that_does_not_fit_stops_the_run_and_only_that_is_executed_again(
    course: tuple[Class, dict[str, Any]], tmp_path: Path
) -> None:
    made, plain = course
    said, code = on_a_small_disk(made, tmp_path / "out", "evidence", 4)
    one_screen(said)
    assert "evidence/" in said
    assert "there is no space left on the disk" in said
    assert code == "2"
    again = json.loads((tmp_path / "out.again").read_text())
    assert again["kept"] >= 1
    assert again["kept"] + again["executed"] == 3
    assert_sound(tmp_path / "out.kept")
    same(gradebook_of(tmp_path / "out.kept"), plain)


@needs_mounts
@pytest.mark.slow
@pytest.mark.parametrize("kilobytes", [*range(4, 400, 12)])
def test_a_disk_of_any_size_loses_nothing(
    course: tuple[Class, dict[str, Any]], tmp_path: Path, kilobytes: int
) -> None:
    made, plain = course
    said, code = on_a_small_disk(made, tmp_path / "out", ".", kilobytes)
    if code != "0":
        one_screen(said)
        assert "no space left" in said
        assert code == "2"
    assert_sound(tmp_path / "out.kept")
    same(gradebook_of(tmp_path / "out.kept"), plain)


@pytest.mark.slow
@pytest.mark.parametrize("most", [*range(10_000, 200_000, 20_000)])
def test_a_limit_on_the_size_of_files_loses_nothing(
    course: tuple[Class, dict[str, Any]], tmp_path: Path, most: int
) -> None:
    made, plain = course

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

    command = made.command(tmp_path / "out", "--sandbox", "off")
    done = subprocess.run(command, capture_output=True, text=True, preexec_fn=limit, timeout=300)
    if done.returncode == 2:
        one_screen(done.stderr)
    else:
        assert done.returncode in (0, 1), done.stderr
        assert "Traceback" not in done.stderr
    made.graded(tmp_path / "out", "--sandbox", "off")
    assert_sound(tmp_path / "out")
    same(gradebook_of(tmp_path / "out"), plain)


@needs_mounts
@pytest.mark.slow
def test_a_disk_that_is_read_only_is_named(
    unread: tuple[Class, dict[str, Any]], tmp_path: Path
) -> None:
    made, plain = unread
    out = tmp_path / "out"
    made.graded(out, "--sandbox", "off")
    (out / "grades.csv").unlink()
    script = 'mount --bind "$0" "$0"; mount -o remount,ro,bind "$0"; exec "$@"'
    for command in (made.command(out), made.command(out / "new")):
        done = subprocess.run(
            [*OWN_MOUNTS, "sh", "-ec", script, str(out), *command],
            capture_output=True,
            text=True,
            timeout=100,
        )
        assert done.returncode == 2
        one_screen(done.stderr)
        assert "written" in done.stderr or "read-only" in done.stderr, done.stderr
    made.graded(out, "--sandbox", "off")
    same(gradebook_of(out), plain)


def test_a_folder_that_may_not_be_written_is_named(home: Path) -> None:
    folder = home / "locked"
    folder.mkdir()
    folder.chmod(0o555)

    attempts: list[Callable[[], object]] = [
        lambda: Gradebook.open(folder / "out", create=True),
        lambda: write_atomic(folder / "grades.csv", b"x"),
    ]

    def work() -> list[str]:
        said = []
        for attempt in attempts:
            try:
                attempt()
            except SetupError as error:
                said.append(str(error))
        return said

    first, second = as_nobody(work)
    assert first.startswith(
        f"{folder}/out: no permission to write here\n  fix: check the permissions"
    )
    assert second.startswith(f"{folder}/grades.csv: no permission to write here\n  fix:")


def started(command: list[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for(what: Callable[[], object], run: subprocess.Popen[str]) -> None:
    end = time.monotonic() + 60
    while not what():
        assert run.poll() is None, run.communicate()
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.parametrize("how", ["deleted", pytest.param("moved", marks=pytest.mark.slow)])
def test_results_that_go_away_meanwhile_stop_the_run(
    course: tuple[Class, dict[str, Any]], tmp_path: Path, how: str
) -> None:
    made, plain = course
    out = tmp_path / "out"
    with started(made.command(out, "--sandbox", "off", "--jobs", "1")) as run:
        wait_for(lambda: list(out.glob("evidence/*.json.gz")), run)
        out.rename(tmp_path / "away")
        if how == "deleted":
            shutil.rmtree(tmp_path / "away")
        _, said = run.communicate(timeout=60)
    assert run.returncode == 2, said
    one_screen(said)
    assert "the gradebook was moved or deleted while it was in use" in said
    if how == "moved":
        (tmp_path / "away").rename(out)
    made.graded(out, "--sandbox", "off")
    assert_sound(out)
    same(gradebook_of(out), plain)


@pytest.mark.thorough
def test_a_second_grader_in_the_same_folder_is_refused_and_the_first_goes_on(
    unread: tuple[Class, dict[str, Any]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made, plain = unread
    out = tmp_path / "out"
    out.mkdir()
    grade = made.command(out, "--sandbox", "off")[3:]
    with exclusive_lock(out):  # as the first one has it
        said = fails(capsys, *grade)
    assert f"{out}: another grader process is using this folder" in said
    assert "fix: wait until it has finished, or choose another folder" in said
    ok(*grade)
    same(gradebook_of(out), plain)


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [1.0, 45.0])
def test_a_gradebook_that_another_program_has_locked_is_waited_for(
    unread: tuple[Class, dict[str, Any]], tmp_path: Path, seconds: float
) -> None:
    made, plain = unread
    out = tmp_path / "out"
    made.graded(out, "--sandbox", "off")
    with sqlite3.connect(out / "gradebook.sqlite", isolation_level=None) as other:
        other.execute("BEGIN IMMEDIATE")
        with started(made.command(out, "--sandbox", "off")) as run:
            try:
                _, said = run.communicate(timeout=seconds + 3)
            except subprocess.TimeoutExpired:
                other.execute("ROLLBACK")
                _, said = run.communicate(timeout=60)
    if seconds > 30:
        assert run.returncode == 2
        one_screen(said)
        assert "another program has locked the gradebook" in said
    else:
        assert run.returncode == 0, said
    same(gradebook_of(out), plain)


# --- The tools underneath


def test_what_is_being_written_is_not_swept_away_and_what_was_left_is(tmp_path: Path) -> None:
    script = "import os, sys\nfrom grader import files\nfrom pathlib import Path\n"
    script += (
        "path, _ = files._create_temporary(Path(sys.argv[1]), 0o600)\nprint(path, flush=True)\n"
    )
    script += "sys.stdin.read()\n"
    with subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as writer:
        assert writer.stdout is not None
        path = Path(writer.stdout.readline().strip())
        remove_partial_files(tmp_path)
        assert path.exists()
        writer.kill()
        writer.communicate()
    (tmp_path / "mine.txt").touch()
    remove_partial_files(tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["mine.txt"]
    remove_partial_files(tmp_path / "no such folder")


def test_a_file_that_can_not_be_written_leaves_the_old_one_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "old").write_text("old")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "x").touch()
    with pytest.raises(SetupError) as caught:
        write_atomic(tmp_path / "folder", b"new")
    assert str(tmp_path / "folder") in str(caught.value)
    with pytest.raises(SetupError, match="a file is where a folder should be"):
        write_atomic(tmp_path / "old" / "x", b"new")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["folder", "old"]


def test_a_file_that_is_written_again_stays_private(tmp_path: Path) -> None:
    path = tmp_path / "grades.csv"
    write_atomic(path, b"old")
    path.chmod(0o600)
    write_atomic(path, b"new")
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"new", 0o600)


def test_a_folder_is_free_again_as_soon_as_its_holder_is_killed(tmp_path: Path) -> None:
    script = "import sys, time\nfrom pathlib import Path\nfrom grader.files import exclusive_lock\n"
    script += (
        "with exclusive_lock(Path(sys.argv[1])):\n    print('in', flush=True)\n    time.sleep(60)\n"
    )
    with started([sys.executable, "-c", script, str(tmp_path)]) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        with pytest.raises(SetupError, match="another grader"), exclusive_lock(tmp_path, wait=0.2):
            pass
        holder.kill()
        with exclusive_lock(tmp_path):
            pass
