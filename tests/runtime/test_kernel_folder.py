"""A kernel's folder and its leftover processes: gone afterwards, and nothing else with them."""

from __future__ import annotations

import errno
import os
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from grader.runtime.kernels import KernelOptions, cold, scratch
from grader.runtime.sandbox import Sandbox, ScratchFolder
from tests.helpers.notebooks import QUICK

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="folders are held open by POSIX")
NOBODY = 65534


@pytest.fixture
def made() -> ScratchFolder:
    return scratch.make_folder()


@contextmanager
def without_privileges() -> Iterator[None]:
    """Permissions mean nothing to root, who runs many a container."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


def nest(root: Path, depth: int, name: str) -> None:
    """Folders in folders, deeper than any path may be long."""
    folder = os.open(root, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir(name, dir_fd=folder)
        inner = os.open(name, os.O_RDONLY, dir_fd=folder)
        os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=inner))
        os.close(folder)
        folder = inner
    os.close(folder)


@pytest.mark.parametrize(
    "depth, name",
    [(150, "d" * 60), pytest.param(3_000, "d", marks=pytest.mark.slow)],
    ids=["long names", "3000 levels"],
)
def test_folders_nested_deeper_than_a_path_may_be_long_are_removed(
    made: ScratchFolder, depth: int, name: str
) -> None:
    nest(made.work, depth, name)
    scratch.remove_folder(made)
    assert not made.root.exists()


@pytest.mark.parametrize("mode", [0o000, 0o400, 0o500, 0o100])
def test_folders_that_forbid_everything_are_removed(mode: int) -> None:
    with without_privileges():
        made = scratch.make_folder()
        inner = made.work / "a" / "b"
        inner.mkdir(parents=True)
        (inner / "file").touch()
        for folder in (inner, inner.parent, made.work, made.root):
            folder.chmod(mode)
        scratch.remove_folder(made)
    assert not made.root.exists()


def test_what_a_link_leads_to_is_left_as_it_was(made: ScratchFolder, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "thesis.txt").write_text("years of work")
    outside.chmod(0o555)
    (made.work / "a").mkdir()
    for link in (made.work / "x", made.work / "a" / "y", made.root / "z"):
        link.symlink_to(outside)
    (made.work / "broken").symlink_to("/does/not/exist")
    (made.work / "file").symlink_to(outside / "thesis.txt")
    scratch.remove_folder(made)
    assert not made.root.exists()
    assert outside.stat().st_mode & 0o777 == 0o555
    assert (outside / "thesis.txt").read_text() == "years of work"


def test_a_folder_that_became_a_link_is_not_followed(made: ScratchFolder, tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").touch()
    scratch.remove_folder(made)
    made.root.symlink_to(tmp_path)
    try:
        scratch.remove_folder(made)
        assert (tmp_path / "thesis.txt").exists()
    finally:
        made.root.unlink()


def test_a_folder_that_is_gone_already_is_no_error(made: ScratchFolder) -> None:
    scratch.remove_folder(made)
    scratch.remove_folder(made)
    assert not made.root.exists()


def test_somebody_who_swaps_folders_and_links_meanwhile_gains_and_stops_nothing(
    made: ScratchFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scratch, "REMOVE_SECONDS", 0.5)
    (tmp_path / "thesis.txt").touch()
    mode = tmp_path.stat().st_mode
    over = threading.Event()

    def swap() -> None:
        n = 0
        while not over.is_set():
            n += 1
            try:
                made.work.mkdir(exist_ok=True, parents=True)
                (made.work / "x").mkdir()
                (made.work / "x").rename(made.work / str(n))
                (made.work / "x").symlink_to(tmp_path)
                (made.work / "x").unlink()
            except OSError:
                continue

    thread = threading.Thread(target=swap)
    thread.start()
    began = time.monotonic()
    try:
        for _ in range(3):
            scratch.remove_folder(made)
    finally:
        over.set()
        thread.join()
        scratch.remove_folder(made)
    assert time.monotonic() - began < 10
    assert (tmp_path / "thesis.txt").exists()
    assert tmp_path.stat().st_mode == mode
    assert not made.root.exists()


# -- other systems


@pytest.fixture
def abandoned(made: ScratchFolder, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a grader that was killed, in the folder for paths that are too long."""
    os.close(scratch._locks.pop(str(made.root)))
    os.utime(made.root, (0, 0))
    monkeypatch.setattr(scratch, "_SHORT", str(made.root.parent))
    return made.root


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have longer paths")
def test_what_killed_graders_left_is_removed_where_paths_are_short_too(
    abandoned: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    scratch.remove_abandoned()
    assert not abandoned.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such locks")
def test_a_file_system_without_locks_is_good_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr("fcntl.flock", fail)
    place = scratch.make_folder()
    os.utime(place.root, (0, 0))
    scratch.remove_abandoned()
    assert place.work.is_dir()  # it may belong to a grader that is alive
    scratch.remove_folder(place)
    assert not place.root.exists()


def test_a_system_without_sockets_in_files_talks_by_tcp_to_itself_alone(
    made: ScratchFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert scratch.transport_options(made) == {"transport": "ipc", "ip": f"{made.root}/wire/k"}
    scratch.remove_folder(made)
    monkeypatch.setattr(sys, "platform", "win32")
    assert scratch.transport_options(made) == {"transport": "tcp", "ip": "127.0.0.1"}


def test_the_variables_of_folders_are_those_of_the_system(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = ScratchFolder(Path("/nowhere"))
    here = Sandbox().environment(made)
    assert (here["HOME"], here["TMPDIR"]) == ("/nowhere/home", "/nowhere/tmp")
    monkeypatch.setattr(sys, "platform", "win32")
    there = Sandbox().environment(made)
    assert (there["USERPROFILE"], there["TEMP"]) == ("/nowhere/home", "/nowhere/tmp")


def test_a_cold_kernel_knows_its_parent_where_that_is_a_number_of_a_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made, options = ScratchFolder(Path("/nowhere")), KernelOptions(limits=QUICK, sandbox=Sandbox())
    assert cold._environment(options, made)["JPY_PARENT_PID"] == str(os.getpid())
    monkeypatch.setattr(sys, "platform", "win32")  # there it would be taken for a handle
    assert "JPY_PARENT_PID" not in cold._environment(options, made)
