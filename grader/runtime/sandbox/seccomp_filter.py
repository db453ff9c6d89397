"""The system-call filter of a student's process: an allow-list, compiled by libseccomp.

Calls that notebooks do not need get EPERM if they are named here, and otherwise ENOSYS, as from an
older kernel, so that libraries fall back. A call that is allowed for certain arguments must have
only rules with arguments: libseccomp silently lets a rule without arguments win.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import tempfile
from collections.abc import Iterator, Sequence
from typing import NamedTuple

_ALLOWED = """
    access chdir chmod chown close close_range copy_file_range creat dup dup2 dup3 faccessat
    faccessat2 fadvise64 fallocate fchdir fchmod fchmodat fchmodat2 fchown fchownat fdatasync
    fgetxattr flistxattr flock fstat fstatfs fsync ftruncate futimesat getcwd getdents getdents64
    getxattr inotify_add_watch inotify_init inotify_init1 inotify_rm_watch lchown lgetxattr link
    linkat listxattr llistxattr lseek lstat mkdir mkdirat newfstatat open openat openat2 pipe pipe2
    pread64 preadv preadv2 pwrite64 pwritev pwritev2 read readahead readlink readlinkat readv
    rename renameat renameat2 rmdir sendfile stat statfs statx symlink symlinkat
    sync_file_range truncate umask unlink unlinkat utime utimensat utimes write writev
    brk get_mempolicy madvise map_shadow_stack mbind membarrier mincore mlock mlock2 mprotect
    mremap mseal msync munlock munmap pkey_alloc pkey_free pkey_mprotect set_mempolicy
    arch_prctl capget capset execve execveat exit exit_group fork getcpu getegid geteuid getgid
    getgroups getpgid getpgrp getpid getppid getpriority getresgid getresuid getrlimit getrusage
    getsid gettid getuid ioprio_get kill landlock_add_rule landlock_create_ruleset
    landlock_restrict_self pidfd_open pidfd_send_signal rseq rt_sigaction rt_sigpending
    rt_sigprocmask rt_sigqueueinfo rt_sigreturn rt_sigsuspend rt_sigtimedwait rt_tgsigqueueinfo
    sched_get_priority_max sched_get_priority_min sched_getaffinity sched_getattr sched_getparam
    sched_getscheduler sched_rr_get_interval sched_setparam
    sched_yield get_robust_list set_robust_list set_tid_address setfsgid setfsuid setgid setgroups
    setpgid setregid setresgid setresuid setreuid setrlimit setsid setuid sigaltstack tgkill tkill
    uname vfork wait4 waitid
    alarm clock_getres clock_gettime clock_nanosleep epoll_create epoll_create1 epoll_ctl
    epoll_pwait epoll_pwait2 epoll_wait eventfd eventfd2 futex futex_requeue futex_wait futex_waitv
    futex_wake getitimer getrandom gettimeofday nanosleep pause poll ppoll pselect6 restart_syscall
    select setitimer signalfd signalfd4 sysinfo time timer_create timer_delete timer_getoverrun
    timer_gettime timer_settime timerfd_create timerfd_gettime timerfd_settime times
    accept accept4 bind getpeername getsockname getsockopt listen recvfrom recvmmsg recvmsg
    sendmmsg sendmsg sendto setsockopt shutdown
"""
ALLOWED: tuple[str, ...] = tuple(_ALLOWED.split())
"""Calls that are allowed with any arguments.

Not clone3, whose flags are in memory, where no filter can see them, and not memfd_create, whose
memory is counted neither in the scratch directory nor for any process.
"""

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
"""Calls refused with EPERM. The last lines: memory that is not counted, and further filters."""

_IGNORED = ("chmod", "fchmod", "fchmodat", "fchmodat2", "utimensat")
"""Calls that Landlock can't restrict, and that libraries make after copying a file."""
_NOT_FENCED = (
    "chown", "fchown", "fchownat", "lchown", "futimesat", "utime", "utimes", "inotify_add_watch",
    "truncate",
)  # fmt: skip
"""Other calls that no Landlock or only some versions restrict, such as watching a folder."""

_LOW = 0xFFFF_FFFF
"""The kernel reads only these bits of most arguments; comparing all bits could be evaded."""

_NEW_NAMESPACES = 0x7E02_0000
"""CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET; clone ignores NEWTIME."""

_AF_UNIX, _AF_INET, _AF_INET6, _AF_NETLINK = 1, 2, 10, 16
_STREAM, _DATAGRAM, _RAW, _PACKETS = 1, 2, 3, 5
# Types and protocols of sockets: TCP streams, UDP datagrams, and of netlink only routes.
_INTERNET = ((_STREAM, 0), (_STREAM, 6), (_DATAGRAM, 0), (_DATAGRAM, 17))
_NETWORK = {
    _AF_INET: _INTERNET, _AF_INET6: _INTERNET, _AF_NETLINK: ((_DATAGRAM, 0), (_RAW, 0)),
}  # fmt: skip
_SOCKET_TYPE = 0x0F
"""The bits of a socket's type; the others are flags."""

