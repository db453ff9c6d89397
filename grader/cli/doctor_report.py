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
from typing import Any

from grader import __version__
from grader.errors import SetupError
from grader.figures.base import figure_types
from grader.grading.sources import sources
from grader.integrations.base import exporters
from grader.integrations.install import chosen_source
from grader.kinds import kinds
from grader.model import Job, Limits, Outcome, Submission, packages
from grader.notebook import Cell, write
from grader.registry import Registry
from grader.runtime.execute import execute
from grader.runtime.executors import executors
from grader.runtime.kernels import USUAL
from grader.runtime.kernels.base import kernels
from grader.runtime.machine.hardware import has_cuda
from grader.runtime.sandbox import choose_sandbox, sandboxes
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
    """Yields the findings in the order in which they are printed."""
    yield DoctorFinding(
        what="grader",
        ok=sys.version_info >= (3, 11),
        observation=f"{__version__} on Python {platform.python_version()}, {platform.system()} "
        f"{platform.machine()}, {os.cpu_count()} CPUs",
    )
    yield _examine_source()
    missing = [p for p in _PACKAGES if _installed_version(p) is None]
    yield DoctorFinding(
        what="packages",
        ok=not missing,
        observation=", ".join(f"{p} {_installed_version(p) or 'missing'}" for p in _PACKAGES),
        fix=f"pip install {' '.join(missing)}" if missing else "",
    )
    yield from _examine_optional_packages()
    yield from _examine_plug_ins()
    yield _find_cuda()
    yield _examine_warm_kernels()
    sandbox = _examine_layers(kernel)
    yield from sandbox
    free = shutil.disk_usage(tempfile.gettempdir()).free
    yield DoctorFinding(
        what="scratch space",
        ok=free > 1_000_000_000,
        observation=f"{free / 1e9:.0f} GB free in {tempfile.gettempdir()}",
        fix="" if free > 1_000_000_000 else "free some space, or set TMPDIR",
    )
    if kernel and not any(each.what == _UNTRIED for each in sandbox):
        yield _run_kernel()


def _examine_source() -> DoctorFinding:
    """Returns where a class repository would install the grader from."""
    try:
        source = chosen_source("")
    except SetupError as error:
        fix = f"for a class on GitHub, {error.fix} to `grader classroom init`"
        return DoctorFinding(what="source", ok=None, observation=error.what, fix=fix)
    return DoctorFinding(
        what="source", ok=True, observation=source.url + (f"; {source.note}" * bool(source.note))
    )


def _examine_optional_packages() -> Iterator[DoctorFinding]:
    """Yields whether each package that some problems need is installed."""
    for name, package in packages.PACKAGES.items():
        is_installed = package.is_installed
        absence = (
            f"not installed: parts that need {package.title} are left open when graded here; "
            "no points are deducted"
        )
        yield DoctorFinding(
            what=name,
            ok=True if is_installed else None,
            observation=_installed_version(name) or "installed" if is_installed else absence,
            fix=""
            if is_installed
            else f"{packages.install_command([name])}; "
            "then grade them with `grader grade --only deferred`",
        )


def _examine_plug_ins() -> Iterator[DoctorFinding]:
    """Yields whether each plug-in of another package can be loaded."""
    registries: tuple[Registry[Any], ...] = (
        kinds, figure_types, exporters, sandboxes, kernels, executors, sources
    )  # fmt: skip
    for registry in registries:
        for point in registry.plug_ins():
            source = f"{point.dist.name} {point.dist.version}" if point.dist else point.value
            ok, observation, fix = True, f"{point.value}, from {source}", ""
            try:
                registry.find(point.name)
            except SetupError as error:
                ok, observation, fix = False, error.what, error.fix or ""
            what = f"{registry.noun} '{point.name}'"
            yield DoctorFinding(what=what, ok=ok, observation=observation, fix=fix)


def _installed_version(package: str) -> str | None:
    """Returns the version of an installed package; None if it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _find_cuda() -> DoctorFinding:
    """Returns whether this machine has a CUDA device, as a finding."""
    seen = "CUDA device found; `grader grade --device cuda` makes it available to notebooks"
    if not has_cuda():
        return DoctorFinding(what="GPU", ok=None, observation="no CUDA device")
    return DoctorFinding(what="GPU", ok=True, observation=seen)


def _examine_layers(kernel: bool) -> tuple[DoctorFinding, ...]:
    """Returns one finding per sandbox layer, or a single one with the error if they can't be
    examined."""
    try:
        return tuple(_test_layers() if kernel else _list_layers())
    except SetupError as error:
        return (
            DoctorFinding(what=_UNTRIED, ok=False, observation=error.what, fix=error.fix or ""),
        )


def _list_layers() -> Iterator[DoctorFinding]:
    """Yields a finding for each sandbox layer, without testing whether it works."""
    for layer in choose_sandbox("auto").sandbox.layers():
        ok = True if layer.present else None
        yield DoctorFinding(
            what=f"sandbox: {layer.name}", ok=ok, observation=layer.detail, fix=layer.fix
        )


def _test_layers() -> Iterator[DoctorFinding]:
    """Yields one finding per layer, tested by a notebook that tries to break through it."""
    for tried in attack_layers(choose_sandbox("auto")):
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


def _examine_warm_kernels() -> DoctorFinding:
    """Returns whether kernels are forked from a process with numpy and torch, as a finding."""
    warm = USUAL == "warm"
    return DoctorFinding(
        what="warm kernels",
        ok=True if warm else None,
        observation="forked from a process that has already imported numpy and torch"
        if warm
        else f"not on {platform.system()}, where forking is not safe: each notebook starts its own "
        "kernel, which takes two to three seconds longer; results are the same",
    )


def _run_kernel() -> DoctorFinding:
    """Returns whether a kernel ran a notebook with one answer, and how long that took."""
    data = write([Cell(type="code", id="a", source="answer = 6 * 7")], {})
    submission = Submission(student="doctor", path="doctor.ipynb", sha256="0" * 64)
    job = Job(submission=submission, names=("answer",), limits=Limits(cell_seconds=30))
    started = time.perf_counter()
    evidence = execute(job, data)
    seconds = time.perf_counter() - started
    answer = evidence.answers.get("answer")
    if evidence.outcome is Outcome.FINISHED and answer and answer.raw:
        text = f"a notebook ran in {seconds:.1f} s"
        return DoctorFinding(what="kernel", ok=True, observation=text)
    fix = "pip install --force-reinstall ipykernel"
    return DoctorFinding(what="kernel", ok=False, observation=evidence.note or "no answer", fix=fix)
