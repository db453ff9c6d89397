"""Puts this process under a system-call filter, from which there is no way back."""

from __future__ import annotations

import ctypes
import errno
import platform

from grader.runtime.worker.syscalls import PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, prctl, syscall

_NUMBERS = {"x86_64": 317, "aarch64": 277, "riscv64": 277, "ppc64le": 358, "s390x": 348}
"""Of the call seccomp, which takes all threads at once; elsewhere the caller's alone."""

_INSTRUCTION = 8
_MOST = 4096
_SECCOMP_MODE_FILTER = 2
_SECCOMP_SET_MODE_FILTER = 1
_SECCOMP_FILTER_FLAG_TSYNC = 1
_SECCOMP_FILTER_FLAG_NEW_LISTENER = 8
_SECCOMP_FILTER_FLAG_TSYNC_ESRCH = 16


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def load(program: bytes, *, listen: bool = False) -> int | None:
    """From here on the filter decides, for every thread and every child of this process.

    With *listen* the result is a descriptor at which somebody else is asked what the filter leaves
    open. Sets no_new_privs too. OSError, with what was tried, when the kernel does not take it.
    """
    count, rest = divmod(len(program), _INSTRUCTION)
    if rest or not 0 < count <= _MOST:
        raise OSError(errno.EINVAL, f"{len(program)} bytes are not a system-call filter")
    kept = ctypes.create_string_buffer(program, len(program))
    whole = _Program(count, ctypes.addressof(kept))
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    number = _NUMBERS.get(platform.machine())
    if number is None and listen:
        raise OSError(errno.ENOSYS, "the filter's questions can't be listened to here")
    if number is None:
        prctl(PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.addressof(whole))
        return None
    flags = _SECCOMP_FILTER_FLAG_TSYNC
    if listen:
        flags |= _SECCOMP_FILTER_FLAG_NEW_LISTENER | _SECCOMP_FILTER_FLAG_TSYNC_ESRCH
    said = syscall(number, _SECCOMP_SET_MODE_FILTER, flags, ctypes.byref(whole))
    if listen:
        return said
    if said:
        raise OSError(errno.EBUSY, f"thread {said} can't be put under the system-call filter")
    return None
