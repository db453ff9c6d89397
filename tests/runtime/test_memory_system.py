"""File locks: memory of the system that is in no process's account."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

if sys.platform != "linux":
    pytest.skip("it reads the /proc of Linux", allow_module_level=True)

from grader.runtime.worker import locks
from tests.helpers.kernels import Started

LOCKS = """
import fcntl, struct, tempfile
files = [tempfile.TemporaryFile(dir={folder!r}) for _ in range(20)]
for file in files:
    for byte in range(0, 2 * {each}, 2):
        fcntl.fcntl(file, {how}, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, byte, 1, 0))
"""


@pytest.fixture(autouse=True)
def _enough_time(monkeypatch: pytest.MonkeyPatch) -> None:
    # The list is that of the machine: locks of other tests come first, and reading them takes time.
    monkeypatch.setattr(locks, "_SECONDS", 30.0)


def test_the_locks_of_processes_are_counted_and_no_others(started: Started, tmp_path: Path) -> None:
    each = locks.MOST // 20
    few = started(LOCKS.format(folder=str(tmp_path), each=each, how="fcntl.F_SETLK")).pid
    assert not locks.exceeds_limit(lambda: [few])
    one_more = started(LOCKS.format(folder=str(tmp_path), each=1, how="fcntl.F_SETLK")).pid
    assert locks.exceeds_limit(lambda: [few, one_more])
    assert not locks.exceeds_limit(lambda: [os.getpid()])
    assert locks.exceeds_limit(lambda: None)  # as in a namespace where all are of one submission


def test_locks_of_open_files_count_by_their_file_system(started: Started, tmp_path: Path) -> None:
    child = started(LOCKS.format(folder=str(tmp_path), each=600, how="fcntl.F_OFD_SETLK")).pid
    assert not locks.exceeds_limit(lambda: [child])
    assert locks.exceeds_limit(lambda: [child], device=locks.device_of(str(tmp_path)))
    assert not locks.exceeds_limit(lambda: [child], device=locks.device_of("/proc"))


def test_where_no_list_is_shown_nothing_is_over() -> None:
    assert not locks.exceeds_limit(lambda: None, root="/nowhere")
    assert locks.device_of("/nowhere") is None
