"""What this machine has for grading: packages, sandbox layers, kernels."""

from __future__ import annotations

import os
import platform
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

from grader import __version__
from grader.errors import SetupError
from grader.integrations.install import chosen_source
from grader.model import Job, Limits, Outcome, Submission, packages
from grader.notebook import Cell, write
from grader.runtime.execute import execute
from grader.runtime.kernels import USUAL
from grader.runtime.machine.hardware import has_cuda
from grader.runtime.sandbox import choose
from grader.security.redteam.layers import attack_layers


@dataclass(frozen=True, slots=True, kw_only=True)
class DoctorFinding:
    """One examined item. *ok* is True if it works, False if it is missing or broken, and None if
    it is missing but optional."""

    what: str
    ok: bool | None
    observation: str
    fix: str = ""


_UNTRIED = "sandbox"
"""Name of the finding that replaces the layers if they can't be examined. No kernel is started
then."""
_PACKAGES = ("nbclient", "ipykernel", "jupyter_client", "nbformat", "numpy", "sqlalchemy")


def examine(*, kernel: bool = True) -> tuple[DoctorFinding, ...]:
    """Examines everything that grading needs or can use on this machine."""
    return tuple(_iter_findings(kernel))


def _iter_findings(kernel: bool) -> Iterator[DoctorFinding]:
    yield DoctorFinding(
        what="grader",
        ok=sys.version_info >= (3, 11),
        observation=f"{__version__} on Python {platform.python_version()}, {platform.system()} "
        f"{platform.machine()}, {os.cpu_count()} CPUs",
    )
    yield _install_source()
    missing = [p for p in _PACKAGES if _version(p) is None]
    yield DoctorFinding(
        what="packages",
        ok=not missing,
        observation=", ".join(f"{p} {_version(p) or 'missing'}" for p in _PACKAGES),
        fix=f"pip install {' '.join(missing)}" if missing else "",
    )
    yield from _optional_packages()
    yield _cuda_finding()
    yield _warm_kernels()
    sandbox = _layers_or_error(kernel)
    yield from sandbox
    free = shutil.disk_usage(tempfile.gettempdir()).free
    yield DoctorFinding(
        what="scratch space",
        ok=free > 1_000_000_000,
        observation=f"{free / 1e9:.0f} GB free in {tempfile.gettempdir()}",
        fix="" if free > 1_000_000_000 else "free some space, or set TMPDIR",
    )
    if kernel and not any(each.what == _UNTRIED for each in sandbox):
        yield _kernel_finding()


def _install_source() -> DoctorFinding:
    """Returns where a class repository would install the grader from."""
    try:
        source = chosen_source("")
    except SetupError as error:
        return DoctorFinding(what="source", ok=None, observation=error.what, fix=error.fix or "")
    return DoctorFinding(
        what="source", ok=True, observation=source.url + (f"; {source.note}" * bool(source.note))
    )


def _optional_packages() -> Iterator[DoctorFinding]:
    for name, package in packages.PACKAGES.items():
        here = package.is_installed
        waits = (
            f"not installed: parts that need {package.title} are left open when graded here; "
            "no points are deducted"
        )
        yield DoctorFinding(
            what=name,
            ok=True if here else None,
            observation=_version(name) or "installed" if here else waits,
            fix=""
            if here
            else f"{packages.install_command([name])}; "
            "then grade them with `grader grade --only deferred`",
        )


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _cuda_finding() -> DoctorFinding:
    here = has_cuda()
    seen = "CUDA device found; `grader grade --device cuda` makes it available to notebooks"
    return DoctorFinding(
        what="GPU", ok=True if here else None, observation=seen if here else "no CUDA device"
    )


def _layers_or_error(kernel: bool) -> tuple[DoctorFinding, ...]:
    """Returns one finding per sandbox layer, or a single one with the error if they can't be
    examined."""
    try:
        return tuple(_tested_layers() if kernel else _listed_layers())
    except SetupError as error:
        return (
            DoctorFinding(what=_UNTRIED, ok=False, observation=error.what, fix=error.fix or ""),
        )


def _listed_layers() -> Iterator[DoctorFinding]:
    for layer in choose("auto").sandbox.layers():
        ok = True if layer.present else None
        yield DoctorFinding(
            what=f"sandbox: {layer.name}", ok=ok, observation=layer.detail, fix=layer.fix
        )


def _tested_layers() -> Iterator[DoctorFinding]:
    """Yields one finding per layer, tested by a notebook that tries to break through it."""
    for tried in attack_layers(choose("auto")):
        layer, seen = tried.layer, tried.layer.detail
        ok = True if layer.present else None
        if layer.present and tried.has_held is False:
            ok, seen = False, f"does not work here: a notebook got {tried.got}"
        elif layer.present and tried.has_held is None and layer.name != "cgroup":
            ok, seen = None, f"{seen} (could not be tested: {tried.got})"
        elif layer.present:
            seen += " (tested)" if tried.has_held else ""
        elif tried.has_held is False:
            seen += f"; a notebook got {tried.got}"
        yield DoctorFinding(what=f"sandbox: {layer.name}", ok=ok, observation=seen, fix=layer.fix)


def _warm_kernels() -> DoctorFinding:
    warm = USUAL == "warm"
    return DoctorFinding(
        what="warm kernels",
        ok=True if warm else None,
        observation="forked from a process that has already imported numpy and torch"
        if warm
        else f"not on {platform.system()}, where forking is not safe: each notebook starts its own "
        "kernel, which takes two to three seconds longer; results are the same",
    )


def _kernel_finding() -> DoctorFinding:
    data = write([Cell(type="code", id="a", source="answer = 6 * 7")], {})
    submission = Submission(student="doctor", path="doctor.ipynb", sha256="0" * 64)
    job = Job(submission=submission, names=("answer",), limits=Limits(cell_seconds=30))
    started = time.perf_counter()
    evidence = execute(job, data)
    seconds = time.perf_counter() - started
    answer = evidence.answers.get("answer")
    fine = evidence.outcome is Outcome.FINISHED and bool(answer and answer.raw)
    return DoctorFinding(
        what="kernel",
        ok=fine,
        observation=f"a notebook ran in {seconds:.1f} s" if fine else evidence.note or "no answer",
        fix="" if fine else "pip install --force-reinstall ipykernel",
    )
