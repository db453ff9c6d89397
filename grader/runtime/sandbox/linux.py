"""The Linux sandbox: every layer that this machine offers, each tested before use."""

from __future__ import annotations

import base64
import contextlib
import errno
import os
import sys
import sysconfig
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

from grader.files import PACKAGE
from grader.model import Limits
from grader.runtime.sandbox import cgroups, seccomp_filter
from grader.runtime.sandbox.base import GIB, Layer, Sandbox, ScratchFolder, sandboxes
from grader.runtime.sandbox.probing import probe_features
from grader.runtime.worker import view
from grader.runtime.worker.plan import FileView, LandlockRules, SandboxPlan

SLOTS = 512
FIRST_UID = 0x7000_0000
"""The first user id for student code if the grader is root. No distribution or container runtime
assigns ids in this range."""
_BLOCKS = 2**15
"""Ids reserved for each grading process, so that two never use the same one at a time."""
_LIBSECCOMP = "install libseccomp2 (Debian, Ubuntu), libseccomp (Fedora)"
_SYSTEM = ("/bin", "/sbin", "/lib", "/lib64", "/lib32", "/opt/nvidia")
# Everything in these folders but what is named: a course may lie in /usr/src, where images of
# Docker often put an application.
_SYSTEM_EXCEPT = {"/usr": ("local", "src", "lost+found"), "/usr/local": ("src", "lost+found")}
# Of an environment, only what it installs is shown: its folder may contain a whole course.
_PARTS = (
    "bin", "etc", "include", "lib", "lib64", "libexec", "nvvm", "plugins", "pyvenv.cfg", "sbin",
    "share", "ssl", "targets", "aarch64-conda-linux-gnu", "x86_64-conda-linux-gnu",
)  # fmt: skip
_SETTINGS = (
    "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives",
    "/etc/localtime", "/etc/fonts", "/etc/mime.types", "/sys/devices/system/cpu",
    "/sys/devices/system/node",
)  # fmt: skip
# Not /dev/zero: a shared mapping of it is memory that no supervisor sees.
_DEVICES = ("/dev/null", "/dev/full", "/dev/random", "/dev/urandom")
_ABOUT_ITSELF = ("/proc/self", "/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/filesystems")


class LinuxSandbox(Sandbox):
    """All layers that this machine offers, the same for every kernel."""

    def layers(self) -> tuple[Layer, ...]:
        """Returns every layer; each is tested once per process."""
        features = _probe_features()
        environment, scratch, limits, *_ = super().layers()
        if features["namespaces"] is None:
            detail = "home, working, and temporary folders are private: in memory, of bounded size"
            scratch = replace(scratch, detail=detail)
        return environment, scratch, limits, *_list_layers(features, root=os.geteuid() == 0)

    def plan(self, device: str = "cpu", *, loopback: bool = False) -> SandboxPlan:
        """Returns a plan with every layer that works here.

        It has a *loopback* only in a network namespace; without one, it would be the machine's.
        """
        features = _probe_features()
        apart = features["namespaces"] is None
        file_view = _make_view(device)
        rules = _make_landlock_rules(file_view, apart) if features["landlock"] is None else None
        program: str | None = None
        if features["filter"] is None:
            beside = rules is not None and not apart and self.uid_of(0) is None
            network = loopback and apart
            program = _compile_filter(device, network=network, apart=apart, beside=beside)
        return SandboxPlan(
            view=file_view if apart else None,
            landlock=rules,
            filter=program,
            drop=True,
            loopback=loopback and apart,
        )

    def uid_of(self, slot: int) -> int | None:
        """Returns an otherwise unused user id if the grader runs as root; None otherwise."""
        features = _probe_features()
        apart = features["namespaces"] is None
        if os.geteuid() != 0 or not (apart or features["switch"] is None):
            return None
        return _first_uid() + slot % SLOTS

    def inner_folder(self, place: ScratchFolder) -> ScratchFolder:
        """Returns *place* as a kernel sees it: with a view, at the same path for all kernels."""
        apart = _probe_features()["namespaces"] is None
        return ScratchFolder(Path(view.ROOT)) if apart else place

    def make_group(self, name: str, limits: Limits) -> cgroups.ControlGroup | None:
        """Returns a control group for one kernel, if this process may create groups.

        Raises OSError if the kernel refuses one: the evidence already lists this layer.
        """
        tree = _find_tree()
        if tree is None:
            return None
        group = tree.make_group(name, memory_bytes=limits.memory_bytes, processes=limits.processes)
        if group is None:
            raise OSError(errno.EAGAIN, "its control group could not be created")
        return group

    @property
    def has_shared_memory(self) -> bool:
        """Whether kernels can create shared memory: not if Landlock closes the machine's."""
        features = _probe_features()
        return features["namespaces"] is None or features["landlock"] is not None

    def rlimits(self, limits: Limits, device: str = "cpu") -> Mapping[str, int]:
        """Returns the usual limits, and the number of processes if it is counted per kernel."""
        resource_limits = dict(super().rlimits(limits, device))
        apart = _probe_features()["namespaces"] is None
        if apart:
            resource_limits["RLIMIT_FSIZE"] = GIB  # the limit on all files together is smaller
        if apart or self.uid_of(0) is not None:
            resource_limits["RLIMIT_NPROC"] = limits.processes
        return resource_limits


