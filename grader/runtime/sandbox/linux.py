"""The Linux sandbox: every layer that this machine offers, each tested before use."""

from __future__ import annotations

import base64
import errno
import os
import sys
import sysconfig
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

from grader.errors import SetupError
from grader.files import PACKAGE
from grader.model import Limits
from grader.runtime.sandbox import cgroups
from grader.runtime.sandbox import filter as system_calls
from grader.runtime.sandbox.base import GIB, WATCHED, Layer, Place, Sandbox, sandboxes
from grader.runtime.sandbox.probing import surveyed
from grader.runtime.worker import view
from grader.runtime.worker.plan import Fence, Plan, View

SLOTS = 512
FIRST_UID = 0x7000_0000
"""The first user id for student code if the grader is root. No distribution or container runtime
assigns ids in this range."""
_BLOCKS = 2**15
"""Ids reserved for each grading process, so that two never use the same one at a time."""
_LIBSECCOMP = "install libseccomp2 (Debian, Ubuntu), libseccomp (Fedora)"
_GROUPED = {
    True: "limits total memory and processes, and gives each notebook an equal share of CPU",
    False: "limits total memory and processes",
}
_NAMESPACES = ("mount", "pid", "net", "ipc", "uts")
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/lib32", "/opt/nvidia")
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
        """Every layer; each is tested once per process."""
        grouped = cgroups.find() is not None
        detail = (
            _GROUPED[cgroups.shares_processors()]
            if grouped
            else (f"not available: {cgroups.missing()}; each kernel's supervisor counts instead")
        )
        group = Layer("cgroup", grouped, detail)
        return (*_layers(_survey(), root=os.geteuid() == 0), group)

    def plan(self, device: str = "cpu", *, loopback: bool = False) -> Plan:
        """A plan with every layer that works here.

        It has a *loopback* only in a network namespace; without one, it would be the machine's.
        """
        found = _survey()
        loopback = loopback and _has(found, "net")
        # Without a pid namespace, a view would have no /proc by which to end processes.
        spaces = [n for n in _NAMESPACES if _has(found, n) and (n != "mount" or _viewed(found))]
        if _has(found, "user"):
            spaces.insert(0, "user")
        seen = _view(device, proc=_has(found, "proc") and "pid" in spaces)
        apart = "mount" in spaces
        fenced = _fence(seen, apart) if _has(found, "fence") else None
        program: str | None = None
        if _has(found, "filter"):
            beside = fenced is not None and not apart and self.uid(0) is None
            program = _program(device, network=loopback, apart=apart, beside=beside)
        return Plan(
            namespaces=spaces,
            view=seen if apart else None,
            fence=fenced,
            filter=program,
            drop=_has(found, "drop"),
            loopback=loopback,
        )

    def uid(self, slot: int) -> int | None:
        """An otherwise unused user id if the grader runs as root; None otherwise."""
        found = _survey()
        if os.geteuid() != 0 or not (_has(found, "switch") or _viewed(found)):
            return None
        # In a view, the few ids that it maps are enough, since no other user's files are in it.
        block = 0 if _viewed(found) else os.getpid() % _BLOCKS
        return FIRST_UID + block * SLOTS + slot % SLOTS

    def inner(self, place: Place) -> Place:
        """If there is a view, *place* at a path that is the same for all kernels."""
        return Place(Path(view.ROOT)) if _viewed(_survey()) else place

    def group(self, name: str, limits: Limits) -> cgroups.Group | None:
        """A control group for one kernel, if this process may create groups.

        Raises OSError if the kernel refuses one: the evidence already lists this layer.
        """
        tree = _tree()
        if tree is None:
            return None
        made = tree.group(name, memory_bytes=limits.memory_bytes, processes=limits.processes)
        if made is None:
            raise OSError(errno.EAGAIN, "its control group could not be created")
        return made

    def rlimits(self, limits: Limits, device: str = "cpu") -> Mapping[str, int]:
        """The usual limits, and the number of processes if it is counted per kernel."""
        found = dict(super().rlimits(limits, device))
        if _viewed(_survey()):
            found["RLIMIT_FSIZE"] = GIB  # the limit on all files together is smaller
        if _has(_survey(), "user") or self.uid(0) is not None:
            found["RLIMIT_NPROC"] = limits.processes
        return found


