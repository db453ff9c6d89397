"""The names of the system calls that the filter allows, refuses, or passes to the supervisor."""

from __future__ import annotations

_FILES = """
    access chdir chmod chown close close_range copy_file_range creat dup dup2 dup3 faccessat
    faccessat2 fadvise64 fallocate fchdir fchmod fchmodat fchmodat2 fchown fchownat fdatasync
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
    sched_getscheduler sched_rr_get_interval sched_setparam
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
"""Calls that are allowed with any arguments."""

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

ABSENT = ("clone3", "memfd_create")
"""Calls left to the default, ENOSYS, so that the C library and libffi fall back to others.

The flags of clone3 are in memory, where no filter can see them. The memory of memfd_create is
counted neither in the scratch directory nor for any process.
"""

IGNORED = ("chmod", "fchmod", "fchmodat", "fchmodat2", "utimensat")
"""Calls that Landlock can't restrict, and that libraries make after copying a file."""

NOT_FENCED = (
    "chown", "fchown", "fchownat", "lchown", "futimesat", "utime", "utimes", "inotify_add_watch",
)  # fmt: skip
"""Other calls that Landlock can't restrict, such as watching file names come and go."""
