"""What each worker of a cluster offers, and whether it fits this machine's runs."""

from __future__ import annotations

import functools
import os
import platform
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import metadata
from typing import Any

from grader.errors import GraderError, SetupError
from grader.model import packages
from grader.runtime.executors import WorkerNeeds
from grader.runtime.machine.hardware import has_cuda
from grader.runtime.sandbox import choose_sandbox

GPU, QUIET = "GPU", "QUIET"
"""Names of Dask resources: a GPU, and a machine on which nothing else runs."""
_COMPARED = ("systems-grader", "numpy", "torch")


@dataclass(frozen=True, slots=True, kw_only=True)
class Worker:
    """A worker as it described itself."""

    address: str
    error: str = ""
    """Why it could not describe itself; then nothing else is known."""
    host: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    layers: tuple[str, ...] = ()
    sandbox_error: str = ""
    """Why it can't run notebooks in the sandbox that was asked for."""
    cores: int = 0
    threads: int = 0
    resources: Mapping[str, float] = field(default_factory=dict)
    """What it declares: `GPU`, `QUIET`, and others."""
    has_cuda: bool = False
    packages: tuple[str, ...] = ()

    def differences(self, wanted: Mapping[str, str]) -> tuple[str, ...]:
        """Returns what is wrong with the worker for a machine with the versions *wanted*."""
        if self.error:
            return (self.error,)
        differing = tuple(
            f"{name} {self.versions.get(name) or 'missing'} instead of {version or 'none'}"
            for name, version in wanted.items()
            if self.versions.get(name, "") != version
        )
        return (*differing, *((self.sandbox_error,) if self.sandbox_error else ()))


@functools.cache
def describe_environment() -> Mapping[str, str]:
    """Returns the versions on which the evidence of a notebook may depend; "" for what is missing.

    A worker's release of Python counts without its last number, since a task can't be sent from
    one minor version to another.
    """
    environment = {"Python": ".".join(platform.python_version_tuple()[:2])}
    for name in _COMPARED:
        try:
            environment[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            environment[name] = ""
    return environment


wanted_environment = describe_environment


def describe_worker(sandbox: str, dask_worker: Any = None) -> dict[str, Any]:
    """Returns what the worker that runs this, *dask_worker*, offers, as fields of `Worker`."""
    try:
        error = ""
        layers = choose_sandbox(sandbox).sandbox.layers()
    except GraderError as problem:
        error, layers = (
            f"{problem.what} (--sandbox {sandbox})",
            choose_sandbox("auto").sandbox.layers(),
        )
    return {
        "host": platform.node(),
        "versions": dict(describe_environment()),
        "layers": tuple(layer.name for layer in layers if layer.present),
        "sandbox_error": error,
        "cores": os.cpu_count() or 1,
        "threads": dask_worker.state.nthreads,
        "resources": dict(dask_worker.state.total_resources),
        "has_cuda": has_cuda(),
        "packages": tuple(
            name for name, package in packages.PACKAGES.items() if package.is_installed
        ),
    }


def ask_workers(client: Any, sandbox: str, addresses: list[str] | None = None) -> Iterator[Worker]:
    """Yields the workers at *addresses*, by default all, except those that are gone meanwhile."""
    replies = client.run(describe_worker, sandbox, workers=addresses, on_error="return")
    for address, reply in sorted(replies.items()):
        if isinstance(reply, dict):
            yield Worker(address=address, **reply)
        elif not isinstance(reply, OSError):
            error = f"can't import the grader ({type(reply).__name__})"
            yield Worker(address=address, error=error)


def require_same(workers: Iterable[Worker], *, sandbox: str) -> None:
    """Raises SetupError, naming the workers, if versions differ from this machine's, or if no
    worker has the sandbox that was asked for.

    A single worker without the sandbox is not an error: it gets no work.
    """
    wanted, all_workers = wanted_environment(), list(workers)
    lines = []
    for worker in all_workers:
        differences = [d for d in worker.differences(wanted) if d != worker.sandbox_error]
        if differences:
            lines.append(f"  {worker.address}: {', '.join(differences)}")
    if lines:
        raise SetupError(
            "the cluster's workers differ from this machine:\n" + "\n".join(lines),
            fix="install the same versions everywhere, and start the workers again",
        )
    if all_workers and all(worker.sandbox_error for worker in all_workers):
        raise SetupError(
            f"no worker has what --sandbox {sandbox} asks for: {all_workers[0].sandbox_error}",
            where=all_workers[0].address,
            fix="see what each worker has: grader doctor --executor dask:ADDRESS",
        )


def choose_workers(workers: Iterable[Worker], needs: WorkerNeeds) -> dict[str, Any]:
    """Returns the arguments of Dask's `submit` for *needs*. Raises SetupError if no worker fits."""
    all_workers, wanted = list(workers), wanted_environment()
    fit = [worker for worker in all_workers if not worker.differences(wanted)]
    if all_workers and not fit:
        raise SetupError("no worker can run notebooks", fix="see `grader doctor --executor`")
    if needs.gpu:
        gpus = [worker for worker in fit if GPU in worker.resources]
        if not gpus:
            raise SetupError(
                "no worker declares a GPU",
                fix="start one with `dask worker ADDRESS --resources GPU=1`, or leave out --device",
            )
        return _restrict_to(_with_packages(gpus, needs), all_workers) | {"resources": {GPU: 1}}
    quiet = [worker for worker in fit if QUIET in worker.resources]
    if needs.quiet and quiet:
        return _restrict_to(_with_packages(quiet, needs), all_workers) | {"resources": {QUIET: 1}}
    # The others are left to the tasks that need what they declare.
    usual = [worker for worker in fit if not {GPU, QUIET} & worker.resources.keys()]
    able = _with_packages(usual or fit, needs)
    restriction = _restrict_to(able, all_workers)
    all_fit = len(fit) == len(all_workers)
    if restriction and all_fit and len(able) == len(usual):
        # If all of these workers are gone, the special ones may run it.
        return restriction | {"allow_other_workers": True}
    return restriction


def _with_packages(workers: list[Worker], needs: WorkerNeeds) -> list[Worker]:
    """Returns those of *workers* that have the packages of *needs*, or all if none has."""
    return [worker for worker in workers if set(needs.packages) <= set(worker.packages)] or workers


def _restrict_to(fit: list[Worker], all_workers: list[Worker]) -> dict[str, Any]:
    """Returns the argument that restricts a task to *fit*; empty if all workers fit."""
    return {} if len(fit) == len(all_workers) else {"workers": [worker.address for worker in fit]}
