"""The system-call filter of a student's process: an allow-list, compiled by libseccomp.

What no notebook has a use for is answered EPERM when it is named here, and ENOSYS when it is not,
as an older kernel would answer, so that libraries fall back. A call that is allowed by its
arguments has rules with arguments only: libseccomp lets a rule without arguments win in silence.
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

_FILES = """
    access chdir chmod chown close close_range copy_file_range creat dup dup2 dup3 faccessat
    faccessat2 fadvise64 fallocate fchdir fchmod fchmodat fchmodat2 fchown fchownat fcntl fdatasync
    fgetxattr flistxattr flock fstat fstatfs fsync ftruncate futimesat getcwd getdents getdents64
    getxattr inotify_add_watch inotify_init inotify_init1 inotify_rm_watch lchown lgetxattr link
    linkat listxattr llistxattr lseek lstat mkdir mkdirat newfstatat open openat openat2 pipe pipe2
    pread64 preadv preadv2 pwrite64 pwritev pwritev2 read readahead readlink readlinkat readv
    rename renameat renameat2 rmdir sendfile stat statfs statx symlink symlinkat
    sync_file_range truncate umask unlink unlinkat utime utimensat utimes write writev
"""
_MEMORY = """
    brk get_mempolicy madvise map_shadow_stack mbind membarrier mincore mlock mlock2 mprotect
    mremap mseal msync munlock munmap pkey_alloc pkey_free pkey_mprotect set_mempolicy
"""
_PROCESSES = """
    arch_prctl capget capset execve execveat exit exit_group fork getcpu getegid geteuid getgid
    getgroups getpgid getpgrp getpid getppid getpriority getresgid getresuid getrlimit getrusage
    getsid gettid getuid ioprio_get kill landlock_add_rule landlock_create_ruleset
    landlock_restrict_self pidfd_open pidfd_send_signal rseq rt_sigaction rt_sigpending
    rt_sigprocmask rt_sigqueueinfo rt_sigreturn rt_sigsuspend rt_sigtimedwait rt_tgsigqueueinfo
    sched_get_priority_max sched_get_priority_min sched_getaffinity sched_getattr sched_getparam
    sched_getscheduler sched_rr_get_interval sched_setaffinity sched_setparam sched_setscheduler
    sched_yield get_robust_list set_robust_list set_tid_address setfsgid setfsuid setgid setgroups
    setpgid setregid setresgid setresuid setreuid setrlimit setsid setuid sigaltstack tgkill tkill
    uname vfork wait4 waitid
"""
_WAITING = """
    alarm clock_getres clock_gettime clock_nanosleep epoll_create epoll_create1 epoll_ctl
    epoll_pwait epoll_pwait2 epoll_wait eventfd eventfd2 futex futex_requeue futex_wait futex_waitv
    futex_wake getitimer getrandom gettimeofday nanosleep pause poll ppoll pselect6 restart_syscall
    select setitimer signalfd signalfd4 sysinfo time timer_create timer_delete timer_getoverrun
    timer_gettime timer_settime timerfd_create timerfd_gettime timerfd_settime times
"""
_SOCKETS = """
    accept accept4 bind getpeername getsockname getsockopt listen recvfrom recvmmsg recvmsg
    sendmmsg sendmsg sendto setsockopt shutdown
"""
ALLOWED: tuple[str, ...] = tuple(
    " ".join((_FILES, _MEMORY, _PROCESSES, _WAITING, _SOCKETS)).split()
)
"""Calls allowed whatever their arguments are."""

_REFUSED = """
    process_madvise process_vm_readv process_vm_writev ptrace kcmp pidfd_getfd
    chroot fsconfig fsmount fsopen fspick mount mount_setattr move_mount open_tree open_tree_attr
    pivot_root umount umount2
    setns unshare
    add_key keyctl request_key
    bpf io_uring_enter io_uring_register io_uring_setup perf_event_open userfaultfd
    delete_module finit_module init_module kexec_file_load kexec_load
    acct ioperm iopl quotactl quotactl_fd reboot setdomainname sethostname swapoff swapon syslog
    adjtimex clock_adjtime clock_settime settimeofday
    fanotify_init fanotify_mark name_to_handle_at open_by_handle_at
    memfd_secret msgctl msgget msgrcv msgsnd semctl semget semop semtimedop shmat shmctl shmdt
    shmget
    fremovexattr fsetxattr lremovexattr lsetxattr removexattr setxattr
    seccomp
