"""System calls that Python 3.11 lacks, through ctypes; each raises OSError."""

from __future__ import annotations

import ctypes
import errno
import os
import socket
import struct
from functools import cache
from typing import Any

CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_KERNEL = 0x4C020000
"""CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC and CLONE_NEWNET: namespaces of every kernel."""

MS_RDONLY = 0x1
MS_NOSUID = 0x2
MS_NODEV = 0x4
MS_NOEXEC = 0x8
MS_REMOUNT = 0x20
MS_BIND = 0x1000
MS_REC = 0x4000
MS_PRIVATE = 0x40000
_MNT_DETACH = 2

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
_PR_SET_SECCOMP = 22
_PR_CAPBSET_DROP = 24
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38
_PR_CAP_AMBIENT = 47
_PR_CAP_AMBIENT_CLEAR_ALL = 4

_SECCOMP_MODE_FILTER = 2
_SECCOMP_INSTRUCTION = 8
_SIOCSIFFLAGS = 0x8914
_IFF_UP = 1
_CAPABILITY_VERSION_3 = 0x20080522
_LAST_CAPABILITY = 63
CAP_KILL = 5
CAP_SETGID = 6
CAP_SETUID = 7
CAP_SYS_PTRACE = 19


@cache
def load_libc() -> ctypes.CDLL:
    """Returns the C library of this process."""
    return ctypes.CDLL(None, use_errno=True)


def call_libc(name: str, *arguments: Any) -> int:
    """Calls the C function *name*; raises OSError with its name if the result is negative."""
    result: int = getattr(load_libc(), name)(*arguments)
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")
    return result


def syscall(number: int, *arguments: Any) -> int:
    """Makes a system call by number."""
    values = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    return call_libc("syscall", ctypes.c_long(number), *values)


def prctl(option: int, *arguments: int) -> int:
    """Changes an attribute of this process."""
    longs = (ctypes.c_ulong(a) for a in (*arguments, 0, 0, 0, 0)[:4])
    return call_libc("prctl", ctypes.c_int(option), *longs)


def unshare(flags: int) -> None:
    """Moves this process into new namespaces."""
    call_libc("unshare", ctypes.c_int(flags))


def setns(descriptor: int, kind: int) -> None:
    """Moves this process, or for CLONE_NEWPID its future children, into an open namespace."""
    call_libc("setns", ctypes.c_int(descriptor), ctypes.c_int(kind))


def mount(source: str, target: str, kind: str = "", flags: int = 0, data: str = "") -> None:
    """Mounts *source*, a file system of the given kind, at *target*."""
    texts = [os.fsencode(text) or None for text in (source, target, kind, data)]
    try:
        call_libc("mount", *texts[:3], ctypes.c_ulong(flags), texts[3])
    except OSError as error:
        raise OSError(error.errno, f"mounting {target}: {os.strerror(error.errno or 0)}") from None


def unmount(target: str) -> None:
    """Detaches a mount, even if it is in use."""
    call_libc("umount2", os.fsencode(target), ctypes.c_int(_MNT_DETACH))


def pivot_root(root: str) -> None:
    """Makes the mount point *root* the root of this process, and detaches the old root."""
    os.chdir(root)
    # Both arguments may be the same folder: the old root then lies on top of the new one.
    call_libc("pivot_root", b".", b".")
    unmount(".")
    os.chdir("/")


def keep_capabilities(kept: int = 0) -> None:
    """Drops all capabilities except those in the mask *kept*, for good."""
    drop_bounding_set(kept)
    load_libc().prctl(_PR_CAP_AMBIENT, ctypes.c_ulong(_PR_CAP_AMBIENT_CLEAR_ALL), 0, 0, 0)
    header = struct.pack("Ii", _CAPABILITY_VERSION_3, 0)
    capabilities = ctypes.create_string_buffer(24)
    call_libc("capget", header, capabilities)
    _, low, _, _, high, _ = struct.unpack("IIIIII", capabilities.raw)
    low, high = low & kept, high & kept >> 32
    call_libc("capset", header, struct.pack("IIIIII", low, low, 0, high, high, 0))


def drop_bounding_set(kept: int = 0) -> None:
    """Prevents gaining capabilities that are not in the mask *kept*."""
    # Unknown capabilities, and dropping without the right to, are refused, which does no harm.
    for number in range(_LAST_CAPABILITY + 1):
        if not kept & (1 << number):
            load_libc().prctl(_PR_CAPBSET_DROP, ctypes.c_ulong(number), 0, 0, 0)


def load_filter(program: bytes) -> None:
    """Applies a seccomp filter to this thread and all that it starts, for good.

    Sets no_new_privs too. Raises OSError if the kernel refuses the filter.
    """
    count, rest = divmod(len(program), _SECCOMP_INSTRUCTION)
    if rest:
        raise OSError(errno.EINVAL, f"{len(program)} bytes are not a system-call filter")
    instructions = ctypes.create_string_buffer(program, len(program))
    program_header = ctypes.create_string_buffer(
        struct.pack("HP", count, ctypes.addressof(instructions))
    )
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.addressof(program_header))


def bring_up_loopback() -> None:
    """Brings up the loopback interface of this network namespace."""
    import fcntl  # missing on Windows

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control, _SIOCSIFFLAGS, struct.pack("16sh22x", b"lo", _IFF_UP))
