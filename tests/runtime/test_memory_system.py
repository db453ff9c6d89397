"""File locks: memory of the system that is in no process's account."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

if sys.platform != "linux":
    pytest.skip("it reads the /proc of Linux", allow_module_level=True)

from grader.runtime.worker import memory
from tests.helpers.kernels import Started

LOCKS = """
import fcntl, struct, tempfile
files = [tempfile.TemporaryFile(dir={folder!r}) for _ in range(20)]
for file in files:
    for byte in range(0, 2 * {each}, 2):
        fcntl.fcntl(file, fcntl.F_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, byte, 1, 0))
"""


@pytest.fixture(autouse=True)
def _whole_list(monkeypatch: pytest.MonkeyPatch) -> None:
    # The list is that of the machine: locks of other tests come first.
    monkeypatch.setattr(memory, "_AT_ONCE", 10**9)


def test_the_locks_of_processes_are_counted_and_no_others(started: Started, tmp_path: Path) -> None:
    # Not the limit itself: while locks of others come and go, the kernel may list one twice.
    each = memory.MOST_LOCKS // 20 - 10
    few = started(LOCKS.format(folder=str(tmp_path), each=each)).pid
    assert not memory.exceeds_lock_limit([few])
    one_more = started(LOCKS.format(folder=str(tmp_path), each=20)).pid
    assert memory.exceeds_lock_limit([few, one_more])
    assert not memory.exceeds_lock_limit([os.getpid()])


def test_where_no_list_is_shown_nothing_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "PROC", "/nowhere")
    assert not memory.exceeds_lock_limit([os.getpid()])