"""
REFUSED: tuple[str, ...] = tuple(_REFUSED.split())
"""Calls answered EPERM. The last lines: memory that nothing counts, and filters upon this one."""

ABSENT = ("clone3", "memfd_create")
"""Calls left to the default, ENOSYS: the C library and libffi have another way then.

The flags of clone3 are in memory, where no filter can see them. The memory of memfd_create is in
no scratch directory and in no process's own count.
"""

_LOW = 0xFFFF_FFFF
"""The kernel reads only these bits of most arguments, and a comparison without it is evaded."""

# CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET. NEWTIME is not taken by clone.
_NEW_NAMESPACES = tuple(1 << bit for bit in (17, 25, 26, 27, 28, 29, 30))

_CONNECTED = (1, 5)
"""SOCK_STREAM and SOCK_SEQPACKET."""
_AF_UNIX, _AF_INET, _AF_INET6, _AF_NETLINK = 1, 2, 10, 16
# A kind of socket and its protocol: streams, TCP; datagrams, UDP; of netlink, its routes alone.
_INTERNET = ((1, 0), (1, 6), (2, 0), (2, 17))
_NETWORK = {_AF_INET: _INTERNET, _AF_INET6: _INTERNET, _AF_NETLINK: ((2, 0), (3, 0))}
_FAMILIES = 64  # more than there are

_TERMINAL = 0x54
"""The second byte of every ioctl of a terminal: among them those that type for the user."""
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
# Terminal settings, its size and its processes; then what is said of any descriptor
# (FIONREAD, FIONBIO, FIONCLEX, FIOCLEX, FIOASYNC); then pseudo-terminals (TIOCGPTN, TIOCSPTLCK,
# TIOCGPTPEER) and TCGETS2 to TCSETSF2.
_IOCTLS: tuple[int, ...] = (
    *(*range(0x5401, 0x540C), 0x540E, 0x540F, 0x5410, 0x5411, 0x5413, 0x5414, 0x5422, 0x5429),
    *(0x541B, 0x5421, 0x5450, 0x5451, 0x5452),
    *(0x8004_5430, 0x4004_5431, 0x5441, 0x802C_542A, 0x402C_542B, 0x402C_542C, 0x402C_542D),
)
# SIOCGIFNAME, -CONF, -FLAGS, -ADDR, -BRDADDR, -NETMASK, -MTU, -HWADDR, -INDEX: to read only.
_NETWORK_IOCTLS = (0x8910, 0x8912, 0x8913, 0x8915, 0x8919, 0x891B, 0x8921, 0x8927, 0x8933)

# PR_SET_PDEATHSIG to PR_SET_DUMPABLE, PR_SET_NAME, PR_GET_NAME, PR_GET_SECCOMP, PR_CAPBSET_READ,
# the timer slack, the subreaper, no_new_privs, PR_GET_TID_ADDRESS, huge pages, the
# speculation controls, aarch64's vectors, pointers and tags, PR_SET_VMA (names of mappings).
_PRCTLS = (*range(1, 5), 15, 16, 21, 23, 29, 30, *range(36, 43), *range(50, 57), 0x5356_4D41)

_MAP_SHARED, _MAP_ANONYMOUS = 0x01, 0x20  # the first is in MAP_SHARED_VALIDATE too

_S_IFMT, _S_IFREG, _S_IFIFO, _S_IFSOCK, _S_IFCHR, _S_IFBLK = (
    *(0o170000, 0o100000, 0o010000, 0o140000, 0o020000, 0o060000),
)

Rule = tuple[int, str, tuple[Any, ...]]
"""An action, the name of a call, and what its arguments must be."""


@cache
def program(*, network: bool = False, device: str = "cpu", apart: bool = True) -> bytes:
    """The filter for this machine's processor, as the kernel wants it.

    *network* allows internet sockets, for a network of the process's own; *device* "cuda" what its
    driver needs; *apart* says that the file system is not that of the machine. SetupError where
    libseccomp is not there.
    """
    return compiled(rules(network=network, device=device, apart=apart))


def compiled(wanted: Sequence[Rule], *, architecture: str = "NATIVE") -> bytes:
    """These rules as a program; a name that this libseccomp or this processor lacks is left out."""
    seccomp = _library()
    found = seccomp.SyscallFilter(seccomp.ERRNO(errno.ENOSYS))
    # 32-bit and x32 calls have other numbers: whoever makes one wants around the filter.
    found.set_attr(seccomp.Attr.ACT_BADARCH, seccomp.KILL_PROCESS)
    wanted_architecture = getattr(seccomp.Arch, architecture)
    if wanted_architecture not in {seccomp.Arch.NATIVE, seccomp.system_arch()}:
        found.add_arch(wanted_architecture)
        found.remove_arch(seccomp.system_arch())
    with contextlib.suppress(OSError):  # before libseccomp 2.5; a list does the same
        # A tree, so that a call which is decided by its arguments is found in a few steps.
        found.set_attr(seccomp.Attr.CTL_OPTIMIZE, 2)
    for action, name, arguments in wanted:
        number = seccomp.resolve_syscall(seccomp.Arch.NATIVE, name)
        if number >= 0:
            found.add_rule(action, number, *arguments)
    with tempfile.TemporaryFile() as file:
        found.export_bpf(file)
        file.seek(0)
        return file.read()


def rules(*, network: bool = False, device: str = "cpu", apart: bool = True) -> list[Rule]:
    """All that is allowed and all that is refused by name, for libseccomp."""
    seccomp = _library()
    allow, refuse = seccomp.ALLOW, seccomp.ERRNO(errno.EPERM)
    cuda = device == "cuda"
    found: list[Rule] = [(allow, name, ()) for name in ALLOWED]
    found += [(refuse, name, ()) for name in REFUSED]
    if cuda:
        found += [(allow, name, ()) for name in ("memfd_create", "mmap", "mlockall", "munlockall")]
    else:
        found += _mappings()
    found += _new_processes()
    found += _other_processes()
    found += _sockets(network, apart)
    found += _ioctls(network, cuda)
    found += [(allow, "prctl", (_low(0, number),)) for number in _PRCTLS]
    # The personality of every program, and the number that only asks for it.
    found += [(allow, "personality", (_low(0, number),)) for number in (0, _LOW)]
    found += _nodes()
    return found


@cache
def _library() -> ModuleType:
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
    except (RuntimeError, OSError, AttributeError) as error:  # not there, not loaded, too old
        raise SetupError(
            "the library libseccomp.so.2 is not there, so system calls can't be filtered", fix=fix
        ) from error
    found: ModuleType = pyseccomp
    return found


def _low(argument: int, value: int, mask: int = _LOW) -> Any:
    """This argument has *value* in the bits of *mask*."""
    seccomp = _library()
    return seccomp.Arg(argument, seccomp.MASKED_EQ, mask, value)


def _mappings() -> Iterator[Rule]:
    """Memory of the process alone or of a file, not shared memory without a file.

    Its pages stay when they are no longer mapped, so that no count of a process shows them.
    """
    seccomp = _library()
    both = _MAP_SHARED | _MAP_ANONYMOUS
    yield seccomp.ALLOW, "mmap", (_low(3, 0, _MAP_SHARED),)
    yield seccomp.ALLOW, "mmap", (_low(3, _MAP_SHARED, both),)
    yield seccomp.ERRNO(errno.EPERM), "mmap", (_low(3, both, both),)


def _new_processes() -> Iterator[Rule]:
    """Processes and threads, but none in a namespace of its own."""
    seccomp = _library()
    yield seccomp.ALLOW, "clone", (_low(0, 0, sum(_NEW_NAMESPACES)),)
    for flag in _NEW_NAMESPACES:
        yield seccomp.ERRNO(errno.EPERM), "clone", (_low(0, flag, flag),)


def _other_processes() -> Iterator[Rule]:
    """Limits and priorities of the caller alone: the guard has the same user, and is not its.

    The scheduler of a thread is free, because every thread of zmq sets its own by its number.
    """
    seccomp = _library()
    equal, other, refuse = seccomp.EQ, seccomp.NE, seccomp.ERRNO(errno.EPERM)
    for name in ("prlimit64", "sched_setattr"):
        yield seccomp.ALLOW, name, (seccomp.Arg(0, equal, 0),)
        yield refuse, name, (seccomp.Arg(0, other, 0),)
    # First what the number is one of, a process or a user; then the number.
    yield seccomp.ALLOW, "setpriority", (seccomp.Arg(0, equal, 0), seccomp.Arg(1, equal, 0))
    yield refuse, "setpriority", (seccomp.Arg(0, other, 0),)
    yield refuse, "setpriority", (seccomp.Arg(0, equal, 0), seccomp.Arg(1, other, 0))


def _sockets(network: bool, apart: bool) -> Iterator[Rule]:
    """Sockets between processes; those of the internet, streams and datagrams, when asked for.

    Without a file system *apart*, sockets that lie in it are those of other programs, such as the
    one by which a user's services are started: then none is connected to, and there are no
    datagrams, which need no connection.

    With them the list of network interfaces, which comes over netlink: torch's gloo begins with it.
    """
    seccomp = _library()
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
            yield how, name, (unix, _low(1, kind, 0x0F))
    yield refuse, "socketpair", (seccomp.Arg(0, seccomp.NE, _AF_UNIX),)
    families = _NETWORK if network else {}
    for family, kinds in families.items():
        for kind, protocol in kinds:
            wanted = (seccomp.Arg(0, equal, family), _low(1, kind, 0x0F))
            yield seccomp.ALLOW, "socket", (*wanted, seccomp.Arg(2, equal, protocol))
        for kind in set(range(16)) - {kind for kind, _ in kinds}:
            yield refuse, "socket", (seccomp.Arg(0, equal, family), _low(1, kind, 0x0F))
    for family in set(range(_FAMILIES)) - {_AF_UNIX, *families}:
        # zmq, which looks for network interfaces, ends the process for any other error.
        how = seccomp.ERRNO(errno.EOPNOTSUPP) if family == _AF_NETLINK else refuse
        yield how, "socket", (seccomp.Arg(0, equal, family),)
    yield refuse, "socket", (seccomp.Arg(0, seccomp.GE, _FAMILIES),)


def _ioctls(network: bool, cuda: bool) -> Iterator[Rule]:
    """What is said to terminals and to any descriptor; to a driver, all but what terminals take."""
    seccomp = _library()
    for number in (*_IOCTLS, *(_NETWORK_IOCTLS if network and not cuda else ())):
        yield seccomp.ALLOW, "ioctl", (_low(1, number),)
    for number in (_TIOCSTI, _TIOCLINUX):
        yield seccomp.ERRNO(errno.EPERM), "ioctl", (_low(1, number),)
    # "Another second byte than a terminal's" is: at least one of its eight bits differs.
    for bit in (1 << shift for shift in range(8, 16)) if cuda else ():
        yield seccomp.ALLOW, "ioctl", (_low(1, ~(_TERMINAL << 8) & bit, bit),)


def _nodes() -> Iterator[Rule]:
    """Named pipes, sockets and files, but no devices."""
    seccomp = _library()
    for name, place in (("mknod", 1), ("mknodat", 2)):
        for kind in (0, _S_IFREG, _S_IFIFO, _S_IFSOCK):
            yield seccomp.ALLOW, name, (_low(place, kind, _S_IFMT),)
        for kind in (_S_IFCHR, _S_IFBLK):
            yield seccomp.ERRNO(errno.EPERM), name, (_low(place, kind, _S_IFMT),)