def _first_uid() -> int:
    """Returns the first user id of this process's kernels if it is root.

    Linux adds up the processes of a user id over all containers, and kernels of another grader must
    not count against the limit of ours. So ids differ also between processes with the same number
    in two containers.
    """
    block = (os.getpid() + Path("/proc/self/ns/pid").stat().st_ino) % _BLOCKS
    return FIRST_UID + block * SLOTS


@cache
def _probe_features() -> Mapping[str, str | None]:
    """Returns why each feature is missing, by name; None if it is available. Raises SetupError."""
    file_view = _make_view("cpu")
    optional = {*_SETTINGS, *_iter_system_folders()}
    settings = {
        "view": file_view,
        "uid": FIRST_UID,
        "needs": [os.__file__, *filter(os.path.exists, set(file_view["read"]) - optional)],
        "filter": _compile_filter("cpu"),
    }
    return probe_features(settings)


@cache
def _find_tree() -> cgroups.GroupTree | None:
    """Returns where groups can be created, after removing those that killed graders have left."""
    tree = cgroups.find_tree()
    if isinstance(tree, str):
        return None
    tree.remove_abandoned()
    return tree


@cache
def _compile_filter(
    device: str,
    *,
    network: bool = False,
    apart: bool = True,
    beside: bool = False,
) -> str | None:
    """Returns the filter's program in base64; None without libseccomp."""
    try:
        rules = seccomp_filter.filter_rules(
            device=device, network=network, apart=apart, beside=beside
        )
        return base64.b64encode(seccomp_filter.compile_rules(rules)).decode()
    except seccomp_filter.MISSING:
        return None


def _make_view(device: str) -> FileView:
    """Returns a view of the interpreter, its packages and system files, without the grader."""
    packages = (sysconfig.get_path("purelib"), sysconfig.get_path("platlib"))
    # Where this package is, and where an installer puts its bank beside an editable one.
    ours = {str(PACKAGE), *(f"{folder}/grader" for folder in packages)}
    ours |= {os.path.realpath(folder) for folder in ours}
    gpu = device == "cuda"
    devices = [*_DEVICES, *(sorted(map(str, Path("/dev").glob("nvidia*"))) if gpu else ())]
    folders = [*_iter_system_folders(), *_iter_interpreter_folders()]
    is_root = os.geteuid() == 0
    first = _first_uid() if is_root else os.getuid()
    users = range(first, first + (SLOTS if is_root else 1))
    return FileView(
        read=_list_outermost([*_SYSTEM, *folders, *_SETTINGS, *(["/sys"] if gpu else [])]),
        hide=sorted(ours),
        devices=devices,
        texts={
            "/etc/passwd": "".join(f"student:x:{n}:{n}::{view.ROOT}/home:/bin/sh\n" for n in users),
            "/etc/group": "".join(f"student:x:{n}:\n" for n in users),
            "/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
            "/etc/hosts": f"127.0.0.1 localhost {view.HOST}\n::1 localhost\n",
            "/etc/hostname": f"{view.HOST}\n",
        },
    )


def _iter_system_folders() -> Iterable[str]:
    """Yields the contents of the system's folders, without what may belong to somebody."""
    for folder, left_out in _SYSTEM_EXCEPT.items():
        with contextlib.suppress(OSError), os.scandir(folder) as entries:
            yield from (entry.path for entry in entries if entry.name not in left_out)


def _iter_interpreter_folders() -> Iterable[str]:
    """Yields the folders of Python and its packages, and the targets of links to them."""
    paths = sysconfig.get_paths()
    del paths["data"]  # the whole environment
    program = Path(os.path.realpath(sys.executable))
    roots = {sys.prefix, sys.base_prefix, sys.exec_prefix, str(program.parent.parent)}
    folders = {f"{root}/{part}" for root in roots for part in _PARTS} | set(paths.values())
    import site

    if site.ENABLE_USER_SITE:
        folders.add(site.getusersitepackages())
    for folder in sorted(folders):
        if os.path.exists(folder):  # noqa: PTH110
            yield folder
            real = os.path.realpath(folder)
            if real != folder:
                yield real


def _list_outermost(paths: Iterable[str]) -> list[str]:
    """Returns *paths* without duplicates and without paths inside others."""
    kept: list[str] = []
    for path in sorted(dict.fromkeys(paths)):
        if os.path.islink(path) or not any(path.startswith(k + "/") for k in kept):  # noqa: PTH114
            kept.append(path)
    return kept


