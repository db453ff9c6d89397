"""Measures this machine: one process per device and number of threads, one after the other."""

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
from dataclasses import asdict, replace
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any

import grader
from grader.errors import SetupError
from grader.runtime.machine import benchmarks
from grader.runtime.machine.hardware import read_hardware, read_software
from grader.runtime.machine.measuring import MeasuringTask
from grader.runtime.machine.records import Gpu, Hardware, LeftOut, MachineProfile, MeasuredFigure

_PROGRAM = "from grader.runtime.machine.benchmarks import main; main()"
_QUICK_SECONDS, _FULL_SECONDS = 5.0, 42.0
_GRACE_SECONDS = 120.0
"""Time beyond its limit after which a worker is killed."""
_UNKNOWN_CACHE = 32 << 20
_UNKNOWN_MEMORY = 2 << 30


def calibrate(
    device: str = "cpu",
    *,
    quick: bool = False,
    torch: bool | None = None,
    on_figure: Callable[[MeasuredFigure], None] = lambda _figure: None,
) -> MachineProfile:
    """Measures this machine and returns its profile; calls *on_figure* with each figure.

    If *torch* is None, it is used if it is installed; otherwise, numpy measures what it can. Takes
    less than a minute, or less than 8 seconds when *quick*, on two cores. Raises SetupError if
    a GPU is requested that torch can't use, and if nothing could be measured.
    """
    started, taken = time.perf_counter(), datetime.now(UTC)
    hardware = read_hardware()
    software = read_software()
    measured: list[MeasuredFigure] = []
    left_out: list[LeftOut] = []
    gpu = None
    assignments = plan_assignments(hardware, device, quick=quick, torch=torch)
    if not assignments[-1].torch:
        software = replace(software, torch=None)
        what = "matmul.bf16, matmul.fp16, matmul.int8, dispatch.torch"
        why = "torch is not installed"
        left_out.append(LeftOut(what=what, why=why, fix="pip install torch"))
    seconds = _QUICK_SECONDS if quick else _FULL_SECONDS
    for assignment in assignments:
        seconds_left = seconds - (time.perf_counter() - started)
        for event, data in _run_worker(replace(assignment, seconds=max(seconds_left, 0.0))):
            match event:
                case "figure":
                    measured.append(MeasuredFigure(**data))
                    on_figure(measured[-1])
                case "left_out":
                    left_out.append(LeftOut(**data))
                case "gpu":
                    gpu = Gpu(**data)
                case "failed":
                    left_out.append(_describe_failure(assignment, data))
    if not measured:
        raise SetupError(
            f"nothing could be measured: {left_out[-1].why}",
            fix="check that `python -c 'import numpy'` works, and run `grader doctor`",
        )
    return MachineProfile(
        taken=taken.isoformat(timespec="seconds"),
        seconds=round(time.perf_counter() - started, 3),
        device=device,
        quick=quick,
        hardware=hardware,
        software=software,
        gpu=gpu,
        figures=tuple(measured),
        left_out=tuple(left_out),
    )


def plan_assignments(
    hardware: Hardware, device: str, *, quick: bool, torch: bool | None = None
) -> list[MeasuringTask]:
    """Returns the assignments, in order: one for each worker process."""
    has_torch = find_spec("torch") is not None if torch is None else torch
    base = MeasuringTask(quick=quick, torch=has_torch, array_bytes=array_bytes(hardware, quick))
    # The GPU first: if there is none, the user learns it immediately.
    on_gpu = [replace(base, device="cuda")] if device == "cuda" else []
    teams = sorted({1, hardware.usable_cpus})
    return [*on_gpu, *(replace(base, threads=threads) for threads in teams)]


def count_figures(assignments: list[MeasuringTask]) -> int:
    """Returns how many figures the workers measure if nothing has to be left out."""
    total = 0
    for assignment in assignments:
        products = len(benchmarks.TORCH_DTYPES if assignment.torch else benchmarks.NUMPY_DTYPES)
        if assignment.device == "cuda":
            total += products + 1 + 3 + 3
        else:
            total += products + 3 + (2 + assignment.torch if assignment.threads == 1 else 0)
    return total


def array_bytes(hardware: Hardware, quick: bool) -> int:
    """Returns the size of each array in memory: four times the last cache, if memory allows.

    Each takes at most a twelfth of the available memory and 2 GiB (512 MiB in a quick run).
    """
    last_cache = hardware.caches[-1].total if hardware.caches else _UNKNOWN_CACHE
    available = hardware.available_bytes or _UNKNOWN_MEMORY
    size = min(max(4 * last_cache, 64 << 20), available // 12, (512 << 20) if quick else (2 << 30))
    return max(size >> 16, 1) << 16  # a multiple of 64 KiB


def _run_worker(assignment: MeasuringTask) -> Iterator[tuple[str, Any]]:
    """Runs one worker, and yields the kind and the data of each event that it reports."""
    with tempfile.TemporaryFile() as stderr:
        worker = subprocess.Popen(  # noqa: S603 - our own program
            [sys.executable, "-P", "-c", _PROGRAM, json.dumps(asdict(assignment))],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            encoding="utf-8",
            env=_environment(assignment.threads),
            start_new_session=True,
        )
        watchdog = threading.Timer(assignment.seconds + _GRACE_SECONDS, _kill, [worker])
        watchdog.daemon = True  # or it would delay the end of the program after Ctrl-C
        try:
            watchdog.start()
            event = ""
            for line in worker.stdout or ():
                ((event, data),) = json.loads(line).items()
                yield event, data
            if event != "done":
                yield "failed", _last_printed_line(worker, stderr)
        finally:
            watchdog.cancel()
            _kill(worker)
            worker.wait()


def _kill(worker: subprocess.Popen[str]) -> None:
    """Kills the worker and all processes that it has started; they are a process group."""
    if hasattr(os, "killpg"):
        with contextlib.suppress(OSError):
            os.killpg(worker.pid, signal.SIGKILL)
    worker.kill()


def _describe_failure(assignment: MeasuringTask, text: str) -> LeftOut:
    """Returns what a failed worker leaves out. Raises SetupError if a GPU was requested."""
    why = (text.strip().splitlines() or [""])[0][:200]
    if assignment.device == "cuda":
        raise SetupError(
            f"the GPU can't be measured: {why}",
            fix="install a torch with CUDA and its driver, or omit `--device cuda`",
        )
    return LeftOut(what=f"some of the figures with {assignment.threads} threads", why=why)


def _last_printed_line(worker: subprocess.Popen[str], stderr: IO[bytes]) -> str:
    """Returns the last line that a worker printed before it failed."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        worker.wait(10)
    stderr.seek(0)
    lines = stderr.read(1_000_000).decode("utf-8", "replace").strip().splitlines()
    return lines[-1] if lines else f"the measuring process ended with {worker.returncode}"


def _environment(threads: int) -> dict[str, str]:
    """Returns the user's environment, with the number of *threads* for numerical libraries."""
    package = str(Path(grader.__file__).parent.parent)
    paths = [package, *filter(None, [os.environ.get("PYTHONPATH")])]
    variables = (
        "OMP_NUM_THREADS",
        "MKL_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "VECLIB_MAXIMUM_THREADS",
    )
    numbers = dict.fromkeys(variables, str(threads))
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), **numbers}
