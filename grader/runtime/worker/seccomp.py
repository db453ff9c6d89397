"""Applies a system-call filter to this process, which can't be undone."""

from __future__ import annotations

import ctypes
import errno
import platform

from grader.runtime.worker.syscalls import PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, prctl, syscall

_NUMBERS = {"x86_64": 317, "aarch64": 277, "riscv64": 277, "ppc64le": 358, "s390x": 348}
"""The call seccomp, which covers all threads; on other machines only the caller is covered."""

_INSTRUCTION = 8
_MOST = 4096
_SECCOMP_MODE_FILTER = 2
_SECCOMP_SET_MODE_FILTER = 1
_SECCOMP_FILTER_FLAG_TSYNC = 1


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def load_filter(program: bytes) -> None:
    """Applies the filter to every thread and every future child of this process, for good.

    Sets no_new_privs too. Raises OSError if the kernel refuses the filter.
    """
    count, rest = divmod(len(program), _INSTRUCTION)
    if rest or not 0 < count <= _MOST:
        raise OSError(errno.EINVAL, f"{len(program)} bytes are not a system-call filter")
    kept = ctypes.create_string_buffer(program, len(program))
    whole = _Program(count, ctypes.addressof(kept))
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    number = _NUMBERS.get(platform.machine())
    if number is None:
        prctl(PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.addressof(whole))
        return
    flags = _SECCOMP_FILTER_FLAG_TSYNC
    thread = syscall(number, _SECCOMP_SET_MODE_FILTER, flags, ctypes.byref(whole))
    if thread:
        raise OSError(errno.EBUSY, f"thread {thread} can't be put under the system-call filter")