_TERMINAL = 0x5400
"""The second byte of every terminal ioctl, including those that inject keyboard input."""
# Terminal settings, its size and its processes; then requests for any descriptor
# (FIONREAD, FIONBIO, FIONCLEX, FIOCLEX, FIOASYNC); then pseudo-terminals (TIOCGPTN, TIOCSPTLCK,
# TIOCGPTPEER) and TCGETS2 to TCSETSF2.
_IOCTLS = (
    *(*range(0x5401, 0x540C), 0x540E, 0x540F, 0x5410, 0x5411, 0x5413, 0x5414, 0x5422, 0x5429),
    *(0x541B, 0x5421, 0x5450, 0x5451, 0x5452),
    *(0x8004_5430, 0x4004_5431, 0x5441, 0x802C_542A, 0x402C_542B, 0x402C_542C, 0x402C_542D),
)
# Read-only: SIOCGIFNAME, -CONF, -FLAGS, -ADDR, -BRDADDR, -NETMASK, -MTU, -HWADDR, -INDEX.
_NETWORK_IOCTLS = (0x8910, 0x8912, 0x8913, 0x8915, 0x8919, 0x891B, 0x8921, 0x8927, 0x8933)

_PR_SET_DUMPABLE = 4
# PR_SET_PDEATHSIG to PR_GET_DUMPABLE, PR_SET_NAME, PR_GET_NAME, PR_GET_SECCOMP, PR_CAPBSET_READ,
# the timer slack, the subreaper, no_new_privs, PR_GET_TID_ADDRESS, huge pages, the
# speculation controls, aarch64's vectors, pointers and tags, PR_SET_VMA (names of mappings).
_PRCTLS = (*range(1, 4), 15, 16, 21, 23, 29, 30, *range(36, 43), *range(50, 57), 0x5356_4D41)

# F_DUPFD to F_OWNER_UIDS, F_GETLEASE, F_DUPFD_QUERY to F_CREATED_QUERY, F_CANCELLK to the hints of
# F_SET_FILE_RW_HINT. Not F_SETLEASE, which can block other processes, nor the locks of open files,
# which belong to no process and so are not counted.
_FCNTLS = (*range(18), 1025, *range(1027, 1039))

_MAP_SHARED, _MAP_ANONYMOUS = 0x01, 0x20  # the first is in MAP_SHARED_VALIDATE too
_S_IFMT = 0o170000
_NODES = (0, 0o100000, 0o010000, 0o140000)
"""Files, named pipes, and sockets, but no devices."""

Condition = tuple[int, int, int]
"""The number of an argument, and the value that it must have in the bits of a mask."""


MISSING = (ImportError, RuntimeError, OSError, AttributeError)
"""Raised without the package pyseccomp or its library, and by a library that is too old."""


class Rule(NamedTuple):
    """What happens to a call whose arguments meet all conditions."""

    name: str
    conditions: tuple[Condition, ...] = ()
    error: int | None = None
    """The error that it gets; 0 reports success without doing anything, None allows it."""


def compile_rules(wanted: Sequence[Rule]) -> bytes:
    """Returns *wanted* as a BPF program for the kernel.

    Leaves out calls unknown to this libseccomp. Raises one of MISSING without libseccomp.
    """
    import pyseccomp as seccomp

    syscall_filter = seccomp.SyscallFilter(seccomp.ERRNO(errno.ENOSYS))
    # 32-bit and x32 calls have other numbers; using one is an attempt to evade the filter.
    syscall_filter.set_attr(seccomp.Attr.ACT_BADARCH, seccomp.KILL_PROCESS)
    with contextlib.suppress(OSError):  # before libseccomp 2.5; then it compiles to a list
        # A tree, so that calls decided by their arguments are found in a few steps.
        syscall_filter.set_attr(seccomp.Attr.CTL_OPTIMIZE, 2)
    for name, conditions, error in wanted:
        number = seccomp.resolve_syscall(seccomp.Arch.NATIVE, name)
        if number >= 0:
            action = seccomp.ALLOW if error is None else seccomp.ERRNO(error)
            arguments = (seccomp.Arg(n, seccomp.MASKED_EQ, m, v) for n, v, m in conditions)
            syscall_filter.add_rule(action, number, *arguments)
    with tempfile.TemporaryFile() as file:
        syscall_filter.export_bpf(file)
        file.seek(0)
        return file.read()


