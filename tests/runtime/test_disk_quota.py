"""What a folder is found to hold where no file system bounds it: real files, real processes."""

from __future__ import annotations

import contextlib
import mmap
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

if sys.platform != "linux":
    pytest.skip("guards are for Linux", allow_module_level=True)

from grader.runtime.worker.disk_quota import DiskQuota

MB = 1_000_000
LIMIT = 2 * MB
NOBODY = 65534


def over(folder: Path, *pids: int, limit: int = LIMIT, uid: int | None = None) -> bool:
    """What a first look says."""
    return DiskQuota(str(folder), limit, uid).is_exceeded(lambda: pids)


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


def test_nothing_is_too_deep(tmp_path: Path) -> None:
    """Below the longest path that the system takes."""
    before = Path.cwd()
    try:
        os.chdir(tmp_path)
        for _ in range(60):
            Path("d" * 200).mkdir()
            os.chdir("d" * 200)
        assert not over(tmp_path)
        Path("much").write_bytes(bytes(3 * MB))
    finally:
        os.chdir(before)
    assert over(tmp_path)


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


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_a_folder_of_another_user_is_looked_into_as_that_user(open_folder: Path) -> None:
    theirs = open_folder / "theirs"
    theirs.mkdir()
    (theirs / "much").write_bytes(bytes(3 * MB))
    os.chown(theirs, NOBODY, NOBODY)
    theirs.chmod(0o700)
    assert over(theirs, uid=NOBODY)
    assert (os.geteuid(), os.getegid()) == (0, 0)


def nameless(folder: Path) -> object:
    file = (folder / "gone").open("w+b")
    (folder / "gone").unlink()
    file.write(bytes(3 * MB))
    file.flush()
    return file


def only_mapped(folder: Path) -> object:
    with (folder / "gone").open("w+b") as file:
        file.write(bytes(3 * MB))
        file.flush()
        address = mapped(file.fileno(), 3 * MB)
    (folder / "gone").unlink()
    return address


def mapped(file: int, size: int) -> int:
    """By the C library, because Python's own maps keep the file open."""
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = (
        ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long,
    )  # fmt: skip
    found = libc.mmap(None, size, mmap.PROT_READ, mmap.MAP_SHARED, file, 0)
    assert found not in (None, ctypes.c_void_p(-1).value)
    return int(found)


def test_a_file_without_a_name_counts_while_it_is_open(tmp_path: Path) -> None:
    with child(lambda: nameless(tmp_path)) as pid:
        assert list(tmp_path.iterdir()) == []
        assert over(tmp_path, pid)
    assert not over(tmp_path)


@pytest.fixture
def in_memory() -> Iterator[Path]:
    """A folder on a file system whose free space hardly anybody else changes."""
    with tempfile.TemporaryDirectory(prefix="t-", dir="/dev/shm") as name:
        yield Path(name)


def test_a_file_without_a_name_counts_while_it_is_mapped(in_memory: Path) -> None:
    space = DiskQuota(str(in_memory), LIMIT)
    with child(lambda: only_mapped(in_memory)) as pid:
        assert list(in_memory.iterdir()) == []
        assert space.is_exceeded(lambda: [pid])


def test_space_that_is_gone_brings_the_next_look_at_once(
    in_memory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("grader.runtime.worker.disk_quota._LOOK_SECONDS", 600.0)
    space = DiskQuota(str(in_memory), 20 * MB)
    asked: list[int] = []

    def pids() -> list[int]:
        asked.append(1)
        return []

    assert not space.is_exceeded(pids)
    assert not space.is_exceeded(pids)
    assert len(asked) == 1  # nothing has changed, and it is not yet time
    (in_memory / "much").write_bytes(bytes(25 * MB))
    assert space.is_exceeded(pids)


def test_a_folder_that_is_not_there_any_more_is_gone(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    space = DiskQuota(str(folder), LIMIT)
    folder.rename(tmp_path / "elsewhere")
    assert not space.is_exceeded(list)
    assert space.gone
