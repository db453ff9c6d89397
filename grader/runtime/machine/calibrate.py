"""Measures this machine: one process for each group of figures, one after the other."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any

import grader
from grader.errors import SetupError
from grader.runtime.machine import allreduce, cuda, memory, processes, products
from grader.runtime.machine.bench import Assignment
from grader.runtime.machine.counters import uncounted
from grader.runtime.machine.hardware import look_at_hardware, look_at_software
from grader.runtime.machine.records import Figure, Gpu, Hardware, LeftOut, MachineProfile, Software

_PROGRAM = "from grader.runtime.machine.worker import main; main()"
_QUICK_SECONDS, _FULL_SECONDS = 5.0, 42.0
_PATIENCE = 120.0
"""Beyond its time, until a worker is taken to hang."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What to measure, and how thoroughly."""

    device: str = "cpu"
    quick: bool = False
    torch: bool | None = None
    """False measures with numpy alone; None takes torch where it is installed."""


@dataclass(slots=True)
class _Found:
    """What has come in so far."""

    software: Software
    gpu: Gpu | None
    figures: list[Figure]
    left_out: list[LeftOut]


def calibrate(
    settings: Settings, told: Callable[[Figure], None] = lambda _figure: None
) -> MachineProfile:
    """The profile of this machine as it is now; *told* hears of each figure when it is there.

    Takes less than a minute, less than 8 seconds when quick, on two cores. Raises SetupError when
    a GPU is asked for that torch can't use, and when nothing at all could be measured.
    """
    started, taken = time.perf_counter(), datetime.now(UTC)
    hardware = look_at_hardware()
    found = _Found(software=look_at_software(), gpu=None, figures=[], left_out=[])
    todo = assignments(settings, hardware)
    if not todo[-1].torch:
        found.software = replace(found.software, torch=None)
        found.left_out += _without_torch()
    if hardware.usable_cpus == 1:
        found.left_out.append(LeftOut(what="scaling", why="only one CPU is available"))
    why = uncounted("instructions")
    if why is not None:
        found.left_out.append(LeftOut(what="instructions", why=why.what, fix=why.fix or ""))
    for assignment in todo:
        left = _total_seconds(settings) - (time.perf_counter() - started)
        _run(replace(assignment, seconds=max(left, 0.0)), found, told)
    if not found.figures:
        raise SetupError(
            f"nothing could be measured: {found.left_out[-1].why}",
            fix="check that `python -c 'import numpy'` works, and run `grader doctor`",
        )
    return MachineProfile(
        taken=taken.isoformat(timespec="seconds"),
        seconds=round(time.perf_counter() - started, 3),
        device=settings.device,
        quick=settings.quick,
        hardware=hardware,
        software=found.software,
        gpu=found.gpu,
        figures=tuple(found.figures),
        left_out=tuple(found.left_out),
    )


def planned(settings: Settings, hardware: Hardware) -> int:
    """How many figures `calibrate` will make when nothing has to be left out."""
    counts: dict[str, Callable[[Assignment], int]] = {
        "processes": processes.count,
        "arrays": lambda a: memory.count(a) + 1,
        "blas": lambda _a: len(products.NUMPY_DTYPES),
        "torch": lambda a: memory.count(a) + products.count(a) + allreduce.count(a),
        "cuda": cuda.count,
    }
    return sum(counts[a.group](a) for a in assignments(settings, hardware))


def assignments(settings: Settings, hardware: Hardware) -> tuple[Assignment, ...]:
    """What the workers are to do, in this order."""
    has_torch = find_spec("torch") is not None if settings.torch is None else settings.torch
    base = Assignment(
        group="processes",
        quick=settings.quick,
        usable_cpus=hardware.usable_cpus,
        caches=hardware.caches,
        available_bytes=hardware.available_bytes,
        numa_nodes=hardware.numa_nodes or 1,
        torch=has_torch,
    )
    # The GPU first: when there is none, that should be known before a minute has gone by.
    groups = [replace(base, group="cuda")] if settings.device == "cuda" else []
    groups.append(base)
    if has_torch:
        return (*groups, replace(base, group="torch"))
    blas = (replace(base, group="blas", threads=threads) for threads in base.ends)
    return (*groups, replace(base, group="arrays"), *blas)


