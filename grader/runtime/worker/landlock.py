"""Landlock: a process lists the files that it still needs, and Linux refuses all others.

Works without root and without namespaces. It applies to the calling thread and all that it starts,
and can't be undone. Older versions refuse less: before ABI 3 files outside can be truncated, before
4 TCP is open, before 6 signals and abstract sockets, before 9 sockets in the file system, before 10
UDP. No version refuses `stat`, or changing the mode, owner, or times of a file of the same user.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
from collections.abc import Iterable, Sequence

from grader.runtime.worker import syscalls

# The numbers are the same on x86-64, aarch64 and every other system that has them.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_ASK_VERSION = 1
_PATH_BENEATH = 1

_EXECUTE = 1 << 0
_WRITE_FILE = 1 << 1
_READ_FILE = 1 << 2
_READ_DIR = 1 << 3
_MAKE_CHAR = 1 << 6
_MAKE_BLOCK = 1 << 11
_TRUNCATE = 1 << 14
_IOCTL_DEV = 1 << 15
_RESOLVE_UNIX = 1 << 16

# The first ABI that knows of rights, and their bits.
SIGNALS = 6
"""The first ABI that refuses signals to processes outside, and abstract sockets."""
_FILES = {1: (1 << 13) - 1, 2: 1 << 13, 3: _TRUNCATE, 5: _IOCTL_DEV, 9: _RESOLVE_UNIX}
_NETWORK = {4: 0b11, 10: 0b1100}
_SCOPES = {SIGNALS: 0b11}

_READ = _EXECUTE | _READ_FILE | _READ_DIR
_DEVICE = _READ_FILE | _WRITE_FILE | _READ_DIR | _TRUNCATE | _IOCTL_DEV
# Without sockets of processes outside: a kernel connects to nobody.
_WRITE = sum(_FILES.values()) & ~(_MAKE_CHAR | _MAKE_BLOCK | _IOCTL_DEV | _RESOLVE_UNIX)
_ON_A_FILE = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV


class _Ruleset(ctypes.Structure):
    _fields_ = (
        ("files", ctypes.c_uint64),
        ("network", ctypes.c_uint64),
        ("scopes", ctypes.c_uint64),
    )


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))


def abi_version() -> int:
    """Returns the version of Landlock in this Linux kernel; 0 if there is none."""
    try:
        return syscalls.syscall(_CREATE_RULESET, None, 0, _ASK_VERSION)
    except OSError:
        return 0


def restrict(
    *,
    read: Sequence[str],
    write: Sequence[str],
    devices: Sequence[str] = (),
    names: Sequence[str] = (),
    network: bool = False,
) -> None:
    """Restricts this thread, and all that it starts, to the given paths, for good.

    Below *read*, files can be read and executed; below *write* also created, changed, moved and
    removed, except devices; *devices* can be read, written, and controlled; below *names*, folders
    can only be listed. A path can be a single file; missing paths are skipped. *network* allows
    TCP and UDP. Raises OSError.
    """
    version = abi_version()
    if not version:
        raise OSError(errno.EOPNOTSUPP, "landlock: this kernel has none, or it is not enabled")
    files, ports, scopes = (
        sum(bits for first, bits in table.items() if first <= version)
        for table in (_FILES, {} if network else _NETWORK, _SCOPES)
    )
    handled = _Ruleset(files, ports, scopes)
    ruleset = _call_landlock(_CREATE_RULESET, ctypes.byref(handled), ctypes.sizeof(handled))
    allowed = ((read, _READ), (write, _WRITE), (devices, _DEVICE), (names, _READ_DIR))
    try:
        for paths, rights in allowed:
            for path in paths:
                _add_rule(ruleset, path, rights & files)
        syscalls.prctl(syscalls.PR_SET_NO_NEW_PRIVS, 1)
        _call_landlock(_RESTRICT_SELF, ruleset)
    finally:
        os.close(ruleset)


def list_allowed_paths(folder: str, without: Sequence[str]) -> list[str]:
    """Returns the paths to allow so that everything below *folder* is allowed except *without*.

    Rules can only allow, so a folder with an exception is allowed child by child, and can't be
    listed itself: also pass it to `restrict` as `names`. Links are left out, since their targets
    have their own paths.
    """
    return list(_iter_allowed_paths(os.path.realpath(folder), set(map(os.path.realpath, without))))


def _iter_allowed_paths(path: str, without: set[str]) -> Iterable[str]:
    """Yields *path* or what may be allowed below it; see `list_allowed_paths`."""
    if any(_is_within(path, hole) for hole in without):
        return
    if not any(_is_within(hole, path) for hole in without):
        yield path
        return
    try:
        with os.scandir(path) as entries:
            children = sorted(entry.path for entry in entries if not entry.is_symlink())
    except OSError:
        return  # an unlisted folder may contain the exception
    for child in children:
        yield from _iter_allowed_paths(child, without)


def _is_within(path: str, folder: str) -> bool:
    return os.path.commonpath((path, folder)) == folder


def _add_rule(ruleset: int, path: str, rights: int) -> None:
    """Allows *rights* below *path*, or on it if it is a file; does nothing if it is missing."""
    try:
        parent = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return  # what cannot be reached now cannot be reached afterward
    try:
        if not stat.S_ISDIR(os.fstat(parent).st_mode):
            rights &= _ON_A_FILE
        if rights:
            rule = ctypes.byref(_PathBeneath(rights, parent))
            _call_landlock(_ADD_RULE, ruleset, _PATH_BENEATH, rule)
    finally:
        os.close(parent)


def _call_landlock(number: int, *arguments: object) -> int:
    try:
        return syscalls.syscall(number, *arguments, 0)
    except OSError as error:
        raise OSError(error.errno, f"landlock: {os.strerror(error.errno or 0)}") from None