@cache
def _survey() -> Mapping[str, str | None]:
    """Why each feature is missing, by name; None if it is available. Raises SetupError."""
    seen = _view("cpu", proc=True)
    asked = {
        "view": seen,
        "uid": FIRST_UID,
        "needs": [os.__file__, *filter(os.path.exists, set(seen["read"]) - set(_SETTINGS))],
        "filter": _program("cpu"),
    }
    return surveyed(asked)


def _has(found: Mapping[str, str | None], layer: str) -> bool:
    return layer in found and found[layer] is None


def _viewed(found: Mapping[str, str | None]) -> bool:
    """Whether kernels get a separate file system."""
    return _has(found, "mount") and _has(found, "pid")


@cache
def _tree() -> cgroups.Tree | None:
    """Where groups can be created, after removing those that killed graders have left."""
    tree = cgroups.find()
    if tree is not None:
        tree.sweep()
    return tree


@cache
def _program(
    device: str,
    *,
    network: bool = False,
    apart: bool = True,
    beside: bool = False,
) -> str | None:
    from grader.runtime.worker import landlock

    cut = not beside or "truncation" in landlock.covered(landlock.abi())
    try:
        program = system_calls.program(
            device=device, network=network, apart=apart, beside=beside, cut=cut
        )
        return base64.b64encode(program).decode()
    except (SetupError, OSError):  # including a library that knows the call but not the action
        return None


def _view(device: str, *, proc: bool) -> View:
    """The interpreter, its packages and the system files they need, but nothing of the grader."""
    packages = (sysconfig.get_path("purelib"), sysconfig.get_path("platlib"))
    # Where this package is, and where an installer puts its bank beside an editable one.
    ours = {str(PACKAGE), *(f"{folder}/grader" for folder in packages)}
    ours |= {os.path.realpath(folder) for folder in ours}
    gpu = device == "cuda"
    devices = [*_DEVICES, *(sorted(map(str, Path("/dev").glob("nvidia*"))) if gpu else ())]
    me = os.getuid()
    users = range(FIRST_UID, FIRST_UID + SLOTS) if os.geteuid() == 0 else range(me, me + 1)
    return View(
        read=list(_outermost([*_SYSTEM, *_interpreter(), *_SETTINGS, *(["/sys"] if gpu else [])])),
        hide=sorted(ours),
        devices=devices,
        texts={
            "/etc/passwd": "".join(f"student:x:{n}:{n}::{view.ROOT}/home:/bin/sh\n" for n in users),
            "/etc/group": "".join(f"student:x:{n}:\n" for n in users),
            "/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
            "/etc/hosts": f"127.0.0.1 localhost {view.HOST}\n::1 localhost\n",
            "/etc/hostname": f"{view.HOST}\n",
        },
        proc=proc,
    )


def _interpreter() -> Iterable[str]:
    """The folders of Python and its packages, and the targets of links to them."""
    folders = {sys.prefix, sys.base_prefix, sys.exec_prefix, *sysconfig.get_paths().values()}
    import site

    if site.ENABLE_USER_SITE:
        folders.add(site.getusersitepackages())
    for folder in sorted(folders):
        if os.path.isdir(folder):  # noqa: PTH112
            yield folder
            real = os.path.realpath(folder)
            if real != folder:
                yield real
    yield str(Path(os.path.realpath(sys.executable)).parent.parent)


def _outermost(paths: Iterable[str]) -> Iterable[str]:
    """*paths* without duplicates and without paths inside others."""
    kept: list[str] = []
    for path in sorted(dict.fromkeys(paths)):
        if os.path.islink(path) or not any(path.startswith(k + "/") for k in kept):  # noqa: PTH114
            kept.append(path)
    return kept


def _fence(seen: View, has_view: bool) -> Fence:
    """Landlock rules that allow the whole view; without a view, what it would contain."""
    if has_view:
        # The view shows only readable folders, so that only writing needs to be restricted.
        write = [view.ROOT, "/dev/shm", "/tmp", "/var/tmp"]  # noqa: S108
        return Fence(read=["/"], names=[], write=write, devices=seen["devices"])
    from grader.runtime.worker.landlock import below

    parts = {folder: below(folder, seen["hide"]) for folder in seen["read"]}
    read = [path for paths in parts.values() for path in paths]
    return Fence(
        names=[f for f, paths in parts.items() if paths not in ([], [os.path.realpath(f)])],
        read=[*read, *_ABOUT_ITSELF, *("/etc/passwd", "/etc/group", "/etc/nsswitch.conf")],
        write=[],
        devices=seen["devices"],
    )


