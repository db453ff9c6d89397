"""Memory of the system that a process takes without a page of its own: locks and mappings."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

if sys.platform != "linux":
    pytest.skip("it reads the /proc of Linux", allow_module_level=True)

from grader.runtime.worker import locks, memory
from tests.test_memory_watch import MB, Started, started  # noqa: F401 - a fixture

LOCKS = """
import fcntl, struct, tempfile
files = [tempfile.TemporaryFile(dir={folder!r}) for _ in range(20)]
for file in files:
    for byte in range(0, 2 * {each}, 2):
        fcntl.fcntl(file, {how}, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, byte, 1, 0))
"""
MAPPINGS = """
import ctypes
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
for number in range({count}):
    libc.mmap(None, 4096, number % 2, 0x22, -1, 0)
"""


@pytest.mark.thorough
def test_the_locks_of_processes_are_counted_and_no_others(
    started: Started,  # noqa: F811
    tmp_path: Path,
) -> None:
    each = locks.MOST // 20
    few = started(LOCKS.format(folder=str(tmp_path), each=each, how="fcntl.F_SETLK")).pid
    assert not locks.over(lambda: [few])
    one_more = started(LOCKS.format(folder=str(tmp_path), each=1, how="fcntl.F_SETLK")).pid
    assert locks.over(lambda: [few, one_more])
    assert not locks.over(lambda: [os.getpid()])
    assert locks.over(lambda: None)  # as in a namespace where all are of one submission


def test_locks_of_open_files_count_by_their_file_system(
    started: Started,  # noqa: F811
    tmp_path: Path,
) -> None:
    child = started(LOCKS.format(folder=str(tmp_path), each=600, how="fcntl.F_OFD_SETLK")).pid
    assert not locks.over(lambda: [child])
    assert locks.over(lambda: [child], device=locks.device_of(str(tmp_path)))
    assert not locks.over(lambda: [child], device=locks.device_of("/proc"))


def test_where_no_list_is_shown_nothing_is_over() -> None:
    assert not locks.over(lambda: None, root="/nowhere")
    assert locks.device_of("/nowhere") is None


def test_mappings_count_where_they_may_be_too_many(started: Started) -> None:  # noqa: F811
    few, many = (started(MAPPINGS.format(count=count)).pid for count in (1, 60_000))
    assert memory._mapped("/proc", many) - memory._mapped("/proc", few) >= 59_000 * 256
    for pid in (few, many):
        assert memory._mapped("/proc", pid) <= memory._mapped_at_most("/proc", pid)
    limit = memory.used(pids=[many]) + 8 * MB
    assert memory.over(limit, pids=[many])
    assert not memory.over(limit + 16 * MB, pids=[many])
    assert not memory.over(memory.used(pids=[few]) + 8 * MB, pids=[few])
