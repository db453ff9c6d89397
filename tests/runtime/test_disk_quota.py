"""What a folder is found to hold where no file system bounds it: real files, real processes."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

if sys.platform != "linux":
    pytest.skip("guards are for Linux", allow_module_level=True)

from grader.runtime.worker import syscalls
from grader.runtime.worker.disk_quota import DiskQuota

MB = 1_000_000
LIMIT = 2 * MB
NOBODY = 65534


def over(folder: Path, *pids: int) -> bool:
    """What a first look says."""
    return DiskQuota(str(folder), LIMIT).check_exceeded(pids)


@contextlib.contextmanager
def child(does: Callable[[], object]) -> Iterator[int]:
    """The number of a process that has done *does*, and lives on as long as this lasts."""
    here, there = os.pipe()
    end, hold = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(hold)
        with contextlib.suppress(BaseException):
            kept = does()
            os.write(there, b"+")
            os.read(end, 1)
            del kept
        os._exit(0)
    os.close(there)
    try:
        assert os.read(here, 1) == b"+", "the child could not do what it is for"
        yield pid
    finally:
        for file in (here, end, hold):
            os.close(file)
        os.waitpid(pid, 0)


def test_little_is_within_and_much_is_over(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(bytes(MB))
    assert not over(tmp_path)
    (tmp_path / "b" / "c").mkdir(parents=True)
    (tmp_path / "b" / "c" / "d").write_bytes(bytes(MB + MB // 2))
    assert over(tmp_path)


def test_a_sparse_file_takes_what_it_takes(tmp_path: Path) -> None:
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(100 * MB)
    assert not over(tmp_path)
    with (tmp_path / "full").open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, 3 * MB)
    assert over(tmp_path)


def test_a_file_with_two_names_counts_once(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(bytes(MB + MB // 2))
    os.link(tmp_path / "a", tmp_path / "b")
    assert not over(tmp_path)


def test_files_without_anything_in_them_are_counted(tmp_path: Path) -> None:
    for number in range(1200):
        (tmp_path / str(number)).touch()
    assert over(tmp_path)


def test_what_is_too_deep_to_be_counted_is_over(tmp_path: Path) -> None:
    """Below the longest path that the system takes."""
    before = Path.cwd()
    try:
        os.chdir(tmp_path)
        for _ in range(60):
            Path("d" * 200).mkdir()
            os.chdir("d" * 200)
    finally:
        os.chdir(before)
    assert over(tmp_path)


@pytest.mark.parametrize(("number", "exceeded"), [(errno.ENFILE, False), (errno.ELOOP, True)])
def test_a_failure_of_the_machine_is_not_too_much(
    number: int, exceeded: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a notebook can bring about is: it could write without a limit otherwise."""

    def fail(_path: str) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "scandir", fail)
    assert over(tmp_path) is exceeded


def as_nobody(folder: Path, does: Callable[[], bool]) -> bool:
    """What *does* says in a process for which permissions mean something, unlike for root."""
    if os.geteuid() != 0:
        return does()
    for path in (folder, *folder.rglob("*")):
        os.chown(path, NOBODY, NOBODY)
    pid = os.fork()
    if pid == 0:
        os.chdir(folder)  # the way to it is not theirs
        os.setresuid(NOBODY, NOBODY, NOBODY)
        os._exit(40 + does())
    return bool(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) - 40)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that everybody can get to."""
    with tempfile.TemporaryDirectory(prefix="t-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


def test_a_folder_that_forbids_it_is_looked_into(open_folder: Path) -> None:
    hidden = open_folder / "hidden"
    hidden.mkdir()
    (hidden / "much").write_bytes(bytes(3 * MB))
    hidden.chmod(0)
    assert as_nobody(open_folder, lambda: over(open_folder))


def nameless(folder: Path) -> object:
    file = (folder / "gone").open("w+b")
    (folder / "gone").unlink()
    file.write(bytes(3 * MB))
    file.flush()
    return file


def test_a_file_without_a_name_counts_while_it_is_open(tmp_path: Path) -> None:
    with child(lambda: nameless(tmp_path)) as pid:
        assert list(tmp_path.iterdir()) == []
        assert over(tmp_path, pid)
    assert not over(tmp_path)


def test_a_folder_that_is_not_there_any_more_is_gone(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    space = DiskQuota(str(folder), LIMIT)
    folder.rename(tmp_path / "elsewhere")
    assert not space.check_exceeded([])
    assert space.gone


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give kernels other users")
@pytest.mark.parametrize(("written", "exceeded"), [(0, False), (2 * LIMIT, True)])
def test_root_of_a_container_looks_into_a_users_folder(written: int, exceeded: bool) -> None:
    """Root there can become that user, but can't enter the folder as root."""
    uid = 50_000
    with tempfile.TemporaryDirectory() as made:
        Path(made).chmod(0o755)
        folder = Path(made) / "folder"
        for each in (folder, folder / "work", folder / "wire"):
            each.mkdir(0o700)
        (folder / "work" / "file").write_bytes(b"x" * written)
        for each in (folder, folder / "work", folder / "work" / "file"):
            os.chown(each, uid, uid)
        pid = os.fork()
        if pid == 0:
            syscalls.keep_capabilities(1 << syscalls.CAP_SETUID | 1 << syscalls.CAP_SETGID)
            os._exit(DiskQuota(str(folder), LIMIT, uid).check_exceeded([]))
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == exceeded