def _layers(found: Mapping[str, str | None], *, root: bool) -> tuple[Layer, ...]:
    def why(*names: str) -> str:
        return next((found[n] or "" for n in names if found.get(n)), "it could not be tested")

    def either(name: str, there: str, *ways: tuple[str, str], fix: str = "") -> Layer:
        """A layer that is present if any of the *ways* works."""
        for way, how in ways:
            if _has(found, way):
                return Layer(name, True, f"{there}: {how}")
        return Layer(name, False, f"not available: {why(*(way for way, _ in ways))}", fix)

    spaces = _how_to_get_namespaces(root)
    fenced = _has(found, "fence")
    return (
        Layer("environment", True, "no variable of the grader's environment is inherited"),
        either(
            "scratch", "home, working and temporary folders are private",
            ("mount", "in memory, of bounded size"),
        ) if _has(found, "mount") else Layer(
            "scratch", True,
            f"home, working and temporary folders are private and removed afterwards; {WATCHED}",
        ),
        Layer("rlimits", True, "CPU time, memory, file size and open files are limited"),
        either(
            "user", "runs as a user who owns nothing else",
            *((("switch", "another user id"), ("mount", "another user id")) if root else ()),
            ("user", "a user namespace"),
            fix=spaces,
        ),
        either(
            "files", "only the interpreter, its packages and the scratch folder can be seen",
            ("mount", "a mount namespace"),
            ("fence", "Landlock, which can't hide names, sizes and times"), fix=spaces,
        ),
        either(
            "metadata", "modes, owners and times of files outside can't be changed",
            ("mount", "a read-only view"),
            *((("switch", "they belong to another user"),) if root else ()),
            *((("filter", "seccomp; modes and times can't be changed at all"),) if fenced else ()),
            fix=_LIBSECCOMP if _has(found, "fence") and not _has(found, "filter") else spaces,
        ),
        either(
            "network", "nothing can be reached",
            ("net", "an empty network namespace"),
            # Seccomp refuses internet sockets; only Landlock refuses sockets of other processes.
            *((("signals", "seccomp and Landlock"),) if _has(found, "filter") else ()), fix=spaces,
        ),
        either(
            "processes", "no other process can be seen, signaled or left behind",
            ("pid", "a pid namespace"), ("signals", "Landlock"), fix=spaces,
        ),
        either("ipc", "no shared memory with others", ("ipc", "an ipc namespace"), fix=spaces),
        either("hostname", "a neutral host name", ("uts", "a uts namespace"), fix=spaces),
        either(
            "landlock", "files and signals are refused a second time",
            ("fence", "Landlock"), fix="boot a Linux kernel with Landlock enabled",
        ),
        either(
            "system-calls", "calls that notebooks do not need are refused",
            ("filter", "seccomp"), fix=_LIBSECCOMP,
        ),
        either("privileges", "no capabilities, and no way to gain any", ("drop", "no_new_privs")),
    )  # fmt: skip


def _how_to_get_namespaces(root: bool) -> str:
    if root:
        return "run the container with --cap-add SYS_ADMIN, or run outside of a container"
    for name, fine in (
        ("kernel/apparmor_restrict_unprivileged_userns", "0"),
        ("kernel/unprivileged_userns_clone", "1"),
        ("user/max_user_namespaces", "10000"),
    ):
        path = Path("/proc/sys", name)
        value = path.read_text(encoding="ascii").strip() if path.exists() else fine
        if value != fine and not (value.isdigit() and int(value) > 1):
            return f"sudo sysctl -w {name.replace('/', '.')}={fine}"
        if name.startswith("kernel/apparmor") and value == "1":
            return f"sudo sysctl -w {name.replace('/', '.')}=0"
    return "allow user namespaces; run a container with a seccomp profile that allows them"


if sys.platform == "linux":
    sandboxes.add("wall")(LinuxSandbox())
