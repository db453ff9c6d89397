"""Settings for executing submissions in a run of `grader grade`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Protocol

from grader.errors import SetupError
from grader.model import CallPlan, Limits
from grader.model.evidence import ExecutionSettings


class ShownProgress(Protocol):
    """Progress that is shown to a person."""

    def __call__(self, name: str, /) -> None:
        """Counts the item *name* as finished."""

    def show(self, text: str) -> None:
        """Shows *text* beside the progress, in place of an earlier one."""


StartProgress = Callable[[int], ShownProgress]
"""Called with the number of items."""


class _NoProgress:
    def __call__(self, name: str, /) -> None:
        pass

    def show(self, text: str) -> None:
        pass


def no_progress(_total: int) -> ShownProgress:
    """Returns progress that is not shown."""
    return _NoProgress()


_FIRST_PROCESSES = 256
"""The default process limit in the first releases. Fingerprints use it for the default limit, so
that earlier executions stay valid."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings(ExecutionSettings):
    """How submissions are executed: limits, executor, sandbox, and devices."""

    jobs: int | None = None
    """How many submissions run at once; None if `executor` says, else the number of CPUs."""
    executor: str = "threads"
    """As in `grader.runtime.executors.parse`."""
    again: bool = False
    """Whether to execute again what has been executed in this way before."""
    names: Path | None = None
    """A platform's gradebook as CSV, which maps the platform's numbers to students."""
    gradebook: str = ""
    """The address of the database for the gradebook; empty for the one that the results folder has,
    or a file in it."""
    evidence: str = ""
    """The address of the object store for evidence; empty for the one that the results folder has,
    or a folder in it."""
    only_deferred: bool = False
    """Whether only to fill in what earlier runs deferred and this machine can run."""

    def passes(self, *, is_local: bool) -> tuple[Settings, ...]:
        """Returns the settings of the runs that these settings stand for, in order.

        A cluster has GPUs for the parts that need one, and other workers for everything else.
        """
        if is_local or self.device == "cpu" or self.only_deferred:
            return (self,)
        return replace(self, device="cpu"), replace(self, only_deferred=True, again=False)

    def fingerprint(self, names: tuple[str, ...], call_plans: tuple[CallPlan, ...] = ()) -> str:
        """Returns a digest of how a notebook is executed and what it is asked. A notebook whose
        fingerprint differs from before is executed again."""
        # What is filled in belongs to the run that deferred it.
        device = "cpu" if self.only_deferred else self.device
        limits = asdict(self.limits)
        if self.limits.processes == Limits().processes:
            limits["processes"] = _FIRST_PROCESSES
        how = [limits, device, sorted(names), self.loopback, self.variables]
        if call_plans:
            how.append(
                [
                    [t.name, t.seconds, t.benchmark and asdict(t.benchmark), *t.digests]
                    for t in call_plans
                ]
            )
        text = json.dumps(how, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def require_results_folder(out: Path, release_file: Path) -> None:
    """Raises SetupError if *out* is the folder that `grader render` wrote, which is handed out: the
    gradebook has the hidden cases and the grades of everybody."""
    release = release_file if release_file.is_dir() else release_file.parent
    if (release / "notebooks").is_dir() and out.resolve() == release.resolve():
        raise SetupError(
            "the results can't be in the folder of the release, whose notebooks are handed out",
            where=str(out),
            fix="choose another folder for --out, such as results",
        )
