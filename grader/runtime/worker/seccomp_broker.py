"""Changes modes and times of files on behalf of a sandboxed process, in its own folder only.

Landlock can't restrict these changes, and a system-call filter can't see which file is meant. So
the kernel suspends the call and notifies the supervisor, which looks up the file, makes the change
itself if the file is in the submission's folder, and replies. The process can't interfere by
overwriting its arguments, since they are read only once.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import struct
from collections.abc import Mapping

from grader.runtime.worker import syscalls
from grader.runtime.worker.disk_quota import within

_RECEIVE, _SEND = 0xC050_2100, 0xC018_2101
_IS_VALID = (0x4008_2102, 0x8008_2102)  # the second before Linux 5.17
_NOTICE, _ANSWER = "=QIIiIQ6Q", "=QqiI"
_HERE = -100
_NOFOLLOW, _EMPTY_PATH = 0x100, 0x1000
_LONGEST = 4096
_TIMES = 32
"""Bytes of the two times that `utimensat` takes."""
_SET_ID = 0o6000
_ITSELF = re.compile(r"^/(?:proc/(?:self|thread-self)|dev(?=/fd/))/")


class Deputy:
    """Serves the listener of one submission's filter."""

    def __init__(self, listener: int, root: str, numbers: Mapping[str, int]):
        self.listener = listener
        self._root = os.path.realpath(root)
        self._names = {number: name for name, number in numbers.items()}

    def serve(self) -> None:
        """Answers one call that waits. Raises nothing for what the process may have done."""
        notice = bytearray(struct.calcsize(_NOTICE))
        try:
            fcntl.ioctl(self.listener, _RECEIVE, notice)
        except OSError:  # the process was ended or interrupted while it waited
            return
        ident, pid, _, number, _, _, *arguments = struct.unpack(_NOTICE, notice)
        try:
            self._do(ident, pid, self._names.get(number, ""), arguments)
            error = 0
        except OSError as failure:
            error = failure.errno or errno.EPERM
        except (ValueError, OverflowError):
            error = errno.EFAULT
        with contextlib.suppress(OSError):
            fcntl.ioctl(self.listener, _SEND, struct.pack(_ANSWER, ident, 0, -error, 0))

    def close(self) -> None:
        """Lets go of the listener; whoever asks then is told that there is no such call."""
        os.close(self.listener)

    def _do(self, ident: int, pid: int, name: str, arguments: list[int]) -> None:
        """Makes one change. Raises OSError with what the process is told."""
        folder, where, flags = _int(arguments[0]), arguments[1], 0
        what = arguments[2]
        if name == "chmod":
            folder, where, what = _HERE, arguments[0], arguments[1]
        elif name == "fchmod":
            where, what, flags = 0, arguments[1], _EMPTY_PATH
        elif name in ("fchmodat2", "utimensat"):
            flags = _int(arguments[3])
        elif name != "fchmodat":
            raise PermissionError(errno.EPERM, name)
        path = _text(pid, where) if where else ""
        if name == "utimensat" and not where and folder != _HERE:
            flags |= _EMPTY_PATH
        times = _memory(pid, what, _TIMES) if name == "utimensat" and what else b""
        file = _opened(pid, folder, path, flags)
        try:
            # Also says that the number of the process was still its own all the while.
            if not self._is_valid(ident) or not within(file, self._root):
                raise PermissionError(errno.EPERM, name)
            if name == "utimensat":
                _set_times(file, times)
            elif what & _SET_ID:
                raise PermissionError(errno.EPERM, name)
            else:
                os.chmod(f"/proc/self/fd/{file}", what & 0o7777)  # noqa: PTH101
        finally:
            os.close(file)

    def _is_valid(self, ident: int) -> bool:
        for request in _IS_VALID:
            try:
                fcntl.ioctl(self.listener, request, struct.pack("=Q", ident))
            except OSError as error:
                if error.errno == errno.ENOENT:
                    return False
            else:
                return True
        return False


def _int(argument: int) -> int:
    """A C int, of which the kernel reads the lower half of a register."""
    low = argument & 0xFFFF_FFFF
    return low - (1 << 32) if low >> 31 else low


def _memory(pid: int, address: int, size: int) -> bytes:
    memory = os.open(f"/proc/{pid}/mem", os.O_RDONLY | os.O_CLOEXEC)
    try:
        found = os.pread(memory, size, address)
    except OSError:
        raise OSError(errno.EFAULT, "memory") from None
    finally:
        os.close(memory)
    return found


def _text(pid: int, address: int) -> str:
    # To the end of a page first: the next may not be there.
    first = 4096 - address % 4096
    text = _memory(pid, address, first)
    if b"\0" not in text:
        text += _memory(pid, address + first, _LONGEST - first) if first < _LONGEST else b""
    text, end, _ = text.partition(b"\0")
    if not end:
        raise OSError(errno.ENAMETOOLONG, "path")
    return os.fsdecode(text)


def _opened(pid: int, folder: int, path: str, flags: int) -> int:
    """The file that the process means, held but not opened for anything."""
    kind = os.O_PATH | os.O_CLOEXEC
    base = f"/proc/{pid}/cwd" if folder == _HERE else f"/proc/{pid}/fd/{folder}"
    if not path:
        if not flags & _EMPTY_PATH:
            raise FileNotFoundError(errno.ENOENT, "path")
        return _held(base, kind)
    if flags & _NOFOLLOW:
        kind |= os.O_NOFOLLOW
    if path.startswith("/"):
        return os.open(_ITSELF.sub(f"/proc/{pid}/", path), kind)
    start = _held(base, os.O_PATH | os.O_CLOEXEC)
    try:
        return os.open(path, kind, dir_fd=start)
    finally:
        os.close(start)


def _held(path: str, kind: int) -> int:
    try:
        return os.open(path, kind)
    except FileNotFoundError:
        raise OSError(errno.EBADF, "descriptor") from None


def _set_times(file: int, times: bytes) -> None:
    if times and len(times) < _TIMES:
        raise OSError(errno.EFAULT, "times")
    syscalls.call("utimensat", _HERE, f"/proc/self/fd/{file}".encode(), times or None, 0)
