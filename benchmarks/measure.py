"""Runs one command and measures all of its processes: wall time, CPU time, memory.

    python benchmarks/measure.py [--memory] [--timeout 600] --out usage.json -- COMMAND...

CPU time is that of the whole tree. A grader's kernels may end without being waited for by the
process that started them, and then the usual accounting (`time`, RUSAGE_CHILDREN) loses them. So
the command runs in a control group of its own where that may be made, which counts every process
that ever lived in it. Everywhere this process is also the reaper of orphans, so that what it waits
for covers all but those that their own parent ignored. The larger figure counts, and `cpu_from`
says which it is.

Memory is sampled, because proportional set size (shared pages divided among those who share them)
has no high-water mark. Sampling costs CPU time, so it is asked for in runs of its own.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import json
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

SETTLE_SECONDS = 5.0
"""For what the command left running to end by itself."""
_SUBREAPER, _PARENT_DEATH_SIGNAL = 36, 1
_GROUPS = Path("/sys/fs/cgroup")


@dataclass
class Usage:
    """What one command used."""

    code: int | None = None
    """Its exit status; None when it ran past the limit."""
    wall: float = 0.0
    cpu: float = 0.0
    cpu_from: str = ""
    cpu_group: float | None = None
    """By the control group, where there was one."""
    cpu_waited: float = 0.0
    """By what was waited for."""
    busy_elsewhere: float = 0.0
    """CPU-seconds per second that everybody else used meanwhile."""
    left_behind: int = 0
    """Processes that had to be ended after the command had."""
    peak_pss: float | None = None
    """Bytes; the most of any sample, over all processes."""
    kernels: list[dict[str, float]] = field(default_factory=list)
    """For each kernel process, at its largest: bytes that are `private` to it, and of those the
    `dirty` ones, which are not pages of files."""


class Group:
    """A control group that counts CPU time; `folder` is None where none can be made."""

    def __init__(self) -> None:
        self.folder: Path | None = None
        for parent in _parents():
            folder = parent / f"bench-{os.getpid()}"
            try:
                folder.mkdir()
                (folder / "cgroup.procs").open("a").close()
            except OSError:
                with contextlib.suppress(OSError):
                    folder.rmdir()
                continue
            self.folder = folder
            return

    def enter(self) -> None:
        """Puts the calling process into the group."""
        if self.folder is not None:
            with contextlib.suppress(OSError):
                (self.folder / "cgroup.procs").write_text("0")

    def pids(self) -> set[int]:
        """Who is in it now, or in a group inside it."""
        found: set[int] = set()
        if self.folder is not None:
            for file in self.folder.rglob("cgroup.procs"):
                with contextlib.suppress(OSError):
                    found.update(int(line) for line in file.read_text().split())
        return found

    def cpu(self) -> float | None:
        """CPU-seconds of everybody who was ever in it."""
        if self.folder is None:
            return None
        usage = self.folder / "cpuacct.usage"
        if usage.exists():
            return int(usage.read_text()) / 1e9
        fields = dict(line.split() for line in (self.folder / "cpu.stat").read_text().splitlines())
        return int(fields["usage_usec"]) / 1e6

    def remove(self) -> None:
        """Takes it away again, with a little patience for those who are just ending."""
        if self.folder is None:
            return
        for _ in range(40):
            inner = sorted(self.folder.rglob("*/"), reverse=True)
            for folder in (*inner, self.folder):
                with contextlib.suppress(OSError):
                    folder.rmdir()
            if not self.folder.exists():
                return
            time.sleep(0.05)


def _parents() -> Iterator[Path]:
    """Where a group might be made: this process's own in version 2, or version 1's counter."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            if "cpuacct" in controllers.split(","):
                yield _GROUPS / controllers / path.lstrip("/")
                yield _GROUPS / "cpuacct" / path.lstrip("/")
            elif not controllers:
                yield _GROUPS / path.lstrip("/")
                yield _GROUPS / "unified" / path.lstrip("/")


def parents_of_all() -> dict[int, int]:
    """Process to parent, of everything that runs."""
    found = {}
    for entry in os.listdir("/proc"):  # noqa: PTH208  # fast, and names are what is wanted
        if entry.isdecimal():
            with contextlib.suppress(OSError, IndexError, ValueError):
                stat = Path("/proc", entry, "stat").read_text(errors="replace")
                found[int(entry)] = int(stat.rpartition(")")[2].split()[1])
    return found


def descendants(root: int, parents: dict[int, int]) -> set[int]:
    """Everybody below *root*."""
    found: set[int] = set()
    grew = True
    while grew:
        more = {p for p, up in parents.items() if (up == root or up in found)} - found
        grew = bool(more)
        found |= more
    return found


