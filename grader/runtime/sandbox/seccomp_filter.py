"""The system-call filter of a student's process: an allow-list, compiled by libseccomp.

Calls that notebooks do not need get EPERM if they are named here, and otherwise ENOSYS, as from an
older kernel, so that libraries fall back. A call that is allowed for certain arguments must have
only rules with arguments: libseccomp silently lets a rule without arguments win.
"""

from __future__ import annotations

import contextlib
import errno
import tempfile
from collections.abc import Iterator, Sequence
from functools import cache
from types import ModuleType
from typing import Any

from grader.errors import SetupError
from grader.runtime.sandbox.system_calls import ALLOWED, IGNORED, NOT_FENCED, REFUSED

_LOW = 0xFFFF_FFFF
"""The kernel reads only these bits of most arguments; comparing all bits could be evaded."""

# CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET. clone ignores NEWTIME.
_NEW_NAMESPACES = tuple(1 << bit for bit in (17, 25, 26, 27, 28, 29, 30))

_CONNECTED = (1, 5)
"""SOCK_STREAM and SOCK_SEQPACKET."""
_AF_UNIX, _AF_INET, _AF_INET6, _AF_NETLINK = 1, 2, 10, 16
# Socket types and protocols: TCP streams, UDP datagrams, and of netlink only routes.
_INTERNET = ((1, 0), (1, 6), (2, 0), (2, 17))
_NETWORK = {_AF_INET: _INTERNET, _AF_INET6: _INTERNET, _AF_NETLINK: ((2, 0), (3, 0))}
_FAMILIES = 64  # more than there are

_TERMINAL = 0x54
"""The second byte of every terminal ioctl, including those that inject keyboard input."""
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
# Terminal settings, its size and its processes; then requests for any descriptor
# (FIONREAD, FIONBIO, FIONCLEX, FIOCLEX, FIOASYNC); then pseudo-terminals (TIOCGPTN, TIOCSPTLCK,
# TIOCGPTPEER) and TCGETS2 to TCSETSF2.
_IOCTLS: tuple[int, ...] = (
    *(*range(0x5401, 0x540C), 0x540E, 0x540F, 0x5410, 0x5411, 0x5413, 0x5414, 0x5422, 0x5429),
    *(0x541B, 0x5421, 0x5450, 0x5451, 0x5452),
    *(0x8004_5430, 0x4004_5431, 0x5441, 0x802C_542A, 0x402C_542B, 0x402C_542C, 0x402C_542D),
)
# Read-only: SIOCGIFNAME, -CONF, -FLAGS, -ADDR, -BRDADDR, -NETMASK, -MTU, -HWADDR, -INDEX.
_NETWORK_IOCTLS = (0x8910, 0x8912, 0x8913, 0x8915, 0x8919, 0x891B, 0x8921, 0x8927, 0x8933)

_PR_SET_DUMPABLE = 4
# PR_SET_PDEATHSIG to PR_SET_DUMPABLE, PR_SET_NAME, PR_GET_NAME, PR_GET_SECCOMP, PR_CAPBSET_READ,
# the timer slack, the subreaper, no_new_privs, PR_GET_TID_ADDRESS, huge pages, the
# speculation controls, aarch64's vectors, pointers and tags, PR_SET_VMA (names of mappings).
_PRCTLS = (*range(1, 5), 15, 16, 21, 23, 29, 30, *range(36, 43), *range(50, 57), 0x5356_4D41)

# F_DUPFD to F_OWNER_UIDS, locks of open files, F_GETLEASE, F_DUPFD_QUERY to F_CREATED_QUERY,
# F_CANCELLK to the hints of F_SET_FILE_RW_HINT. A lease can block other processes.
_FCNTLS = (*range(18), *range(36, 39), 1025, *range(1027, 1039))
_LEASES = (1024, 1026, 1040)  # F_SETLEASE, F_NOTIFY, F_SETDELEG

