"""A private file system: first for a fork server and all its kernels, then for each kernel."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from grader.runtime.worker import syscalls
from grader.runtime.worker.plan import FileView

PLACES = "/places"
"""Where the fork server sees the folders that the grader shares with its kernels."""
ROOT = "/student"
"""Where a kernel sees its folder."""
HOST = "student"

_NEW = "/tmp"  # noqa: S108  # covered by a mount that only this process sees
_PARTS = ("home", "work", "tmp", "shm")


def enter_view(view: FileView, places: str) -> None:
    """Restricts this process, and all that it forks, to *view* and the folder *places*.

    Needs new mount and pid namespaces. Raises OSError.
    """
    syscalls.mount("none", "/", flags=syscalls.MS_REC | syscalls.MS_PRIVATE)
    os.umask(0o022)  # a kernel that runs as another user must be able to read the view
    # Held open, because the new root may cover them.
    places_folder = os.open(places, os.O_PATH | os.O_DIRECTORY)
    visible_paths = filter(os.path.lexists, (*view["read"], *view["devices"]))
    sources = {path: os.open(path, os.O_PATH | os.O_NOFOLLOW) for path in visible_paths}
    syscalls.mount(
        "view", _NEW, "tmpfs", syscalls.MS_NOSUID | syscalls.MS_NODEV, "mode=755,size=4m"
    )
    for path, descriptor in sources.items():
        _show_path(path, descriptor, device=path in view["devices"])
    _create_contents(view)
    _bind(f"/proc/self/fd/{places_folder}", _NEW + PLACES, read_only=False)
    for descriptor in (places_folder, *sources.values()):
        os.close(descriptor)
    _mount_proc(_NEW)  # now: Linux allows it only while another complete /proc is visible
    syscalls.pivot_root(_NEW)
    _remount("/", syscalls.MS_RDONLY | syscalls.MS_NODEV)


def _create_contents(view: FileView) -> None:
    """Creates the parts of the view that are not mounted: small files, empty folders, links."""
    for path, text in view["texts"].items():
        target = Path(_NEW + path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    for path in view["hide"]:
        if Path(_NEW + path).is_dir():
            syscalls.mount("hidden", _NEW + path, "tmpfs", syscalls.MS_RDONLY, "size=4k,mode=755")
    for name in ("/proc", ROOT, "/dev/shm"):  # noqa: S108
        Path(_NEW + name).mkdir(parents=True, exist_ok=True)
    for name in ("/tmp", "/var/tmp"):  # noqa: S108
        Path(_NEW + name).parent.mkdir(parents=True, exist_ok=True)
        if not os.path.lexists(_NEW + name):  # the interpreter may live in there
            Path(_NEW + name).symlink_to(ROOT + "/tmp")  # noqa: S108
    for link, goal in (("fd", "/proc/self/fd"), ("stdin", "fd/0"), ("stdout", "fd/1")):
        Path(f"{_NEW}/dev/{link}").symlink_to(goal)


def _show_path(path: str, descriptor: int, *, device: bool) -> None:
    """Shows *path*, open as *descriptor*, in the new view; a link is copied, not followed."""
    kind = os.fstat(descriptor).st_mode
    if stat.S_ISLNK(kind):
        target = Path(_NEW + path)
        target.parent.mkdir(parents=True, exist_ok=True)
        if not os.path.lexists(target):
            target.symlink_to(os.readlink("", dir_fd=descriptor))
        return
    _bind(f"/proc/self/fd/{descriptor}", _NEW + path, read_only=not device, device=device)


def _bind(source: str, target: str, *, read_only: bool, device: bool = False) -> None:
    """Mounts the file or folder *source* at *target*, which is created if it is missing."""
    is_folder = stat.S_ISDIR(os.stat(source).st_mode)  # noqa: PTH116
    goal = Path(target)
    if is_folder:
        goal.mkdir(parents=True, exist_ok=True)
    else:
        goal.parent.mkdir(parents=True, exist_ok=True)
        goal.touch()
    syscalls.mount(source, target, flags=syscalls.MS_BIND)
    flags = syscalls.MS_RDONLY if read_only else 0
    _remount(target, flags if device else flags | syscalls.MS_NODEV)


def _remount(target: str, flags: int) -> None:
    """Sets *flags* and MS_NOSUID on a mount, with inherited flags that can't be cleared."""
    flags |= syscalls.MS_REMOUNT | syscalls.MS_BIND | syscalls.MS_NOSUID
    inherited = os.statvfs(target).f_flag
    for mount_flag, inherited_flag in (
        (syscalls.MS_NODEV, os.ST_NODEV),
        (syscalls.MS_NOEXEC, os.ST_NOEXEC),
        (syscalls.MS_RDONLY, os.ST_RDONLY),
    ):
        flags |= mount_flag if inherited & inherited_flag else 0
    syscalls.mount("", target, flags=flags)


def _mount_proc(root: str = "") -> None:
    """Mounts a /proc of this pid namespace. Raises OSError if a container forbids it."""
    flags = syscalls.MS_NOSUID | syscalls.MS_NODEV | syscalls.MS_NOEXEC
    syscalls.mount("proc", root + "/proc", "proc", flags)


def enter_kernel_view(owner: int | None, size: int) -> None:
    """Creates the folder of one kernel, in memory and of at most *size* bytes; hides all others.

    Also sets a neutral host name. Needs new namespaces, copied from those of a fork server in its
    view. Raises OSError.
    """
    owner_id = os.getuid() if owner is None else owner
    options = f"size={size},mode=700,nr_inodes={max(size // 4096, 1000)}"
    syscalls.mount("scratch", ROOT, "tmpfs", syscalls.MS_NOSUID | syscalls.MS_NODEV, options)
    for name in _PARTS:
        os.mkdir(f"{ROOT}/{name}", 0o700)  # noqa: PTH102
    syscalls.mount(f"{ROOT}/shm", "/dev/shm", flags=syscalls.MS_BIND)  # noqa: S108
    if owner_id != os.getuid():
        for name in ("", *_PARTS):
            os.chown(f"{ROOT}/{name}", owner_id, owner_id)
    for name in ("/tmp", "/var/tmp"):  # noqa: S108
        _mount_temporary_folder(name)
    syscalls.unmount(PLACES)
    _mount_proc()
    syscalls.call_libc("sethostname", HOST.encode(), len(HOST))


def _mount_temporary_folder(folder: str) -> None:
    """Makes *folder* the kernel's temporary folder, with what the view shows in it."""
    if os.path.islink(folder):  # noqa: PTH114  # it leads to the kernel's temporary folder already
        return
    both = syscalls.MS_BIND | syscalls.MS_REC
    for name in os.listdir(folder):  # noqa: PTH208
        inner = os.path.join(ROOT, "tmp", name)  # noqa: PTH118
        os.mkdir(inner, 0o755)  # noqa: PTH102
        syscalls.mount(f"{folder}/{name}", inner, flags=both)
    syscalls.mount(ROOT + "/tmp", folder, flags=both)  # noqa: S108
