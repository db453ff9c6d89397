"""What other processes have open, as /proc shows it."""

from __future__ import annotations

import contextlib
import os
import platform
from collections.abc import Iterator

from grader.runtime.worker import syscalls

_KCMP = {"x86_64": 312, "aarch64": 272, "riscv64": 272, "ppc64le": 354, "s390x": 343}
_KCMP_FILES = 2


def tables(pid: int, root: str = "/proc") -> list[str]:
    """The folders in *root* that list what a process has open.

    Nearly always one, which all its threads share. A thread can have one of its own, though, and
    the first thread, by whose number the process goes, can end and leave the others theirs.
    """
    try:
        threads = os.listdir(f"{root}/{pid}/task")  # noqa: PTH208
    except OSError:
        return []
    if len(threads) > 1 and _ours(root):
        threads = [t for t in threads if int(t) == pid or not _share(pid, int(t))]
    return [f"{root}/{pid}/task/{thread}/fd" for thread in threads]


def _ours(root: str) -> bool:
    """Whether the numbers in *root* are those by which the system knows processes from us."""
    try:
        return os.readlink(f"{root}/self") == str(os.getpid())  # noqa: PTH115
    except OSError:
        return False


def _share(one: int, other: int) -> bool:
    """Whether two threads have the same table; False where that can't be told, too."""
    number = _KCMP.get(platform.machine())
    if number is None:
        return False
    try:
        return syscalls.syscall(number, one, other, _KCMP_FILES, 0, 0) == 0
    except OSError:  # refused, not built in, or one has ended
        return False


@contextlib.contextmanager
def as_user(uid: int | None) -> Iterator[None]:
    """Is another user for a moment, whose processes then show what they have open."""
    if uid is None:
        yield
        return
    me, mine = os.geteuid(), os.getegid()
    os.setegid(uid)  # both, or it is not shown
    try:
        os.seteuid(uid)
        yield
    finally:
        os.seteuid(me)
        os.setegid(mine)