_SCHED_OTHER, _SCHEDULERS = 0, (1, 2, 3, 5, 6)

_MAP_SHARED, _MAP_ANONYMOUS = 0x01, 0x20  # the first is in MAP_SHARED_VALIDATE too

_S_IFMT, _S_IFREG, _S_IFIFO, _S_IFSOCK, _S_IFCHR, _S_IFBLK = (
    *(0o170000, 0o100000, 0o010000, 0o140000, 0o020000, 0o060000),
)

Rule = tuple[int, str, tuple[Any, ...]]
"""An action, the name of a call, and what its arguments must be."""


def compile_rules(wanted: Sequence[Rule], *, architecture: str = "NATIVE") -> bytes:
    """Returns *wanted* as a BPF program for the kernel.

    Leaves out calls unknown to this libseccomp or to *architecture*.
    """
    seccomp = _load_libseccomp()
    found = seccomp.SyscallFilter(seccomp.ERRNO(errno.ENOSYS))
    # 32-bit and x32 calls have other numbers; using one is an attempt to evade the filter.
    found.set_attr(seccomp.Attr.ACT_BADARCH, seccomp.KILL_PROCESS)
    wanted_architecture = getattr(seccomp.Arch, architecture)
    if wanted_architecture not in {seccomp.Arch.NATIVE, seccomp.system_arch()}:
        found.add_arch(wanted_architecture)
        found.remove_arch(seccomp.system_arch())
    with contextlib.suppress(OSError):  # before libseccomp 2.5; then it compiles to a list
        # A tree, so that calls decided by their arguments are found in a few steps.
        found.set_attr(seccomp.Attr.CTL_OPTIMIZE, 2)
    for action, name, arguments in wanted:
        number = seccomp.resolve_syscall(seccomp.Arch.NATIVE, name)
        if number >= 0:
            found.add_rule(action, number, *arguments)
    with tempfile.TemporaryFile() as file:
        found.export_bpf(file)
        file.seek(0)
        return file.read()


def filter_rules(
    *,
    network: bool = False,
    device: str = "cpu",
    apart: bool = True,
    beside: bool = False,
    cut: bool = True,
) -> list[Rule]:
    """Returns all rules that allow or refuse a call by name, for libseccomp.

    *network* allows internet sockets, for a process in a separate network; *device* "cuda" allows
    the calls of its driver; *apart* says that the process has a separate file system. *beside* says
    that only Landlock separates the process from others of the same user: modes and times of files
    can't be changed. *cut* allows truncating files by path. Raises SetupError if libseccomp is
    missing.
    """
    seccomp = _load_libseccomp()
    allow, refuse = seccomp.ALLOW, seccomp.ERRNO(errno.EPERM)
    cuda = device == "cuda"
    elsewhere = {} if cut else {"truncate": refuse}
    if beside:
        elsewhere |= dict.fromkeys(NOT_FENCED, refuse)
        # Reported as successful: a refusal would make shutil.copy and tarfile fail.
        elsewhere |= dict.fromkeys(IGNORED, seccomp.ERRNO(0))
    found: list[Rule] = [(elsewhere.get(name, allow), name, ()) for name in ALLOWED]
    found += [(refuse, name, ()) for name in REFUSED]
    if cuda:
        found += [(allow, name, ()) for name in ("memfd_create", "mmap", "mlockall", "munlockall")]
    else:
        found += _mapping_rules()
    found += _new_process_rules()
    found += _other_process_rules(beside=beside)
    found += [(allow, "fcntl", (_low_bits_equal(1, number),)) for number in _FCNTLS]
    found += [(refuse, "fcntl", (_low_bits_equal(1, number),)) for number in _LEASES]
    found += _socket_rules(network, apart)
    found += _ioctl_rules(network, cuda)
    # A process that is not dumpable would hide its open files from the supervisor.
    hiding = () if apart else (_PR_SET_DUMPABLE,)
    found += [
        (allow, "prctl", (_low_bits_equal(0, number),))
        for number in _PRCTLS
        if number not in hiding
    ]
    found += [(refuse, "prctl", (_low_bits_equal(0, number),)) for number in hiding]
    # The default personality, and the value that only queries it.
    found += [(allow, "personality", (_low_bits_equal(0, number),)) for number in (0, _LOW)]
    found += _node_rules()
    return found