def _make_landlock_rules(file_view: FileView, has_view: bool) -> LandlockRules:
    """Returns rules that allow the whole view; without a view, what it would contain.

    With a view, a path that kernels may read belongs in `_make_view`.
    """
    if has_view:
        # The view shows only readable folders, so that only writing needs to be restricted.
        write = [view.ROOT, "/dev/shm", "/tmp", "/var/tmp"]  # noqa: S108
        return LandlockRules(read=["/"], names=[], write=write, devices=file_view["devices"])
    from grader.runtime.worker.landlock import list_allowed_paths

    parts = {folder: list_allowed_paths(folder, file_view["hide"]) for folder in file_view["read"]}
    read = list(dict.fromkeys(path for paths in parts.values() for path in paths))
    return LandlockRules(
        names=[f for f, paths in parts.items() if paths not in ([], [os.path.realpath(f)])],
        read=[*read, *_ABOUT_ITSELF, *("/etc/passwd", "/etc/group", "/etc/nsswitch.conf")],
        write=[],
        devices=file_view["devices"],
    )


def _list_layers(features: Mapping[str, str | None], *, root: bool) -> tuple[Layer, ...]:
    """Returns the layers that depend on the machine; *features* has why features are missing."""
    spaces = _suggest_namespace_fix(root)

    def layer_of(name: str, effect: str, *ways: tuple[str, str], fix: str = spaces) -> Layer:
        """Returns a layer that is present if any of the *ways*, features with details, works."""
        for feature, how in ways:
            if features[feature] is None:
                return Layer(name, True, f"{effect}: {how}")
        return Layer(name, False, f"not available: {features[ways[0][0]]}", fix)

    tree = cgroups.find_tree()
    counted = f"not available: {tree}; the supervisor of each kernel counts"
    if isinstance(tree, cgroups.GroupTree):
        counted = "limits total memory and processes"
        counted += ", and gives each notebook an equal share of CPU" * ("cpu" in tree.folders)
    another_user = (("switch", "another user id"),) if root else ()
    has_landlock, has_filter = features["landlock"] is None, features["filter"] is None
    only_seccomp = ("filter", "seccomp; modes and times can't be changed at all")
    modes = (only_seccomp,) if has_landlock else ()
    # Seccomp refuses internet sockets; only Landlock refuses sockets of other processes.
    sockets = (("signals", "seccomp and Landlock"),) if has_filter else ()
    return (
        layer_of(
            "user", "runs as a user who owns nothing else",
            ("namespaces", "another user id" if root else "a user namespace"), *another_user,
        ),
        layer_of(
            "files", "only the interpreter, its packages and the scratch folder can be seen",
            ("namespaces", "a mount namespace"),
            ("landlock", "Landlock, which can't hide names, sizes, and times"),
        ),
        layer_of(
            "metadata", "modes, owners, and times of files outside can't be changed",
            ("namespaces", "a read-only view"), *another_user, *modes,
            fix=_LIBSECCOMP if has_landlock and not has_filter else spaces,
        ),
        layer_of(
            "network", "nothing can be reached",
            ("namespaces", "an empty network namespace"), *sockets,
        ),
        layer_of(
            "processes", "no other process can be seen, signaled or left behind",
            ("namespaces", "a pid namespace"), ("signals", "Landlock"),
        ),
        layer_of("ipc", "no shared memory with others", ("namespaces", "an ipc namespace")),
        layer_of("hostname", "a neutral host name", ("namespaces", "a uts namespace")),
        layer_of(
            "landlock", "files and signals are refused a second time",
            ("landlock", "Landlock"), fix="boot a Linux kernel with Landlock enabled",
        ),
        layer_of(
            "system-calls", "calls that notebooks do not need are refused",
            ("filter", "seccomp"), fix=_LIBSECCOMP,
        ),
        Layer("privileges", True, "no capabilities, and no way to gain any: no_new_privs"),
        Layer("cgroup", isinstance(tree, cgroups.GroupTree), counted),
    )  # fmt: skip


def _suggest_namespace_fix(root: bool) -> str:
    """Returns how to enable namespaces, by the system's settings."""
    if root:
        return "run the container with --cap-add SYS_ADMIN, or run outside of a container"
    for name, wanted in (
        ("kernel/apparmor_restrict_unprivileged_userns", "0"),
        ("kernel/unprivileged_userns_clone", "1"),
        ("user/max_user_namespaces", "10000"),
    ):
        path = Path("/proc/sys", name)
        value = path.read_text(encoding="ascii").strip() if path.exists() else wanted
        if value != wanted and not (value.isdigit() and int(value) > 1):
            return f"sudo sysctl -w {name.replace('/', '.')}={wanted}"
    return "allow user namespaces; run a container with a seccomp profile that allows them"


if sys.platform == "linux":
    sandboxes.add("wall")(LinuxSandbox())