class Sampler(threading.Thread):
    """Looks at the memory of all processes below this one, again and again."""

    def __init__(self, group: Group, main: int, interval: float = 0.03):
        super().__init__(daemon=True)
        self._group, self._main, self._interval = group, main, interval
        self._done = threading.Event()
        self.peak = 0.0
        self._kernels: dict[int, dict[str, float]] = {}
        self._never: set[int] = {main}
        """Not kernels: they had children, or are the command itself."""
        self._torch: set[int] = set()

    def run(self) -> None:
        """Samples until `finish`."""
        while not self._done.wait(self._interval):
            self._look()

    def finish(self) -> list[dict[str, float]]:
        """The private memory of each process that had torch and never a child."""
        self._done.set()
        self.join()
        return [v for p, v in self._kernels.items() if p in self._torch - self._never]

    def _look(self) -> None:
        parents = parents_of_all()
        mine = descendants(os.getpid(), parents) | self._group.pids()
        self._never |= {parents[p] for p in mine if p in parents}
        total = 0.0
        for pid in mine:
            with contextlib.suppress(OSError, ValueError):
                fields = _rollup(pid)
                total += fields["Pss"]
                most = self._kernels.setdefault(pid, {"private": 0.0, "dirty": 0.0})
                dirty = fields["Private_Dirty"]
                most["dirty"] = max(most["dirty"], dirty)
                most["private"] = max(most["private"], dirty + fields["Private_Clean"])
                if pid not in self._torch and fields["Rss"] > 50e6 and _has_torch(pid):
                    self._torch.add(pid)
        self.peak = max(self.peak, total)


def _rollup(pid: int) -> dict[str, float]:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
    return {name.rstrip(":"): float(size) * 1024 for name, size, _ in map(str.split, lines)}


def _has_torch(pid: int) -> bool:
    return "libtorch" in Path(f"/proc/{pid}/maps").read_text()


def run(command: Sequence[str], *, timeout: float, memory: bool) -> Usage:
    """Runs *command* to its end, or until *timeout*, and says what it used."""
    prctl = ctypes.CDLL(None).prctl
    prctl(_SUBREAPER, 1, 0, 0, 0)
    prctl(_PARENT_DEATH_SIGNAL, signal.SIGTERM, 0, 0, 0)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    group = Group()
    try:
        return _run(command, group, timeout, memory)
    finally:
        _ended(group, patience=0)  # only after Ctrl-C or a fault of ours is there anything to end
        group.remove()


def _run(command: Sequence[str], group: Group, timeout: float, memory: bool) -> Usage:
    usage = Usage()
    before, elsewhere = _waited(), _busy()
    began = time.perf_counter()
    process = subprocess.Popen(command, preexec_fn=group.enter, start_new_session=True)  # noqa: PLW1509
    sampler = Sampler(group, process.pid) if memory else None
    if sampler is not None:
        sampler.start()
    try:
        usage.code = process.wait(timeout)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    usage.wall = time.perf_counter() - began
    usage.left_behind = _ended(group, patience=SETTLE_SECONDS)
    usage.cpu_waited = _waited() - before
    usage.cpu_group = group.cpu()
    usage.cpu = max(usage.cpu_waited, usage.cpu_group or 0.0)
    usage.cpu_from = "group" if usage.cpu == usage.cpu_group else "waited"
    spent = time.perf_counter() - began
    usage.busy_elsewhere = max((_busy() - elsewhere - usage.cpu) / spent, 0.0)
    if sampler is not None:
        usage.kernels = sampler.finish()
        usage.peak_pss = sampler.peak
    return usage


def _waited() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _busy() -> float:
    """CPU-seconds that the machine was not idle since it started."""
    ticks = [int(n) for n in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    return (sum(ticks) - ticks[3] - ticks[4]) / os.sysconf("SC_CLK_TCK")


def _ended(group: Group, patience: float) -> int:
    """Waits for what is still running, then kills it; how many had to be killed."""
    deadline, killed = time.monotonic() + patience, 0
    while True:
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        rest = (descendants(os.getpid(), parents_of_all()) | group.pids()) - {os.getpid()}
        if not rest:
            return killed
        if time.monotonic() > deadline:
            killed = max(killed, len(rest))
            for pid in rest:
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
        time.sleep(0.05)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--timeout", type=float, default=3600)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("command", nargs="+")
    chosen = parser.parse_args()
    usage = run(chosen.command, timeout=chosen.timeout, memory=chosen.memory)
    chosen.out.write_text(json.dumps(asdict(usage)))
    sys.exit(0 if usage.code == 0 else 1)


if __name__ == "__main__":
    main()