@cache
def _load_libseccomp() -> ModuleType:
    fix = (
        "install it (Debian and Ubuntu: apt install libseccomp2; Fedora: dnf install libseccomp; "
        "Alpine: apk add libseccomp)"
    )
    try:
        import pyseccomp
    except ImportError as error:
        raise SetupError(
            "the package pyseccomp is not installed, so system calls can't be filtered",
            fix="pip install pyseccomp",
        ) from error
    except (RuntimeError, OSError, AttributeError) as error:  # missing, not loadable, or too old
        raise SetupError(
            "the library libseccomp.so.2 is missing, so system calls can't be filtered", fix=fix
        ) from error
    found: ModuleType = pyseccomp
    return found


def _low_bits_equal(argument: int, value: int, mask: int = _LOW) -> Any:
    """Returns a condition: the argument, masked by *mask*, equals *value*."""
    seccomp = _load_libseccomp()
    return seccomp.Arg(argument, seccomp.MASKED_EQ, mask, value)


def _mapping_rules() -> Iterator[Rule]:
    """Allows private mappings and mappings of files, but not shared anonymous memory.

    Pages of the latter can outlive their mapping, and then no process's memory count shows them.
    """
    seccomp = _load_libseccomp()
    both = _MAP_SHARED | _MAP_ANONYMOUS
    yield seccomp.ALLOW, "mmap", (_low_bits_equal(3, 0, _MAP_SHARED),)
    yield seccomp.ALLOW, "mmap", (_low_bits_equal(3, _MAP_SHARED, both),)
    yield seccomp.ERRNO(errno.EPERM), "mmap", (_low_bits_equal(3, both, both),)


def _new_process_rules() -> Iterator[Rule]:
    """Allows new processes and threads, but not in new namespaces."""
    seccomp = _load_libseccomp()
    yield seccomp.ALLOW, "clone", (_low_bits_equal(0, 0, sum(_NEW_NAMESPACES)),)
    for flag in _NEW_NAMESPACES:
        yield seccomp.ERRNO(errno.EPERM), "clone", (_low_bits_equal(0, flag, flag),)


def _other_process_rules(*, beside: bool) -> Iterator[Rule]:
    """Allows changing limits and priorities of the caller only, since the supervisor has its uid.

    Setting a scheduler names a thread by its id, which every thread of zmq does. So *beside* other
    processes of the same user, only the default scheduler can be set, and only the calling thread
    can change its CPU affinity.
    """
    seccomp = _load_libseccomp()
    equal, other, refuse = seccomp.EQ, seccomp.NE, seccomp.ERRNO(errno.EPERM)
    for name in ("prlimit64", "sched_setattr"):
        yield seccomp.ALLOW, name, (seccomp.Arg(0, equal, 0),)
        yield refuse, name, (seccomp.Arg(0, other, 0),)
    if beside:
        yield seccomp.ALLOW, "sched_setaffinity", (_low_bits_equal(0, 0),)
        for bit in (1 << shift for shift in range(32)):
            yield refuse, "sched_setaffinity", (_low_bits_equal(0, bit, bit),)
        yield seccomp.ALLOW, "sched_setscheduler", (_low_bits_equal(1, _SCHED_OTHER),)
        for number in _SCHEDULERS:
            yield refuse, "sched_setscheduler", (_low_bits_equal(1, number),)
    else:
        yield seccomp.ALLOW, "sched_setaffinity", ()
        yield seccomp.ALLOW, "sched_setscheduler", ()
    # The first argument says whether the second is a process or a user.
    yield seccomp.ALLOW, "setpriority", (seccomp.Arg(0, equal, 0), seccomp.Arg(1, equal, 0))
    yield refuse, "setpriority", (seccomp.Arg(0, other, 0),)
    yield refuse, "setpriority", (seccomp.Arg(0, equal, 0), seccomp.Arg(1, other, 0))