def _total_seconds(settings: Settings) -> float:
    seconds = _QUICK_SECONDS if settings.quick else _FULL_SECONDS
    return seconds * (1.5 if settings.device == "cuda" else 1.0)


def _without_torch() -> Iterator[LeftOut]:
    for what, why in products.WITHOUT_TORCH.items():
        yield LeftOut(what=what, why=why, fix=products.FIX)


def _run(assignment: Assignment, found: _Found, told: Callable[[Figure], None]) -> None:
    """Runs one worker to its end and adds what it says to *found*."""
    with (
        tempfile.TemporaryDirectory(prefix="grader-") as folder,
        Path(folder, "said").open("w+b") as noise,
    ):
        worker = subprocess.Popen(  # noqa: S603 - our own program
            [sys.executable, "-P", "-c", _PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=noise,
            text=True,
            encoding="utf-8",
            env={**_environment(assignment), "TMPDIR": folder},
            start_new_session=True,
        )
        watchdog = threading.Timer(assignment.seconds + _PATIENCE, _end, [worker])
        watchdog.start()
        try:
            if not _listen(worker, assignment, found, told):
                _fail(assignment, _last_words(worker, noise), found)
        finally:
            watchdog.cancel()
            _end(worker)
            worker.wait()


def _end(worker: subprocess.Popen[str]) -> None:
    """Ends the worker and whatever it has started; they have a process group of their own."""
    if hasattr(os, "killpg"):
        with contextlib.suppress(OSError):
            os.killpg(worker.pid, signal.SIGKILL)
    worker.kill()


def _listen(
    worker: subprocess.Popen[str],
    assignment: Assignment,
    found: _Found,
    told: Callable[[Figure], None],
) -> bool:
    """Whether the worker came to its end; all that it says goes to *found*."""
    if worker.stdin is None or worker.stdout is None:
        return False
    try:
        worker.stdin.write(json.dumps(asdict(assignment)))
        worker.stdin.close()
    except BrokenPipeError:
        return False
    for line in worker.stdout:
        ((what, data),) = json.loads(line).items()
        if what == "done":
            return True
        if what == "failed":
            _fail(assignment, data, found)
            continue
        _take(what, data, found)
        if what == "figure":
            told(found.figures[-1])
    return False


def _take(what: str, data: Any, found: _Found) -> None:
    match what:
        case "figure":
            found.figures.append(Figure(**data))
        case "left_out":
            found.left_out.append(LeftOut(**data))
        case "software":
            found.software = replace(found.software, **data)
        case "gpu":
            found.gpu = Gpu(**data)


def _fail(assignment: Assignment, why: str, found: _Found) -> None:
    """An error for a GPU that was asked for; whatever else is missing is left out."""
    lines = why.strip().splitlines() or [""]
    if assignment.group == "cuda":
        raise SetupError(
            f"the GPU can't be measured: {lines[0][:200]}",
            fix="install a torch with CUDA and the driver for it, or leave out `--device cuda`",
        )
    names = {
        "processes": "some of processes and loopback",
        "arrays": "some of memory",
        "blas": f"some of the matrix products with {assignment.threads} threads",
        "torch": "some of memory, matrix products and gloo",
    }
    found.left_out.append(LeftOut(what=names[assignment.group], why=lines[0][:200]))


def _last_words(worker: subprocess.Popen[str], noise: IO[bytes]) -> str:
    """What a worker said that ended before its time."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        worker.wait(10)
    noise.seek(0)
    lines = noise.read(1_000_000).decode("utf-8", "replace").strip().splitlines()
    return lines[-1] if lines else f"the measuring process ended with {worker.returncode}"


def _environment(assignment: Assignment) -> dict[str, str]:
    """The user's own, but numpy's library gets as many threads as are to be measured."""
    package = str(Path(grader.__file__).parent.parent)
    paths = [package, *filter(None, [os.environ.get("PYTHONPATH")])]
    threads = str(assignment.threads)
    names = ["OPENBLAS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"]
    if assignment.group == "blas":
        names += ["OMP_NUM_THREADS", "MKL_NUM_THREADS"]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), **dict.fromkeys(names, threads)}