def filter_rules(
    *, network: bool = False, device: str = "cpu", apart: bool = True, beside: bool = False
) -> list[Rule]:
    """Returns all rules that allow or refuse a call by name, for libseccomp.

    *network* allows internet sockets, for a process in a separate network; *device* "cuda" allows
    the calls of its driver; *apart* says that the process has a separate file system. *beside* says
    that only Landlock separates the process from others of the same user: modes and times of files
    can't be changed.
    """
    errors: dict[str, int] = {}
    if beside:
        # Reported as successful: a refusal would make shutil.copy and tarfile fail.
        errors = dict.fromkeys(_NOT_FENCED, errno.EPERM) | dict.fromkeys(_IGNORED, 0)
    # The first argument of setpriority says whether the second is a process or a user; 0 stands for
    # the caller.
    caller = {"prlimit64": ((0, 0, _LOW),), "setpriority": ((0, 0, _LOW), (1, 0, _LOW))}
    caller["sched_setattr"] = ((0, 0, _LOW),)
    # Setting a scheduler names a thread by its id, which every thread of zmq does. So beside other
    # processes of the same user, only the default scheduler can be set.
    caller["sched_setaffinity"] = ((0, 0, _LOW),) if beside else ()
    caller["sched_setscheduler"] = ((1, 0, _LOW),) if beside else ()
    # A process that is not dumpable would hide its open files from the supervisor.
    prctls = (*_PRCTLS, *((_PR_SET_DUMPABLE,) if apart else ()))
    ioctls = (*_IOCTLS, *(_NETWORK_IOCTLS if network and device != "cuda" else ()))
    return [
        *(Rule(name, error=errors.get(name)) for name in ALLOWED),
        *(Rule(name, error=errno.EPERM) for name in REFUSED),
        *itertools.starmap(Rule, caller.items()),
        Rule("clone", ((0, 0, _NEW_NAMESPACES),)),
        *(Rule("fcntl", ((1, number, _LOW),)) for number in _FCNTLS),
        *(Rule("prctl", ((0, number, _LOW),)) for number in prctls),
        # The default personality, and the value that only queries it.
        *(Rule("personality", ((0, number, _LOW),)) for number in (0, _LOW)),
        *(Rule("mknod", ((1, kind, _S_IFMT),)) for kind in _NODES),
        *(Rule("mknodat", ((2, kind, _S_IFMT),)) for kind in _NODES),
        *(Rule("ioctl", ((1, number, _LOW),)) for number in ioctls),
        *(_cuda_rules() if device == "cuda" else _memory_rules()),
        *_socket_rules(network, apart),
    ]


def _memory_rules() -> Iterator[Rule]:
    """Yields rules that allow private mappings and mappings of files, but not shared anonymous
    memory, whose pages can outlive their mapping, so that no process's memory count shows them."""
    both = _MAP_SHARED | _MAP_ANONYMOUS
    yield Rule("mmap", ((3, 0, _MAP_SHARED),))
    yield Rule("mmap", ((3, _MAP_SHARED, both),))
    yield Rule("mmap", ((3, both, both),), errno.EPERM)


def _cuda_rules() -> Iterator[Rule]:
    """Yields rules that allow shared memory, and all ioctls of drivers."""
    for name in ("memfd_create", "mmap", "mlockall", "munlockall"):
        yield Rule(name)
    # "The second byte is not a terminal's" means that at least one of its eight bits differs.
    for bit in (1 << shift for shift in range(8, 16)):
        yield Rule("ioctl", ((1, ~_TERMINAL & bit, bit),))


def _socket_rules(network: bool, apart: bool) -> Iterator[Rule]:
    """Yields rules that allow sockets between processes; with *network*, also TCP and UDP sockets.

    Unless the file system is *apart*, sockets in it belong to other programs, such as the user's
    service manager. Then connecting is refused, and so are datagrams, which need no connection.

    *network* also allows netlink to list network interfaces, which torch's gloo does first.
    """
    refuses = not apart and not network
    yield Rule("connect", error=errno.EPERM if refuses else None)
    kinds = [((1, kind, _SOCKET_TYPE),) for kind in (_STREAM, _PACKETS)] if refuses else [()]
    for name, kind in itertools.product(("socket", "socketpair"), kinds):
        yield Rule(name, ((0, _AF_UNIX, _LOW), *kind))
    if network:
        for family, type_protocols in _NETWORK.items():
            for socket_type, protocol in type_protocols:
                arguments = (1, socket_type, _SOCKET_TYPE), (2, protocol, _LOW)
                yield Rule("socket", ((0, family, _LOW), *arguments))
        return
    for family in (_AF_INET, _AF_INET6):
        yield Rule("socket", ((0, family, _LOW),), errno.EPERM)
    # zmq looks for network interfaces, and aborts the process on any other error.
    yield Rule("socket", ((0, _AF_NETLINK, _LOW),), errno.EOPNOTSUPP)