def _socket_rules(network: bool, apart: bool) -> Iterator[Rule]:
    """Allows sockets between processes; with *network*, also TCP and UDP sockets.

    Unless the file system is *apart*, sockets in it belong to other programs, such as the user's
    service manager. Then connecting is refused, and so are datagrams, which need no connection.

    *network* also allows netlink to list network interfaces, which torch's gloo does first.
    """
    seccomp = _load_libseccomp()
    equal, refuse = seccomp.EQ, seccomp.ERRNO(errno.EPERM)
    unix = seccomp.Arg(0, equal, _AF_UNIX)
    fenced = not apart and not network
    yield (refuse if fenced else seccomp.ALLOW), "connect", ()
    for name in ("socket", "socketpair"):
        if not fenced:
            yield seccomp.ALLOW, name, (unix,)
            continue
        for kind in range(16):
            how = seccomp.ALLOW if kind in _CONNECTED else refuse
            yield how, name, (unix, _low_bits_equal(1, kind, 0x0F))
    yield refuse, "socketpair", (seccomp.Arg(0, seccomp.NE, _AF_UNIX),)
    families = _NETWORK if network else {}
    for family, kinds in families.items():
        for kind, protocol in kinds:
            wanted = (seccomp.Arg(0, equal, family), _low_bits_equal(1, kind, 0x0F))
            yield seccomp.ALLOW, "socket", (*wanted, seccomp.Arg(2, equal, protocol))
        for kind in set(range(16)) - {kind for kind, _ in kinds}:
            yield refuse, "socket", (seccomp.Arg(0, equal, family), _low_bits_equal(1, kind, 0x0F))
    for family in set(range(_FAMILIES)) - {_AF_UNIX, *families}:
        # zmq looks for network interfaces, and aborts the process on any other error.
        how = seccomp.ERRNO(errno.EOPNOTSUPP) if family == _AF_NETLINK else refuse
        yield how, "socket", (seccomp.Arg(0, equal, family),)
    yield refuse, "socket", (seccomp.Arg(0, seccomp.GE, _FAMILIES),)


def _ioctl_rules(network: bool, cuda: bool) -> Iterator[Rule]:
    """Allows ioctls for terminals and any descriptor; with *cuda*, also all of a driver."""
    seccomp = _load_libseccomp()
    for number in (*_IOCTLS, *(_NETWORK_IOCTLS if network and not cuda else ())):
        yield seccomp.ALLOW, "ioctl", (_low_bits_equal(1, number),)
    for number in (_TIOCSTI, _TIOCLINUX):
        yield seccomp.ERRNO(errno.EPERM), "ioctl", (_low_bits_equal(1, number),)
    # "The second byte is not a terminal's" means that at least one of its eight bits differs.
    for bit in (1 << shift for shift in range(8, 16)) if cuda else ():
        yield seccomp.ALLOW, "ioctl", (_low_bits_equal(1, ~(_TERMINAL << 8) & bit, bit),)


def _node_rules() -> Iterator[Rule]:
    """Allows creating named pipes, sockets and files, but no devices."""
    seccomp = _load_libseccomp()
    for name, place in (("mknod", 1), ("mknodat", 2)):
        for kind in (0, _S_IFREG, _S_IFIFO, _S_IFSOCK):
            yield seccomp.ALLOW, name, (_low_bits_equal(place, kind, _S_IFMT),)
        for kind in (_S_IFCHR, _S_IFBLK):
            yield seccomp.ERRNO(errno.EPERM), name, (_low_bits_equal(place, kind, _S_IFMT),)
